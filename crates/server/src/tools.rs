//! Name to tool: the second and last table. One file per tool.

mod catalog;
mod describe;
mod entry;

pub(crate) mod booking;
pub(crate) mod tell_fortune;

mod analyze_repository;
mod apply_edit_plan;
mod detect_frameworks;
mod diagnostics;
mod faq;
mod generate_integration_steps;
mod integrate;
mod integration;
mod interview;
mod open;
pub(crate) mod propose_edit_plan;
mod run_integration_workflow;
mod undo_edit_plan;
pub(crate) mod validate_edit_plan;

pub(crate) use catalog::Catalog;
pub(crate) use entry::{Reply, ToolEntry};

use std::str::FromStr;
use std::sync::Arc;

use access::Scope;
use flow::Conversation;
use protocol::mcp::{
    Annotations, CallToolParams, CallToolResult, ClientCapabilities, InputRequired, LogLevel, ToolList,
};
use protocol::{Dialect, Revision};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::context::{self, Context};
use crate::error::{Audience, Failure};
use crate::page::page;
use crate::{App, Call, Connection, front};

/// Every tool there is, in the order in which lists show them: first those of the envelope document in its order.
pub(crate) fn all() -> Vec<ToolEntry> {
    vec![
        ToolEntry::plain(faq::Faq),
        ToolEntry::plain(analyze_repository::AnalyzeRepository),
        ToolEntry::plain(detect_frameworks::DetectFrameworks),
        ToolEntry::plain(generate_integration_steps::GenerateIntegrationSteps),
        ToolEntry::plain(propose_edit_plan::ProposeEditPlan),
        ToolEntry::plain(validate_edit_plan::ValidateEditPlan),
        ToolEntry::plain(run_integration_workflow::RunIntegrationWorkflow),
        ToolEntry::plain(apply_edit_plan::ApplyEditPlan),
        ToolEntry::plain(undo_edit_plan::UndoEditPlan),
        ToolEntry::interactive::<integrate::Integrate>(),
        ToolEntry::plain(tell_fortune::TellFortune),
        ToolEntry::interactive::<booking::Booking>(),
        ToolEntry::plain(diagnostics::Echo),
        ToolEntry::plain(diagnostics::Wait),
        ToolEntry::plain(diagnostics::Crash),
        ToolEntry::interactive::<interview::Interview>(),
    ]
}

/// A group of tools that is switched on or off as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolset {
    /// Bringing an SDK into a repository: analysis, plans.
    Integrate,
    /// Answers from documents.
    Docs,
    /// The tools of the reference server and of the MCP Flow document.
    Reference,
    /// Tools for trying out a client: progress, cancellation, a tool that fails.
    Diagnostics,
}

impl Toolset {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Integrate, Self::Docs, Self::Reference, Self::Diagnostics];
    /// What is served unless somebody says otherwise.
    pub const DEFAULT: [Self; 3] = [Self::Integrate, Self::Docs, Self::Reference];

    /// The name for settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integrate => "integrate",
            Self::Docs => "docs",
            Self::Reference => "reference",
            Self::Diagnostics => "diagnostics",
        }
    }
}

impl FromStr for Toolset {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|toolset| toolset.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.into_iter().map(Self::name).collect();
            format!("there is no toolset `{name}`; there are {}", names.join(", "))
        })
    }
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Reads,
    /// It changes files, and the same call twice changes them once.
    Writes,
}

/// A tool's whole policy: lists, checks, hints and documentation are derived from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolSpec {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its name for people.
    pub(crate) title: &'static str,
    /// The group it belongs to.
    pub(crate) toolset: Toolset,
    /// What it does to the world.
    pub(crate) effect: Effect,
}

impl ToolSpec {
    /// The scope that a caller needs.
    pub(crate) fn scope(&self) -> Scope {
        match self.effect {
            Effect::Reads => Scope::Read,
            Effect::Writes => Scope::Write,
        }
    }

    fn annotations(&self) -> Annotations {
        match self.effect {
            Effect::Reads => Annotations {
                read_only_hint: true,
                destructive_hint: false,
                idempotent_hint: true,
                open_world_hint: false,
            },
            Effect::Writes => Annotations {
                read_only_hint: false,
                destructive_hint: true,
                idempotent_hint: true,
                open_world_hint: false,
            },
        }
    }
}

/// A tool that answers at once. The doc comment of `Args` is what the model reads.
pub(crate) trait Tool: Send + Sync + 'static {
    /// Its policy.
    const SPEC: ToolSpec;
    /// What it takes; the input schema is made of it.
    type Args: DeserializeOwned + JsonSchema + Send;
    /// What it gives; the output schema is made of it.
    type Reply: Serialize + JsonSchema;

    /// Does the work.
    fn call(&self, call: Call, args: Self::Args)
    -> impl Future<Output = Result<Self::Reply, Failure>> + Send;
}

