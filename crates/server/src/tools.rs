//! The table of tools, their policies, and `tools/list` and `tools/call`. Each tool has its own file.

pub(crate) mod support;

pub(crate) mod booking;
pub(crate) mod tell_fortune;

mod analyze_repository;
mod apply_edit_plan;
mod create_project;
mod delete_project;
mod detect_frameworks;
mod diagnostics;
mod edit_asset;
mod edit_block_type;
mod edit_blocks;
mod edit_design_system;
mod faq;
mod fetch_base_input_context;
pub(crate) mod fetch_experiment_context;
mod fetch_insight_context;
mod fetch_integration_context;
mod generate_integration_steps;
mod get_blocks;
mod get_design_system;
mod get_project;
mod integrate;
mod interview;
mod list_assets;
mod list_block_types;
mod list_projects;
mod list_versions;
pub(crate) mod propose_edit_plan;
mod publish_project;
mod run_integration_workflow;
mod undo_edit_plan;
mod update_project;
pub(crate) mod validate_edit_plan;

pub(crate) use support::catalog::Catalog;
pub(crate) use support::context_reply::LocatedProjects;
pub(crate) use support::entry::{self, ToolEntry, ToolReply};
pub(crate) use support::plan_view::visible_plan;

use std::str::FromStr;
use std::sync::Arc;

use access::{Principal, Scope};
use flow::Conversation;
use protocol::mcp::{
    CallToolParams, CallToolResult, ClientCapabilities, InputRequired, LogLevel, ToolAnnotations, ToolList,
};
use protocol::{Dialect, Revision};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::connection::state::ConnectionState;
use crate::error::{ErrorAudience, RequestError};
use crate::rpc::client_roots::{self, NarrowedRoots};
use crate::rpc::context::{self, RequestContext};
use crate::rpc::pagination::paginate;
use crate::telemetry::request_span;
use crate::{App, ToolContext, conversation};

/// Every tool, in the order of lists: those of the envelope document come first, in the document's order.
pub(crate) fn all_tools() -> Vec<ToolEntry> {
    vec![
        ToolEntry::plain(faq::Faq),
        ToolEntry::plain(analyze_repository::AnalyzeRepository),
        ToolEntry::plain(detect_frameworks::DetectFrameworks),
        ToolEntry::plain(generate_integration_steps::GenerateIntegrationSteps),
        ToolEntry::plain(propose_edit_plan::ProposeEditPlan),
        ToolEntry::plain(validate_edit_plan::ValidateEditPlan),
        ToolEntry::plain(run_integration_workflow::RunIntegrationWorkflow),
        ToolEntry::plain(fetch_integration_context::FetchIntegrationContext),
        ToolEntry::plain(fetch_base_input_context::FetchBaseInputContext),
        ToolEntry::plain(fetch_experiment_context::FetchExperimentContext),
        ToolEntry::plain(fetch_insight_context::FetchInsightContext),
        ToolEntry::interactive::<apply_edit_plan::ApplyEditPlan>(),
        ToolEntry::interactive::<undo_edit_plan::UndoEditPlan>(),
        ToolEntry::interactive::<integrate::Integrate>(),
        ToolEntry::plain(tell_fortune::TellFortune),
        ToolEntry::interactive::<booking::Booking>(),
        ToolEntry::plain(list_projects::ListProjects),
        ToolEntry::plain(get_project::GetProject),
        ToolEntry::interactive::<create_project::CreateProject>(),
        ToolEntry::plain(update_project::UpdateProject),
        ToolEntry::interactive::<delete_project::DeleteProject>(),
        ToolEntry::plain(list_versions::ListVersions),
        ToolEntry::plain(publish_project::PublishProject),
        ToolEntry::plain(get_blocks::GetBlocks),
        ToolEntry::plain(edit_blocks::EditBlocks),
        ToolEntry::plain(list_block_types::ListBlockTypes),
        ToolEntry::plain(edit_block_type::EditBlockType),
        ToolEntry::plain(list_assets::ListAssets),
        ToolEntry::plain(edit_asset::EditAsset),
        ToolEntry::plain(get_design_system::GetDesignSystem),
        ToolEntry::plain(edit_design_system::EditDesignSystem),
        ToolEntry::plain(diagnostics::Echo),
        ToolEntry::plain(diagnostics::Wait),
        ToolEntry::plain(diagnostics::Crash),
        ToolEntry::interactive::<interview::Interview>(),
    ]
}

