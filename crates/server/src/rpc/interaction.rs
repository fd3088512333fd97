//! MCP Flow: interactive tools over `interaction.*`.

mod env;
mod push;
mod render;
mod warnings;

use std::sync::Mutex;
use std::time::Duration;

use flow::session::{
    SessionError, SessionRef, SessionSnapshot, SessionState, Sessions, StartRequest, UserResponse,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::RequestError;
use crate::rpc::client_roots;
use crate::rpc::context::{self, RequestContext};
use crate::{App, FlowMode, ToolContext, tools};

pub(crate) use warnings::TimeoutWarnings;

use env::InteractionEnv;

/// The version of the document.
const FLOW_VERSION: &str = "0.1.0";
/// The shortest time that a user may be given.
const MIN_TIMEOUT: Duration = Duration::from_secs(1);

/// What this server can do of the document.
pub(crate) fn features(app: &App) -> Value {
    let is_on = app.flow.mode != FlowMode::Off;
    json!({
        "interactive": is_on,
        "version": FLOW_VERSION,
        "features": {
            "statefulSessions": app.flow.mode == FlowMode::Stored,
            "progressTracking": is_on,
            "validation": is_on,
            "multiplePromptTypes": is_on,
            // What clients keep survives us as well, as far as the key does.
            "sessionPersistence": is_on && app.has_persistent_sessions(),
        },
    })
}

/// `capabilities`.
pub(crate) fn capabilities(ctx: &RequestContext) -> Vec<u8> {
    let mut shown = features(ctx.app());
    let catalog = ctx.app().catalog();
    let mine = catalog.tools().filter(|tool| tool.spec.check_access(&ctx.call.principal).is_ok());
    let interactive: Vec<&str> =
        mine.filter(|tool| tool.is_interactive()).map(|tool| tool.spec.name).collect();
    shown["promptTypes"] = json!(render::PROMPT_TYPES);
    shown["tools"] = json!(interactive);
    ctx.result(&shown)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartInteractionParams {
    tool_name: String,
    #[serde(default)]
    initial_params: Map<String, Value>,
    #[serde(default)]
    context: Map<String, Value>,
    timeout: Option<u64>,
}

/// `interaction.start`.
pub(crate) async fn start(ctx: &RequestContext, params: Map<String, Value>) -> Result<Vec<u8>, RequestError> {
    let StartInteractionParams { tool_name, initial_params, context, timeout } =
        context::parse_params(params, &["toolName"])?;
    let unknown = || tools::unknown_tool(ctx.app(), "toolName", &tool_name);
    let tool = ctx.app().catalog().find(&tool_name).ok_or_else(unknown)?;
    if is_flow_disabled(ctx) || !tool.is_interactive() {
        let problem = SessionError::NotInteractive { tool: tool.spec.name.to_owned() };
        return Err(RequestError::Session { id: None, problem });
    }
    tool.spec.check_access(&ctx.call.principal)?;
    let _ = ctx.notes.tool.set((tool.spec.name, tool.has_side_effects()));
    ctx.notes.note_dry_run(&initial_params);
    if tool.spec.toolset.touches_files() {
        client_roots::narrow_without_asking(ctx).await?;
    }
    let mut arguments = initial_params;
    arguments.retain(|_, value| !value.is_null());
    let asks_for_token = context.get("stateless") == Some(&Value::Bool(true));
    let begin = StartRequest {
        tool: tool_name,
        arguments: tool.validate_arguments(arguments)?,
        context,
        timeout: timeout.map(parse_timeout).transpose()?,
        is_stateless: ctx.app().flow.mode == FlowMode::Stateless || asks_for_token,
    };
    let snapshot =
        with_sessions(ctx, None, async |sessions, env, _| sessions.start(env, begin).await).await?;
    let mut shown = render::render_snapshot(&snapshot, "initialPrompt");
    if snapshot.session.state() == SessionState::WaitingUser {
        // The document's own word for it; `getState` tells the truth (contract row 18).
        shown.insert("state".to_owned(), json!(SessionState::Idle));
    }
    ctx.connection.timeout_warnings().update(ctx, &snapshot);
    Ok(ctx.result(&shown))
}

fn is_flow_disabled(ctx: &RequestContext) -> bool {
    ctx.app().flow.mode == FlowMode::Off
}

fn parse_timeout(milliseconds: u64) -> Result<Duration, RequestError> {
    let timeout = Duration::from_millis(milliseconds);
    if timeout < MIN_TIMEOUT {
        return Err(RequestError::invalid_params("timeout", "must be at least 1000 milliseconds"));
    }
    Ok(timeout)
}

/// `interaction.respond`.
pub(crate) async fn respond(
    ctx: &RequestContext,
    mut params: Map<String, Value>,
) -> Result<Vec<u8>, RequestError> {
    let mut response = parse_response(&mut params)?;
    response.received_at = Some(ctx.call.received);
    let named = SessionSelector::from_params(params)?;
    let respond = async |sessions: &Sessions, env: &InteractionEnv<'_>, which: SessionRef<'_>| {
        sessions.respond(env, which, response).await
    };
    let responded = with_sessions(ctx, Some(&named), respond).await?;
    note_dry_run_result(ctx, &responded.snapshot);
    let mut shown = render::render_snapshot(&responded.snapshot, "nextPrompt");
    let validation = match &responded.invalid {
        None => json!({ "valid": true }),
        Some(invalid) => json!({ "valid": false, "error": invalid.error, "suggestion": invalid.suggestion }),
    };
    shown.insert("accepted".to_owned(), json!(responded.invalid.is_none()));
    shown.insert("validation".to_owned(), validation);
    ctx.connection.timeout_warnings().update(ctx, &responded.snapshot);
    push::push_after_response(ctx, &responded.snapshot);
    Ok(ctx.result(&shown))
}

/// What came of a session says whether it was only tried. Its arguments came with another request.
fn note_dry_run_result(ctx: &RequestContext, snapshot: &SessionSnapshot) {
    if let Some(Value::Object(result)) = snapshot.session.result() {
        ctx.notes.note_dry_run(result);
    }
}

/// The response in the parameters. One that is no response at all is a failed validation.
fn parse_response(params: &mut Map<String, Value>) -> Result<UserResponse, RequestError> {
    let wanted = |error: &str| RequestError::InvalidResponse { error: error.to_owned() };
    let Some(Value::Object(mut response)) = params.remove("response") else {
        return Err(wanted("`response` must be an object with `value`"));
    };
    let prompt_id = match params.remove("promptId").or_else(|| response.remove("promptId")) {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id),
        Some(_) => return Err(wanted("`promptId` must be a text")),
    };
    let metadata = match response.remove("metadata") {
        None | Some(Value::Null) => None,
        Some(Value::Object(metadata)) => Some(metadata),
        Some(_) => return Err(wanted("`response.metadata` must be an object")),
    };
    let timestamp = match response.remove("timestamp") {
        None | Some(Value::Null) => None,
        Some(timestamp @ (Value::Number(_) | Value::String(_))) => Some(timestamp),
        Some(_) => return Err(wanted("`response.timestamp` must be a number")),
    };
    let has_action = metadata.as_ref().is_some_and(|metadata| metadata.contains_key("action"));
    let value = match response.remove("value") {
        Some(value) => value,
        None if has_action => Value::Null,
        None => return Err(wanted("`response.value` is missing")),
    };
    Ok(UserResponse { value, received_at: None, prompt_id, timestamp, metadata })
}

/// `interaction.continue`.
pub(crate) async fn continue_session(
    ctx: &RequestContext,
    params: Map<String, Value>,
) -> Result<Vec<u8>, RequestError> {
    let named = SessionSelector::from_params(params)?;
    let snapshot =
        with_sessions(ctx, Some(&named), async |sessions, env, which| sessions.keep_alive(env, which).await)
            .await?;
    note_dry_run_result(ctx, &snapshot);
    ctx.connection.timeout_warnings().update(ctx, &snapshot);
    Ok(ctx.result(&render::render_snapshot(&snapshot, "nextPrompt")))
}

/// `interaction.complete`: what came out, for those who ask.
pub(crate) async fn complete(
    ctx: &RequestContext,
    params: Map<String, Value>,
) -> Result<Vec<u8>, RequestError> {
    let named = SessionSelector::from_params(params)?;
    let snapshot = inspect(ctx, &named).await?;
    match snapshot.session.state() {
        SessionState::Completed => {
            Ok(ctx.result(&json!({ "success": true, "finalResult": snapshot.session.result() })))
        }
        state => Err(named.session_error(SessionError::WrongState { state })),
    }
}

/// `interaction.cancel`.
pub(crate) async fn cancel(
    ctx: &RequestContext,
    params: Map<String, Value>,
) -> Result<Vec<u8>, RequestError> {
    let reason = params.get("reason").and_then(Value::as_str).map(str::to_owned);
    let named = SessionSelector::from_params(params)?;
    let cancel = async |sessions: &Sessions, env: &InteractionEnv<'_>, which: SessionRef<'_>| {
        sessions.cancel(env, which, reason.as_deref()).await
    };
    let snapshot = with_sessions(ctx, Some(&named), cancel).await?;
    ctx.connection.timeout_warnings().update(ctx, &snapshot);
    let mut shown = Map::from_iter([("cancelled".to_owned(), json!(true))]);
    shown.extend(snapshot.token.map(|token| ("token".to_owned(), token.into())));
    Ok(ctx.result(&shown))
}

/// `interaction.getState`.
pub(crate) async fn get_state(
    ctx: &RequestContext,
    params: Map<String, Value>,
) -> Result<Vec<u8>, RequestError> {
    let named = SessionSelector::from_params(params)?;
    let snapshot = inspect(ctx, &named).await?;
    Ok(ctx.result(&render::render_full_state(&snapshot)))
}

/// The session that the parameters name.
struct SessionSelector {
    id: Option<String>,
    token: Option<String>,
}

impl SessionSelector {
    fn from_params(mut params: Map<String, Value>) -> Result<Self, RequestError> {
        let mut text = |name: &str| match params.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(RequestError::invalid_params(name, "must be a text")),
        };
        let named = Self { id: text("sessionId")?, token: text("token")? };
        if named.id.is_none() && named.token.is_none() {
            return Err(RequestError::invalid_params("sessionId", "Required field missing"));
        }
        Ok(named)
    }

    fn session_ref(&self) -> SessionRef<'_> {
        match (&self.token, &self.id) {
            (Some(token), _) => SessionRef::Token(token),
            (None, id) => SessionRef::Id(id.as_deref().unwrap_or_default()),
        }
    }

    fn session_error(&self, problem: SessionError) -> RequestError {
        RequestError::Session { id: self.id.as_ref().map(|id| id.chars().take(128).collect()), problem }
    }
}

