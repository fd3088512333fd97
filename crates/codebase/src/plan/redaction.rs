//! Removes secrets from a plan before it is shown to a model.
//!
//! The plan itself stays unchanged because its `id` is a digest of its content. The server stores it,
//! recognizes the redacted version that a client sends back with [`is_plan_or_redaction`], and continues with
//! the original.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::diff_redaction::{self, FileDiff, RedactedDiff, SecretFinder, contains_secret};
use super::document::{Anchor, Edit, EditPlan, Setting, TextChange};
use super::lsp::workspace_edit;

/// A plan that may be shown to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct RedactedPlan {
    /// The redacted plan. Its `id` is that of the original.
    pub plan: EditPlan,
    /// The number of context lines omitted from the diffs of its files.
    pub omitted_context_lines: usize,
    /// Paths of the files whose diffs and changes are withheld because a changed line contains a secret.
    pub withheld: Vec<String>,
    /// Paths of the files whose edits are shown without changes, anchors or payloads that contain a secret.
    /// Includes the withheld files.
    pub incomplete: Vec<String>,
    /// Whether `git apply` needs `--unidiff-zero`; see [`RedactedDiff::needs_unidiff_zero`].
    pub needs_unidiff_zero: bool,
}

/// Omits everything that contains a secret. Nothing is altered: a line, string or value is shown unchanged or
/// not at all.
pub fn redact_plan(exact: &EditPlan, find: SecretFinder) -> RedactedPlan {
    let forward: Vec<_> =
        exact.files.iter().map(|file| diff_redaction::parse_diff(&file.diff, find)).collect();
    let backward = diff_redaction::parse_diff(&exact.rollback.reverse_diff, find);
    // The same line can be a changed line in one direction and a context line in the other.
    let changing = forward.iter().flatten().chain(&backward).filter(|file| file.changes_secret());
    let mut withheld: BTreeSet<&str> = changing.map(FileDiff::path).collect();
    // A diff that cannot be parsed may not even contain its file name.
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

/// The `WorkspaceEdit` of a redacted plan. Files with omitted changes are left out: applying only some of the
/// changes would produce a different file.
pub fn redacted_workspace_edit(exact: &EditPlan, shown: &RedactedPlan, root: &str) -> Value {
    let mut plan = shown.plan.clone();
    plan.files.retain(|file| exact.changes_in_file(&file.path) == shown.plan.changes_in_file(&file.path));
    workspace_edit(&plan, root)
}

/// Whether the JSON sent by a client is this plan or its redacted version. Unknown keys are ignored.
pub fn is_plan_or_redaction(exact: &EditPlan, sent: &Value, find: SecretFinder) -> bool {
    let Ok(sent) = serde_json::from_value::<EditPlan>(sent.clone()) else { return false };
    sent == *exact || sent.id == exact.id && sent == redact_plan(exact, find).plan
}

/// Redacts free text outside the edits, which may quote a file.
fn redact_remarks(plan: &mut EditPlan, find: SecretFinder) {
    if contains_secret(&plan.summary, find) {
        plan.summary.clear();
    }
    plan.notes.retain(|note| !contains_secret(note, find));
    plan.warnings.retain(|warning| !contains_secret(warning, find));
    plan.prerequisites.retain(|prerequisite| !contains_secret(prerequisite, find));
    plan.install_commands.retain(|command| !contains_secret(command, find));
    plan.post_checks.retain(|command| !contains_secret(command, find));
    plan.post_check_commands.retain(|words| !contains_secret(&words.join(" "), find));
}

#[derive(Default)]
struct FileSecrets<'d> {
    /// The lines that contain a secret.
    lines: BTreeSet<&'d str>,
    /// Their 0-based numbers in the current file.
    line_numbers: BTreeSet<usize>,
}

impl FileSecrets<'_> {
    fn redact_edit(&self, edit: &mut Edit, is_withheld: bool, find: SecretFinder) {
        // All or none: showing only some of the changes would describe a different plan.
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

    /// Whether a text contains a secret by itself, or a line that is secret in the context of its file.
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
        // A range that ends at the start of a line does not touch that line.
        let end = if change.range.end.character == 0 { last } else { last.saturating_add(1) };
        let touches =
            !change.old_text.is_empty() && self.line_numbers.range(first..end.max(first)).next().is_some();
        touches || self.is_in_text(&change.old_text, find) || self.is_in_text(&change.new_text, find)
    }

    /// Whether a text occurs in the value part of a line with a secret.
    fn is_secret_value(&self, text: &str) -> bool {
        self.lines.iter().any(|line| {
            let line = line.trim_start();
            let name = line.find(['=', ':']).or_else(|| line.find(' ')).map_or(0, |end| end + 1);
            line[name..].contains(text)
        })
    }

    /// A pattern may be any part of a line, including the bare secret value.
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

/// The strings and numbers in a value that are long enough to be distinctive.
fn collect_scalars(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() >= 3 => found.push(text.clone()),
        Value::Number(number) if number.to_string().len() >= 3 => found.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| collect_scalars(item, found)),
        Value::Object(entries) => entries.values().for_each(|value| collect_scalars(value, found)),
        _ => {}
    }
}
