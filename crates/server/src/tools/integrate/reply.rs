//! The result of an integration, as data and as a one-sentence summary.

use schemars::JsonSchema;
use serde::Serialize;

use super::proposal::{ReadyPlan, sanitize_for_terminal};
use super::questions::IntegrationChoice;
use super::steps::IntegrateApplyResult;
use crate::ToolContext;
use crate::tools::apply_edit_plan::Check;

/// The result of an integration.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    outcome: IntegrateOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    framework: Option<String>,
    /// The folder of the package; `.` for the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<String>,
    /// What FluxLoop runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// Files that were written, or restored by an undo.
    files: Vec<String>,
    /// What the plan changes.
    diff: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    warnings: Vec<String>,
    /// What must be installed or running.
    prerequisites: Vec<String>,
    /// Commands that verify the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    post_checks: Vec<String>,
    /// How the installation of prerequisites ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) installs: Vec<Check>,
    /// Results of the checks.
    pub(super) checks: Vec<Check>,
    /// Why requested checks were not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    checks_not_run: Option<String>,
    /// How to undo the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<String>,
}

/// How the integration ended.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum IntegrateOutcome {
    Applied,
    Undone,
    Declined,
    AlreadyApplied,
    NothingToDo,
}

impl Reply {
    /// For a repository in which nothing can be integrated.
    pub(super) fn nothing_to_do(why: Vec<String>) -> Self {
        Self {
            outcome: IntegrateOutcome::NothingToDo,
            plan_id: None,
            framework: None,
            package: None,
            variant: None,
            target: None,
            files: Vec::new(),
            diff: String::new(),
            notes: Vec::new(),
            warnings: why,
            prerequisites: Vec::new(),
            post_checks: Vec::new(),
            installs: Vec::new(),
            checks: Vec::new(),
            checks_not_run: None,
            undo: None,
        }
    }

    /// For a plan that has not been applied yet.
    pub(super) fn for_plan(call: &ToolContext, chosen: &IntegrationChoice, ready: &ReadyPlan) -> Self {
        let plan = &ready.plan;
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Self {
            outcome: IntegrateOutcome::Declined,
            plan_id: some(&plan.id),
            framework: some(&chosen.framework),
            package: chosen.options.package.clone().filter(|package| !package.is_empty()),
            variant: some(&ready.variant),
            target: some(&ready.target),
            diff: ready.diff(call),
            notes: plan.notes.clone(),
            prerequisites: plan.prerequisites.clone(),
            post_checks: plan.post_checks.clone(),
            ..Self::nothing_to_do(plan.warnings.clone())
        }
    }

    /// Every change was there before. Nothing can be undone by this plan's id, so it is dropped.
    pub(super) fn mark_already_applied(&mut self) {
        self.outcome = IntegrateOutcome::AlreadyApplied;
        self.plan_id = None;
    }

    pub(super) fn set_checks_not_run(&mut self, why: String) {
        self.checks_not_run = Some(why);
    }

    pub(super) fn mark_applied(&mut self, applied: IntegrateApplyResult) {
        self.outcome =
            if applied.is_new { IntegrateOutcome::Applied } else { IntegrateOutcome::AlreadyApplied };
        self.files = applied.files;
        let news = applied.warnings.into_iter().filter(|warning| !self.warnings.contains(warning));
        let news: Vec<String> = news.collect();
        self.warnings.extend(news);
        self.undo = applied.undo;
    }

    pub(super) fn mark_undone(&mut self, files: Vec<String>) {
        self.outcome = IntegrateOutcome::Undone;
        self.files = files;
        self.post_checks.clear();
        self.undo = None;
    }

    /// The message of the question whether to keep the changes.
    pub(super) fn undo_question_message(&self, failed: &[&Check]) -> String {
        const MAX_FAILED_OUTPUT_LINES: usize = 12;
        let mut text = self.summary();
        for check in failed {
            let lines: Vec<&str> = check.output.lines().collect();
            let end = lines.iter().skip(lines.len().saturating_sub(MAX_FAILED_OUTPUT_LINES));
            text.extend(["\nFailed: ", &check.command, "\n"]);
            text.extend(end.map(|line| format!("    {}\n", sanitize_for_terminal(line))));
        }
        text.trim_end().to_owned()
    }

    /// The result in one sentence.
    pub(super) fn summary(&self) -> String {
        let files = match self.files.as_slice() {
            [only] if codebase::NameKind::File.is_safe_name(only) => only.clone(),
            [_] => "1 file".to_owned(),
            files => format!("{} files", files.len()),
        };
        let failed = self.checks.iter().filter(|check| !check.passed).count();
        let checks = match (self.checks.len(), failed) {
            (0, _) => String::new(),
            (all, 0) => format!(" {all} of {all} checks passed."),
            (all, failed) => format!(" {failed} of {all} checks failed."),
        };
        let id = self.plan_id.as_deref().unwrap_or_default();
        match self.outcome {
            IntegrateOutcome::Applied => {
                format!("FluxLoop is integrated: {files} written.{checks} Undo with `fluxway undo {id}`.")
            }
            IntegrateOutcome::Undone => format!("Changes undone: {files} restored."),
            IntegrateOutcome::Declined => "Nothing was written: the user declined.".to_owned(),
            IntegrateOutcome::AlreadyApplied => {
                format!("FluxLoop is already integrated; nothing was written.{checks}")
            }
            IntegrateOutcome::NothingToDo => {
                let why = self.warnings.first().map(|why| format!(" {why}"));
                format!("Nothing to integrate.{}", why.unwrap_or_default())
            }
        }
    }
}
