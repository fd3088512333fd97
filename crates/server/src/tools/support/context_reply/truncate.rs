//! Makes a reply fit a token limit by shortening its longest parts.
//!
//! Keys stay; lists and strings get shorter, the largest first, and notes say what was left out. A list that
//! is ordered from old to new loses its beginning.

use codebase::NameKind;
use serde_json::Value;

/// Approximate bytes of JSON per token.
const BYTES_PER_TOKEN: usize = 4;
/// Strings and lists are not cut below these lengths.
const MIN_TEXT_CHARS: usize = 120;
const MIN_LIST_ENTRIES: usize = 1;
/// An object with more keys is treated like a list.
const MAX_UNTRUNCATED_KEYS: usize = 24;
/// Lists that start with the oldest entry.
const OLDEST_FIRST: [&str; 1] = ["trend"];

/// A part that a reply does not contain in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TruncationNote {
    path: String,
    shown: usize,
    total: usize,
    is_text: bool,
}

impl TruncationNote {
    pub(super) fn message(&self) -> String {
        let Self { path, shown, total: of, is_text } = self;
        let what = if *is_text { "characters" } else { "entries" };
        format!("{path}: {shown} of {of} {what}; a larger `max_tokens` shows more")
    }
}

/// Shortens a reply. `kept` are the paths of values that must not be shortened.
pub(crate) fn truncate_to_tokens(
    answer: &mut Value,
    max_tokens: usize,
    kept: &[&str],
) -> Vec<TruncationNote> {
    let mut left_out: Vec<TruncationNote> = Vec::new();
    // Every round halves something, so there are few rounds.
    while json_bytes(answer) / BYTES_PER_TOKEN > max_tokens {
        let mut largest = None;
        find_largest(answer, String::new(), kept, &mut largest);
        let Some(LargestPart { path, pointer, .. }) = largest else { break };
        let Some(place) = answer.pointer_mut(&pointer) else { break };
        let cut = halve(place, path);
        match left_out.iter_mut().find(|known| known.path == cut.path) {
            Some(known) => known.shown = cut.shown,
            None => left_out.push(cut),
        }
    }
    // Drop notes without a loss.
    left_out.retain(|left| left.total > left.shown);
    left_out
}

/// The largest part that can be shortened.
struct LargestPart {
    bytes: usize,
    path: String,
    pointer: String,
}

fn json_bytes(value: &Value) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.len())
}

/// Finds the largest part that can be shortened, and returns the size of `value`. A nested part is preferred
/// to its container only if it makes up most of it.
fn find_largest(value: &Value, path: String, kept: &[&str], largest: &mut Option<LargestPart>) -> usize {
    find_largest_at(value, &path, "", kept, largest)
}

fn find_largest_at(
    value: &Value,
    path: &str,
    pointer: &str,
    kept: &[&str],
    largest: &mut Option<LargestPart>,
) -> usize {
    if kept.contains(&path) {
        return json_bytes(value);
    }
    // A key may come from a file of the repository, and the path ends up in a sentence.
    let deeper = |name: &str| {
        let name = if NameKind::Setting.is_safe_name(name) { name } else { "(a key)" };
        if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
    };
    let (bytes, may_shrink) = match value {
        Value::Array(entries) => {
            let inside = entries.iter().enumerate().map(|(at, entry)| {
                find_largest_at(entry, &format!("{path}[{at}]"), &format!("{pointer}/{at}"), kept, largest)
            });
            (inside.sum::<usize>() + entries.len() + 2, entries.len() > MIN_LIST_ENTRIES)
        }
        Value::Object(map) => {
            let inside = map.iter().map(|(key, entry)| {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                let pointer = format!("{pointer}/{escaped}");
                key.len() + 4 + find_largest_at(entry, &deeper(key), &pointer, kept, largest)
            });
            (inside.sum::<usize>() + 2, map.len() > MAX_UNTRUNCATED_KEYS)
        }
        Value::String(text) => (text.len() + 2, text.len() > MIN_TEXT_CHARS * 2),
        _ => (json_bytes(value), false),
    };
    // A container is preferred to a nested part unless the part is nearly all of it.
    if may_shrink && largest.as_ref().is_none_or(|known| bytes > known.bytes + known.bytes / 4) {
        *largest = Some(LargestPart { bytes, path: path.to_owned(), pointer: pointer.to_owned() });
    }
    bytes
}

