//! What judging costs, reckoned before it is done.
//!
//! One is what a keyword costs that looks at one value: up to ten nanoseconds in a release build. Dividing numbers, formats and
//! patterns cost more, as was measured. A schema is added up once; then the values of props are gone through once, with what
//! may look at each of them. It is rather too much than too little.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::check::values;

/// What a format or a pattern costs, however short the text is.
const CALLING: u64 = 10;
/// What a format or a simple pattern costs for 16 bytes of a text.
const READING: u64 = 8;
/// What a pattern costs for 16 bytes of a text and each of its places.
const SEARCHING: u64 = 96;
/// Up to so many places a pattern is simple: a search is never in more states than are kept in mind.
const FEW_PLACES: u64 = 8;
/// The most places that are counted. No pattern of so many can be compiled.
const MOST_PLACES: u64 = 1 << 20;
/// What dividing an ordinary number by an ordinary one costs.
const DIVIDING: u64 = 20;
/// How much more it costs if either is very large or very small.
const ODD: u64 = 25;
/// What comparing the items of a list costs for each value that is inside.
const COMPARING: u64 = 4;
/// What compiling a schema costs for each of its values, and for each pattern.
const COMPILING: u64 = 100;
const COMPILING_PATTERN: u64 = 50_000;

/// What compiling a schema costs.
pub(super) fn of_compiling(schema: &Value) -> u64 {
    COMPILING * values(schema) as u64 + COMPILING_PATTERN * patterns(schema) as u64
}

/// How many patterns there are in a schema.
pub(super) fn patterns(schema: &Value) -> usize {
    match schema {
        Value::Object(map) => {
            let here = |(name, value): (&String, &Value)| match (name.as_str(), value) {
                ("pattern", Value::String(_)) => 1,
                ("patternProperties", Value::Object(inside)) => inside.len(),
                _ => 0,
            };
            map.iter().map(here).sum::<usize>() + map.values().map(patterns).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(patterns).sum(),
        _ => 0,
    }
}

/// What all that a schema says of a value costs, and of what is inside of it.
#[derive(Default)]
pub(super) struct Cost {
    /// For a value of any kind.
    here: u64,
    /// For 16 bytes of a text.
    text: u64,
    /// For a number.
    number: u64,
    /// For each value inside, at all levels, and the value itself.
    whole: u64,
    /// For the names of members.
    names: Option<Box<Cost>>,
    /// For the members of these names.
    named: BTreeMap<String, Cost>,
    /// For all members.
    members: Option<Box<Cost>>,
    /// For all items.
    items: Option<Box<Cost>>,
}

impl Cost {
    pub(super) fn of(schema: &Value) -> Self {
        let mut cost = Self::default();
        cost.add(schema);
        cost
    }

    fn add(&mut self, schema: &Value) {
        self.here += 1;
        if let Value::Object(schema) = schema {
            for (word, value) in schema {
                self.add_word(word, value);
            }
        }
    }

    fn add_word(&mut self, word: &str, value: &Value) {
        self.here += 1;
        match (word, value) {
            ("not" | "if" | "then" | "else", schema) => self.add(schema),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                for schema in schemas {
                    self.add(schema);
                }
            }
            ("dependentSchemas" | "dependencies", Value::Object(schemas)) => {
                for schema in schemas.values() {
                    self.add(schema);
                }
            }
            ("properties", Value::Object(schemas)) => {
                self.here += schemas.len() as u64;
                for (name, schema) in schemas {
                    self.named.entry(name.clone()).or_default().add(schema);
                }
            }
            ("patternProperties", Value::Object(schemas)) => {
                for (pattern, schema) in schemas {
                    self.names.get_or_insert_default().add_pattern(pattern);
                    self.members.get_or_insert_default().add(schema);
                }
            }
            ("propertyNames", schema) => self.names.get_or_insert_default().add(schema),
            ("additionalProperties", schema) => self.members.get_or_insert_default().add(schema),
            ("items" | "contains", schema) => self.items.get_or_insert_default().add(schema),
            ("prefixItems", Value::Array(schemas)) => {
                for schema in schemas {
                    self.items.get_or_insert_default().add(schema);
                }
            }
            ("pattern", Value::String(pattern)) => self.add_pattern(pattern),
            ("format", _) => self.add_reading(READING),
            ("multipleOf", Value::Number(by)) => self.number += DIVIDING * oddness(by),
            ("uniqueItems", _) => self.whole += COMPARING,
            // They are compared with the value alone, or with nothing.
            (
                "enum" | "const" | "required" | "dependentRequired" | "type" | "default" | "examples"
                | "$defs",
                _,
            ) => {
                self.here += values(value) as u64;
            }
            // A word that nobody has thought of here.
            (_, Value::Object(_) | Value::Array(_)) => self.whole += values(value) as u64,
            _ => {}
        }
    }

    fn add_pattern(&mut self, pattern: &str) {
        let places = places(pattern);
        self.add_reading(if places > FEW_PLACES { SEARCHING * places } else { READING });
    }

    fn add_reading(&mut self, cost: u64) {
        self.here += CALLING;
        self.text += cost;
    }

    /// What judging props costs.
    pub(super) fn of_props(&self, props: &Map<String, Value>) -> u64 {
        let inside = || props.values().map(size).sum::<u64>();
        let whole = if self.whole > 0 { self.whole * (1 + inside()) } else { 0 };
        self.here + whole + self.of_members(props)
    }

    fn of_value(&self, value: &Value) -> u64 {
        let whole = if self.whole > 0 { self.whole * size(value) } else { 0 };
        let inside = match value {
            Value::String(text) => self.of_text(text),
            Value::Number(number) => self.number * oddness(number),
            Value::Array(items) => {
                let of_items = |cost: &Self| items.iter().map(|item| cost.of_value(item)).sum();
                self.items.as_deref().map_or(0, of_items)
            }
            Value::Object(members) => self.of_members(members),
            Value::Null | Value::Bool(_) => 0,
        };
        self.here + whole + inside
    }

    fn of_members(&self, members: &Map<String, Value>) -> u64 {
        let of_member = |(name, value): (&String, &Value)| {
            let name_cost = self.names.as_ref().map_or(0, |cost| cost.here + cost.of_text(name));
            let named = self.named.get(name).map_or(0, |cost| cost.of_value(value));
            name_cost + named + self.members.as_ref().map_or(0, |cost| cost.of_value(value))
        };
        members.iter().map(of_member).sum()
    }

    fn of_text(&self, text: &str) -> u64 {
        self.text * (text.len() as u64).div_ceil(16)
    }
}

