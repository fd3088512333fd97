//! What a plan hides from whoever reads it.

use serde_json::Value;

use super::document::{Change, Edit, Payload, Strategy};
use super::finding::Finding;
use super::read::Draft;
use crate::invisible::invisible;

/// A warning for every text of a plan with characters in it that are not seen, or that turn others around. `resolved` are
/// the edits with their changes, in the order of the draft, as far as they are known.
pub(super) fn findings(draft: &Draft, resolved: &[Edit]) -> Vec<Finding> {
    let mut found = Vec::new();
    let rollback = draft.rollback.iter().map(|text| ("rollback", text));
    let checks = draft.post_checks.iter().map(|text| ("postChecks", text));
    for (name, text) in [("summary", &draft.summary)].into_iter().chain(checks).chain(rollback) {
        found.extend(first(text, false).map(|hidden| warning(name, &hidden)));
    }
    for (position, (at, edit)) in draft.edits.iter().enumerate() {
        let changes = resolved.get(position).map_or(&[][..], |edit| &edit.changes);
        let patterns = edit.anchors.iter().map(|anchor| ("anchors.pattern", anchor.pattern.as_str()));
        let told = [("rationale", edit.rationale.as_str())].into_iter().chain(patterns);
        for (name, text) in told {
            found.extend(first(text, false).map(|hidden| about(warning(name, &hidden), *at, edit, None)));
        }
        let is_new = edit.strategy == Strategy::CreateFile;
        let line = changes.iter().find_map(|change| line_of(change, is_new));
        for (name, hidden) in in_payload(&edit.payload, is_new) {
            found.push(about(warning(name, &hidden), *at, edit, line));
        }
    }
    found
}

/// The first hidden character of a text.
struct Hidden {
    character: char,
    /// The line of the text, counted from 1.
    line: usize,
    /// How many there are in all.
    count: usize,
}

fn first(text: &str, may_have_mark: bool) -> Option<Hidden> {
    let mut hidden = hidden(text, may_have_mark);
    let (at, character) = hidden.next()?;
    Some(Hidden { character, line: text[..at].matches('\n').count() + 1, count: hidden.count() + 1 })
}

/// What is hidden in a text. Tabs and line ends are layout; a byte order mark may begin a file.
fn hidden(text: &str, may_have_mark: bool) -> impl Iterator<Item = (usize, char)> {
    invisible(text)
        .filter(|(_, c)| !matches!(c, '\t' | '\n' | '\r'))
        .filter(move |(at, c)| !(may_have_mark && *at == 0 && *c == '\u{feff}'))
}

fn in_payload(payload: &Payload, is_new: bool) -> Vec<(&'static str, Hidden)> {
    let code = payload.code.iter().filter_map(|code| first(code, is_new));
    let import = payload.import.iter().filter_map(|import| first(import, false));
    let settings = payload.set.iter().filter_map(|setting| {
        let keys = setting.key.iter().find_map(|key| first(key, false));
        keys.or_else(|| in_value(&setting.value))
    });
    let code = code.map(|hidden| ("payload.code", hidden));
    let import = import.map(|hidden| ("payload.import", hidden));
    code.chain(import).chain(settings.map(|hidden| ("payload.set", hidden))).collect()
}

fn in_value(value: &Value) -> Option<Hidden> {
    match value {
        Value::String(text) => first(text, false),
        Value::Array(items) => items.iter().find_map(in_value),
        Value::Object(entries) => {
            entries.iter().find_map(|(key, value)| first(key, false).or_else(|| in_value(value)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The line of the file, counted from 1, that a change puts something hidden into.
fn line_of(change: &Change, is_new: bool) -> Option<u32> {
    let line = first(&change.new_text, is_new && change.start == 0)?.line;
    Some(change.range.start.line.saturating_add(u32::try_from(line).unwrap_or(u32::MAX)))
}

fn warning(name: &str, hidden: &Hidden) -> Finding {
    let Hidden { character, line, count } = hidden;
    let others = if *count > 1 { format!(" and {} more such characters", count - 1) } else { String::new() };
    let says = format!(
        "`{name}` holds U+{:04X}{others}, first in its line {line}: readers do not see them, or see the text in another order",
        u32::from(*character)
    );
    Finding::warns("hidden_characters", says)
        .fix("take them out, or write them as escapes of the language, unless they are meant")
}

fn about(mut finding: Finding, at: usize, edit: &Edit, line: Option<u32>) -> Finding {
    (finding.path, finding.line) = (Some(edit.filepath.clone()), line);
    finding.of(at)
}
