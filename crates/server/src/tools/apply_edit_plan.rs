//! `apply_edit_plan`: writes a plan, all of it or nothing. Running its checks is a question of its own.

use std::io;
use std::time::Duration;

use codebase::plan::{self, CheckResult, PlanValidation, judge_check, validate_plan};
use flow::{Conversation, Flow, Halt, confirm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tree::{Roots, Tree, WorkBudget};

use super::support::integration::{CONSENT_FIELD, consent_message, ensure_checks_allowed, validation_rules};
use super::support::plan_input::PlanInput;
use super::support::plan_view::visible_diff;
use super::{Effect, InteractiveTool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::plans::{PlanAuthor, PlanStore};
use crate::blocking::{run_blocking, run_blocking_with_timeout};
use crate::error::{PlanRequestError, RequestError};

/// Apply an edit plan: all of it or nothing, checked again first, with a journal for `undo_edit_plan`. Show the user the
/// diff and ask first.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Id of a proposed plan.
    plan_id: Option<String>,
    /// Or the plan itself.
    plan: Option<Map<String, Value>>,
    /// Default: the plan's.
    root: Option<String>,
    /// Only show what would be written.
    #[serde(default)]
    dry_run: bool,
    /// Offer to run the post-checks: the user is asked.
    #[serde(default)]
    run_checks: bool,
    /// Protected paths that the user allows.
    #[serde(default)]
    allow: Vec<String>,
}

/// What was done.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Reply {
    pub(super) outcome: ApplyEditPlanOutcome,
    plan_id: String,
    /// The files that were written.
    pub(super) files: Vec<String>,
    /// What changed, or would.
    diff: String,
    pub(super) warnings: Vec<String>,
    /// How the post-checks ended.
    checks: Vec<Check>,
    /// Why checks that were asked for were not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checks_not_run: Option<String>,
    /// How to take it back, if there is something to take back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) undo: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ApplyEditPlanOutcome {
    Applied,
    AlreadyApplied,
    DryRun,
}

/// How a post-check ended.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(super) struct Check {
    pub(super) command: String,
    pub(super) passed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    timed_out: bool,
    /// The end of what it said.
    pub(super) output: String,
}

/// The tool, in one call.
pub(crate) struct ApplyEditPlan {
    call: ToolContext,
}

/// How long all of it may take; checks take longer than reading.
pub(super) const APPLY_TIMEOUT: Duration = Duration::from_mins(3);

impl InteractiveTool for ApplyEditPlan {
    const SPEC: ToolSpec = ToolSpec {
        name: "apply_edit_plan",
        title: "Apply an edit plan",
        toolset: Toolset::Integrate,
        effect: Effect::IdempotentWrite,
    };
    type Conversation = Self;

    fn conversation(call: &ToolContext) -> Self {
        Self { call: call.clone() }
    }
}

/// What the checks of a plan would be, before it is written.
#[derive(Serialize, Deserialize)]
struct CheckPreview {
    /// Where they would be run.
    root: String,
    commands: Vec<String>,
    /// Why they are not run, whatever the user says.
    refused: Option<String>,
}

impl Conversation for ApplyEditPlan {
    type Args = Args;
    type Reply = Reply;

    async fn run(&self, f: &mut Flow<'_>, args: Args) -> Result<Reply, Halt> {
        let (mut commands, mut not_run) = (Vec::new(), None);
        if args.run_checks && !args.dry_run {
            // Worked out anew when the answer is there: what the user agreed to must still be what is run.
            let preview: CheckPreview =
                f.derive("checks", async || Ok(self.preview_checks(&args).await?)).await?;
            match ask_consent(f, &preview).await? {
                Ok(()) => commands = preview.commands,
                Err(why) => not_run = Some(why),
            }
        }
        let (mut reply, root): (Reply, String) =
            f.step("apply", async |_| Ok(self.apply(&args).await?)).await?;
        reply.checks_not_run = not_run;
        for command in &commands {
            let check =
                f.step("check", async |_| Ok(run_check(&self.call, &root, &reply.plan_id, command).await?));
            reply.checks.push(check.await?);
        }
        Ok(reply)
    }
}

