//! `subscriptions/listen`: news for clients without a session.

use protocol::encode;
use protocol::mcp::keys;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::context::{self, Context};
use crate::error::Failure;

/// Streams that may be open at once on one connection.
const OPEN: usize = 8;

/// What a client may listen to. There is news only about tools so far.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Filter {
    #[serde(default)]
    tools_list_changed: bool,
}

#[derive(Deserialize)]
struct Listen {
    notifications: Filter,
}

/// Stays open until the client cancels it or the connection ends.
pub(crate) async fn listen(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let Listen { notifications: filter } = context::params(params, &["notifications"])?;
    let _stream =
        ctx.connection.streams().try_acquire().map_err(|_| Failure::TooManySubscriptions { limit: OPEN })?;
    let mut changes = ctx.app.changes();
    let meta = json!({ keys::SUBSCRIPTION_ID: ctx.id });
    // What is not offered is left out of the acknowledgement, which is how the client learns of it.
    let accepted = if filter.tools_list_changed { json!({ "toolsListChanged": true }) } else { json!({}) };
    let acknowledged = json!({ "_meta": meta, "notifications": accepted });
    push(ctx, "notifications/subscriptions/acknowledged", &acknowledged);
    loop {
        tokio::select! {
            () = ctx.connection.ending().cancelled() => break,
            news = changes.changed() => if news.is_err() { break },
        }
        if filter.tools_list_changed {
            push(ctx, "notifications/tools/list_changed", &json!({ "_meta": meta }));
        }
    }
    let info = &ctx.app.info;
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
