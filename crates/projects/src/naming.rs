//! What names and texts may hold.
//!
//! They are data and come back as they were given, whatever script they are in. Only what no store keeps or no line
//! holds is refused: NUL, and control characters where one line is meant.

use std::ops::ControlFlow;

use serde_json::{Map, Value};

use crate::error::ValidationProblem;
use crate::limits::{MAX_JSON_VALUES, MAX_PROBLEMS, MAX_PROPS_DEPTH, MAX_SLUG_CHARS, OBJECT_VALUE_WEIGHT};

/// What is wrong with a text of one line, such as a name.
pub(crate) fn check_line(path: &str, text: &str, most: usize) -> Option<ValidationProblem> {
    let message = if text.trim().is_empty() {
        "is empty; give it a text".to_owned()
    } else if text.chars().count() > most {
        format!("has {} characters and may have {most}; shorten it", text.chars().count())
    } else if text.chars().any(char::is_control) {
        "has control characters; take them out".to_owned()
    } else {
        return None;
    };
    Some(ValidationProblem::new(path, message))
}

/// What is wrong with a text of several lines, which may be empty.
pub(crate) fn check_text(path: &str, text: &str, most: usize) -> Option<ValidationProblem> {
    let message = if text.chars().count() > most {
        format!("has {} characters and may have {most}; shorten it", text.chars().count())
    } else if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        "has control characters; take them out".to_owned()
    } else {
        return None;
    };
    Some(ValidationProblem::new(path, message))
}

/// What is wrong with a slug.
pub(crate) fn check_slug(path: &str, slug: &str) -> Option<ValidationProblem> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fine = !slug.is_empty()
        && slug.len() <= MAX_SLUG_CHARS
        && slug.bytes().all(allowed)
        && !slug.starts_with('-')
        && !slug.ends_with('-');
    let rule = || format!("must have 1 to {MAX_SLUG_CHARS} of a-z, 0-9 and -, and no - at its ends");
    (!fine).then(|| ValidationProblem::new(path, rule()))
}

/// A slug that looks like a name: what is left of it in plain letters. `fallback` if nothing is. It leaves room for what
/// [`slug_candidates`](crate::slug_candidates) adds to one that is taken.
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

/// What is wrong with free JSON: too large, too deep, too much of it, or text that no store keeps.
pub(crate) fn check_json(path: &str, map: &Map<String, Value>, most: usize) -> Vec<ValidationProblem> {
    let mut problems = check_json_with_depth(path, map, most, MAX_PROPS_DEPTH);
    if problems.is_empty() {
        problems.extend(check_value_count(path, map));
    }
    problems
}

/// Says that there are too many values for the memory that they take.
fn check_value_count(path: &str, map: &Map<String, Value>) -> Option<ValidationProblem> {
    let found: usize = map.values().map(weighted_value_count).sum();
    let message = || {
        format!(
            "has {found} values and may have {MAX_JSON_VALUES}, where an object counts as {OBJECT_VALUE_WEIGHT}; make it smaller, or \
            make several of it"
        )
    };
    (found > MAX_JSON_VALUES).then(|| ValidationProblem::new(path, message()))
}

/// How many values there are in JSON, as [`MAX_JSON_VALUES`] counts them.
fn weighted_value_count(value: &Value) -> usize {
    match value {
        Value::Object(map) => OBJECT_VALUE_WEIGHT + map.values().map(weighted_value_count).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(weighted_value_count).sum::<usize>(),
        _ => 1,
    }
}

/// The same, with so many levels.
pub(crate) fn check_json_with_depth(
    path: &str,
    map: &Map<String, Value>,
    most: usize,
    levels: usize,
) -> Vec<ValidationProblem> {
    let bytes = json_len(map);
    if bytes > most {
        let message = format!("has {bytes} bytes and may have {most}; make it smaller");
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
            problems.push(ValidationProblem::new(place, "has a NUL in its name; take it out"));
        }
        if matches!(value, Value::String(text) if text.contains('\0')) {
            let place = format!("{path}{}", json_pointer(way)).replace('\0', "\u{fffd}");
            problems.push(ValidationProblem::new(place, "has a NUL in it; take it out"));
        }
        if problems.len() > MAX_PROBLEMS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    problems
}

/// A step on the way to a value.
#[derive(Clone, Copy)]
pub(crate) enum JsonPathSegment<'a> {
    /// The member of this name.
    Name(&'a str),
    /// The item at this place.
    Index(usize),
}

/// What is done with each value: the way to it, and the value.
type JsonVisitor<'l, 'a> = dyn FnMut(&[JsonPathSegment<'a>], &'a Value) -> ControlFlow<()> + 'l;

/// Shows every value in an object, outer ones first, until it is enough. What the way is called is made by
/// [`json_pointer`], where somebody has to be told: names can be long, and values many.
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

/// A way as a JSON pointer.
pub(crate) fn json_pointer(way: &[JsonPathSegment<'_>]) -> String {
    let part = |step: &JsonPathSegment<'_>| match step {
        JsonPathSegment::Name(name) => format!("/{}", escape_pointer_segment(name)),
        JsonPathSegment::Index(at) => format!("/{at}"),
    };
    way.iter().map(part).collect()
}

/// How many bytes JSON has as text.
pub(crate) fn json_len(map: &Map<String, Value>) -> usize {
    serde_json::to_string(map).map_or(usize::MAX, |text| text.len())
}

/// A name as a part of a JSON pointer.
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
            (json!({ "a/b": ["x", { "c~": "\0" }] }), &["/p/a~1b/1/c~0: has a NUL in it; take it out"]),
            (json!({ "a\0": 1 }), &["/p/a\u{fffd}: has a NUL in its name; take it out"]),
            (json!({ "a": "x".repeat(100) }), &["/p: has 108 bytes and may have 99; make it smaller"]),
            // Nothing else is looked for in what is too large: it could be looked for a long time.
            (json!({ "a": "\0".repeat(100) }), &["/p: has 608 bytes and may have 99; make it smaller"]),
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
                format!("/p: has {found} values and may have 10000, where an object counts as 10; make it smaller, or make several of it")
            });
            let told = check_json("/p", value.as_object().unwrap(), 1 << 20);
            assert_eq!(told.first().map(ToString::to_string), expected);
        }
    }
}
