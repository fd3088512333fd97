//! A plan as a model may see it: without secrets of the files that it touches.
//!
//! The plan itself stays as it is, for its `id` is the digest of all of it. The server keeps it, tells by [`is_plan_or_redaction`] that
//! what a client sends back is what was shown of it, and goes on with the plan itself.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::diff_redaction::{self, FileDiff, RedactedDiff, SecretFinder, contains_secret};
use super::document::{Anchor, Edit, EditPlan, Setting, TextChange};
use super::lsp::workspace_edit;

/// A plan as a model may see it.
#[derive(Debug, Clone, PartialEq)]
pub struct RedactedPlan {
    /// The plan. Its `id` is that of the exact one.
    pub plan: EditPlan,
    /// How many lines of context were left out of the diffs of its files.
    pub omitted_context_lines: usize,
    /// The files whose diffs and changes are withheld, by their paths: a changed line holds a secret.
    pub withheld: Vec<String>,
    /// The files with edits that are shown without a part that holds a secret: changes, anchors, or what they bring. Those
    /// that are withheld are among them.
    pub incomplete: Vec<String>,
    /// Whether `git apply` takes the diffs only with `--unidiff-zero`; see [`RedactedDiff::needs_unidiff_zero`].
    pub needs_unidiff_zero: bool,
}

/// Leaves out of a plan what holds a secret. Nothing is altered: a line, a text or a value is shown as it is, or not at
/// all.
pub fn redact_plan(exact: &EditPlan, find: SecretFinder) -> RedactedPlan {
    let forward: Vec<_> =
        exact.files.iter().map(|file| diff_redaction::parse_diff(&file.diff, find)).collect();
    let backward = diff_redaction::parse_diff(&exact.rollback.reverse_diff, find);
    // The same lines may be told as a change in one direction, and as context of another change in the other.
    let changing = forward.iter().flatten().chain(&backward).filter(|file| file.changes_secret());
    let mut withheld: BTreeSet<&str> = changing.map(FileDiff::path).collect();
    // A diff that cannot be read may not even name its file.
    let unnamed =
        exact.files.iter().zip(&forward).filter(|(_, diff)| diff.iter().any(FileDiff::changes_secret));
    withheld.extend(unnamed.map(|(file, _)| file.path.as_str()));

    let mut plan = exact.clone();
    let (mut left_out, mut needs_unidiff_zero) = (0, false);
    for (file, diff) in plan.files.iter_mut().zip(&forward) {
        let shown = redact_file_diffs(diff, &withheld);
        left_out += shown.omitted_lines;
        needs_unidiff_zero |= shown.needs_unidiff_zero;
        file.diff = shown.text;
    }
    let reverse = redact_file_diffs(&backward, &withheld);
    plan.rollback.reverse_diff = reverse.text;

    let mut known: BTreeMap<&str, FileSecrets<'_>> = BTreeMap::new();
    for file in forward.iter().flatten() {
        known.entry(file.path()).or_default().line_numbers.extend(file.secret_line_numbers());
    }
    for file in forward.iter().flatten().chain(&backward) {
        known.entry(file.path()).or_default().lines.extend(file.secret_lines());
    }
    let none = FileSecrets::default();
    let mut incomplete = BTreeSet::new();
    for (edit, exact) in plan.edits.iter_mut().zip(&exact.edits) {
        let path = exact.filepath.as_str();
        let secrets = known.get(path).unwrap_or(&none);
        secrets.redact_edit(edit, withheld.contains(path), find);
        if edit != exact {
            incomplete.insert(path.to_owned());
        }
    }
    withheld.remove("");
    incomplete.extend(withheld.iter().map(|path| (*path).to_owned()));
    redact_remarks(&mut plan, find);
    RedactedPlan {
        plan,
        omitted_context_lines: left_out.max(reverse.omitted_lines),
        withheld: withheld.into_iter().map(str::to_owned).collect(),
        incomplete: incomplete.into_iter().collect(),
        needs_unidiff_zero: needs_unidiff_zero || reverse.needs_unidiff_zero,
    }
}

