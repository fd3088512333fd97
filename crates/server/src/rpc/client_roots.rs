//! The folders that the client has open. On a pipe they narrow what tools may touch, and never widen it; over
//! HTTP they are paths of another machine, and are not asked for.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use flow::TokenBinding;
use jiff::SignedDuration;
use protocol::mcp::{InputRequest, InputRequired};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::ConnectionMode;
use crate::error::RequestError;
use crate::rpc::context::RequestContext;
use crate::rpc::resources::uri::percent_decode;
use crate::telemetry::request_span::in_request_span;

/// The name under which 2026-07-28 asks for them.
const INPUT_REQUEST_KEY: &str = "roots";
/// How long a client may take to say it.
const LIST_ROOTS_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the state of such a question is good.
const REQUEST_STATE_TTL: SignedDuration = SignedDuration::from_mins(30);
/// The most roots that are looked at.
const MAX_CLIENT_ROOTS: usize = 100;

/// What a connection knows about its client's roots.
#[derive(Clone, Debug, Default)]
pub(crate) enum ClientRoots {
    /// Nothing yet, or they have changed since.
    #[default]
    Unknown,
    /// The client has none, or does not say.
    Unlimited,
    /// These.
    Listed(Arc<[PathBuf]>),
}

#[derive(Deserialize)]
struct ListRootsResult {
    roots: Vec<ClientRoot>,
}

#[derive(Deserialize)]
struct ClientRoot {
    uri: String,
}

impl ListRootsResult {
    /// The folders that they name. What is no file on this machine names none.
    fn folders(&self) -> Arc<[PathBuf]> {
        let folder = |root: &ClientRoot| {
            let path = root.uri.strip_prefix("file://")?;
            let path = path.strip_prefix("localhost").unwrap_or(path);
            percent_decode(path).filter(|path| path.starts_with('/')).map(PathBuf::from)
        };
        self.roots.iter().take(MAX_CLIENT_ROOTS).filter_map(folder).collect()
    }
}

/// What came of asking.
pub(crate) enum NarrowedRoots {
    /// The folders that this call may touch.
    Roots(Arc<[PathBuf]>),
    /// The client has to be asked first.
    InputRequired(InputRequired),
}

/// The folders that a request may touch: those of the server, within those of its client. `params` are those
/// of the request: what answers our question is taken out of them.
pub(crate) async fn narrow(
    ctx: &RequestContext,
    tool: &str,
    params: &mut Map<String, Value>,
) -> Result<NarrowedRoots, RequestError> {
    let allowed = &ctx.call.roots;
    let is_local = ctx.app().asks_client_roots && ctx.connection.mode() == ConnectionMode::Stream;
    if !is_local || !ctx.client.has_roots() {
        return Ok(NarrowedRoots::Roots(Arc::clone(allowed)));
    }
    let known = ctx.connection.client_roots();
    let known = if !matches!(known, ClientRoots::Unknown) {
        known
    } else if ctx.revision().asks_by_input_required() {
        let arguments = params.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default();
        let owner = format!("{} {}", ctx.call.principal.tenant(), ctx.call.principal.subject());
        let binding = TokenBinding { owner: &owner, method: INPUT_REQUEST_KEY, tool, arguments: &arguments };
        match take_roots_response(ctx, &binding, params) {
            Some(listed) => listed,
            None => return Ok(NarrowedRoots::InputRequired(build_roots_request(ctx, &binding))),
        }
    } else {
        request_roots(ctx).await
    };
    ctx.connection.set_client_roots(known.clone());
    intersect_roots(allowed, &known).map(NarrowedRoots::Roots)
}

/// The same where the client cannot be asked on the way.
pub(crate) async fn narrow_without_asking(ctx: &RequestContext) -> Result<Arc<[PathBuf]>, RequestError> {
    match narrow(ctx, "", &mut Map::new()).await? {
        NarrowedRoots::Roots(roots) => Ok(roots),
        NarrowedRoots::InputRequired(_) => Err(RequestError::invalid_argument(
            "root",
            "the client has roots and has not listed them yet; call a tool that works on files first, such as \
             analyze_repository",
        )),
    }
}

fn intersect_roots(allowed: &Arc<[PathBuf]>, known: &ClientRoots) -> Result<Arc<[PathBuf]>, RequestError> {
    let ClientRoots::Listed(listed) = known else { return Ok(Arc::clone(allowed)) };
    let mut both = tree::intersect_roots(allowed, listed);
    // Beneath a narrower root a guarded folder would not be seen as one any more.
    let ours = tree::Roots::new(Arc::clone(allowed));
    both.retain(|folder| folder.to_str().is_some_and(|folder| ours.open(folder).is_ok()));
    if both.is_empty() && !allowed.is_empty() {
        let names = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
        return Err(RequestError::DisjointRoots { client: names(listed), allowed: names(allowed) });
    }
    Ok(both.into())
}

/// Asks by a request of ours. A client that said it has roots and then does not list them has narrowed
/// nothing.
async fn request_roots(ctx: &RequestContext) -> ClientRoots {
    let outbox = ctx.call.notifier.outbox();
    ctx.call.notifier.flush_progress();
    let nothing = json!({});
    let asked = ctx.connection.client_peer().request(outbox, "roots/list", &nothing);
    let answer = tokio::time::timeout(LIST_ROOTS_TIMEOUT, asked).await.ok().and_then(Result::ok);
    let listed = answer.and_then(|answer| serde_json::from_value::<ListRootsResult>(answer).ok());
    if listed.is_none() {
        in_request_span(|| tracing::warn!("the client has roots but did not list them"));
    }
    listed.map_or(ClientRoots::Unlimited, |listed| ClientRoots::Listed(listed.folders()))
}

fn build_roots_request(ctx: &RequestContext, binding: &TokenBinding<'_>) -> InputRequired {
    let app = ctx.app();
    let expires = ctx.call.now.checked_add(REQUEST_STATE_TTL).unwrap_or(ctx.call.now);
    InputRequired {
        input_requests: [(INPUT_REQUEST_KEY.to_owned(), InputRequest::ListRoots {})].into(),
        request_state: app.seal.seal(&INPUT_REQUEST_KEY, binding, expires, app.entropy.as_ref()),
    }
}

/// What a client answers to our question. The answer leaves the parameters: whatever the request is about
/// does not see it.
fn take_roots_response(
    ctx: &RequestContext,
    binding: &TokenBinding<'_>,
    params: &mut Map<String, Value>,
) -> Option<ClientRoots> {
    let state = params.get("requestState")?.as_str()?;
    let opened = ctx.app().seal.open::<String>(state, binding, ctx.call.now);
    opened.ok().filter(|asked| asked == INPUT_REQUEST_KEY)?;
    let answer = params.get("inputResponses").and_then(|all| all.get(INPUT_REQUEST_KEY)).cloned()?;
    let listed = serde_json::from_value::<ListRootsResult>(answer).ok()?;
    params.remove("requestState");
    params.remove("inputResponses");
    Some(ClientRoots::Listed(listed.folders()))
}
