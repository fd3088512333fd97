//! `propose_edit_plan`: the exact edits that integrate FluxLoop, with their diff.

use codebase::plan::{Edit, EditPlan, FileChange, Rollback};
use codebase::{NameKind, NameRedactor};
use fluxloop::{Blocker, Candidate, Integration, IntegrationOptions};
use jiff::Timestamp;
use protocol::mcp::{PromptArgument, PromptDescriptor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use tree::Tree;

use super::support::integration::{
    AnalyzedRepository, RepositoryAccess, VariantChoice, build_plan, frameworks_schema, profile_entry_points,
    profile_root, release_line, release_lines_schema, require_recipe,
};
use super::support::opaque_object::OpaqueObject;
use super::support::plan_view::{visible_plan, visible_workspace_edit};
use super::support::repository_text::{RepositoryTextView, omitted_texts};
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::plans::PlanStore;
use crate::blocking::run_blocking;
use crate::error::RequestError;
use crate::rpc::prompts::PromptEntry;

/// Propose the edits that integrate FluxLoop into a repository: placed by syntax tree, applied in memory and
/// parsed again, with diff and hashes. Nothing is written. If no correct edit exists, `warnings` says why.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    #[schemars(schema_with = "frameworks_schema")]
    framework: String,
    /// Output of `analyze_repository`; used as hints.
    #[serde(default)]
    repository_profile: Option<Map<String, Value>>,
    /// Repository folder.
    #[serde(default)]
    root: Option<String>,
    /// Package in a monorepo: folder or name.
    #[serde(default)]
    package: Option<String>,
    /// `sdk`: decorators or middleware; `bridge`: application code unchanged; `auto` chooses and says why.
    #[serde(default)]
    variant: VariantChoice,
    /// FluxLoop CLI release line; default: the repository's or the newest.
    #[serde(default)]
    #[schemars(schema_with = "release_lines_schema")]
    cli: Option<String>,
    /// What to run: `path/to/file.py:function` or `POST /chat`; default: found by analysis.
    #[serde(default)]
    agent: Option<String>,
    /// Request field with the input text, if analysis cannot find it.
    #[serde(default)]
    request_field: Option<String>,
    /// Add `workspaceEdit`, for editors that apply it themselves (LSP).
    #[serde(default)]
    workspace_edit: bool,
}

impl Args {
    fn options(&self) -> IntegrationOptions {
        IntegrationOptions {
            package: self.package.clone(),
            variant: self.variant.variant(),
            release_line: release_line(self.cli.as_deref()),
            agent: self.agent.clone(),
            request_field: self.request_field.clone(),
        }
    }
}

/// The plan. Pass it on unchanged.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    schema: u32,
    /// Digest of the plan.
    id: String,
    summary: String,
    edits: Vec<OpaqueObject<Edit>>,
    files: Vec<OpaqueObject<FileChange>>,
    post_checks: Vec<String>,
    post_check_commands: Vec<Vec<String>>,
    rollback: OpaqueObject<Rollback>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    warnings: Vec<String>,
    prerequisites: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    install_commands: Vec<String>,
    /// What FluxLoop could run, the chosen one first. To choose another, pass its `agent`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    candidates: Vec<OpaqueObject<CandidateView>>,
    /// Why there are no edits: each with the argument that lifts it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blockers: Vec<OpaqueObject<BlockerView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace_edit: Option<OpaqueObject<Value>>,
    /// Until then, other tools accept its id as `plan_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_until: Option<String>,
    /// Files whose diff is not shown here because a changed line contains a secret. The user can see it with
    /// `fluxway plan` or in `fluxway://plans/{id}`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    withheld: Vec<String>,
    /// Strings from the repository that the sentences refer to by location.
    #[serde(rename = "repository_text", skip_serializing_if = "Vec::is_empty")]
    repository_text: Vec<RepositoryTextView>,
}

/// A function, object or route that FluxLoop could run.
#[derive(Serialize, Clone)]
struct CandidateView {
    /// The value of the argument that chooses it.
    agent: String,
    kind: &'static str,
    path: String,
    #[serde(skip_serializing_if = "is_zero")]
    line: u32,
    why: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    against: Vec<String>,
}

#[derive(Serialize, Clone)]
struct BlockerView {
    missing: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// The argument that lifts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    argument: Option<&'static str>,
    /// A value for it that exists in the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(line: &u32) -> bool {
    *line == 0
}

const MAX_CANDIDATES: usize = 10;

impl CandidateView {
    fn from_candidate(candidate: &Candidate, redactor: &NameRedactor) -> Self {
        Self {
            agent: redactor
                .name(NameKind::Target, &candidate.agent, &candidate.path, candidate.line)
                .into_owned(),
            kind: candidate.kind.name(),
            path: redactor.file(&candidate.path).into_owned(),
            line: candidate.line,
            why: candidate.why.clone(),
            against: candidate.against.clone(),
        }
    }
}

impl BlockerView {
    fn from_blocker(blocker: &Blocker) -> Self {
        Self {
            missing: blocker.what.clone(),
            path: blocker.location.as_ref().map(|(path, _)| path.clone()),
            line: blocker.location.as_ref().map(|(_, line)| *line).filter(|line| *line > 0),
            argument: blocker.argument,
            example: blocker.example.clone(),
        }
    }
}

pub(crate) struct ProposeEditPlan;

