//! Method to handler: the table of contents of the server. One line per method; nothing else lives here.

use protocol::Dialect;
use serde_json::{Map, Value};

use crate::error::Failure;
use crate::rpc::context::Context;
use crate::rpc::{completion, embedded, interaction, lifecycle, prompts, resources, subscriptions};
use crate::tools;

/// The methods below and the envelope, for logs: a name that a client made up is not written there.
const METHODS: [&str; 29] = [
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
pub(crate) fn known_method(method: &str) -> &'static str {
    METHODS.iter().find(|known| **known == method).copied().unwrap_or("unknown")
}

/// Answers one JSON-RPC request.
pub(crate) async fn dispatch(
    ctx: &Context,
    method: &str,
    params: Map<String, Value>,
) -> Result<Vec<u8>, Failure> {
    match embedded::answer(ctx, method, &params).await {
        Some(answer) => answer,
        None => ours(ctx, method, params).await.map(|answer| embedded::extend(ctx, method, answer)),
    }
}

async fn ours(ctx: &Context, method: &str, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
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
        "interaction.continue" | "interaction/continue" => interaction::go_on(ctx, params).await,
        "interaction.complete" | "interaction/complete" => interaction::complete(ctx, params).await,
        "interaction.cancel" | "interaction/cancel" => interaction::cancel(ctx, params).await,
        "interaction.getState" | "interaction/getState" => interaction::get_state(ctx, params).await,

        "subscriptions/listen" if stateless => subscriptions::listen(ctx, params).await,
        other => Err(Failure::MethodNotFound { method: other.chars().take(128).collect() }),
    }
}

#[cfg(test)]
mod tests {
    use super::METHODS;

    /// The table for logs cannot be derived from a `match`, so it is compared with its text.
    #[test]
    fn logs_know_every_method_that_is_dispatched() {
        let text = include_str!("dispatch.rs");
        let (_, ours) = text.split_once("async fn ours").unwrap();
        let (ours, _) = ours.split_once("other =>").unwrap();
        let dispatched: Vec<&str> = ours.split('"').skip(1).step_by(2).collect();
        assert!(dispatched.len() > 20, "{dispatched:?}");
        let known = METHODS.iter().filter(|method| **method != "envelope").copied();
        assert_eq!(known.collect::<std::collections::BTreeSet<_>>(), dispatched.into_iter().collect());
    }
}
