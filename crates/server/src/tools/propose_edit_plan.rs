//! `propose_edit_plan`: the edits that integrate FluxLoop, exactly, with their diff.

use codebase::RepositoryTexts;
use codebase::plan::{Edit, FileChange, Plan, Rollback};
use jiff::Timestamp;
use protocol::mcp::{Prompt, PromptArgument};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use tree::Tree;

use super::support::integration::{
    Reach, Subject, VariantWish, Wishes, frameworks, hints, lines, plan, recipe_of, root_of,
};
use super::support::opaque_object::Open;
use super::support::plan_view::{editor_view, view};
use super::support::repository_text::{RepositoryText, left_out_of};
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::Call;
use crate::app::plans::Plans;
use crate::blocking::blocking;
use crate::error::Failure;
use crate::rpc::prompts::PromptEntry;

/// Propose the edits that integrate FluxLoop into a repository: placed by syntax tree, applied in memory and parsed again,
/// with diff and hashes. Nothing is written. No edits and a reason in `warnings` if nothing right can be done.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    #[schemars(schema_with = "frameworks")]
    framework: String,
    /// What `analyze_repository` gave; taken as hints.
    #[serde(default)]
    repository_profile: Option<Map<String, Value>>,
    /// The folder of the repository.
    #[serde(default)]
    root: Option<String>,
    /// The package in a monorepo: folder or name.
    #[serde(default)]
    package: Option<String>,
    /// `sdk`: decorators or middleware; `bridge`: no application code touched; `auto` chooses and says why.
    #[serde(default)]
    variant: VariantWish,
    /// Line of the FluxLoop CLI; default: the repository's, else the newest.
    #[serde(default)]
    #[schemars(schema_with = "lines")]
    cli: Option<String>,
    /// What to run: `path/to/file.py:function` or `POST /chat`; default: found by analysis.
    #[serde(default)]
    agent: Option<String>,
    /// The request field that carries the text, if analysis cannot see it.
    #[serde(default)]
    request_field: Option<String>,
    /// Add `workspaceEdit`, for editors that apply it themselves (LSP).
    #[serde(default)]
    workspace_edit: bool,
}

impl Args {
    fn wishes(&self) -> Wishes {
        Wishes {
            package: self.package.clone(),
            variant: self.variant,
            cli: self.cli.clone(),
            agent: self.agent.clone(),
            request_field: self.request_field.clone(),
        }
    }
}

/// The plan. Pass it on as it is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    schema: u32,
    /// The digest of the plan.
    id: String,
    summary: String,
    edits: Vec<Open<Edit>>,
    files: Vec<Open<FileChange>>,
    post_checks: Vec<String>,
    post_check_commands: Vec<Vec<String>>,
    rollback: Open<Rollback>,
    warnings: Vec<String>,
    prerequisites: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace_edit: Option<Open<Value>>,
    /// Until then other tools take its id as `plan_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_until: Option<String>,
    /// Files whose diff is not shown here because a changed line holds a secret: the user sees it with `fluxway plan`, and
    /// `fluxway://plans/{id}` has it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    withheld: Vec<String>,
    /// Texts of the repository that the sentences name by their place.
    #[serde(rename = "repository_text", skip_serializing_if = "Vec::is_empty")]
    repository_text: Vec<RepositoryText>,
}

/// The tool.
pub(crate) struct ProposeEditPlan;

