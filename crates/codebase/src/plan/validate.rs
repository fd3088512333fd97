//! Whether a plan can be applied, whoever wrote it.

use std::io;

use serde_json::Value;
use tree::{Budget, Tree};

use super::check;
use super::digest;
use super::document::{Edit, Plan, Rollback};
use super::explain;
use super::finding::{Finding, quoted};
use super::hidden;
use super::read::{Draft, read};
use super::resolve::{Over, Resolution, resolve_over};
use super::{LARGEST_FILE, diff::unified};
use crate::source::with_stack;

/// The version of the format.
const SCHEMA: u32 = 1;

/// What is looked at, in words: the documented checks, and ours.
pub const CHECKS: [&str; 12] = [
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

/// An import that does not work, and the one that does.
#[derive(Debug, Clone, Copy)]
pub struct WrongImport {
    /// What people write.
    pub wrong: &'static str,
    /// What they should.
    pub right: &'static str,
    /// Why.
    pub why: &'static str,
}

/// What whoever asks knows beyond this crate.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Guarded paths that may be written to all the same.
    pub consent: &'a [String],
    /// Imports that do not work.
    pub wrong_imports: &'a [WrongImport],
    /// Further commands that may be run as a check.
    pub commands: fn(&[&str]) -> bool,
    /// How long it may take.
    pub budget: &'a Budget,
}

/// What is to be said about a plan.
#[derive(Debug, Default)]
pub struct Verdict {
    /// What is wrong, or may be.
    pub findings: Vec<Finding>,
    /// The plan with everything in it that is needed to apply it, if nothing blocks.
    pub plan: Option<Plan>,
    /// What it comes to, as far as that could be found out.
    pub resolution: Resolution,
    /// Everything that it would do is done.
    pub already_applied: bool,
}

impl Verdict {
    /// Whether nothing blocks.
    pub fn is_valid(&self) -> bool {
        !self.findings.iter().any(Finding::is_blocking)
    }
}

/// Judges a plan: any JSON.
pub fn validate(tree: &Tree, plan: &Value, rules: &Rules<'_>) -> io::Result<Verdict> {
    with_stack(|| Judge { tree, rules, verdict: Verdict::default() }.judge(plan))
}

struct Judge<'a> {
    tree: &'a Tree,
    rules: &'a Rules<'a>,
    verdict: Verdict,
}

