//! `apply_edit_plan`: writes a plan, all of it or nothing.

use std::io;
use std::time::Duration;

use codebase::plan::{self, Checked, Outcome, Verdict, judge_check, validate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tree::{Budget, Roots, Tree};

use super::analyze_repository::here;
use super::integration::rules;
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::Call;
use crate::blocking::blocking_for;
use crate::error::{Failure, PlanProblem};

/// Apply an edit plan: all of it or nothing, checked again first, with a journal for `undo_edit_plan`. Show the user the
/// diff and ask before you call this.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The plan, as `propose_edit_plan` gave it.
    plan: Map<String, Value>,
    /// The folder of the repository.
    #[serde(default = "here")]
    root: String,
    /// Only show what would be written.
    #[serde(default)]
    dry_run: bool,
    /// Run the plan's post-checks afterwards, those of allowed forms.
    #[serde(default)]
    run_checks: bool,
    /// Protected paths that the user allows.
    #[serde(default)]
    allow: Vec<String>,
}

/// What was done.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    /// `applied`, `already_applied` or `dry_run`.
    pub(super) outcome: &'static str,
    plan_id: String,
    /// The files that were written.
    pub(super) files: Vec<String>,
    /// What changed, or would.
    diff: String,
    pub(super) warnings: Vec<String>,
    /// How the post-checks ended.
    checks: Vec<Check>,
    /// How to take it back.
    undo: String,
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

/// The tool.
pub(crate) struct ApplyEditPlan;

/// How long all of it may take; checks take longer than reading.
pub(super) const WALL: Duration = Duration::from_mins(3);

impl Tool for ApplyEditPlan {
    const SPEC: ToolSpec = ToolSpec {
        name: "apply_edit_plan",
        title: "Apply an edit plan",
        toolset: Toolset::Integrate,
        effect: Effect::Writes,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: Call, args: Args) -> Result<Reply, Failure> {
        let roots = Roots::new(call.roots.clone());
        blocking_for(&call, WALL, move |budget| {
            let tree = roots.open(&args.root)?;
            let (mut reply, commands) =
                write(&tree, &Value::Object(args.plan), &args.allow, args.dry_run, budget)?;
            if args.run_checks && !args.dry_run {
                reply.checks = commands.iter().map(|command| check(&tree, command, budget)).collect();
            }
            Ok(reply)
        })
        .await
    }
}

/// Judges a plan and writes it, all of it or nothing. Gives its post-checks along.
pub(super) fn write(
    tree: &Tree,
    plan: &Value,
    allow: &[String],
    dry_run: bool,
    budget: &Budget,
) -> Result<(Reply, Vec<String>), Failure> {
    // What an earlier process left half done is put right first, or the plan would be judged by it.
    let recovered = if dry_run { Vec::new() } else { plan::recover(tree).map_err(PlanProblem::from)? };
    let verdict = validate(tree, plan, &rules(allow, budget)).map_err(|_| Failure::Internal)?;
    let mut reply = apply(tree, &verdict, dry_run)?;
    reply
        .warnings
        .extend(recovered.iter().map(|id| format!("the plan {id} had been left half done and was put back")));
    let commands = verdict.plan.as_ref().map(|plan| plan.post_checks.clone()).unwrap_or_default();
    Ok((reply, commands))
}

fn apply(tree: &Tree, verdict: &Verdict, dry_run: bool) -> Result<Reply, Failure> {
    let Some(whole) = verdict.plan.as_ref().filter(|_| verdict.is_valid()) else {
        return Err(PlanProblem::invalid(verdict).into());
    };
    let files = &verdict.resolution.files;
    let done = verdict.already_applied || files.is_empty();
    let (outcome, written) = match (done, dry_run) {
        (true, _) => ("already_applied", Vec::new()),
        (false, true) => ("dry_run", Vec::new()),
        (false, false) => {
            let applied = plan::apply(tree, whole, files).map_err(PlanProblem::from)?;
            (if applied.outcome == Outcome::Applied { "applied" } else { "already_applied" }, applied.files)
        }
    };
    let warnings = verdict.findings.iter().map(plan::Finding::sentence).collect();
    Ok(Reply {
        outcome,
        plan_id: whole.id.clone(),
        files: written,
        diff: files.iter().map(|file| file.change.diff.as_str()).collect(),
        warnings,
        checks: Vec::new(),
        undo: way_back(&whole.id),
    })
}

/// How a plan is taken back.
pub(super) fn way_back(id: &str) -> String {
    format!("undo_edit_plan with plan_id {id}, or `fluxway undo {id}`")
}

/// Runs a post-check, if it is of an allowed form.
pub(super) fn check(tree: &Tree, command: &str, budget: &Budget) -> Check {
    budget.tell(1, &format!("running {command}"));
    let run = judge_check(command, fluxloop::is_check)
        .and_then(|words| plan::run_check(tree, &words, budget).map_err(|error| not_started(&words, &error)));
    match run {
        Ok(checked) => {
            let passed = checked.passed();
            let Checked { code, timed_out, output, .. } = checked;
            Check { command: command.to_owned(), passed, exit_code: code, timed_out, output }
        }
        Err(reason) => {
            let output = format!("not run: {reason}");
            Check { command: command.to_owned(), passed: false, exit_code: None, timed_out: false, output }
        }
    }
}

/// Why a program did not start: mostly it is not installed yet.
fn not_started(words: &[String], error: &io::Error) -> String {
    match (error.kind(), words.first()) {
        (io::ErrorKind::NotFound, Some(program)) => {
            format!("there is no program `{program}` here; install it first")
        }
        _ => error.to_string(),
    }
}