impl Tool for ProposeEditPlan {
    const SPEC: ToolSpec = ToolSpec {
        name: "propose_edit_plan",
        title: "Propose an edit plan",
        toolset: Toolset::Integrate,
        effect: Effect::Reads,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: Call, args: Args) -> Result<Reply, Failure> {
        let recipe = recipe_of(&args.framework)?;
        let plans = Plans::open(&call).await?;
        let (reach, reader) = (Reach::new(&call, &plans), call.clone());
        let proposed = blocking(&call, move |budget| {
            let profile = args.repository_profile.as_ref();
            let root = args.root.clone().or_else(|| root_of(profile)).unwrap_or_else(|| ".".to_owned());
            let subject = Subject::open(&reach, &root, hints(profile), budget)?;
            let integration = subject.integrate(&args.wishes().ask(recipe))?;
            let texts = integration.texts.clone();
            let plan = plan(&subject.tree, integration, budget)?;
            let edit = args.workspace_edit.then(|| {
                let path = subject.tree.path().to_string_lossy();
                let root = format!("file://{}", codebase::plan::uri_path(&path));
                Open(editor_view(&reader, &plan, &root))
            });
            Ok((Proposed::new(plan, texts, &subject.tree), edit))
        });
        let (proposed, edit) = proposed.await?;
        let kept_until = proposed.keep(&plans).await;
        Ok(Reply { workspace_edit: edit, ..proposed.reply(&call, kept_until) })
    }
}

/// A plan that was just made, and for which folder.
pub(super) struct Proposed {
    pub(super) plan: Plan,
    root: String,
    texts: RepositoryTexts,
}

impl Proposed {
    pub(super) fn new(plan: Plan, texts: RepositoryTexts, tree: &Tree) -> Self {
        Self { plan, root: tree.path().display().to_string(), texts }
    }

    /// Keeps it under its id.
    pub(super) async fn keep(&self, plans: &Plans<'_>) -> Option<Timestamp> {
        plans.keep(&self.plan, &self.root).await
    }

    /// What a model sees of it.
    pub(super) fn reply(&self, call: &Call, kept_until: Option<Timestamp>) -> Reply {
        let shown = view(call, &self.plan);
        let plan = shown.plan;
        let rationales = plan.edits.iter().map(|edit| &edit.rationale);
        let sentences = std::iter::once(&plan.summary).chain(&plan.warnings).chain(&plan.prerequisites);
        let sentences = sentences.chain(rationales).map(String::as_str);
        let repository_text = left_out_of(&self.texts, sentences);
        Reply {
            repository_text,
            schema: plan.schema,
            id: plan.id,
            summary: plan.summary,
            edits: plan.edits.into_iter().map(Open).collect(),
            files: plan.files.into_iter().map(Open).collect(),
            post_checks: plan.post_checks,
            post_check_commands: plan.post_check_commands,
            rollback: Open(plan.rollback),
            warnings: plan.warnings,
            prerequisites: plan.prerequisites,
            workspace_edit: None,
            kept_until: kept_until.map(|time| time.to_string()),
            withheld: shown.withheld,
        }
    }
}

/// The prompt that leads from nothing to a reviewed plan.
pub(crate) const PROMPT: PromptEntry = PromptEntry {
    tool: "propose_edit_plan",
    prompt: Prompt {
        name: "integrate_fluxloop",
        title: Some("Integrate FluxLoop"),
        description: "Bring FluxLoop into this repository: analyse, plan, review, apply.",
        arguments: &[
            PromptArgument {
                name: "framework",
                description: "The framework, if you know it.",
                required: false,
            },
            PromptArgument { name: "package", description: "The package in a monorepo.", required: false },
        ],
    },
    text: prompt,
};

fn prompt(arguments: &BTreeMap<String, String>) -> String {
    let given =
        |name: &str| arguments.get(name).map(|value| format!(", `{name}`: {}", Value::String(value.clone())));
    let more = [given("framework"), given("package")].into_iter().flatten().collect::<String>();
    format!(
        "Bring FluxLoop into this repository. Call run_integration_workflow (`root`: \".\"{more}). Tell me in a few \
         sentences what was found, which function is the agent and why, and show me the diff of the plan with its warnings \
         and prerequisites. If `validation.valid` is false or the plan has no edits, explain the reason and what I can do \
         about it. Do not apply anything before I say so; then call apply_edit_plan with its id as plan_id, and tell me how \
         undo_edit_plan takes it back."
    )
}
