//! Method to handler: the table of contents of the server. One line per method; nothing else lives here.

use protocol::Dialect;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::error::Failure;
use crate::{completion, guests, interaction, lifecycle, prompts, resources, subscriptions, tools};

/// Answers one JSON-RPC request.
pub(crate) async fn dispatch(
    ctx: &Context,
    method: &str,
    params: Map<String, Value>,
) -> Result<Vec<u8>, Failure> {
    match guests::answer(ctx, method, &params).await {
        Some(answer) => answer,
        None => ours(ctx, method, params).await.map(|answer| guests::extend(ctx, method, answer)),
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
