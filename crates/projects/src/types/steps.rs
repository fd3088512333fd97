//! How much judging one call may ask for, counted before it is done.
//!
//! A step is a word of a schema that looks at a value, or a place of a pattern at a byte of text; both take some ten
//! nanoseconds at most. Members that `properties` names are counted by their own schema, everything else by all that stands
//! beside it: rather too much than too little.

use std::collections::BTreeMap;

use regex_syntax::hir::{Hir, HirKind};
use serde_json::Value;

use crate::error::Problem;
use crate::limits::MAX_STEPS;

/// Numbers that are very large or very small are divided as fractions of many digits.
const MULTIPLE_OF: u64 = 500;
/// A pattern is compiled, and takes memory for as long as the call lasts.
const PATTERN: u64 = 75_000;
/// More places than a pattern that can be compiled has; so does one that we cannot read.
const MOST_PLACES: u64 = 1 << 12;

/// The steps that are left to a call for judging by schemas of a project's own.
pub(crate) struct Steps {
    left: u64,
    is_refused: bool,
}

impl Steps {
    /// All that a call has.
    pub(crate) const fn for_a_call() -> Self {
        Self { left: MAX_STEPS, is_refused: false }
    }

    /// Takes so many, if they are there.
    pub(super) const fn take(&mut self, steps: u64) -> bool {
        let is_there = steps <= self.left && !self.is_refused;
        if is_there {
            self.left -= steps;
        }
        is_there
    }

    /// What to say where there are not enough. It refuses the call, so the rest of it is not judged, and it is said once.
    pub(super) fn refuse(&mut self, path: &str) -> Vec<Problem> {
        let is_said = std::mem::replace(&mut self.is_refused, true);
        let message = "is too much to be judged by schemas of the project's own block types; make schemas or props smaller, \
            take out patterns and `multipleOf`, or write fewer blocks at once";
        if is_said { Vec::new() } else { vec![Problem::new(path, message)] }
    }
}

/// The steps of compiling a schema.
pub(super) fn compiling(schema: &Value) -> u64 {
    PATTERN * patterns(schema).len() as u64
}

/// What a schema asks for.
#[derive(Default)]
pub(super) struct Demand {
    /// Of each value, at all levels.
    value: u64,
    /// Of each byte of text, names included.
    byte: u64,
    /// Of members, besides.
    members: BTreeMap<String, Demand>,
}

impl Demand {
    pub(super) fn new(schema: &Value) -> Self {
        let mut demand = Self { value: 1, ..Self::default() };
        for (word, inner) in schema.as_object().into_iter().flatten() {
            match inner {
                Value::Object(named) if word == "properties" => {
                    demand.value += named.len() as u64;
                    demand.members =
                        named.iter().map(|(name, inner)| (name.clone(), Self::new(inner))).collect();
                }
                _ => demand.value += asked(word, inner),
            }
            if word != "properties" {
                demand.byte += patterns_of(word, inner).into_iter().map(places).sum::<u64>();
            }
        }
        demand
    }

    /// The steps of judging a value.
    pub(super) fn steps(&self, value: &Value) -> u64 {
        let (values, bytes) = size(value);
        let member = |(name, value): (&String, &Value)| Some(self.members.get(name)?.steps(value));
        let inside: u64 = value.as_object().into_iter().flatten().filter_map(member).sum();
        self.value * (values + bytes / 16) + self.byte * bytes + inside
    }
}

/// What a word of a schema, and all that is inside of it, asks of each value.
fn asked(word: &str, inner: &Value) -> u64 {
    1 + match inner {
        Value::Object(map) => map.iter().map(|(word, inner)| asked(word, inner)).sum(),
        Value::Array(items) => items.iter().map(|item| asked("", item)).sum(),
        _ if word == "multipleOf" => MULTIPLE_OF,
        _ => 0,
    }
}