impl Tool for ProposeEditPlan {
    const SPEC: ToolSpec = ToolSpec {
        name: "propose_edit_plan",
        title: "Propose an edit plan",
        toolset: Toolset::Integrate,
        effect: Effect::ReadOnly,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: ToolContext, args: Args) -> Result<Reply, RequestError> {
        let recipe = require_recipe(&args.framework)?;
        let plans = PlanStore::open(&call).await?;
        let (access, reader) = (RepositoryAccess::new(&call, &plans), call.clone());
        let proposed = run_blocking(&call, move |budget| {
            let profile = args.repository_profile.as_ref();
            let root = args.root.clone().or_else(|| profile_root(profile)).unwrap_or_else(|| ".".to_owned());
            let repository = AnalyzedRepository::open(&access, &root, profile_entry_points(profile), budget)?;
            let integration = repository.integrate(recipe, &args.options(), budget)?;
            let (plan, blockers) = build_plan(&repository.tree, &integration, budget)?;
            let edit = args.workspace_edit.then(|| {
                let path = repository.tree.path().to_string_lossy();
                let root = format!("file://{}", codebase::plan::uri_path(&path));
                OpaqueObject(visible_workspace_edit(&reader, &plan, &root))
            });
            Ok((ProposedPlan::new(plan, &blockers, &integration, &repository.tree), edit))
        });
        let (proposed, edit) = proposed.await?;
        let kept_until = proposed.store(&plans).await;
        Ok(Reply { workspace_edit: edit, ..proposed.to_reply(&call, kept_until) })
    }
}

/// A new plan and the folder it is for.
pub(super) struct ProposedPlan {
    pub(super) plan: EditPlan,
    root: String,
    redactor: NameRedactor,
    candidates: Vec<CandidateView>,
    blockers: Vec<BlockerView>,
}

impl ProposedPlan {
    pub(super) fn new(plan: EditPlan, blockers: &[Blocker], integration: &Integration, tree: &Tree) -> Self {
        let redactor = integration.redactor.clone();
        let candidates = integration.candidates.iter().take(MAX_CANDIDATES);
        Self {
            plan,
            root: tree.path().display().to_string(),
            candidates: candidates.map(|one| CandidateView::from_candidate(one, &redactor)).collect(),
            blockers: blockers.iter().map(BlockerView::from_blocker).collect(),
            redactor,
        }
    }

    /// Stores it under its id.
    pub(super) async fn store(&self, plans: &PlanStore<'_>) -> Option<Timestamp> {
        plans.store(&self.plan, &self.root).await
    }

    /// The plan as a model sees it.
    pub(super) fn to_reply(&self, call: &ToolContext, kept_until: Option<Timestamp>) -> Reply {
        let shown = visible_plan(call, &self.plan);
        let plan = shown.plan;
        let rationales = plan.edits.iter().map(|edit| &edit.rationale);
        let sentences = std::iter::once(&plan.summary)
            .chain(&plan.notes)
            .chain(&plan.warnings)
            .chain(&plan.prerequisites);
        let sentences = sentences.chain(rationales).map(String::as_str);
        let repository_text = omitted_texts(&self.redactor, sentences);
        Reply {
            repository_text,
            schema: plan.schema,
            id: plan.id,
            summary: plan.summary,
            edits: plan.edits.into_iter().map(OpaqueObject).collect(),
            files: plan.files.into_iter().map(OpaqueObject).collect(),
            post_checks: plan.post_checks,
            post_check_commands: plan.post_check_commands,
            rollback: OpaqueObject(plan.rollback),
            notes: plan.notes,
            warnings: plan.warnings,
            prerequisites: plan.prerequisites,
            install_commands: plan.install_commands,
            candidates: self.candidates.iter().cloned().map(OpaqueObject).collect(),
            blockers: self.blockers.iter().cloned().map(OpaqueObject).collect(),
            workspace_edit: None,
            kept_until: kept_until.map(|time| time.to_string()),
            withheld: shown.withheld,
        }
    }
}

/// The prompt for a reviewed plan, starting from scratch.
pub(crate) const PROMPT: PromptEntry = PromptEntry {
    tool: "propose_edit_plan",
    prompt: PromptDescriptor {
        name: "integrate_fluxloop",
        title: Some("Integrate FluxLoop"),
        description: "Integrate FluxLoop here: analyse, plan, review, apply.",
        arguments: &[
            PromptArgument {
                name: "framework",
                description: "The framework, if you know it.",
                required: false,
            },
            PromptArgument { name: "package", description: "The package in a monorepo.", required: false },
        ],
    },
    text: prompt_text,
};

fn prompt_text(arguments: &BTreeMap<String, String>) -> String {
    let given =
        |name: &str| arguments.get(name).map(|value| format!(", `{name}`: {}", Value::String(value.clone())));
    let more = [given("framework"), given("package")].into_iter().flatten().collect::<String>();
    format!(
        "Integrate FluxLoop into this repository. Call run_integration_workflow (`root`: \".\"{more}). Tell me in a few \
         sentences what was found, which function is the agent and why, and show me the diff of the plan with its warnings \
         and prerequisites. If `validation.valid` is false or the plan has no edits, explain the reason and what I can do \
         about it. Do not apply anything before I say so; then call apply_edit_plan with its id as plan_id, and tell me how \
         to undo it with undo_edit_plan."
    )
}
