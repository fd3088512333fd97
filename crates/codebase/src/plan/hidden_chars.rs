//! Warns about invisible and bidirectional characters in a plan, which hide content from a reviewer.

use serde_json::Value;

use super::document::{Edit, Payload, Strategy, TextChange};
use super::finding::PlanFinding;
use super::parse::PlanDraft;
use crate::invisible_chars::find_invisible_chars;

/// One warning for each string of a plan with invisible or bidirectional characters. `resolved` contains the
/// edits with their changes, in the order of the draft, as far as they could be resolved.
pub(super) fn find_hidden_chars(draft: &PlanDraft, resolved: &[Edit]) -> Vec<PlanFinding> {
    let mut found = Vec::new();
    let rollback = draft.rollback.iter().map(|text| ("rollback", text));
    let checks = draft.post_checks.iter().map(|text| ("postChecks", text));
    for (name, text) in [("summary", &draft.summary)].into_iter().chain(checks).chain(rollback) {
        found.extend(first_hidden_char(text, false).map(|hidden| hidden_char_warning(name, &hidden)));
    }
    for (position, (at, edit)) in draft.edits.iter().enumerate() {
        let changes = resolved.get(position).map_or(&[][..], |edit| &edit.changes);
        let patterns = edit.anchors.iter().map(|anchor| ("anchors.pattern", anchor.pattern.as_str()));
        let told = [("rationale", edit.rationale.as_str())].into_iter().chain(patterns);
        for (name, text) in told {
            found.extend(
                first_hidden_char(text, false)
                    .map(|hidden| locate_finding(hidden_char_warning(name, &hidden), *at, edit, None)),
            );
        }
        let is_new = edit.strategy == Strategy::CreateFile;
        let line = changes.iter().find_map(|change| hidden_line(change, is_new));
        for (name, hidden) in hidden_in_payload(&edit.payload, is_new) {
            found.push(locate_finding(hidden_char_warning(name, &hidden), *at, edit, line));
        }
    }
    found
}

struct HiddenChar {
    character: char,
    /// The line within the string, counted from 1.
    line: usize,
    /// The total number of hidden characters.
    count: usize,
}

fn first_hidden_char(text: &str, may_have_mark: bool) -> Option<HiddenChar> {
    let mut hidden = hidden_chars(text, may_have_mark);
    let (at, character) = hidden.next()?;
    Some(HiddenChar { character, line: text[..at].matches('\n').count() + 1, count: hidden.count() + 1 })
}

/// The hidden characters of a string. Tabs and line ends are layout, and a file may begin with a byte order
/// mark.
fn hidden_chars(text: &str, may_have_mark: bool) -> impl Iterator<Item = (usize, char)> {
    find_invisible_chars(text)
        .filter(|(_, c)| !matches!(c, '\t' | '\n' | '\r'))
        .filter(move |(at, c)| !(may_have_mark && *at == 0 && *c == '\u{feff}'))
}

fn hidden_in_payload(payload: &Payload, is_new: bool) -> Vec<(&'static str, HiddenChar)> {
    let code = payload.code.iter().filter_map(|code| first_hidden_char(code, is_new));
    let import = payload.import.iter().filter_map(|import| first_hidden_char(import, false));
    let settings = payload.set.iter().filter_map(|setting| {
        let keys = setting.key.iter().find_map(|key| first_hidden_char(key, false));
        keys.or_else(|| hidden_in_value(&setting.value))
    });
    let code = code.map(|hidden| ("payload.code", hidden));
    let import = import.map(|hidden| ("payload.import", hidden));
    code.chain(import).chain(settings.map(|hidden| ("payload.set", hidden))).collect()
}

fn hidden_in_value(value: &Value) -> Option<HiddenChar> {
    match value {
        Value::String(text) => first_hidden_char(text, false),
        Value::Array(items) => items.iter().find_map(hidden_in_value),
        Value::Object(entries) => entries
            .iter()
            .find_map(|(key, value)| first_hidden_char(key, false).or_else(|| hidden_in_value(value))),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The line of the file, counted from 1, where a change inserts the first hidden character.
fn hidden_line(change: &TextChange, is_new: bool) -> Option<u32> {
    let line = first_hidden_char(&change.new_text, is_new && change.start == 0)?.line;
    Some(change.range.start.line.saturating_add(u32::try_from(line).unwrap_or(u32::MAX)))
}

fn hidden_char_warning(name: &str, hidden: &HiddenChar) -> PlanFinding {
    let HiddenChar { character, line, count } = hidden;
    let others = if *count > 1 { format!(" and {} more", count - 1) } else { String::new() };
    let says = format!(
        "`{name}` contains U+{:04X}{others}, first on line {line}: invisible, or reorders the displayed text",
        u32::from(*character)
    );
    PlanFinding::warning("hidden_characters", says)
        .with_fix("remove them or write them as escape sequences, unless they are intended")
}

fn locate_finding(mut finding: PlanFinding, at: usize, edit: &Edit, line: Option<u32>) -> PlanFinding {
    (finding.path, finding.line) = (Some(edit.filepath.clone()), line);
    finding.for_edit(at)
}