impl Judge<'_> {
    fn judge(mut self, plan: &Value) -> Verdict {
        let draft = read(plan, &mut self.verdict.findings);
        self.post_checks(&draft);
        self.rollback(&draft);
        for (at, edit) in &draft.edits {
            self.imports(*at, edit);
        }
        if let Some(whole) = &draft.whole
            && self.is_applied(whole)
        {
            let says = "everything that this plan does is done already";
            self.verdict.findings.push(Finding::warns("already_applied", says));
            self.verdict.already_applied = true;
            self.verdict.plan = Some(whole.clone());
            self.verdict.findings.extend(hidden::findings(&draft, &[]));
            return self.verdict;
        }
        if draft.edits.is_empty() && self.verdict.is_valid() {
            let finding = Finding::blocks("no_edits", "the plan has no edits: there is nothing to apply");
            self.verdict.findings.push(finding.fix("its `warnings` may say why; propose another plan"));
        }
        self.resolve(&draft);
        self.verdict.findings.extend(hidden::findings(&draft, &self.verdict.resolution.edits));
        self.claims(&draft);
        self.verdict.findings.sort_by_key(|finding| (finding.edit.is_some(), finding.edit, finding.severity));
        if self.verdict.is_valid() {
            self.verdict.plan = Some(self.whole(draft));
        }
        self.verdict
    }

    fn resolve(&mut self, draft: &Draft) {
        let (numbers, edits): (Vec<usize>, Vec<Edit>) = draft.edits.iter().cloned().unzip();
        let mut resolution = self.resolved(edits, &Over::new());
        for finding in std::mem::take(&mut resolution.findings) {
            let edit = finding.edit.and_then(|at| numbers.get(at).copied());
            self.verdict.findings.push(Finding { edit, ..finding });
        }
        let did_something = !resolution.edits.is_empty() && resolution.files.is_empty();
        self.verdict.already_applied = did_something && self.verdict.is_valid();
        if self.verdict.is_valid() {
            self.twice(&resolution, &numbers);
        }
        self.verdict.resolution = resolution;
    }

    fn resolved(&self, edits: Vec<Edit>, over: &Over) -> Resolution {
        resolve_over(self.tree, edits, self.rules.consent, over, self.rules.budget)
    }

    /// Applying it again must change nothing.
    fn twice(&mut self, resolution: &Resolution, numbers: &[usize]) {
        let plain =
            resolution.edits.iter().cloned().map(|edit| Edit { changes: Vec::new(), ..edit }).collect();
        let outline = |path: &String| resolution.outlines.get(path).cloned();
        let file = |file: &super::Resolved| {
            let path = file.change.path.clone();
            let outline = outline(&path);
            (path, (file.new.clone(), outline))
        };
        let done: Over = resolution.files.iter().map(file).collect();
        let again = self.resolved(plain, &done);
        for (at, edit) in again.edits.iter().enumerate().filter(|(_, edit)| !edit.changes.is_empty()) {
            let says = format!("a second time it would change {} again", edit.filepath);
            let finding = Finding::warns("not_idempotent", says).of(numbers.get(at).copied().unwrap_or(at));
            self.verdict.findings.push(finding.fix("do not apply it twice by hand; this server does not"));
        }
    }

    /// What a plan of ours says about itself must be true.
    fn claims(&mut self, draft: &Draft) {
        let Some(whole) = &draft.whole else { return };
        let mut say = |finding: Finding| self.verdict.findings.push(finding);
        if digest::id(whole) != whole.id {
            let says = "the plan is not the one that its `id` stands for: it has been changed";
            say(Finding::blocks("changed_plan", says)
                .fix("propose it anew, or take out `id`, `schema` and `files` to have it resolved again"));
        }
        let resolved = &self.verdict.resolution.files;
        for file in &whole.files {
            let now = self.tree.read_plain(&file.path, LARGEST_FILE).ok().map(|bytes| digest::sha256(&bytes));
            let before = file.before.as_ref().map(|before| before.sha256.clone());
            if now != before {
                let says = match (&now, &before) {
                    (None, Some(_)) => format!("{} is gone since the plan was made", file.path),
                    (Some(_), None) => format!("{} has come into being since the plan was made", file.path),
                    _ => format!("{} has changed since the plan was made", file.path),
                };
                let known = self.verdict.findings.iter().any(|finding| finding.code == "stale_file");
                if !known {
                    let finding = Finding::blocks("stale_file", says).at(&file.path, 1);
                    self.verdict.findings.push(finding.fix("propose a new plan"));
                }
                continue;
            }
            let found = resolved.iter().find(|resolved| resolved.change.path == file.path);
            if found.is_none_or(|found| found.change != *file) {
                let says = format!("what the plan says about {} is not what its edits do", file.path);
                self.verdict.findings.push(Finding::blocks("lying_plan", says).fix("propose a new plan"));
            }
        }
        let unsaid =
            resolved.iter().find(|file| whole.files.iter().all(|known| known.path != file.change.path));
        if let Some(file) = unsaid {
            let says = format!("the plan does not say that it changes {}", file.change.path);
            self.verdict.findings.push(Finding::blocks("lying_plan", says).fix("propose a new plan"));
        }
        if self.verdict.is_valid() && self.made_anew(whole) != *whole {
            let says = "what the plan says about commands or its way back is not what this server would say";
            self.verdict.findings.push(Finding::blocks("lying_plan", says).fix("propose a new plan"));
        }
    }

    /// The plan as this server would write it.
    fn made_anew(&self, whole: &Plan) -> Plan {
        let facts = Facts {
            post_checks: whole.post_checks.clone(),
            warnings: whole.warnings.clone(),
            prerequisites: whole.prerequisites.clone(),
        };
        complete(whole.summary.clone(), &self.verdict.resolution, facts, self.rules.commands)
    }

    /// Every file is as the plan would leave it, and its edits explain that.
    fn is_applied(&self, whole: &Plan) -> bool {
        let is_done = |file: &super::FileChange| {
            super::path::problem(&file.path).is_none()
                && self.tree.find(&file.path).is_ok_and(|found| found.is_some_and(|found| found.is_file))
                && self
                    .tree
                    .read_plain(&file.path, LARGEST_FILE)
                    .is_ok_and(|now| digest::sha256(&now) == file.sha256)
        };
        !whole.files.is_empty()
            && whole.files.iter().all(is_done)
            && explain::before(self.tree, whole, self.rules.consent).is_ok()
    }

    fn imports(&mut self, at: usize, edit: &Edit) {
        let texts = [edit.payload.import.as_deref(), edit.payload.code.as_deref()];
        for line in texts.into_iter().flatten().flat_map(str::lines) {
            if let Some(wrong) = self.rules.wrong_imports.iter().find(|wrong| line.trim() == wrong.wrong) {
                let says = format!("{} does not work: {}", quoted(wrong.wrong), wrong.why);
                let finding = Finding::blocks("wrong_import", says).of(at);
                self.verdict.findings.push(finding.fix(format!("write `{}`", wrong.right)));
            }
        }
    }

    fn post_checks(&mut self, draft: &Draft) {
        for command in &draft.post_checks {
            if let Err(reason) = check::judge(command, self.rules.commands) {
                let says = format!("post-check {} is not safe to run: {reason}", quoted(command));
                let fix = "take it out, or use a plain test command such as `pytest tests/` or `npm test`";
                self.verdict.findings.push(Finding::blocks("unsafe_command", says).fix(fix));
            }
        }
    }

    fn rollback(&mut self, draft: &Draft) {
        let warning = match draft.rollback.as_deref().map(str::trim) {
            None | Some("") => {
                "Rollback instructions missing; `undo_edit_plan` reverses what is applied here".to_owned()
            }
            Some(text) if sweeps(text) => format!(
                "the rollback {} would throw away work that is not the plan's; it is never run, `undo_edit_plan` is used",
                quoted(text)
            ),
            Some(_) => return,
        };
        self.verdict.findings.push(Finding::warns("rollback", warning));
    }

    /// The plan with everything in it.
    fn whole(&self, draft: Draft) -> Plan {
        draft.whole.unwrap_or_else(|| {
            let facts = Facts { post_checks: draft.post_checks, ..Facts::default() };
            complete(draft.summary, &self.verdict.resolution, facts, self.rules.commands)
        })
    }
}