/// Does something with the sessions of the caller, and with the one that the parameters name.
async fn with_sessions<T>(
    ctx: &RequestContext,
    named: Option<&SessionSelector>,
    act: impl AsyncFnOnce(&Sessions, &InteractionEnv<'_>, SessionRef<'_>) -> Result<T, SessionError>,
) -> Result<T, RequestError> {
    if is_flow_disabled(ctx) {
        return Err(RequestError::Session {
            id: None,
            problem: SessionError::NotInteractive { tool: "this server".to_owned() },
        });
    }
    let _place = ctx.connection.scheduler().acquire_permit().await?;
    let sessions = ctx.app().sessions().await?;
    // Where the client's folders have nothing in common with ours, tools that need one get none.
    let roots = client_roots::narrow_without_asking(ctx).await.unwrap_or_default();
    let latest = Mutex::default();
    let env = InteractionEnv::for_request(ctx, ToolContext { roots, ..ctx.call.clone() }, &latest);
    let which = named.map_or(SessionRef::Id(""), SessionSelector::session_ref);
    let id = named.and_then(|named| named.id.as_deref());
    let done = push::push_progress_while(ctx, id, &latest, Box::pin(act(sessions, &env, which))).await;
    done.map_err(|problem| match named {
        Some(named) => named.session_error(problem),
        None => RequestError::Session { id: None, problem },
    })
}

/// The session that the parameters name, as it stands.
async fn inspect(ctx: &RequestContext, selector: &SessionSelector) -> Result<SessionSnapshot, RequestError> {
    with_sessions(ctx, Some(selector), async |sessions, env, which| sessions.status(env, which).await).await
}
