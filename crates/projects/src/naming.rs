//! What names and texts may hold.
//!
//! They are data and come back as they were given, whatever script they are in. Only what no store keeps or no line
//! holds is refused: NUL, and control characters where one line is meant.

use std::ops::ControlFlow;

use serde_json::{Map, Value};

use crate::error::Problem;
use crate::limits::{MAX_PROBLEMS, MAX_PROPS_DEPTH, MAX_SLUG, MAX_VALUES, OBJECT_VALUES};

/// What is wrong with a text of one line, such as a name.
pub(crate) fn line(path: &str, text: &str, most: usize) -> Option<Problem> {
    let message = if text.trim().is_empty() {
        "is empty; give it a text".to_owned()
    } else if text.chars().count() > most {
        format!("has {} characters and may have {most}; shorten it", text.chars().count())
    } else if text.chars().any(char::is_control) {
        "has control characters; take them out".to_owned()
    } else {
        return None;
    };
    Some(Problem::new(path, message))
}

/// What is wrong with a text of several lines, which may be empty.
pub(crate) fn text(path: &str, text: &str, most: usize) -> Option<Problem> {
    let message = if text.chars().count() > most {
        format!("has {} characters and may have {most}; shorten it", text.chars().count())
    } else if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        "has control characters; take them out".to_owned()
    } else {
        return None;
    };
    Some(Problem::new(path, message))
}

/// What is wrong with a slug.
pub(crate) fn slug(path: &str, slug: &str) -> Option<Problem> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fine = !slug.is_empty()
        && slug.len() <= MAX_SLUG
        && slug.bytes().all(allowed)
        && !slug.starts_with('-')
        && !slug.ends_with('-');
    let rule = || format!("must have 1 to {MAX_SLUG} of a-z, 0-9 and -, and no - at its ends");
    (!fine).then(|| Problem::new(path, rule()))
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
        if slug.len() >= MAX_SLUG - 14 {
            break;
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() { fallback.to_owned() } else { slug.to_owned() }
}

/// What is wrong with free JSON: too large, too deep, too much of it, or text that no store keeps.
pub(crate) fn json(path: &str, map: &Map<String, Value>, most: usize) -> Vec<Problem> {
    let mut problems = json_to(path, map, most, MAX_PROPS_DEPTH);
    if problems.is_empty() {
        problems.extend(crowded(path, map));
    }
    problems
}

/// Says that there are too many values for the memory that they take.
fn crowded(path: &str, map: &Map<String, Value>) -> Option<Problem> {
    let found: usize = map.values().map(values).sum();
    let message = || {
        format!(
            "has {found} values and may have {MAX_VALUES}, where an object counts as {OBJECT_VALUES}; make it smaller, or \
            make several of it"
        )
    };
    (found > MAX_VALUES).then(|| Problem::new(path, message()))
}

/// How many values there are in JSON, as [`MAX_VALUES`] counts them.
fn values(value: &Value) -> usize {
    match value {
        Value::Object(map) => OBJECT_VALUES + map.values().map(values).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        _ => 1,
    }
}

