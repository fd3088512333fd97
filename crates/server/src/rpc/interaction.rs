//! MCP Flow: interactive tools over `interaction.*`.

mod env;
mod push;
mod render;
mod warnings;

use std::sync::Mutex;
use std::time::Duration;

use flow::session::{Begin, Problem, Response, Sessions, Standing, State, Which};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::Failure;
use crate::rpc::client_roots;
use crate::rpc::context::{self, Context};
use crate::{App, Call, FlowMode, tools};

pub(crate) use warnings::Warnings;

use env::InteractionEnv;

/// The version of the document.
const VERSION: &str = "0.1.0";
/// The shortest time that a user may be given.
const SHORTEST: Duration = Duration::from_secs(1);

/// Whether a method is one of the document's, so that its errors have the document's codes.
pub(crate) fn is_method(method: &str) -> bool {
    method.starts_with("interaction.") || method.starts_with("interaction/")
}

/// Whether a method can come before any greeting.
pub(crate) fn needs_no_greeting(method: &str) -> bool {
    is_method(method) || method == "capabilities"
}

/// What this server can do of the document.
pub(crate) fn features(app: &App) -> Value {
    let is_on = app.flow.mode != FlowMode::Off;
    json!({
        "interactive": is_on,
        "version": VERSION,
        "features": {
            "statefulSessions": app.flow.mode == FlowMode::Stored,
            "progressTracking": is_on,
            "validation": is_on,
            "multiplePromptTypes": is_on,
            // What clients keep survives us as well, as far as the key does.
            "sessionPersistence": is_on && app.keeps_sessions(),
        },
    })
}

