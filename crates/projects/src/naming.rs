//! Validation of names, strings and JSON.
//!
//! They are data and are returned as given, in any script. Only what a store cannot keep is rejected, namely
//! NUL, and control characters in single-line strings.

use std::ops::ControlFlow;

use serde_json::{Map, Value};

use crate::error::ValidationProblem;
use crate::limits::{MAX_JSON_VALUES, MAX_PROBLEMS, MAX_PROPS_DEPTH, MAX_SLUG_CHARS, OBJECT_VALUE_WEIGHT};

/// Checks a single-line string, such as a name.
pub(crate) fn check_line(path: &str, text: &str, most: usize) -> Option<ValidationProblem> {
    let message = if text.trim().is_empty() {
        "must not be empty".to_owned()
    } else if text.chars().count() > most {
        format!("has {} characters, but the limit is {most}; shorten it", text.chars().count())
    } else if text.chars().any(char::is_control) {
        "contains control characters; remove them".to_owned()
    } else {
        return None;
    };
    Some(ValidationProblem::new(path, message))
}

/// Checks a multi-line string, which may be empty.
pub(crate) fn check_text(path: &str, text: &str, most: usize) -> Option<ValidationProblem> {
    let message = if text.chars().count() > most {
        format!("has {} characters, but the limit is {most}; shorten it", text.chars().count())
    } else if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        "contains control characters; remove them".to_owned()
    } else {
        return None;
    };
    Some(ValidationProblem::new(path, message))
}

pub(crate) fn check_slug(path: &str, slug: &str) -> Option<ValidationProblem> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fine = !slug.is_empty()
        && slug.len() <= MAX_SLUG_CHARS
        && slug.bytes().all(allowed)
        && !slug.starts_with('-')
        && !slug.ends_with('-');
    let rule = || {
        format!("must be 1 to {MAX_SLUG_CHARS} characters of a-z, 0-9 and -, without leading or trailing -")
    };
    (!fine).then(|| ValidationProblem::new(path, rule()))
}

