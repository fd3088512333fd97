//! Validates a plan, regardless of whether this server or a model wrote it.

use std::io;

use serde_json::Value;
use tree::{Tree, WorkBudget};

use super::digest;
use super::document::{Edit, EditPlan, Rollback};
use super::finding::{PlanFinding, quote};
use super::hidden_chars;
use super::original_texts;
use super::parse::{PlanDraft, parse_plan};
use super::post_check;
use super::resolve::{FileOverlay, Resolution, resolve_edits_with_overlay};
use super::{MAX_EDITED_FILE_BYTES, diff::unified_diff};
use crate::source::run_with_parser_stack;

const PLAN_SCHEMA_VERSION: u32 = 1;

/// Names of the checks: those documented in the contract, then additional ones.
pub const CHECK_NAMES: [&str; 12] = [
    "Plan structure validation",
    "File existence checks",
    "Anchor pattern verification",
    "Duplicate code detection",
    "Post-check safety",
    "Rollback instructions",
    "Path containment and protected paths",
    "Ambiguous anchors",
    "Overlapping edits",
    "Staleness against recorded hashes",
    "Parse after apply",
    "Idempotency",
];

/// A common import that does not work, and its replacement.
#[derive(Debug, Clone, Copy)]
pub struct WrongImport {
    pub wrong: &'static str,
    pub right: &'static str,
    pub why: &'static str,
}

/// Rules that the caller adds to those of this crate.
#[derive(Clone, Copy)]
pub struct ValidationRules<'a> {
    /// Protected paths that may be written to.
    pub consent: &'a [String],
    pub wrong_imports: &'a [WrongImport],
    /// Further commands that are allowed as post-checks.
    pub is_extra_command: fn(&[&str]) -> bool,
    pub budget: &'a WorkBudget,
}

#[derive(Debug, Default)]
pub struct PlanValidation {
    pub findings: Vec<PlanFinding>,
    /// The complete plan, ready to apply, if no finding is blocking.
    pub plan: Option<EditPlan>,
    /// The resolved edits, as far as they could be resolved.
    pub resolution: Resolution,
    /// All edits are already in place.
    pub already_applied: bool,
}

impl PlanValidation {
    pub fn is_valid(&self) -> bool {
        !self.findings.iter().any(PlanFinding::is_blocking)
    }
}

/// Validates a plan given as arbitrary JSON.
pub fn validate_plan(tree: &Tree, plan: &Value, rules: &ValidationRules<'_>) -> io::Result<PlanValidation> {
    run_with_parser_stack(|| {
        PlanValidator { tree, rules, validation: PlanValidation::default() }.validate(plan)
    })
}

struct PlanValidator<'a> {
    tree: &'a Tree,
    rules: &'a ValidationRules<'a>,
    validation: PlanValidation,
}