fn halve(place: &mut Value, path: String) -> TruncationNote {
    match place {
        Value::Array(entries) => {
            let (of, shown) = (entries.len(), entries.len().div_ceil(2).max(MIN_LIST_ENTRIES));
            if OLDEST_FIRST.iter().any(|name| path.ends_with(name)) {
                entries.drain(..of - shown);
            } else {
                entries.truncate(shown);
            }
            TruncationNote { path, shown, total: of, is_text: false }
        }
        Value::Object(map) => {
            let (of, shown) = (map.len(), map.len() / 2);
            let kept = std::mem::take(map).into_iter().take(shown).collect();
            *map = kept;
            TruncationNote { path, shown, total: of, is_text: false }
        }
        Value::String(text) => {
            let of = text.chars().count();
            let shown = (of / 2).max(MIN_TEXT_CHARS);
            *text = text.chars().take(shown).chain(['…']).collect();
            TruncationNote { path, shown, total: of, is_text: true }
        }
        _ => TruncationNote { path, shown: 0, total: 0, is_text: false },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(mut answer: Value, max_tokens: usize, expected: &Value, told: &[&str]) {
        let left_out = truncate_to_tokens(&mut answer, max_tokens, &["plan"]);
        assert_eq!(&answer, expected);
        let texts: Vec<_> =
            left_out.iter().map(|left| format!("{}: {}/{}", left.path, left.shown, left.total)).collect();
        assert_eq!(texts, told);
    }

    #[test]
    fn largest_list_is_truncated_and_reported() {
        let numbers = |range: std::ops::Range<u32>| range.map(|n| n + 100).collect::<Vec<_>>();
        check(json!({ "a": [1], "b": [] }), 100, &json!({ "a": [1], "b": [] }), &[]);
        check(
            json!({ "a": numbers(0..40), "b": [1, 2] }),
            30,
            &json!({ "a": numbers(0..20), "b": [1, 2] }),
            &["a: 20/40"],
        );
        check(
            json!({ "trend": numbers(0..40) }),
            30,
            &json!({ "trend": numbers(20..40) }),
            &["trend: 20/40"],
        );
        check(json!({ "plan": numbers(0..40) }), 30, &json!({ "plan": numbers(0..40) }), &[]);
    }

    #[test]
    fn long_strings_are_truncated_at_the_end() {
        let mut answer = json!({ "text": "ä".repeat(1000) });
        let left_out = truncate_to_tokens(&mut answer, 200, &[]);
        assert_eq!(left_out[0].message(), "text: 250 of 1000 characters; a larger `max_tokens` shows more");
        assert_eq!(answer["text"].as_str().unwrap().chars().count(), 251);
    }

    proptest! {
        #[test]
        fn truncation_terminates_and_keeps_keys(lists in prop::collection::vec(prop::collection::vec("[a-z]{0,300}", 0..40), 1..5), tokens in 1_usize..400) {
            let answer: serde_json::Map<String, Value> =
                lists.iter().enumerate().map(|(at, list)| (format!("k{at}"), json!(list))).collect();
            let mut answer = Value::Object(answer);
            let keys = answer.as_object().unwrap().len();
            let before = json_bytes(&answer);
            truncate_to_tokens(&mut answer, tokens, &[]);
            prop_assert_eq!(answer.as_object().unwrap().len(), keys);
            prop_assert!(json_bytes(&answer) / 4 <= tokens.max(80 * keys) || json_bytes(&answer) == before);
        }
    }
}
