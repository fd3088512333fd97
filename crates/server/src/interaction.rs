//! MCP Flow: interactive tools over `interaction.*`.

mod push;
mod render;
mod warnings;

use std::pin::Pin;
use std::sync::Mutex;
use std::time::Duration;

use flow::session::{Begin, Clerk, Owner, Pause, Problem, Response, Standing, State, Which};
use flow::{Answers, Converse, Halt, Journal, Progress, Turn, World};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::client_roots;
use crate::context::{self, Context};
use crate::error::Failure;
use crate::{App, Call, FlowMode, request, tools};

pub(crate) use warnings::Warnings;

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
    let standing = Desk::at(ctx, None).start(begin).await?;
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
    let responded = Desk::at(ctx, Some(&named)).respond(response).await?;
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
    let standing = Desk::at(ctx, Some(&named)).go_on().await?;
    note(ctx, &standing);
    ctx.connection.warnings().watch(ctx, &standing);
    Ok(ctx.result(&render::standing(&standing, "nextPrompt")))
}

/// `interaction.complete`: what came out, for those who ask.
pub(crate) async fn complete(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let named = Named::of(params)?;
    let standing = Desk::at(ctx, Some(&named)).look().await?;
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
    let standing = Desk::at(ctx, Some(&named)).cancel(reason.as_deref()).await?;
    ctx.connection.warnings().watch(ctx, &standing);
    let mut shown = Map::from_iter([("cancelled".to_owned(), json!(true))]);
    shown.extend(standing.token.map(|token| ("token".to_owned(), token.into())));
    Ok(ctx.result(&shown))
}

/// `interaction.getState`.
pub(crate) async fn get_state(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let named = Named::of(params)?;
    let standing = Desk::at(ctx, Some(&named)).look().await?;
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

/// A conversation whose failures are logged: a session keeps only the text of a failure, and the request ends well.
struct Reporting(Box<dyn Converse>);

impl Converse for Reporting {
    fn advance<'a>(
        &'a self,
        journal: &'a mut Journal,
        input: Option<Answers>,
        world: &'a World<'a>,
    ) -> Pin<Box<dyn Future<Output = Turn> + Send + 'a>> {
        Box::pin(async move {
            let turn = self.0.advance(journal, input, world).await;
            if let Turn::Halted(Halt::Because(cause)) = &turn
                && let Some(failure) = cause.error::<Failure>()
                && let Some(request) = request::current()
            {
                request.report(failure);
            }
            turn
        })
    }
}

/// Where sessions are dealt with, for one request.
struct Desk<'a> {
    ctx: &'a Context,
    named: Option<&'a Named>,
    said: Mutex<Option<Progress>>,
}

impl<'a> Desk<'a> {
    fn at(ctx: &'a Context, named: Option<&'a Named>) -> Self {
        Self { ctx, named, said: Mutex::default() }
    }

    /// Does something with the sessions, on behalf of whoever asks.
    async fn work<T>(
        &self,
        act: impl AsyncFnOnce(&flow::session::Sessions, &Clerk<'_>, Which<'_>) -> Result<T, Problem>,
    ) -> Result<T, Failure> {
        let (ctx, app) = (self.ctx, self.ctx.app());
        if is_off(ctx) {
            return Err(Failure::Session {
                id: None,
                problem: Problem::NotInteractive { tool: "this server".to_owned() },
            });
        }
        let _place = ctx.connection.work().place().await?;
        let sessions = app.sessions().await?;
        let (clock, moment) = (|| app.now(), || app.reading());
        // Where the client's folders have nothing in common with ours, tools that need one get none.
        let roots = client_roots::narrow_silently(ctx).await.unwrap_or_default();
        let call = Call { roots, ..ctx.call.clone() };
        let find = |name: &str| self.conversation(&call, name);
        let progress = |progress: &Progress| push::note(ctx, &self.said, progress);
        let clerk = Clerk {
            owner: owner(&ctx.call.principal),
            clock: &clock,
            moment: &moment,
            entropy: app.entropy.as_ref(),
            pause: &pause,
            tools: &find,
            progress: &progress,
        };
        let which = self.named.map_or(Which::Id(""), Named::which);
        let id = self.named.and_then(|named| named.id.as_deref());
        let done = push::telling(ctx, id, &self.said, Box::pin(act(sessions, &clerk, which))).await;
        done.map_err(|problem| match self.named {
            Some(named) => named.failure(problem),
            None => Failure::Session { id: None, problem },
        })
    }

    fn conversation(&self, call: &Call, name: &str) -> Option<Box<dyn Converse>> {
        let tool = self.ctx.app().catalog().find(name)?;
        let is_allowed = tool.spec.admit(&self.ctx.call.principal).is_ok();
        let _ = self.ctx.notes.tool.set((tool.spec.name, tool.changes()));
        if let Some(request) = request::current() {
            request.set_tool(tool.spec.name);
        }
        let talk = tool.talk(call).filter(|_| is_allowed)?;
        Some(Box::new(Reporting(talk)))
    }

    async fn start(&self, begin: Begin) -> Result<Standing, Failure> {
        self.work(async |sessions, clerk, _| sessions.start(clerk, begin).await).await
    }

    async fn respond(&self, response: Response) -> Result<flow::session::Responded, Failure> {
        self.work(async |sessions, clerk, which| sessions.respond(clerk, which, response).await).await
    }

    async fn look(&self) -> Result<Standing, Failure> {
        self.work(async |sessions, clerk, which| sessions.look(clerk, which).await).await
    }

    async fn go_on(&self) -> Result<Standing, Failure> {
        self.work(async |sessions, clerk, which| sessions.go_on(clerk, which).await).await
    }

    async fn cancel(&self, reason: Option<&str>) -> Result<Standing, Failure> {
        self.work(async |sessions, clerk, which| sessions.cancel(clerk, which, reason).await).await
    }
}

fn owner(principal: &access::Principal) -> Owner<'_> {
    Owner { tenant: principal.tenant(), subject: principal.subject() }
}

fn pause(time: Duration) -> Pause {
    Box::pin(tokio::time::sleep(time))
}