/// Derives a slug from a name, or returns `fallback` if no letters or digits are left. Leaves room for the
/// suffix that [`slug_candidates`](crate::slug_candidates) appends if the slug is taken.
pub fn slugify(name: &str, fallback: &str) -> String {
    let mut slug = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        let plain = match c {
            'a'..='z' | '0'..='9' => {
                slug.push(c);
                ""
            }
            'ä' | 'æ' => "ae",
            'ö' | 'œ' => "oe",
            'ü' => "ue",
            'ß' => "ss",
            'à' | 'á' | 'â' | 'ã' | 'å' => "a",
            'ç' => "c",
            'è' | 'é' | 'ê' | 'ë' => "e",
            'ì' | 'í' | 'î' | 'ï' => "i",
            'ñ' => "n",
            'ò' | 'ó' | 'ô' | 'õ' | 'ø' => "o",
            'ù' | 'ú' | 'û' => "u",
            'ý' | 'ÿ' => "y",
            _ if slug.is_empty() || slug.ends_with('-') => "",
            _ => "-",
        };
        slug.push_str(plain);
        if slug.len() >= MAX_SLUG_CHARS - 14 {
            break;
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() { fallback.to_owned() } else { slug.to_owned() }
}

/// Checks free-form JSON: its size, depth, number of values, and NUL in strings.
pub(crate) fn check_json(path: &str, map: &Map<String, Value>, most: usize) -> Vec<ValidationProblem> {
    let mut problems = check_json_with_depth(path, map, most, MAX_PROPS_DEPTH);
    if problems.is_empty() {
        problems.extend(check_value_count(path, map));
    }
    problems
}

/// Limits the number of values because of the memory they use.
fn check_value_count(path: &str, map: &Map<String, Value>) -> Option<ValidationProblem> {
    let found: usize = map.values().map(weighted_value_count).sum();
    let message = || {
        format!(
            "has {found} values, but the limit is {MAX_JSON_VALUES}, where an object counts as \
            {OBJECT_VALUE_WEIGHT}; make it smaller or split it"
        )
    };
    (found > MAX_JSON_VALUES).then(|| ValidationProblem::new(path, message()))
}

/// Number of values as counted for [`MAX_JSON_VALUES`].
fn weighted_value_count(value: &Value) -> usize {
    match value {
        Value::Object(map) => OBJECT_VALUE_WEIGHT + map.values().map(weighted_value_count).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(weighted_value_count).sum::<usize>(),
        _ => 1,
    }
}

/// Like [`check_json`], but with `levels` and without counting values.
pub(crate) fn check_json_with_depth(
    path: &str,
    map: &Map<String, Value>,
    most: usize,
    levels: usize,
) -> Vec<ValidationProblem> {
    let bytes = json_len(map);
    if bytes > most {
        let message = format!("has {bytes} bytes, but the limit is {most}; make it smaller");
        return vec![ValidationProblem::new(path, message)];
    }
    if map.values().any(|value| exceeds_depth(value, levels.saturating_sub(1))) {
        let message = format!("is nested more than {levels} levels deep; flatten it");
        return vec![ValidationProblem::new(path, message)];
    }
    let mut problems = Vec::new();
    visit_values(map, &mut |way, value| {
        if matches!(way.last(), Some(JsonPathSegment::Name(name)) if name.contains('\0')) {
            let place = format!("{path}{}", json_pointer(way)).replace('\0', "\u{fffd}");
            problems.push(ValidationProblem::new(place, "has a NUL in its name; remove it"));
        }
        if matches!(value, Value::String(text) if text.contains('\0')) {
            let place = format!("{path}{}", json_pointer(way)).replace('\0', "\u{fffd}");
            problems.push(ValidationProblem::new(place, "contains a NUL; remove it"));
        }
        if problems.len() > MAX_PROBLEMS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    problems
}

/// A segment of a JSON pointer.
#[derive(Clone, Copy)]
pub(crate) enum JsonPathSegment<'a> {
    Name(&'a str),
    Index(usize),
}

/// Called with the path to each value, and the value.
type JsonVisitor<'l, 'a> = dyn FnMut(&[JsonPathSegment<'a>], &'a Value) -> ControlFlow<()> + 'l;

/// Visits every value in an object, outer ones first, until the visitor breaks. Paths are passed as segments,
/// and only rendered by [`json_pointer`] if a problem is reported: names can be long and values many.
pub(crate) fn visit_values<'a>(map: &'a Map<String, Value>, look: &mut JsonVisitor<'_, 'a>) {
    fn visit_value<'a>(
        way: &mut Vec<JsonPathSegment<'a>>,
        step: JsonPathSegment<'a>,
        value: &'a Value,
        look: &mut JsonVisitor<'_, 'a>,
    ) -> ControlFlow<()> {
        way.push(step);
        look(way, value)?;
        match value {
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .try_for_each(|(at, item)| visit_value(way, JsonPathSegment::Index(at), item, look))?;
            }
            Value::Object(map) => {
                map.iter()
                    .try_for_each(|(name, item)| visit_value(way, JsonPathSegment::Name(name), item, look))?;
            }
            _ => {}
        }
        way.pop();
        ControlFlow::Continue(())
    }
    let mut way = Vec::new();
    let _ = map
        .iter()
        .try_for_each(|(name, value)| visit_value(&mut way, JsonPathSegment::Name(name), value, look));
}

/// Renders a path as a JSON pointer.
pub(crate) fn json_pointer(way: &[JsonPathSegment<'_>]) -> String {
    let part = |step: &JsonPathSegment<'_>| match step {
        JsonPathSegment::Name(name) => format!("/{}", escape_pointer_segment(name)),
        JsonPathSegment::Index(at) => format!("/{at}"),
    };
    way.iter().map(part).collect()
}

/// Size of the JSON text.
pub(crate) fn json_len(map: &Map<String, Value>) -> usize {
    serde_json::to_string(map).map_or(usize::MAX, |text| text.len())
}

/// Escapes a name for a JSON pointer.
pub(crate) fn escape_pointer_segment(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn exceeds_depth(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| exceeds_depth(item, levels - 1)),
        Value::Object(map) => levels == 0 || map.values().any(|item| exceeds_depth(item, levels - 1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_become_valid_slugs() {
        for (name, expected) in [
            ("Meine Website", "meine-website"),
            ("  Größe & Übermut! ", "groesse-uebermut"),
            ("Ça va?", "ca-va"),
            ("日本", "x"),
            ("--a--b--", "a-b"),
            ("<script>", "script"),
            ("", "x"),
            (&"long ".repeat(100), "long-long-long-long-long-long-long-long-long-long"),
            (&"a".repeat(64), &"a".repeat(49)),
            (&"a".repeat(200), &"a".repeat(49)),
            (&"ß".repeat(200), &"s".repeat(50)),
            (&format!("{} {}", "a".repeat(48), "b".repeat(20)), &"a".repeat(48)),
            (&format!("{} {}", "a".repeat(47), "b".repeat(20)), &format!("{}-b", "a".repeat(47))),
        ] {
            let found = slugify(name, "x");
            assert_eq!(found, expected, "{name}");
            assert_eq!(check_slug("", &found), None);
        }
    }

    #[test]
    fn lines_with_control_characters_are_rejected() {
        for good in ["a", "Ünïcode 🎉", "\u{202e}rtl", "<b>", "'; DROP TABLE x; --"] {
            assert_eq!(check_line("/name", good, 40), None, "{good}");
        }
        for bad in ["", "   ", "a\0", "a\nb", "\u{1b}[31m", &"x".repeat(41)] {
            assert!(check_line("/name", bad, 40).is_some(), "{bad:?}");
        }
        assert_eq!(check_text("", "a\nb\t\r\n", 40), None);
        assert!(check_text("", "a\0", 40).is_some());
    }

    #[test]
    fn json_limits_are_enforced() {
        let deep = |levels: usize| (0..levels).fold(json!(1), |value, _| json!([value]));
        for (value, expected) in [
            (json!({ "a": deep(15) }), &[][..]),
            (json!({ "a": deep(16) }), &["/p: is nested more than 16 levels deep; flatten it"]),
            (json!({ "a/b": ["x", { "c~": "\0" }] }), &["/p/a~1b/1/c~0: contains a NUL; remove it"]),
            (json!({ "a\0": 1 }), &["/p/a\u{fffd}: has a NUL in its name; remove it"]),
            (json!({ "a": "x".repeat(100) }), &["/p: has 108 bytes, but the limit is 99; make it smaller"]),
            // Nothing else is checked if the size is exceeded, because the other checks could take long.
            (json!({ "a": "\0".repeat(100) }), &["/p: has 608 bytes, but the limit is 99; make it smaller"]),
            (json!({ "a": deep(16), "b": "\0" }), &["/p: is nested more than 16 levels deep; flatten it"]),
        ] {
            let found = check_json("/p", value.as_object().unwrap(), 99);
            assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{value}");
        }
        let many = json!({ "a": vec!["\0"; 5000] });
        assert_eq!(check_json("/p", many.as_object().unwrap(), 100_000).len(), MAX_PROBLEMS + 1);
        for (value, found) in [
            (json!({ "a": vec![1; MAX_JSON_VALUES - 1] }), None),
            (json!({ "a": vec![1; MAX_JSON_VALUES] }), Some(10_001)),
            (json!({ "rows": vec![vec!["cell"; 9]; 999] }), None),
            (json!({ "links": vec![json!({ "label": "a", "href": "/" }); 200] }), None),
            (json!({ "a": vec![json!({ "a": 1 }); 900] }), None),
            (json!({ "a": vec![json!({ "a": 1 }); 8000] }), Some(88_001)),
        ] {
            let expected = found.map(|found| {
                format!("/p: has {found} values, but the limit is 10000, where an object counts as 10; make it smaller or split it")
            });
            let told = check_json("/p", value.as_object().unwrap(), 1 << 20);
            assert_eq!(told.first().map(ToString::to_string), expected);
        }
    }
}