/// `capabilities`.
pub(crate) fn capabilities(ctx: &Context) -> Vec<u8> {
    let mut shown = features(ctx.app());
    let catalog = ctx.app().catalog();
    let mine = catalog.tools().filter(|tool| tool.spec.admit(&ctx.call.principal).is_ok());
    let interactive: Vec<&str> =
        mine.filter(|tool| tool.is_interactive()).map(|tool| tool.spec.name).collect();
    shown["promptTypes"] = json!(render::KINDS);
    shown["tools"] = json!(interactive);
    ctx.result(&shown)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartParams {
    tool_name: String,
    #[serde(default)]
    initial_params: Map<String, Value>,
    #[serde(default)]
    context: Map<String, Value>,
    timeout: Option<u64>,
}

/// `interaction.start`.
pub(crate) async fn start(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let StartParams { tool_name, initial_params, context, timeout } = context::params(params, &["toolName"])?;
    let unknown = || tools::unknown_tool(ctx.app(), "toolName", &tool_name);
    let tool = ctx.app().catalog().find(&tool_name).ok_or_else(unknown)?;
    if is_off(ctx) || !tool.is_interactive() {
        let problem = Problem::NotInteractive { tool: tool.spec.name.to_owned() };
        return Err(Failure::Session { id: None, problem });
    }
    tool.spec.admit(&ctx.call.principal)?;
    let _ = ctx.notes.tool.set((tool.spec.name, tool.changes()));
    ctx.notes.tried_by(&initial_params);
    if tool.spec.toolset.touches_files() {
        client_roots::narrow_silently(ctx).await?;
    }
    let mut arguments = initial_params;
    arguments.retain(|_, value| !value.is_null());
    let asks_for_token = context.get("stateless") == Some(&Value::Bool(true));
    let begin = Begin {
        tool: tool_name,
        arguments: tool.checked(arguments)?,
        context,
        timeout: timeout.map(patience).transpose()?,
        is_stateless: ctx.app().flow.mode == FlowMode::Stateless || asks_for_token,
    };
    let standing =
        with_sessions(ctx, None, async |sessions, env, _| sessions.start(env, begin).await).await?;
    let mut shown = render::standing(&standing, "initialPrompt");
    if standing.session.state() == State::WaitingUser {
        // The document's own word for it; `getState` tells the truth (contract row 18).
        shown.insert("state".to_owned(), json!(State::Idle));
    }
    ctx.connection.warnings().watch(ctx, &standing);
    Ok(ctx.result(&shown))
}

fn is_off(ctx: &Context) -> bool {
    ctx.app().flow.mode == FlowMode::Off
}

fn patience(milliseconds: u64) -> Result<Duration, Failure> {
    let timeout = Duration::from_millis(milliseconds);
    if timeout < SHORTEST {
        return Err(Failure::params("timeout", "must be at least 1000 milliseconds"));
    }
    Ok(timeout)
}

/// `interaction.respond`.
pub(crate) async fn respond(ctx: &Context, mut params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let mut response = response(&mut params)?;
    response.received = Some(ctx.call.received);
    let named = Named::of(params)?;
    let respond = async |sessions: &Sessions, env: &InteractionEnv<'_>, which: Which<'_>| {
        sessions.respond(env, which, response).await
    };
    let responded = with_sessions(ctx, Some(&named), respond).await?;
    note(ctx, &responded.standing);
    let mut shown = render::standing(&responded.standing, "nextPrompt");
    let validation = match &responded.invalid {
        None => json!({ "valid": true }),
        Some(invalid) => json!({ "valid": false, "error": invalid.error, "suggestion": invalid.suggestion }),
    };
    shown.insert("accepted".to_owned(), json!(responded.invalid.is_none()));
    shown.insert("validation".to_owned(), validation);
    ctx.connection.warnings().watch(ctx, &responded.standing);
    push::afterwards(ctx, &responded.standing);
    Ok(ctx.result(&shown))
}

/// What came of a session says whether it was only tried. Its arguments came with another request.
fn note(ctx: &Context, standing: &Standing) {
    if let Some(Value::Object(result)) = standing.session.result() {
        ctx.notes.tried_by(result);
    }
}

/// The response in the parameters. One that is no response at all is a failed validation.
fn response(params: &mut Map<String, Value>) -> Result<Response, Failure> {
    let wanted = |error: &str| Failure::BadResponse { error: error.to_owned() };
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
    Ok(Response { value, received: None, prompt_id, timestamp, metadata })
}

/// `interaction.continue`.
pub(crate) async fn go_on(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let named = Named::of(params)?;
    let standing =
        with_sessions(ctx, Some(&named), async |sessions, env, which| sessions.go_on(env, which).await)
            .await?;
    note(ctx, &standing);
    ctx.connection.warnings().watch(ctx, &standing);
    Ok(ctx.result(&render::standing(&standing, "nextPrompt")))
}

/// `interaction.complete`: what came out, for those who ask.
pub(crate) async fn complete(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let named = Named::of(params)?;
    let standing = look(ctx, &named).await?;
    match standing.session.state() {
        State::Completed => {
            Ok(ctx.result(&json!({ "success": true, "finalResult": standing.session.result() })))
        }
        state => Err(named.failure(Problem::WrongState { state })),
    }
}

/// `interaction.cancel`.
pub(crate) async fn cancel(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let reason = params.get("reason").and_then(Value::as_str).map(str::to_owned);
    let named = Named::of(params)?;
    let cancel = async |sessions: &Sessions, env: &InteractionEnv<'_>, which: Which<'_>| {
        sessions.cancel(env, which, reason.as_deref()).await
    };
    let standing = with_sessions(ctx, Some(&named), cancel).await?;
    ctx.connection.warnings().watch(ctx, &standing);
    let mut shown = Map::from_iter([("cancelled".to_owned(), json!(true))]);
    shown.extend(standing.token.map(|token| ("token".to_owned(), token.into())));
    Ok(ctx.result(&shown))
}

/// `interaction.getState`.
pub(crate) async fn get_state(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let named = Named::of(params)?;
    let standing = look(ctx, &named).await?;
    Ok(ctx.result(&render::state(&standing)))
}

/// The session that the parameters name.
struct Named {
    id: Option<String>,
    token: Option<String>,
}

impl Named {
    fn of(mut params: Map<String, Value>) -> Result<Self, Failure> {
        let mut text = |name: &str| match params.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Failure::params(name, "must be a text")),
        };
        let named = Self { id: text("sessionId")?, token: text("token")? };
        if named.id.is_none() && named.token.is_none() {
            return Err(Failure::params("sessionId", "Required field missing"));
        }
        Ok(named)
    }

    fn which(&self) -> Which<'_> {
        match (&self.token, &self.id) {
            (Some(token), _) => Which::Token(token),
            (None, id) => Which::Id(id.as_deref().unwrap_or_default()),
        }
    }

    fn failure(&self, problem: Problem) -> Failure {
        Failure::Session { id: self.id.as_ref().map(|id| id.chars().take(128).collect()), problem }
    }
}

/// Does something with the sessions of the caller, and with the one that the parameters name.
async fn with_sessions<T>(
    ctx: &Context,
    named: Option<&Named>,
    act: impl AsyncFnOnce(&Sessions, &InteractionEnv<'_>, Which<'_>) -> Result<T, Problem>,
) -> Result<T, Failure> {
    if is_off(ctx) {
        return Err(Failure::Session {
            id: None,
            problem: Problem::NotInteractive { tool: "this server".to_owned() },
        });
    }
    let _place = ctx.connection.work().place().await?;
    let sessions = ctx.app().sessions().await?;
    // Where the client's folders have nothing in common with ours, tools that need one get none.
    let roots = client_roots::narrow_silently(ctx).await.unwrap_or_default();
    let latest = Mutex::default();
    let env = InteractionEnv::for_request(ctx, Call { roots, ..ctx.call.clone() }, &latest);
    let which = named.map_or(Which::Id(""), Named::which);
    let id = named.and_then(|named| named.id.as_deref());
    let done = push::telling(ctx, id, &latest, Box::pin(act(sessions, &env, which))).await;
    done.map_err(|problem| match named {
        Some(named) => named.failure(problem),
        None => Failure::Session { id: None, problem },
    })
}

/// The session that the parameters name, as it stands.
async fn look(ctx: &Context, named: &Named) -> Result<Standing, Failure> {
    with_sessions(ctx, Some(named), async |sessions, env, which| sessions.look(env, which).await).await
}
