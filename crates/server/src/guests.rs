//! Where guests meet the dispatch.

use protocol::mcp::Stamped;
use protocol::{Revision, encode};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::error::Failure;
use crate::guest::no_arguments;
use crate::{GuestReply, Listing, Visit};

/// Methods that a guest may answer.
const ANSWERED: [&str; 4] = ["tools/call", "prompts/get", "resources/read", "completion/complete"];

/// The guest's answer, if there is a guest who knows one.
pub(crate) async fn answer(
    ctx: &Context,
    method: &str,
    params: &Map<String, Value>,
) -> Option<Result<Vec<u8>, Failure>> {
    let guest = ctx.app().guest.clone()?;
    if !ANSWERED.contains(&method) || !guest.knows(method, params) {
        return None;
    }
    if let Err(failure) = check_headers(ctx, guest.list(Listing::Tools), params) {
        return Some(Err(failure));
    }
    let reply = ctx.call.outlet.during(guest.answer(Visit::new(ctx), method, params.clone())).await;
    Some(match reply {
        Ok(GuestReply::Done(result)) if method == "resources/read" => Ok(ctx.list(&result)),
        Ok(GuestReply::Done(result)) => Ok(ctx.result(&result)),
        Ok(GuestReply::InputRequired(result)) => {
            Ok(encode::result(&ctx.id, &Stamped::input_required(&result, &ctx.app().info)))
        }
        Err(fault) => Err(fault.into()),
    })
}

/// Whether a guest has this resource.
pub(crate) fn has_resource(ctx: &Context, uri: &str) -> bool {
    let params = Map::from_iter([("uri".to_owned(), Value::from(uri))]);
    ctx.app().guest.as_ref().is_some_and(|guest| guest.knows("resources/read", &params))
}

/// Adds to a list what the guest has, after its last page.
pub(crate) fn extend(ctx: &Context, method: &str, answer: Vec<u8>) -> Vec<u8> {
    let (listing, member) = match method {
        "tools/list" => (Listing::Tools, "tools"),
        "prompts/list" => (Listing::Prompts, "prompts"),
        "resources/list" => (Listing::Resources, "resources"),
        "resources/templates/list" => (Listing::Templates, "resourceTemplates"),
        _ => return answer,
    };
    let Some(guest) = &ctx.app().guest else { return answer };
    let Ok(Value::Object(mut whole)) = serde_json::from_slice(&answer) else { return answer };
    let Some(mut result) = whole.remove("result").filter(|result| result.get("nextCursor").is_none()) else {
        return answer;
    };
    if let Some(entries) = result.get_mut(member).and_then(Value::as_array_mut) {
        entries.extend(guest.list(listing).into_iter().map(|entry| for_revision(entry, ctx.revision())));
    }
    encode::result(&ctx.id, &result)
}

fn for_revision(mut entry: Value, revision: Revision) -> Value {
    if let Some(entry) = entry.as_object_mut().filter(|_| !revision.has_titles()) {
        entry.remove("title");
    }
    entry
}

fn check_headers(ctx: &Context, tools: Vec<Value>, params: &Map<String, Value>) -> Result<(), Failure> {
    let (Some(claims), Some(name)) = (&ctx.claims, params.get("name")) else { return Ok(()) };
    let tool = tools.into_iter().find(|tool| tool.get("name") == Some(name));
    let Some(schema) = tool.as_ref().and_then(|tool| tool.get("inputSchema")) else { return Ok(()) };
    let arguments = params.get("arguments").and_then(Value::as_object).unwrap_or(no_arguments());
    claims.check_arguments(schema, arguments)
}