/// A tool that may ask while it works. The doc comment of the conversation's `Args` is what the model reads.
pub(crate) trait InteractiveTool: 'static {
    /// Its policy.
    const SPEC: ToolSpec;
    /// What is said.
    type Talk: Conversation<Args: JsonSchema, Reply: JsonSchema>;

    /// Begins to talk, or goes on; on whose behalf and with what is in the call.
    fn talk(call: &Call) -> Self::Talk;
}

/// What came with a call besides who calls.
pub(crate) struct Invocation {
    pub(crate) arguments: Map<String, Value>,
    pub(crate) dialect: Dialect,
    pub(crate) client: ClientCapabilities,
    pub(crate) request_state: Option<String>,
    pub(crate) input_responses: Option<Map<String, Value>>,
}

impl Invocation {
    /// A call from somebody who cannot be asked.
    pub(crate) fn plain(arguments: Map<String, Value>, dialect: Dialect) -> Self {
        let client = ClientCapabilities::default();
        Self { arguments, dialect, client, request_state: None, input_responses: None }
    }

    /// The revision in which questions may be asked.
    pub(crate) fn revision(&self) -> Option<Revision> {
        match self.dialect {
            Dialect::Mcp(revision) => Some(revision),
            Dialect::Envelope | Dialect::Codefluss => None,
        }
    }
}

/// What a call comes to.
pub(crate) enum Outcome {
    Done(Reply),
    InputRequired(InputRequired),
}

/// `tools/list`.
pub(crate) fn list(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let catalog = ctx.app().catalog();
    let allowed = catalog.tools().filter(|tool| ctx.call.principal.may(tool.spec.scope())).collect();
    let (tools, next_cursor) = page(ctx, &params, allowed, |tool: &&Arc<ToolEntry>| tool.spec.name)?;
    let tools = tools.into_iter().map(|tool| tool.listing().for_revision(ctx.revision())).collect();
    Ok(ctx.list(&ToolList { tools, next_cursor }))
}

/// `tools/call`.
pub(crate) async fn call(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let params: CallToolParams = context::params(params, &["name"])?;
    let unknown = || unknown_tool(ctx.app(), "name", &params.name);
    let tool = ctx.app().catalog().find(&params.name).ok_or_else(unknown)?;
    let invocation = Invocation {
        arguments: params.arguments.unwrap_or_default(),
        dialect: ctx.dialect,
        client: ctx.client.clone(),
        request_state: params.request_state,
        input_responses: params.input_responses,
    };
    let _ = ctx.notes.tool.set((tool.spec.name, tool.changes()));
    match run(&ctx.connection, &tool, ctx.call.clone(), invocation).await {
        Ok(Outcome::Done(reply)) => {
            let mut result = CallToolResult::success(reply.text(), &reply.structured, ctx.revision());
            // Said out loud there, left out elsewhere (contract row 9).
            result.is_error = (ctx.dialect == Dialect::Codefluss).then_some(false);
            Ok(ctx.result(&result))
        }
        Ok(Outcome::InputRequired(input)) => Ok(ctx.input_required(&input)),
        // A client with a token can get another one, with more scopes: it is told in the way that it knows.
        Err(failure @ Failure::Forbidden(_)) if ctx.call.principal.came_by_token() => Err(failure),
        Err(failure) if failure.audience(ctx.dialect) == Audience::Model => {
            let _ = ctx.notes.failure.set(failure.kind());
            Ok(ctx.result(&CallToolResult::failure(&failure.to_string())))
        }
        Err(failure) => Err(failure),
    }
}

/// Runs a tool, for whatever dialect.
pub(crate) async fn run(
    connection: &Connection,
    tool: &ToolEntry,
    call: Call,
    mut invocation: Invocation,
) -> Result<Outcome, Failure> {
    call.principal.admit(tool.spec.scope())?;
    // Models fill in `null` for what they leave out.
    invocation.arguments.retain(|_, value| !value.is_null());
    invocation.arguments = tool.checked(invocation.arguments)?;
    let _place = connection.work().place().await?;
    let outlet = call.outlet.clone();
    outlet.log(LogLevel::Debug, tool.spec.name, "started");
    let work = async {
        match tool.work() {
            entry::Work::Plain(plain) => plain.call(call, invocation.arguments).await.map(Outcome::Done),
            entry::Work::Interactive(talk) => {
                front::converse(connection, tool.spec.name, talk(&call).as_ref(), &call, &invocation).await
            }
        }
    };
    let outcome = outlet.during(work).await;
    let (level, text) = match &outcome {
        Ok(Outcome::Done(_)) => (LogLevel::Debug, "finished"),
        Ok(Outcome::InputRequired(_)) => (LogLevel::Debug, "asked the user"),
        Err(failure) => (LogLevel::Warning, failure.kind()),
    };
    outlet.log(level, tool.spec.name, text);
    outcome
}

/// The failure that names the tools there are.
pub(crate) fn unknown_tool(app: &App, field: &'static str, name: &str) -> Failure {
    Failure::UnknownTool {
        name: name.chars().take(128).collect(),
        field,
        available: app.catalog().names().map(str::to_owned).collect(),
        code: "tool_not_found",
    }
}
