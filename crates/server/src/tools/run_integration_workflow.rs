//! `run_integration_workflow`: analysis, detection, steps, plan and validation in one call.

use codebase::plan::validate_plan;
use fluxloop::{GuideInput, IntegrationOptions, Recipe};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tree::WorkBudget;

use super::analyze_repository::{self, default_root};
use super::propose_edit_plan::ProposedPlan;
use super::support::integration::{
    AnalyzedRepository, RepositoryAccess, VariantChoice, build_plan, release_line, release_lines_schema,
    require_recipe, validation_rules,
};
use super::support::opaque_object::OpaqueObject;
use super::{
    Effect, Tool, ToolSpec, Toolset, detect_frameworks, generate_integration_steps as steps,
    validate_edit_plan,
};
use crate::ToolContext;
use crate::app::plans::PlanStore;
use crate::blocking::run_blocking;
use crate::error::RequestError;

/// All in one call: analyse the repository, detect its frameworks, list the steps, propose an edit plan and
/// validate it. Nothing is written. A stage that does not apply has `skipped` and why. Arguments as for
/// `propose_edit_plan`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Repository folder.
    #[serde(default = "default_root")]
    root: String,
    /// Default: the likeliest with a recipe.
    #[serde(default)]
    framework: Option<String>,
    #[serde(default)]
    package: Option<String>,
    #[serde(default)]
    variant: VariantChoice,
    #[serde(default)]
    #[schemars(schema_with = "release_lines_schema")]
    cli: Option<String>,
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    request_field: Option<String>,
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

/// The results of the individual tools.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    /// As from `analyze_repository`.
    profile: OpaqueObject<analyze_repository::Reply>,
    /// As from `detect_frameworks`.
    detection: OpaqueObject<detect_frameworks::Reply>,
    /// As from `generate_integration_steps`.
    integration_steps: OpaqueObject<Value>,
    /// As from `propose_edit_plan`.
    edit_plan: OpaqueObject<Value>,
    /// As from `validate_edit_plan`.
    validation: OpaqueObject<Value>,
}

pub(crate) struct RunIntegrationWorkflow;

impl Tool for RunIntegrationWorkflow {
    const SPEC: ToolSpec = ToolSpec {
        name: "run_integration_workflow",
        title: "Run the integration workflow",
        toolset: Toolset::Integrate,
        effect: Effect::ReadOnly,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: ToolContext, args: Args) -> Result<Reply, RequestError> {
        let plans = PlanStore::open(&call).await?;
        let access = RepositoryAccess::new(&call, &plans);
        let reader = call.clone();
        let work = run_blocking(&call, move |budget| analyze_and_run_stages(&reader, &access, &args, budget));
        let (subject, mut stages) = work.await?;
        stages.store_plan(&call, &plans).await?;
        Ok(Reply::new(subject, stages, analyze_repository::default_limit()))
    }
}

fn analyze_and_run_stages(
    call: &ToolContext,
    access: &RepositoryAccess,
    args: &Args,
    budget: &WorkBudget,
) -> Result<(AnalyzedRepository, WorkflowStages), RequestError> {
    let named = args.framework.as_deref().map(require_recipe).transpose()?;
    let subject = AnalyzedRepository::open(access, &args.root, Vec::new(), budget)?;
    let stages = WorkflowStages::run(call, &subject, named, &args.options(), budget)?;
    Ok((subject, stages))
}

/// The stages after the analysis.
pub(super) struct WorkflowStages {
    detection: detect_frameworks::Reply,
    pub(super) integration_steps: Value,
    edit_plan: Value,
    validation: Value,
    /// The exact plan, unredacted.
    proposed: Option<ProposedPlan>,
}

impl WorkflowStages {
    /// Stores the plan under its id, and notes that in `edit_plan`.
    pub(super) async fn store_plan(
        &mut self,
        call: &ToolContext,
        plans: &PlanStore<'_>,
    ) -> Result<(), RequestError> {
        if let Some(proposed) = &self.proposed {
            let kept_until = proposed.store(plans).await;
            self.edit_plan = to_value(&proposed.to_reply(call, kept_until))?;
        }
        Ok(())
    }

    /// Runs the stages with the named recipe, or with the most likely one.
    pub(super) fn run(
        call: &ToolContext,
        repository: &AnalyzedRepository,
        named: Option<&'static Recipe>,
        options: &IntegrationOptions,
        budget: &WorkBudget,
    ) -> Result<Self, RequestError> {
        let detection = detect_frameworks::reply_from_profile(&repository.profile);
        let likely = || {
            fluxloop::likely_recipe(&repository.profile, options.package.as_deref(), options.agent.as_deref())
        };
        let mut proposed = None;
        let [integration_steps, edit_plan, validation] = if let Some(recipe) = named.or_else(likely) {
            run_integration_stages(call, repository, recipe, options, budget, &mut proposed)?
        } else {
            let why = format!(
                "{}; pass what to run as `agent` (\"path/to/file.py:function\", \"POST /chat\"), or another `framework`",
                fluxloop::nothing_to_integrate(&repository.profile)
            );
            [why.as_str(), "there are no steps to plan", "there is no plan to validate"].map(skipped_stage)
        };
        Ok(Self { detection, integration_steps, edit_plan, validation, proposed })
    }
}

impl Reply {
    pub(super) fn new(repository: AnalyzedRepository, stages: WorkflowStages, limit: usize) -> Self {
        let root = repository.tree.path().display().to_string();
        Self {
            detection: OpaqueObject(stages.detection),
            integration_steps: OpaqueObject(stages.integration_steps),
            edit_plan: OpaqueObject(stages.edit_plan),
            validation: OpaqueObject(stages.validation),
            profile: OpaqueObject(analyze_repository::Reply::from_profile(root, repository.profile, limit)),
        }
    }
}

fn run_integration_stages(
    call: &ToolContext,
    repository: &AnalyzedRepository,
    recipe: &'static Recipe,
    options: &IntegrationOptions,
    budget: &WorkBudget,
    proposed: &mut Option<ProposedPlan>,
) -> Result<[Value; 3], RequestError> {
    let integration = repository.integrate(recipe, options, budget)?;
    let steps = to_value(&steps::Reply::from_situation(&GuideInput::from_integration(&integration)))?;
    let (plan, blockers) = build_plan(&repository.tree, &integration, budget)?;
    let is_blocked = !blockers.is_empty();
    let proposed = proposed.insert(ProposedPlan::new(plan, &blockers, &integration, &repository.tree));
    let shown = to_value(&proposed.to_reply(call, None))?;
    if proposed.plan.edits.is_empty() {
        let why = if is_blocked {
            "the plan has no edits; its `warnings` say why"
        } else {
            "FluxLoop is already integrated; there is nothing to validate"
        };
        return Ok([steps, shown, skipped_stage(why)]);
    }
    let exact = to_value(&proposed.plan)?;
    let verdict = validate_plan(&repository.tree, &exact, &validation_rules(&[], budget))
        .map_err(RequestError::thread_spawn_failed)?;
    Ok([steps, shown, to_value(&validate_edit_plan::Reply::from_verdict(call, &verdict))?])
}

fn skipped_stage(why: &str) -> Value {
    json!({ "skipped": why })
}

fn to_value(value: &impl Serialize) -> Result<Value, RequestError> {
    serde_json::to_value(value).map_err(RequestError::internal)
}