/// Commands that reset more than a plan wrote.
fn sweeps(text: &str) -> bool {
    let text = text.to_lowercase();
    ["git restore", "git reset", "git checkout", "git clean", "git stash", "rm "]
        .iter()
        .any(|word| text.contains(word))
}

/// What a plan says besides its edits.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Commands that show whether it worked.
    pub post_checks: Vec<String>,
    /// What to look at first.
    pub warnings: Vec<String>,
    /// What has to be there first.
    pub prerequisites: Vec<String>,
}

/// A plan of edits that have been resolved. `commands` says which further commands are checks.
pub fn complete(
    summary: String,
    resolution: &Resolution,
    facts: Facts,
    commands: fn(&[&str]) -> bool,
) -> Plan {
    let Facts { post_checks, warnings, prerequisites } = facts;
    let reverse = |file: &super::Resolved| unified(&file.change.path, Some(&file.new), file.old.as_deref());
    let commands =
        post_checks.iter().map(|command| check::judge(command, commands).unwrap_or_default()).collect();
    let mut plan = Plan {
        schema: SCHEMA,
        id: String::new(),
        summary,
        edits: resolution.edits.clone(),
        files: resolution.files.iter().map(|file| file.change.clone()).collect(),
        post_checks,
        post_check_commands: commands,
        rollback: Rollback {
            instruction: String::new(),
            description:
                "Restores exactly the files that this plan wrote, if nobody has edited them since. If your \
                          editor applied the plan, keep the plan and use `fluxway undo --plan FILE`."
                    .to_owned(),
            files: resolution.files.iter().map(|file| file.change.path.clone()).collect(),
            reverse_diff: resolution.files.iter().map(reverse).collect(),
        },
        warnings,
        prerequisites,
    };
    plan.id = digest::id(&plan);
    plan.rollback.instruction = if plan.edits.is_empty() {
        "There is nothing to undo: this plan has no edits.".to_owned()
    } else {
        format!("fluxway undo {}", plan.id)
    };
    plan
}