impl PlanValidator<'_> {
    fn validate(mut self, plan: &Value) -> PlanValidation {
        let draft = parse_plan(plan, &mut self.validation.findings);
        self.check_post_checks(&draft);
        self.check_rollback(&draft);
        for (at, edit) in &draft.edits {
            self.check_imports(*at, edit);
        }
        if let Some(whole) = &draft.full_plan
            && self.is_applied(whole)
        {
            let says = "all edits of this plan are already in place";
            self.validation.findings.push(PlanFinding::warning("already_applied", says));
            self.validation.already_applied = true;
            self.validation.plan = Some(whole.clone());
            self.validation.findings.extend(hidden_chars::find_hidden_chars(&draft, &[]));
            return self.validation;
        }
        if draft.edits.is_empty() && self.validation.is_valid() {
            let finding =
                PlanFinding::blocking("no_edits", "the plan has no edits; there is nothing to apply");
            self.validation
                .findings
                .push(finding.with_fix("its `warnings` may explain why; propose another plan"));
        }
        self.resolve(&draft);
        self.validation
            .findings
            .extend(hidden_chars::find_hidden_chars(&draft, &self.validation.resolution.edits));
        self.check_claims(&draft);
        self.validation
            .findings
            .sort_by_key(|finding| (finding.edit.is_some(), finding.edit, finding.severity));
        if self.validation.is_valid() {
            self.validation.plan = Some(self.complete_plan(draft));
        }
        self.validation
    }

    fn resolve(&mut self, draft: &PlanDraft) {
        let (numbers, edits): (Vec<usize>, Vec<Edit>) = draft.edits.iter().cloned().unzip();
        let mut resolution = self.resolve_with_overlay(edits, &FileOverlay::new());
        for finding in std::mem::take(&mut resolution.findings) {
            let edit = finding.edit.and_then(|at| numbers.get(at).copied());
            self.validation.findings.push(PlanFinding { edit, ..finding });
        }
        let did_something = !resolution.edits.is_empty() && resolution.files.is_empty();
        self.validation.already_applied = did_something && self.validation.is_valid();
        if self.validation.is_valid() {
            self.check_idempotency(&resolution, &numbers);
        }
        self.validation.resolution = resolution;
    }

    fn resolve_with_overlay(&self, edits: Vec<Edit>, over: &FileOverlay) -> Resolution {
        resolve_edits_with_overlay(self.tree, edits, self.rules.consent, over, self.rules.budget)
    }

    /// Warns about edits that would change the files again if applied twice.
    fn check_idempotency(&mut self, resolution: &Resolution, numbers: &[usize]) {
        let plain =
            resolution.edits.iter().cloned().map(|edit| Edit { changes: Vec::new(), ..edit }).collect();
        let outline = |path: &String| resolution.outlines.get(path).cloned();
        let file = |file: &super::ResolvedFile| {
            let path = file.change.path.clone();
            let outline = outline(&path);
            (path, (file.new_bytes(), outline))
        };
        let done: FileOverlay = resolution.files.iter().map(file).collect();
        let again = self.resolve_with_overlay(plain, &done);
        for (at, edit) in again.edits.iter().enumerate().filter(|(_, edit)| !edit.changes.is_empty()) {
            let says = format!("applying it twice would change {} again", edit.filepath);
            let finding =
                PlanFinding::warning("not_idempotent", says).for_edit(numbers.get(at).copied().unwrap_or(at));
            self.validation
                .findings
                .push(finding.with_fix("do not apply it twice by hand; this server never does"));
        }
    }

    /// Verifies the recorded id, digests and changes of a plan that claims to come from this server.
    fn check_claims(&mut self, draft: &PlanDraft) {
        let Some(whole) = &draft.full_plan else { return };
        let mut say = |finding: PlanFinding| self.validation.findings.push(finding);
        if digest::plan_id(whole) != whole.id {
            let says = "the plan does not match its `id`: it has been modified";
            say(PlanFinding::blocking("changed_plan", says).with_fix(
                "propose it again, or remove `id`, `schema` and `files` to have it resolved again",
            ));
        }
        let resolved = &self.validation.resolution.files;
        for file in &whole.files {
            let now = self
                .tree
                .read_nofollow(&file.path, MAX_EDITED_FILE_BYTES)
                .ok()
                .map(|bytes| digest::sha256_hex(&bytes));
            let before = file.before.as_ref().map(|before| before.sha256.clone());
            if now != before {
                let says = match (&now, &before) {
                    (None, Some(_)) => format!("{} has been deleted since the plan was made", file.path),
                    (Some(_), None) => format!("{} has been created since the plan was made", file.path),
                    _ => format!("{} has changed since the plan was made", file.path),
                };
                let known = self.validation.findings.iter().any(|finding| finding.code == "stale_file");
                if !known {
                    let finding = PlanFinding::blocking("stale_file", says).with_location(&file.path, 1);
                    self.validation.findings.push(finding.with_fix("propose a new plan"));
                }
                continue;
            }
            let found = resolved.iter().find(|resolved| resolved.change.path == file.path);
            if found.is_none_or(|found| found.change != *file) {
                let says =
                    format!("the recorded content of {} does not match the edits of the plan", file.path);
                self.validation
                    .findings
                    .push(PlanFinding::blocking("lying_plan", says).with_fix("propose a new plan"));
            }
        }
        let unsaid =
            resolved.iter().find(|file| whole.files.iter().all(|known| known.path != file.change.path));
        if let Some(file) = unsaid {
            let says = format!("the plan changes {} but does not list it in `files`", file.change.path);
            self.validation
                .findings
                .push(PlanFinding::blocking("lying_plan", says).with_fix("propose a new plan"));
        }
        if self.validation.is_valid() && self.rebuild_plan(whole) != *whole {
            let says =
                "the post-check commands or rollback of the plan differ from what this server generates";
            self.validation
                .findings
                .push(PlanFinding::blocking("lying_plan", says).with_fix("propose a new plan"));
        }
    }

    /// The plan as this server would generate it.
    fn rebuild_plan(&self, whole: &EditPlan) -> EditPlan {
        let facts = PlanDetails {
            post_checks: whole.post_checks.clone(),
            notes: whole.notes.clone(),
            warnings: whole.warnings.clone(),
            prerequisites: whole.prerequisites.clone(),
            install_commands: whole.install_commands.clone(),
        };
        build_plan(whole.summary.clone(), &self.validation.resolution, facts, self.rules.is_extra_command)
    }

    /// Whether every file has the content after the plan, and the edits of the plan account for it.
    fn is_applied(&self, whole: &EditPlan) -> bool {
        let is_done = |file: &super::FileChange| {
            super::path_check::find_path_problem(&file.path).is_none()
                && self.tree.metadata(&file.path).is_ok_and(|found| found.is_some_and(|found| found.is_file))
                && self
                    .tree
                    .read_nofollow(&file.path, MAX_EDITED_FILE_BYTES)
                    .is_ok_and(|now| digest::sha256_hex(&now) == file.sha256)
        };
        !whole.files.is_empty()
            && whole.files.iter().all(is_done)
            && original_texts::reconstruct_original_texts(self.tree, whole, self.rules.consent).is_ok()
    }

    fn check_imports(&mut self, at: usize, edit: &Edit) {
        let texts = [edit.payload.import.as_deref(), edit.payload.code.as_deref()];
        for line in texts.into_iter().flatten().flat_map(str::lines) {
            if let Some(wrong) = self.rules.wrong_imports.iter().find(|wrong| line.trim() == wrong.wrong) {
                let says = format!("{} does not work: {}", quote(wrong.wrong), wrong.why);
                let finding = PlanFinding::blocking("wrong_import", says).for_edit(at);
                self.validation.findings.push(finding.with_fix(format!("write `{}`", wrong.right)));
            }
        }
    }

    fn check_post_checks(&mut self, draft: &PlanDraft) {
        for command in &draft.post_checks {
            if let Err(reason) = post_check::parse_check_command(command, self.rules.is_extra_command) {
                let says = format!("post-check {} is not safe to run: {reason}", quote(command));
                let fix = "remove it, or use a plain test command such as `pytest tests/` or `npm test`";
                self.validation.findings.push(PlanFinding::blocking("unsafe_command", says).with_fix(fix));
            }
        }
    }

    fn check_rollback(&mut self, draft: &PlanDraft) {
        let warning = match draft.rollback.as_deref().map(str::trim) {
            None | Some("") => {
                "Rollback instructions missing; `undo_edit_plan` undoes plans applied by this server"
                    .to_owned()
            }
            Some(text) if discards_other_work(text) => format!(
                "the rollback {} would discard unrelated changes; it is never run, `undo_edit_plan` is used instead",
                quote(text)
            ),
            Some(_) => return,
        };
        self.validation.findings.push(PlanFinding::warning("rollback", warning));
    }

    fn complete_plan(&self, draft: PlanDraft) -> EditPlan {
        draft.full_plan.unwrap_or_else(|| {
            let facts = PlanDetails { post_checks: draft.post_checks, ..PlanDetails::default() };
            build_plan(draft.summary, &self.validation.resolution, facts, self.rules.is_extra_command)
        })
    }
}