/// All patterns in a schema.
pub(super) fn patterns(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(map) => map.iter().flat_map(|(word, inner)| patterns_of(word, inner)).collect(),
        Value::Array(items) => items.iter().flat_map(patterns).collect(),
        _ => Vec::new(),
    }
}

fn patterns_of<'a>(word: &str, inner: &'a Value) -> Vec<&'a str> {
    let mut found = patterns(inner);
    match inner {
        Value::String(pattern) if word == "pattern" => found.push(pattern),
        Value::Object(map) if word == "patternProperties" => found.extend(map.keys().map(String::as_str)),
        _ => {}
    }
    found
}

/// How many values there are in JSON, all levels together, and how many bytes of text.
fn size(value: &Value) -> (u64, u64) {
    let sum = |(values, bytes): (u64, u64), inner: (u64, u64)| (values + inner.0, bytes + inner.1);
    match value {
        Value::String(text) => (1, text.len() as u64),
        Value::Array(items) => items.iter().map(size).fold((1, 0), sum),
        Value::Object(map) => {
            map.iter().map(|(name, value)| sum(size(value), (0, name.len() as u64))).fold((1, 0), sum)
        }
        _ => (1, 0),
    }
}

/// In how many places of a pattern a search may be at once: how many characters it has when repetitions are written out.
fn places(pattern: &str) -> u64 {
    fn places(hir: &Hir) -> u64 {
        let found = match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => 0,
            HirKind::Literal(literal) => literal.0.len() as u64,
            HirKind::Class(_) => 1,
            HirKind::Repetition(repeated) => {
                let most = repeated.max.unwrap_or(repeated.min).max(1);
                places(&repeated.sub).saturating_mul(u64::from(most))
            }
            HirKind::Capture(group) => places(&group.sub),
            HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().map(places).sum(),
        };
        found.min(MOST_PLACES)
    }
    regex_syntax::parse(pattern).map_or(MOST_PLACES, |hir| places(&hir))
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
            ("^[a-z0-9-]+$", 1),
            ("^[^\\]a]+b$", 2),
            ("^\\p{L}+( \\p{L}+)*$", 3),
            ("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", 36),
            ("(?:[ab]{1,30}a?){1,30}!", 931),
            ("(?ix)a # [\na{99}", 100),
            ("(?:a{9}){9}", 81),
            ("((a{99}){99}){99}", MOST_PLACES),
            ("(?=a)", MOST_PLACES),
        ] {
            assert_eq!(places(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn how_many_steps_props_take() {
        let text = "x".repeat(1600);
        for (schema, props, expected) in [
            (json!({}), json!({ "a": 1 }), 2),
            (json!({ "type": "object" }), json!({ "a": [1, 2, 3] }), 2 * 5),
            (json!({ "properties": { "a": { "type": "string" } } }), json!({ "b": 1 }), 2 * 2),
            (json!({ "properties": { "a": { "type": "string" } } }), json!({ "a": text }), 2 * 102 + 2 * 101),
            (json!({ "properties": { "a": { "format": "uri" } } }), json!({ "a": "" }), 2 * 2 + 2),
            (json!({ "properties": { "a": { "pattern": "xy" } } }), json!({ "b": text }), 2 * 102),
            (
                json!({ "properties": { "a": { "pattern": "xy" } } }),
                json!({ "a": text }),
                2 * 102 + 2 * 101 + 3200,
            ),
            (json!({ "propertyNames": { "pattern": "xy" } }), json!({ text.clone(): 1 }), 3 * 102 + 3200),
            (json!({ "patternProperties": { "xy": {} } }), json!({ text: 1 }), 3 * 102 + 3200),
            (json!({ "items": { "multipleOf": 0.3 } }), json!({ "a": [1, 2e99] }), 503 * 4),
            (json!({ "items": { "anyOf": [{ "const": 1 }, { "const": [2] }] } }), json!({ "a": [1] }), 8 * 3),
        ] {
            assert_eq!(Demand::new(&schema).steps(&props), expected, "{schema} {props:.40}");
        }
    }
}