/// How many values there are in JSON, all levels together, where a long text counts as several.
fn size(value: &Value) -> u64 {
    1 + match value {
        Value::String(text) => text.len() as u64 / 64,
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(map) => map.values().map(size).sum(),
        _ => 0,
    }
}

/// Very large and very small numbers are divided as fractions of many digits.
fn oddness(number: &Number) -> u64 {
    let is_plain = |number: f64| number == 0.0 || (1e-9..=1e15).contains(&number.abs());
    if number.as_f64().is_some_and(is_plain) { 1 } else { ODD }
}

/// In how many places of a pattern a search may be at once: how many characters it has when all repetitions are written out.
/// One that begins at the start and has no choices is in one place only.
fn places(pattern: &str) -> u64 {
    if has_comments(pattern) {
        return MOST_PLACES;
    }
    let mut outer: Vec<u64> = Vec::new();
    let (mut before, mut last, mut has_choices) = (0_u64, 0_u64, !pattern.starts_with('^'));
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match c {
            '(' => {
                outer.push(before + last);
                (before, last) = (0, 0);
            }
            ')' => {
                last += before;
                before = outer.pop().unwrap_or(0);
            }
            '{' => {
                let (most, varies) = repeated(&mut rest);
                last = last.saturating_mul(most).min(MOST_PLACES);
                has_choices |= varies;
            }
            '*' | '+' | '?' | '|' => has_choices = true,
            '^' | '$' => {}
            one => {
                skip(one, &mut rest);
                before = (before + last).min(MOST_PLACES);
                last = 1;
            }
        }
    }
    if has_choices { (outer.iter().sum::<u64>() + before + last).min(MOST_PLACES) } else { 1 }
}

/// Whether a flag (`x`) may turn parts of a pattern into comments, which could hide the rest of it from us.
fn has_comments(pattern: &str) -> bool {
    let flags = |at: usize| pattern[at + 2..].chars().take_while(|c| c.is_ascii_alphabetic() || *c == '-');
    pattern.match_indices("(?").any(|(at, _)| flags(at).any(|flag| flag == 'x'))
}

