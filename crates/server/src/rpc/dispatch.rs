//! Method to handler: the table of contents of the server. One line per method; nothing else lives here.

use protocol::Dialect;
use serde_json::{Map, Value};

use crate::error::RequestError;
use crate::rpc::context::RequestContext;
use crate::rpc::{completion, embedded, interaction, lifecycle, prompts, resources, subscriptions};
use crate::tools;

/// The methods below and the envelope, for logs: a name that a client made up is not written there.
const KNOWN_METHODS: [&str; 29] = [
    "initialize",
    "server/discover",
    "ping",
    "logging/setLevel",
    "tools/list",
    "tools/call",
    "completion/complete",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "capabilities",
    "interaction.start",
    "interaction.respond",
    "interaction.continue",
    "interaction.complete",
    "interaction.cancel",
    "interaction.getState",
    "interaction/start",
    "interaction/respond",
    "interaction/continue",
    "interaction/complete",
    "interaction/cancel",
    "interaction/getState",
    "subscriptions/listen",
    "envelope",
];

/// The method as logs name it.
pub(crate) fn method_for_logs(method: &str) -> &'static str {
    KNOWN_METHODS.iter().find(|known| **known == method).copied().unwrap_or("unknown")
}

/// Answers one JSON-RPC request.
pub(crate) async fn dispatch(
    ctx: &RequestContext,
    method: &str,
    params: Map<String, Value>,
) -> Result<Vec<u8>, RequestError> {
    match embedded::handle_request(ctx, method, &params).await {
        Some(answer) => answer,
        None => dispatch_builtin(ctx, method, params)
            .await
            .map(|answer| embedded::extend_list(ctx, method, answer)),
    }
}

async fn dispatch_builtin(
    ctx: &RequestContext,
    method: &str,
    params: Map<String, Value>,
) -> Result<Vec<u8>, RequestError> {
    let stateless = matches!(ctx.dialect, Dialect::Mcp(revision) if revision.is_stateless());
    match method {
        "initialize" if !stateless => lifecycle::initialize(ctx, params),
        "server/discover" if ctx.dialect != Dialect::Codefluss => lifecycle::discover(ctx),
        "ping" if ctx.revision().has_ping() => Ok(lifecycle::ping(ctx)),
        "logging/setLevel" if ctx.revision().sets_log_level_by_request() => lifecycle::set_level(ctx, params),

        "tools/list" => tools::list(ctx, params),
        "tools/call" => tools::call(ctx, params).await,
        "completion/complete" => completion::complete(ctx, params).await,

        "resources/list" => resources::list(ctx, params).await,
        "resources/templates/list" => resources::templates(ctx, params),
        "resources/read" => resources::read(ctx, params).await,
        "resources/subscribe" if ctx.revision().has_resource_subscriptions() => {
            subscriptions::subscribe(ctx, params).await
        }
        "resources/unsubscribe" if ctx.revision().has_resource_subscriptions() => {
            subscriptions::unsubscribe(ctx, params)
        }
        "prompts/list" => prompts::list(ctx, params),
        "prompts/get" => prompts::get(ctx, params),

        "capabilities" => Ok(interaction::capabilities(ctx)),
        "interaction.start" | "interaction/start" => interaction::start(ctx, params).await,
        "interaction.respond" | "interaction/respond" => interaction::respond(ctx, params).await,
        "interaction.continue" | "interaction/continue" => interaction::continue_session(ctx, params).await,
        "interaction.complete" | "interaction/complete" => interaction::complete(ctx, params).await,
        "interaction.cancel" | "interaction/cancel" => interaction::cancel(ctx, params).await,
        "interaction.getState" | "interaction/getState" => interaction::get_state(ctx, params).await,

        "subscriptions/listen" if stateless => subscriptions::listen(ctx, params).await,
        other => Err(RequestError::MethodNotFound { method: other.chars().take(128).collect() }),
    }
}

#[cfg(test)]
mod tests {
    use super::KNOWN_METHODS;

    /// The table for logs cannot be derived from a `match`, so it is compared with its text.
    #[test]
    fn every_dispatched_method_has_a_log_name() {
        let text = include_str!("dispatch.rs");
        let (_, ours) = text.split_once("async fn dispatch_builtin").unwrap();
        let (ours, _) = ours.split_once("other =>").unwrap();
        let dispatched: Vec<&str> = ours.split('"').skip(1).step_by(2).collect();
        assert!(dispatched.len() > 20, "{dispatched:?}");
        let known = KNOWN_METHODS.iter().filter(|method| **method != "envelope").copied();
        assert_eq!(known.collect::<std::collections::BTreeSet<_>>(), dispatched.into_iter().collect());
    }
}