/// A group of tools that is switched on or off as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolset {
    /// Integrating FluxLoop into a repository: analysis and plans.
    Integrate,
    /// Answers from documentation.
    Docs,
    /// Contents of FluxLoop projects: inputs, experiments, evaluations.
    Context,
    /// The tools of the reference server and of the MCP Flow document.
    Reference,
    /// Projects, their blocks, assets and design systems.
    Projects,
    /// Tools for testing a client: progress, cancellation, a tool that panics.
    Diagnostics,
}

impl Toolset {
    pub const ALL: [Self; 6] =
        [Self::Integrate, Self::Docs, Self::Context, Self::Reference, Self::Projects, Self::Diagnostics];
    /// Served by default.
    pub const DEFAULT: [Self; 4] = [Self::Integrate, Self::Docs, Self::Context, Self::Reference];
    /// Served by default over HTTP, where teams share projects.
    pub const DEFAULT_HTTP: [Self; 5] =
        [Self::Integrate, Self::Docs, Self::Context, Self::Reference, Self::Projects];

    /// Whether the tools read or write files of a repository.
    pub(crate) fn touches_files(self) -> bool {
        matches!(self, Self::Integrate | Self::Context)
    }

    /// The name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integrate => "integrate",
            Self::Docs => "docs",
            Self::Context => "context",
            Self::Reference => "reference",
            Self::Projects => "projects",
            Self::Diagnostics => "diagnostics",
        }
    }
}

impl FromStr for Toolset {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|toolset| toolset.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.into_iter().map(Self::name).collect();
            format!("unknown toolset `{name}`; expected one of {}", names.join(", "))
        })
    }
}

/// What a tool changes; decides the required scope and the hints for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    ReadOnly,
    /// Changes data; repeating the same call changes nothing more.
    IdempotentWrite,
    /// Changes data on every call.
    Write,
    /// Adds to the account. Refused to callers bound to one project.
    Create,
}

/// A tool's policy. Lists, access checks, client hints and documentation are derived from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolSpec {
    pub(crate) name: &'static str,
    /// Display name.
    pub(crate) title: &'static str,
    pub(crate) toolset: Toolset,
    pub(crate) effect: Effect,
}

impl ToolSpec {
    fn required_scope(&self) -> Scope {
        match self.effect {
            Effect::ReadOnly => Scope::Read,
            Effect::IdempotentWrite | Effect::Write | Effect::Create => Scope::Write,
        }
    }

    /// Rejects callers that may not use the tool.
    pub(crate) fn check_access(&self, principal: &Principal) -> Result<(), RequestError> {
        principal.require_scope(self.required_scope())?;
        match self.effect {
            Effect::Create if principal.project().is_some() => Err(RequestError::BoundToProject),
            _ => Ok(()),
        }
    }

    fn annotations(&self) -> ToolAnnotations {
        let (destructive, idempotent) = match self.effect {
            Effect::ReadOnly => (None, None),
            Effect::IdempotentWrite => (Some(true), Some(true)),
            Effect::Write => (Some(true), Some(false)),
            Effect::Create => (Some(false), Some(false)),
        };
        ToolAnnotations {
            read_only_hint: self.effect == Effect::ReadOnly,
            destructive_hint: destructive,
            idempotent_hint: idempotent,
            open_world_hint: false,
        }
    }
}