/// Whether a rollback text contains a command that resets more than the plan wrote.
fn discards_other_work(text: &str) -> bool {
    let text = text.to_lowercase();
    ["git restore", "git reset", "git checkout", "git clean", "git stash", "rm "]
        .iter()
        .any(|word| text.contains(word))
}

/// The parts of a plan besides its edits.
#[derive(Debug, Clone, Default)]
pub struct PlanDetails {
    pub post_checks: Vec<String>,
    /// Why the plan looks like this, and how to read its results.
    pub notes: Vec<String>,
    pub warnings: Vec<String>,
    pub prerequisites: Vec<String>,
    pub install_commands: Vec<String>,
}

/// Builds a plan from resolved edits. `commands` allows further post-check commands.
pub fn build_plan(
    summary: String,
    resolution: &Resolution,
    facts: PlanDetails,
    commands: fn(&[&str]) -> bool,
) -> EditPlan {
    let PlanDetails { post_checks, notes, warnings, prerequisites, install_commands } = facts;
    let reverse =
        |file: &super::ResolvedFile| unified_diff(&file.change.path, Some(&file.new), file.old.as_deref());
    let commands = post_checks
        .iter()
        .map(|command| post_check::parse_check_command(command, commands).unwrap_or_default())
        .collect();
    let mut plan = EditPlan {
        schema: PLAN_SCHEMA_VERSION,
        id: String::new(),
        summary,
        edits: resolution.edits.clone(),
        files: resolution.files.iter().map(|file| file.change.clone()).collect(),
        post_checks,
        post_check_commands: commands,
        rollback: Rollback {
            instruction: String::new(),
            description:
                "Restores exactly the files that this plan wrote, unless they were edited since. If your editor \
                 applied the plan, keep the plan and use `fluxway undo --plan FILE`."
                    .to_owned(),
            files: resolution.files.iter().map(|file| file.change.path.clone()).collect(),
            reverse_diff: resolution.files.iter().map(reverse).collect(),
        },
        notes,
        warnings,
        prerequisites,
        install_commands,
    };
    plan.id = digest::plan_id(&plan);
    plan.rollback.instruction = if plan.edits.is_empty() {
        "There is nothing to undo: this plan has no edits.".to_owned()
    } else {
        format!("fluxway undo {}", plan.id)
    };
    plan
}
