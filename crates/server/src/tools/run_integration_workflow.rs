//! `run_integration_workflow`: analyse, detect, steps, plan, validate, in one call.

use codebase::plan::validate;
use fluxloop::{Recipe, Situation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tree::Budget;

use super::analyze_repository::{self, here};
use super::propose_edit_plan::Proposed;
use super::support::integration::{Reach, Subject, VariantWish, Wishes, lines, plan, recipe_of, rules};
use super::support::opaque_object::Open;
use super::{
    Effect, Tool, ToolSpec, Toolset, detect_frameworks, generate_integration_steps as steps,
    validate_edit_plan as verdict,
};
use crate::Call;
use crate::app::plans::Plans;
use crate::blocking::blocking;
use crate::error::Failure;

/// Everything in one call: analyse the repository, find its frameworks, list the steps, propose an edit plan and validate
/// it. Nothing is written. A stage that does not apply says `skipped` and why. Arguments as for
/// `propose_edit_plan`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The folder of the repository.
    #[serde(default = "here")]
    root: String,
    /// Default: the surest that has a recipe.
    #[serde(default)]
    framework: Option<String>,
    #[serde(default)]
    package: Option<String>,
    #[serde(default)]
    variant: VariantWish,
    #[serde(default)]
    #[schemars(schema_with = "lines")]
    cli: Option<String>,
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    request_field: Option<String>,
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

/// What the single tools would have given.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    /// As from `analyze_repository`.
    profile: Open<analyze_repository::Reply>,
    /// As from `detect_frameworks`.
    detection: Open<detect_frameworks::Reply>,
    /// As from `generate_integration_steps`.
    integration_steps: Open<Value>,
    /// As from `propose_edit_plan`.
    edit_plan: Open<Value>,
    /// As from `validate_edit_plan`.
    validation: Open<Value>,
}

/// The tool.
pub(crate) struct RunIntegrationWorkflow;

impl Tool for RunIntegrationWorkflow {
    const SPEC: ToolSpec = ToolSpec {
        name: "run_integration_workflow",
        title: "Run the integration workflow",
        toolset: Toolset::Integrate,
        effect: Effect::Reads,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: Call, args: Args) -> Result<Reply, Failure> {
        let plans = Plans::open(&call).await?;
        let reach = Reach::new(&call, &plans);
        let reader = call.clone();
        let work = blocking(&call, move |budget| run(&reader, &reach, &args, budget));
        let (subject, mut stages) = work.await?;
        stages.keep_plan(&call, &plans).await?;
        Ok(Reply::of(subject, stages, analyze_repository::usual_limit()))
    }
}

fn run(call: &Call, reach: &Reach, args: &Args, budget: &Budget) -> Result<(Subject, Stages), Failure> {
    let named = args.framework.as_deref().map(recipe_of).transpose()?;
    let subject = Subject::open(reach, &args.root, Vec::new(), budget)?;
    let stages = Stages::of(call, &subject, named, &args.wishes(), budget)?;
    Ok((subject, stages))
}

/// What comes after the analysis.
pub(super) struct Stages {
    detection: detect_frameworks::Reply,
    pub(super) integration_steps: Value,
    edit_plan: Value,
    validation: Value,
    /// The plan, exactly.
    proposed: Option<Proposed>,
}

impl Stages {
    /// Keeps the plan under its id, and says so in it.
    pub(super) async fn keep_plan(&mut self, call: &Call, plans: &Plans<'_>) -> Result<(), Failure> {
        if let Some(proposed) = &self.proposed {
            let kept_until = proposed.keep(plans).await;
            self.edit_plan = to_value(&proposed.reply(call, kept_until))?;
        }
        Ok(())
    }

    /// Goes through them for a recipe, or for the likeliest that there is.
    pub(super) fn of(
        call: &Call,
        subject: &Subject,
        named: Option<&'static Recipe>,
        wishes: &Wishes,
        budget: &Budget,
    ) -> Result<Self, Failure> {
        let detection = detect_frameworks::of_profile(&subject.profile);
        let likely =
            || fluxloop::likely(&subject.profile, wishes.package.as_deref(), wishes.agent.as_deref());
        let mut proposed = None;
        let [integration_steps, edit_plan, validation] = if let Some(recipe) = named.or_else(likely) {
            integrate(call, subject, recipe, wishes, budget, &mut proposed)?
        } else {
            let why =
                "no framework was found that there is a recipe for, and no agent; name one as `framework`";
            [why, "there are no steps to plan", "there is no plan to validate"].map(skipped)
        };
        Ok(Self { detection, integration_steps, edit_plan, validation, proposed })
    }
}

impl Reply {
    pub(super) fn of(subject: Subject, stages: Stages, limit: usize) -> Self {
        let root = subject.tree.path().display().to_string();
        Self {
            detection: Open(stages.detection),
            integration_steps: Open(stages.integration_steps),
            edit_plan: Open(stages.edit_plan),
            validation: Open(stages.validation),
            profile: Open(analyze_repository::Reply::of(root, subject.profile, limit)),
        }
    }
}

fn integrate(
    call: &Call,
    subject: &Subject,
    recipe: &'static Recipe,
    wishes: &Wishes,
    budget: &Budget,
    proposed: &mut Option<Proposed>,
) -> Result<[Value; 3], Failure> {
    let integration = subject.integrate(&wishes.ask(recipe))?;
    let steps = to_value(&steps::Reply::of(&Situation::of(&integration)))?;
    let texts = integration.texts.clone();
    let plan = plan(&subject.tree, integration, budget)?;
    let proposed = proposed.insert(Proposed::new(plan, texts, &subject.tree));
    let shown = to_value(&proposed.reply(call, None))?;
    if proposed.plan.edits.is_empty() {
        return Ok([steps, shown, skipped("the plan has no edits; its `warnings` say why")]);
    }
    let exact = to_value(&proposed.plan)?;
    let verdict = validate(&subject.tree, &exact, &rules(&[], budget)).map_err(Failure::no_thread)?;
    Ok([steps, shown, to_value(&verdict::Reply::of(call, &verdict))?])
}

fn skipped(why: &str) -> Value {
    json!({ "skipped": why })
}

fn to_value(value: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value).map_err(Failure::internal)
}