/// The same, with so many levels.
pub(crate) fn json_to(path: &str, map: &Map<String, Value>, most: usize, levels: usize) -> Vec<Problem> {
    let bytes = json_bytes(map);
    if bytes > most {
        let message = format!("has {bytes} bytes and may have {most}; make it smaller");
        return vec![Problem::new(path, message)];
    }
    if map.values().any(|value| is_deeper(value, levels.saturating_sub(1))) {
        let message = format!("is nested more than {levels} levels deep; flatten it");
        return vec![Problem::new(path, message)];
    }
    let mut problems = Vec::new();
    visit(map, &mut |way, value| {
        if matches!(way.last(), Some(Step::Name(name)) if name.contains('\0')) {
            let place = format!("{path}{}", pointer_to(way)).replace('\0', "\u{fffd}");
            problems.push(Problem::new(place, "has a NUL in its name; take it out"));
        }
        if matches!(value, Value::String(text) if text.contains('\0')) {
            let place = format!("{path}{}", pointer_to(way)).replace('\0', "\u{fffd}");
            problems.push(Problem::new(place, "has a NUL in it; take it out"));
        }
        if problems.len() > MAX_PROBLEMS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    problems
}

/// A step on the way to a value.
#[derive(Clone, Copy)]
pub(crate) enum Step<'a> {
    /// The member of this name.
    Name(&'a str),
    /// The item at this place.
    At(usize),
}

/// What is done with each value: the way to it, and the value.
type Look<'l, 'a> = dyn FnMut(&[Step<'a>], &'a Value) -> ControlFlow<()> + 'l;

/// Shows every value in an object, outer ones first, until it is enough. What the way is called is made by
/// [`pointer_to`], where somebody has to be told: names can be long, and values many.
pub(crate) fn visit<'a>(map: &'a Map<String, Value>, look: &mut Look<'_, 'a>) {
    fn one<'a>(
        way: &mut Vec<Step<'a>>,
        step: Step<'a>,
        value: &'a Value,
        look: &mut Look<'_, 'a>,
    ) -> ControlFlow<()> {
        way.push(step);
        look(way, value)?;
        match value {
            Value::Array(items) => {
                items.iter().enumerate().try_for_each(|(at, item)| one(way, Step::At(at), item, look))?;
            }
            Value::Object(map) => {
                map.iter().try_for_each(|(name, item)| one(way, Step::Name(name), item, look))?;
            }
            _ => {}
        }
        way.pop();
        ControlFlow::Continue(())
    }
    let mut way = Vec::new();
    let _ = map.iter().try_for_each(|(name, value)| one(&mut way, Step::Name(name), value, look));
}

/// A way as a JSON pointer.
pub(crate) fn pointer_to(way: &[Step<'_>]) -> String {
    let part = |step: &Step<'_>| match step {
        Step::Name(name) => format!("/{}", pointer(name)),
        Step::At(at) => format!("/{at}"),
    };
    way.iter().map(part).collect()
}

/// How many bytes JSON has as text.
pub(crate) fn json_bytes(map: &Map<String, Value>) -> usize {
    serde_json::to_string(map).map_or(usize::MAX, |text| text.len())
}

/// A name as a part of a JSON pointer.
pub(crate) fn pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| is_deeper(item, levels - 1)),
        Value::Object(map) => levels == 0 || map.values().any(|item| is_deeper(item, levels - 1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn slugs_of_names() {
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
            assert_eq!(slug("", &found), None);
        }
    }

    #[test]
    fn what_a_line_may_hold() {
        for good in ["a", "Ünïcode 🎉", "\u{202e}rtl", "<b>", "'; DROP TABLE x; --"] {
            assert_eq!(line("/name", good, 40), None, "{good}");
        }
        for bad in ["", "   ", "a\0", "a\nb", "\u{1b}[31m", &"x".repeat(41)] {
            assert!(line("/name", bad, 40).is_some(), "{bad:?}");
        }
        assert_eq!(text("", "a\nb\t\r\n", 40), None);
        assert!(text("", "a\0", 40).is_some());
    }

    #[test]
    fn json_that_can_be_kept() {
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
            let found = json("/p", value.as_object().unwrap(), 99);
            assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{value}");
        }
        let many = json!({ "a": vec!["\0"; 5000] });
        assert_eq!(json("/p", many.as_object().unwrap(), 100_000).len(), MAX_PROBLEMS + 1);
        for (value, found) in [
            (json!({ "a": vec![1; MAX_VALUES - 1] }), None),
            (json!({ "a": vec![1; MAX_VALUES] }), Some(10_001)),
            (json!({ "rows": vec![vec!["cell"; 9]; 999] }), None),
            (json!({ "links": vec![json!({ "label": "a", "href": "/" }); 200] }), None),
            (json!({ "a": vec![json!({ "a": 1 }); 900] }), None),
            (json!({ "a": vec![json!({ "a": 1 }); 8000] }), Some(88_001)),
        ] {
            let expected = found.map(|found| {
                format!("/p: has {found} values and may have 10000, where an object counts as 10; make it smaller, or make several of it")
            });
            let told = json("/p", value.as_object().unwrap(), 1 << 20);
            assert_eq!(told.first().map(ToString::to_string), expected);
        }
    }
}