/// How often something is repeated at most, and whether it may be less. What is no repetition is once.
fn repeated(rest: &mut std::str::Chars<'_>) -> (u64, bool) {
    let Some((inside, after)) = rest.as_str().split_once('}') else { return (1, true) };
    *rest = after.chars();
    let most = inside.split(',').filter_map(|number| number.trim().parse().ok()).max();
    (most.unwrap_or(1), inside.contains(','))
}

/// Skips what belongs to a character: a class, or what is escaped.
fn skip(first: char, rest: &mut std::str::Chars<'_>) {
    match first {
        '\\' => {
            if matches!(rest.next(), Some('p' | 'P' | 'x' | 'u'))
                && let Some(named) = rest.as_str().strip_prefix('{')
            {
                *rest = named.split_once('}').map_or("", |(_, after)| after).chars();
            }
        }
        '[' => {
            while let Some(inside) = rest.next() {
                match inside {
                    '\\' => drop(rest.next()),
                    ']' => return,
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn how_many_places_a_pattern_has() {
        for (pattern, expected) in [
            ("", 0),
            ("abc", 3),
            ("^abc$", 1),
            ("^[a-z0-9-]+$", 1),
            ("^[^\\]a]+b$", 2),
            ("^\\p{L}+( \\p{L}+)*$", 3),
            ("^#[0-9a-f]{6}$", 1),
            ("#[0-9a-f]{6}$", 7),
            ("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", 1),
            ("^[0-9a-f]{1,8}(-[0-9a-f]{4}){3}$", 23),
            ("(?:[ab]{1,30}a?){1,30}!", 961),
            ("a{9}{9}", 81),
            ("a|b{3,}", 4),
            ("x{y}", 1),
            ("((a{99}){99}){99}", 970_299),
            ("(?i)(?<x>a)", 5),
            ("(?ix)a # [\na{99}", MOST_PLACES),
            ("(a{999}){999}{999}{999}{999}", MOST_PLACES),
        ] {
            assert_eq!(places(pattern), expected, "{pattern}");
        }
    }

    /// Only what looks at a value counts, and what costs more counts more.
    #[test]
    fn what_props_cost() {
        let text = "x".repeat(1600);
        for (schema, props, expected) in [
            (json!({}), json!({ "a": 1 }), 1),
            (json!(true), json!({ "a": 1 }), 1),
            (json!({ "type": "object" }), json!({ "a": [1, 2, 3] }), 3),
            (json!({ "properties": { "a": { "type": "string" } } }), json!({ "b": 1 }), 3),
            (json!({ "properties": { "a": { "type": "string" } } }), json!({ "a": text }), 6),
            (json!({ "properties": { "a": { "format": "uri" } } }), json!({ "a": text }), 3 + 12 + 800),
            (json!({ "properties": { "a": { "format": "uri" } } }), json!({ "a": "", "b": text }), 3 + 12),
            (json!({ "properties": { "a": { "pattern": "x+y" } } }), json!({ "a": text }), 3 + 12 + 800),
            (json!({ "properties": { "a": { "pattern": "x{9}y" } } }), json!({ "a": text }), 3 + 12 + 96_000),
            (json!({ "propertyNames": { "pattern": "x+y" } }), json!({ text.clone(): 1 }), 2 + 12 + 800),
            (json!({ "patternProperties": { "x": { "type": "null" } } }), json!({ "b": 1 }), 2 + 10 + 8 + 3),
            (
                json!({ "additionalProperties": { "multipleOf": 0.3 } }),
                json!({ "a": 3, "b": "" }),
                2 + 22 + 2,
            ),
            (json!({ "additionalProperties": { "multipleOf": 0.3 } }), json!({ "a": 3e300 }), 2 + 2 + 500),
            (
                json!({ "additionalProperties": { "multipleOf": 1e-99 } }),
                json!({ "a": 1e99 }),
                2 + 2 + 12_500,
            ),
            (
                json!({ "properties": { "a": { "items": { "anyOf": [{ "const": 1 }, { "const": [2] }] } } } }),
                json!({ "a": [1, 2] }),
                3 + 2 + 2 * (2 + 3 + 4),
            ),
            (
                json!({ "properties": { "a": { "uniqueItems": true } } }),
                json!({ "a": [[1], [2]] }),
                3 + 2 + 4 * 5,
            ),
            (json!({ "unheard": [{}] }), json!({ "a": [1] }), 2 + 2 * 3),
        ] {
            let found = Cost::of(&schema).of_props(props.as_object().unwrap());
            assert_eq!(found, expected, "{schema} {props:.40}");
        }
    }
}