/// Asks the user whether commands may be run. Where nobody can be asked, they are not.
async fn ask_consent(f: &mut Flow<'_>, preview: &CheckPreview) -> Result<Result<(), String>, Halt> {
    let by_hand = |why: &str| {
        let commands = preview.commands.join("`, `");
        format!("{why}. The user can run them: `{commands}`")
    };
    if preview.commands.is_empty() {
        return Ok(Err("the plan has no post-checks".to_owned()));
    }
    if let Some(why) = &preview.refused {
        // No advice to run the commands of a plan that may be anyone's.
        return Ok(Err(why.clone()));
    }
    if !f.can_ask() {
        return Ok(Err(by_hand("commands are run only if the user agrees, and this client cannot ask them")));
    }
    let question = confirm("Run these commands once the plan is written?").default(false).optional();
    let message = consent_message(&preview.root, &preview.commands);
    let agreed = f.form(&message, (CONSENT_FIELD, question)).await?;
    Ok(if agreed == Some(true) { Ok(()) } else { Err(by_hand("the user did not agree")) })
}

impl ApplyEditPlan {
    async fn load_plan(&self, args: &Args) -> Result<(PlanInput, PlanAuthor), RequestError> {
        let plans = PlanStore::open(&self.call).await?;
        let Args { plan_id, plan, root, .. } = args;
        let input = PlanInput::find(&plans, plan_id.as_deref(), plan.as_ref(), root.as_deref()).await?;
        Ok((input, plans.author()))
    }

    /// The commands of a plan that could be applied.
    async fn preview_checks(&self, args: &Args) -> Result<CheckPreview, RequestError> {
        let (input, author) = self.load_plan(args).await?;
        let (roots, allow, call) =
            (Roots::new(self.call.roots.clone()), args.allow.clone(), self.call.clone());
        run_blocking(&self.call, move |budget| {
            let tree = roots.open(&input.root)?;
            let (_, commands) =
                validate_and_apply(&call, &tree, &input.value, &allow, true, &author, budget)?;
            let root = tree.path().display().to_string();
            let is_kept = input.stored_plan.is_some_and(|kept| kept.root == root);
            let refused = ensure_checks_allowed(&call, is_kept).err().map(str::to_owned);
            Ok(CheckPreview { root, commands, refused })
        })
        .await
    }

    /// Writes the plan. Gives along where.
    async fn apply(&self, args: &Args) -> Result<(Reply, String), RequestError> {
        let (input, author) = self.load_plan(args).await?;
        let (call, roots) = (self.call.clone(), Roots::new(self.call.roots.clone()));
        let (allow, dry_run) = (args.allow.clone(), args.dry_run);
        run_blocking_with_timeout(&self.call, APPLY_TIMEOUT, move |budget| {
            let tree = roots.open(&input.root)?;
            let (reply, _) =
                validate_and_apply(&call, &tree, &input.value, &allow, dry_run, &author, budget)?;
            Ok((reply, input.root))
        })
        .await
    }
}

/// Judges a plan and writes it, all of it or nothing. Gives its post-checks along.
pub(super) fn validate_and_apply(
    call: &ToolContext,
    tree: &Tree,
    plan: &Value,
    allow: &[String],
    dry_run: bool,
    author: &PlanAuthor,
    budget: &WorkBudget,
) -> Result<(Reply, Vec<String>), RequestError> {
    // What an earlier process left half done is put right first, or the plan would be judged by it.
    let recovered =
        if dry_run { Vec::new() } else { plan::recover(tree, author).map_err(PlanRequestError::from)? };
    let verdict = validate_plan(tree, plan, &validation_rules(allow, budget))
        .map_err(RequestError::thread_spawn_failed)?;
    let mut reply = apply_validated(call, tree, &verdict, dry_run, author)?;
    reply
        .warnings
        .extend(recovered.iter().map(|id| format!("the plan {id} had been left half done and was put back")));
    let (_, unreadable) = plan::list_undoable_plans(tree, &author.actor()).map_err(PlanRequestError::from)?;
    reply.warnings.extend(unreadable.iter().map(plan::UntrustedJournal::message));
    if reply.outcome == ApplyEditPlanOutcome::Applied && !author.is_persistent {
        reply.warnings.push(
            "the key that signs the journal ends with this process, since no database could be opened: keep the plan, and \
             use `fluxway undo --plan FILE`"
                .to_owned(),
        );
    }
    let commands = verdict.plan.as_ref().map(|plan| plan.post_checks.clone()).unwrap_or_default();
    Ok((reply, commands))
}

