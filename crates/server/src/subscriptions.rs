//! `subscriptions/listen`: news for clients without a session.

use protocol::encode;
use protocol::mcp::keys;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::context::{self, Context};
use crate::error::Failure;

/// Streams that may be open at once on one connection.
const OPEN: usize = 8;

/// Lists whose changes a client may hear of. All three follow the set of tools, so they change together.
#[derive(Clone, Copy, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Lists {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prompts_list_changed: bool,
}

impl Lists {
    /// Everything there is news about.
    pub(crate) const ALL: Self =
        Self { tools_list_changed: true, resources_list_changed: true, prompts_list_changed: true };

    /// The notifications that tell of a change.
    pub(crate) fn methods(self) -> impl Iterator<Item = &'static str> {
        let tools = self.tools_list_changed.then_some("notifications/tools/list_changed");
        let resources = self.resources_list_changed.then_some("notifications/resources/list_changed");
        let prompts = self.prompts_list_changed.then_some("notifications/prompts/list_changed");
        [tools, resources, prompts].into_iter().flatten()
    }
}

#[derive(Deserialize)]
struct Listen {
    notifications: Lists,
}

/// Stays open until the client cancels it or the connection ends.
pub(crate) async fn listen(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let Listen { notifications: lists } = context::params(params, &["notifications"])?;
    let _stream =
        ctx.connection.streams().try_acquire().map_err(|_| Failure::TooManySubscriptions { limit: OPEN })?;
    let mut changes = ctx.app().changes();
    let meta = json!({ keys::SUBSCRIPTION_ID: ctx.id });
    // What is not offered is left out of the acknowledgement, which is how the client learns of it.
    push(ctx, "notifications/subscriptions/acknowledged", &json!({ "_meta": meta, "notifications": lists }));
    loop {
        tokio::select! {
            () = ctx.connection.ending().cancelled() => break,
            news = changes.changed() => if news.is_err() { break },
        }
        for list in lists.methods() {
            push(ctx, list, &json!({ "_meta": meta }));
        }
    }
    let info = &ctx.app().info;
    let mut meta = json!({ "io.modelcontextprotocol/serverInfo": info });
    meta[keys::SUBSCRIPTION_ID] = json!(ctx.id);
    Ok(encode::result(&ctx.id, &json!({ "resultType": "complete", "_meta": meta })))
}

fn push(ctx: &Context, method: &str, params: &Value) {
    ctx.connection.outbox().push(encode::notification(method, Some(params)));
}

/// The places for streams.
pub(crate) fn places() -> tokio::sync::Semaphore {
    tokio::sync::Semaphore::new(OPEN)
}