/// German descriptions of a tool and its arguments.
#[derive(Clone, Copy)]
pub(crate) struct GermanTexts {
    pub(crate) description: &'static str,
    pub(crate) arguments: &'static [(&'static str, &'static str)],
}

/// A tool that asks no questions. The doc comment of `Args` is the description that models read.
pub(crate) trait Tool: Send + Sync + 'static {
    const SPEC: ToolSpec;
    /// Arguments; the input schema is derived from this type.
    type Args: DeserializeOwned + JsonSchema + Send;
    /// Result; the output schema is derived from this type.
    type Reply: Serialize + JsonSchema;

    /// German texts, if the CODEFLUSS document has them.
    const GERMAN: Option<GermanTexts> = None;

    /// The text for `content`, if it differs from `structuredContent`.
    fn text(_: &Self::Reply) -> Option<String> {
        None
    }

    fn call(
        &self,
        call: ToolContext,
        args: Self::Args,
    ) -> impl Future<Output = Result<Self::Reply, RequestError>> + Send;
}

/// A tool that may ask questions. The doc comment of the conversation's `Args` is the description for models.
pub(crate) trait InteractiveTool: 'static {
    const SPEC: ToolSpec;
    type Conversation: Conversation<Args: JsonSchema, Reply: JsonSchema>;

    /// Creates the conversation, on the first turn and on every later one.
    fn conversation(call: &ToolContext) -> Self::Conversation;
}

/// The contents of a call, without the caller.
pub(crate) struct ToolRequest {
    pub(crate) arguments: Map<String, Value>,
    pub(crate) dialect: Dialect,
    pub(crate) client: ClientCapabilities,
    pub(crate) request_state: Option<String>,
    pub(crate) input_responses: Option<Map<String, Value>>,
}

impl ToolRequest {
    /// A call from a client that cannot be asked questions.
    pub(crate) fn non_interactive(arguments: Map<String, Value>, dialect: Dialect) -> Self {
        let client = ClientCapabilities::default();
        Self { arguments, dialect, client, request_state: None, input_responses: None }
    }

    /// The MCP revision in which questions are asked; `None` for dialects without questions.
    pub(crate) fn mcp_revision(&self) -> Option<Revision> {
        match self.dialect {
            Dialect::Mcp(revision) => Some(revision),
            Dialect::Envelope | Dialect::Codefluss => None,
        }
    }
}

pub(crate) enum ToolOutcome {
    Done(ToolReply),
    InputRequired(InputRequired),
}

/// `tools/list`.
pub(crate) fn list(ctx: &RequestContext, params: Map<String, Value>) -> Result<Vec<u8>, RequestError> {
    let catalog = ctx.app().catalog();
    let allowed =
        catalog.tools().filter(|tool| tool.spec.check_access(&ctx.call.principal).is_ok()).collect();
    let (tools, next_cursor) = paginate(ctx, &params, allowed, |tool: &&Arc<ToolEntry>| tool.spec.name)?;
    let language = ctx.connection.mode().language();
    let tools =
        tools.into_iter().map(|tool| tool.descriptor(language).for_revision(ctx.revision())).collect();
    Ok(ctx.cacheable_result(&ToolList { tools, next_cursor }))
}