fn apply_validated(
    call: &ToolContext,
    tree: &Tree,
    validation: &PlanValidation,
    dry_run: bool,
    author: &PlanAuthor,
) -> Result<Reply, RequestError> {
    let Some(whole) = validation.plan.as_ref().filter(|_| validation.is_valid()) else {
        return Err(PlanRequestError::invalid(validation).into());
    };
    let files = &validation.resolution.files;
    let done = validation.already_applied || files.is_empty();
    let (outcome, written, can_undo) = if done {
        let can_undo = plan::can_undo(tree, &whole.id, &author.actor()).map_err(PlanRequestError::from)?;
        (ApplyEditPlanOutcome::AlreadyApplied, Vec::new(), can_undo)
    } else if dry_run {
        (ApplyEditPlanOutcome::DryRun, Vec::new(), false)
    } else {
        let applied = plan::apply(tree, whole, files, &author.actor()).map_err(PlanRequestError::from)?;
        let is_new = applied.outcome == plan::ApplyOutcome::Applied;
        (
            if is_new { ApplyEditPlanOutcome::Applied } else { ApplyEditPlanOutcome::AlreadyApplied },
            applied.files,
            applied.can_undo,
        )
    };
    let warnings = validation.findings.iter().map(plan::PlanFinding::sentence).collect();
    Ok(Reply {
        outcome,
        plan_id: whole.id.clone(),
        files: written,
        diff: files.iter().map(|file| visible_diff(call, &file.change.diff)).collect(),
        warnings,
        checks: Vec::new(),
        checks_not_run: None,
        undo: can_undo.then(|| undo_hint(&whole.id)),
    })
}

/// How a plan is taken back.
pub(super) fn undo_hint(id: &str) -> String {
    format!("undo_edit_plan with plan_id {id}, or `fluxway undo {id}`")
}

/// Runs a command that the user agreed to, and writes that down for the operator.
pub(super) async fn run_check(
    call: &ToolContext,
    root: &str,
    plan: &str,
    command: &str,
) -> Result<Check, RequestError> {
    let (roots, root, words) = (Roots::new(call.roots.clone()), root.to_owned(), command.to_owned());
    let done = run_blocking_with_timeout(call, APPLY_TIMEOUT, move |budget| {
        Ok(execute_check(&roots.open(&root)?, &words, budget))
    })
    .await?;
    let (tenant, subject) = (call.principal.tenant(), call.principal.subject());
    let exit_code = done.exit_code;
    tracing::info!(target: "audit", event = "check", tenant, subject, plan, command, exit_code, passed = done.passed);
    Ok(done)
}

/// Runs a post-check, if it is of an allowed form.
fn execute_check(tree: &Tree, command: &str, budget: &WorkBudget) -> Check {
    budget.report_progress(1, &format!("running {command}"));
    let run = judge_check(command, fluxloop::is_check_command).and_then(|words| {
        plan::run_check(tree, &words, budget).map_err(|error| spawn_error_message(&words, &error))
    });
    match run {
        Ok(checked) => {
            let passed = checked.passed();
            let CheckResult { code, timed_out, output, .. } = checked;
            Check { command: command.to_owned(), passed, exit_code: code, timed_out, output }
        }
        Err(reason) => {
            let output = format!("not run: {reason}");
            Check { command: command.to_owned(), passed: false, exit_code: None, timed_out: false, output }
        }
    }
}

/// Why a program did not start: mostly it is not installed yet.
fn spawn_error_message(words: &[String], error: &io::Error) -> String {
    match (error.kind(), words.first()) {
        (io::ErrorKind::NotFound, Some(program)) => {
            format!("there is no program `{program}` here; install it first")
        }
        _ => error.to_string(),
    }
}