fn redact_file_diffs(files: &[FileDiff<'_>], withheld: &BTreeSet<&str>) -> RedactedDiff {
    let mut shown = RedactedDiff::default();
    for file in files {
        file.redact_into(withheld.contains(file.path()), &mut shown);
    }
    shown
}

/// The `WorkspaceEdit` of a plan as a model may see it: without the files whose changes are not all shown, for half of them
/// would make another file.
pub fn redacted_workspace_edit(exact: &EditPlan, shown: &RedactedPlan, root: &str) -> Value {
    let mut plan = shown.plan.clone();
    plan.files.retain(|file| exact.changes_in_file(&file.path) == shown.plan.changes_in_file(&file.path));
    workspace_edit(&plan, root)
}

/// Whether what a client sends is this plan, or what is shown of it. Keys that plans do not have are not looked at.
pub fn is_plan_or_redaction(exact: &EditPlan, sent: &Value, find: SecretFinder) -> bool {
    let Ok(sent) = serde_json::from_value::<EditPlan>(sent.clone()) else { return false };
    sent == *exact || sent.id == exact.id && sent == redact_plan(exact, find).plan
}

/// Texts beside the edits: the server or a model wrote them, perhaps with words from a file.
fn redact_remarks(plan: &mut EditPlan, find: SecretFinder) {
    if contains_secret(&plan.summary, find) {
        plan.summary.clear();
    }
    plan.warnings.retain(|warning| !contains_secret(warning, find));
    plan.prerequisites.retain(|prerequisite| !contains_secret(prerequisite, find));
    plan.post_checks.retain(|command| !contains_secret(command, find));
    plan.post_check_commands.retain(|words| !contains_secret(&words.join(" "), find));
}

/// The secrets that are known of a file.
#[derive(Default)]
struct FileSecrets<'d> {
    /// The lines that hold one.
    lines: BTreeSet<&'d str>,
    /// Their numbers, from 0, in the file as it is.
    line_numbers: BTreeSet<usize>,
}

impl FileSecrets<'_> {
    fn redact_edit(&self, edit: &mut Edit, is_withheld: bool, find: SecretFinder) {
        // Some of the changes would be another plan.
        if is_withheld || edit.changes.iter().any(|change| self.is_in_change(change, find)) {
            edit.changes.clear();
        }
        edit.anchors.retain(|anchor| !self.is_in_anchor(anchor, find));
        let is_secret = |text: &mut String| self.is_in_text(text, find);
        let payload = &mut edit.payload;
        payload.import.take_if(is_secret);
        payload.code.take_if(is_secret);
        payload.set.retain(|setting| !self.is_in_setting(setting, find));
        if contains_secret(&edit.rationale, find) {
            edit.rationale.clear();
        }
    }

    /// Whether a text holds a secret by itself, or a line that does where it stands.
    fn is_in_text(&self, text: &str, find: SecretFinder) -> bool {
        let is_known = |line: &str| {
            let line = line.trim();
            !line.is_empty() && self.lines.iter().any(|secret| secret.trim() == line)
        };
        contains_secret(text, find) || text.lines().any(is_known)
    }

    fn is_in_change(&self, change: &TextChange, find: SecretFinder) -> bool {
        let line = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
        let (first, last) = (line(change.range.start.line), line(change.range.end.line));
        // A range that ends where a line begins has nothing of it.
        let end = if change.range.end.character == 0 { last } else { last.saturating_add(1) };
        let touches =
            !change.old_text.is_empty() && self.line_numbers.range(first..end.max(first)).next().is_some();
        touches || self.is_in_text(&change.old_text, find) || self.is_in_text(&change.new_text, find)
    }

    /// Whether a text stands where a line with a secret has its value.
    fn is_secret_value(&self, text: &str) -> bool {
        self.lines.iter().any(|line| {
            let line = line.trim_start();
            let name = line.find(['=', ':']).or_else(|| line.find(' ')).map_or(0, |end| end + 1);
            line[name..].contains(text)
        })
    }

    /// A pattern may be any piece of a line, and so the value alone.
    fn is_in_anchor(&self, anchor: &Anchor, find: SecretFinder) -> bool {
        let mut pieces = anchor.pattern.lines().map(str::trim).filter(|piece| !piece.is_empty());
        self.is_in_text(&anchor.pattern, find) || pieces.any(|piece| self.is_secret_value(piece))
    }

    fn is_in_setting(&self, setting: &Setting, find: SecretFinder) -> bool {
        let name = setting.key.last().map(String::as_str).unwrap_or_default();
        let written = serde_json::to_string_pretty(&json!({ name: setting.value })).unwrap_or_default();
        let mut values = Vec::new();
        collect_scalars(&setting.value, &mut values);
        contains_secret(&written, find) || values.iter().any(|value| self.is_secret_value(value))
    }
}

/// The texts and numbers in a value that are long enough to be told from others.
fn collect_scalars(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() >= 3 => found.push(text.clone()),
        Value::Number(number) if number.to_string().len() >= 3 => found.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| collect_scalars(item, found)),
        Value::Object(entries) => entries.values().for_each(|value| collect_scalars(value, found)),
        _ => {}
    }
}