/// `tools/call`.
pub(crate) async fn call(
    ctx: &RequestContext,
    mut params: Map<String, Value>,
) -> Result<Vec<u8>, RequestError> {
    let mut call = ctx.call.clone();
    let named = params.get("name").and_then(Value::as_str).and_then(|name| ctx.app().catalog().find(name));
    if let Some(tool) = named.filter(|tool| tool.spec.toolset.touches_files()) {
        match client_roots::narrow(ctx, tool.spec.name, &mut params).await {
            Ok(NarrowedRoots::Roots(roots)) => call.roots = roots,
            Ok(NarrowedRoots::InputRequired(question)) => return Ok(ctx.input_required(&question)),
            Err(failure) => return Ok(ctx.result(&CallToolResult::failure(&failure.to_string()))),
        }
    }
    let params: CallToolParams = context::parse_params(params, &["name"])?;
    let unknown = || unknown_tool(ctx.app(), "name", &params.name);
    let tool = ctx.app().catalog().find(&params.name).ok_or_else(unknown)?;
    let invocation = ToolRequest {
        arguments: params.arguments.unwrap_or_default(),
        dialect: ctx.dialect,
        client: ctx.client.clone(),
        request_state: params.request_state,
        input_responses: params.input_responses,
    };
    let _ = ctx.notes.tool.set((tool.spec.name, tool.has_side_effects()));
    ctx.notes.note_dry_run(&invocation.arguments);
    match run(&ctx.connection, &tool, call, invocation).await {
        Ok(ToolOutcome::Done(reply)) => {
            let mut result = CallToolResult::success(reply.text(), &reply.structured, ctx.revision());
            // CODEFLUSS sends `isError: false` explicitly, MCP omits it (contract row 9).
            result.is_error = (ctx.dialect == Dialect::Codefluss).then_some(false);
            if reply.has_custom_text() {
                // The text omits part of the result, so every client gets the structured content (contract
                // row 15a).
                result.structured_content = Some(&reply.structured);
            }
            Ok(ctx.result(&result))
        }
        Ok(ToolOutcome::InputRequired(input)) => Ok(ctx.input_required(&input)),
        // A client with an access token can request one with more scopes, so it gets a protocol error.
        Err(failure @ RequestError::Forbidden(_)) if ctx.call.principal.is_from_token() => Err(failure),
        Err(failure) if failure.audience(ctx.dialect) == ErrorAudience::Model => {
            let _ = ctx.notes.failure.set(failure.kind());
            if let Some(request) = request_span::current_request() {
                request.report(&failure);
            }
            Ok(ctx.result(&CallToolResult::failure(&failure.to_string())))
        }
        Err(failure) => Err(failure),
    }
}

/// Runs a tool, in any dialect.
pub(crate) async fn run(
    connection: &ConnectionState,
    tool: &ToolEntry,
    call: ToolContext,
    mut invocation: ToolRequest,
) -> Result<ToolOutcome, RequestError> {
    if let Some(request) = request_span::current_request() {
        request.set_tool(tool.spec.name);
    }
    tool.spec.check_access(&call.principal)?;
    // Models send `null` for arguments that they omit.
    invocation.arguments.retain(|_, value| !value.is_null());
    invocation.arguments = tool.validate_arguments(invocation.arguments)?;
    let _place = connection.scheduler().acquire_permit().await?;
    let outlet = call.notifier.clone();
    outlet.log(LogLevel::Debug, tool.spec.name, "started");
    let work = async {
        match tool.implementation() {
            entry::ToolImplementation::Plain(plain) => {
                plain.call(call, invocation.arguments).await.map(ToolOutcome::Done)
            }
            entry::ToolImplementation::Interactive(talk) => {
                conversation::run_conversation(
                    connection,
                    tool.spec.name,
                    talk(&call).as_ref(),
                    &call,
                    &invocation,
                )
                .await
            }
        }
    };
    let outcome = outlet.hold_progress(work).await;
    let (level, text) = match &outcome {
        Ok(ToolOutcome::Done(_)) => (LogLevel::Debug, "finished"),
        Ok(ToolOutcome::InputRequired(_)) => (LogLevel::Debug, "asked the user"),
        Err(failure) => (LogLevel::Warning, failure.kind()),
    };
    outlet.log(level, tool.spec.name, text);
    outcome
}

/// The error for an unknown tool, which lists the available ones.
pub(crate) fn unknown_tool(app: &App, field: &'static str, name: &str) -> RequestError {
    RequestError::UnknownTool {
        name: name.chars().take(128).collect(),
        field,
        available: app.catalog().names().map(str::to_owned).collect(),
        code: "tool_not_found",
    }
}
