//! How much judging one call may ask for, counted before it is done.
//!
//! A step is a word of a schema that looks at a value, or a place of a pattern at a byte of text; both take some ten
//! nanoseconds at most. Members that `properties` names are counted by their own schema, everything else by all that stands
//! beside it: rather too much than too little.

use std::collections::BTreeMap;

use regex_syntax::hir::{Hir, HirKind};
use serde_json::Value;

use crate::error::ValidationProblem;
use crate::limits::MAX_VALIDATION_STEPS;

/// Numbers that are very large or very small are divided as fractions of many digits.
const MULTIPLE_OF_COST: u64 = 500;
/// A pattern is compiled, and takes memory for as long as the call lasts.
const PATTERN_COMPILE_COST: u64 = 75_000;
/// More places than a pattern that can be compiled has; so does one that we cannot read.
const MAX_PATTERN_POSITIONS: u64 = 1 << 12;

/// The steps that are left to a call for judging by schemas of a project's own.
pub(crate) struct ValidationBudget {
    remaining: u64,
    is_exhausted: bool,
}

impl ValidationBudget {
    /// All that a call has.
    pub(crate) const fn per_call() -> Self {
        Self { remaining: MAX_VALIDATION_STEPS, is_exhausted: false }
    }

    /// Takes so many, if they are there.
    pub(super) const fn spend(&mut self, steps: u64) -> bool {
        let is_there = steps <= self.remaining && !self.is_exhausted;
        if is_there {
            self.remaining -= steps;
        }
        is_there
    }

    /// What to say where there are not enough. It refuses the call, so the rest of it is not judged, and it is said once.
    pub(super) fn report_exhausted(&mut self, path: &str) -> Vec<ValidationProblem> {
        let is_said = std::mem::replace(&mut self.is_exhausted, true);
        let message = "is too much to be judged by schemas of the project's own block types; make schemas or props smaller, \
            take out patterns and `multipleOf`, or write fewer blocks at once";
        if is_said { Vec::new() } else { vec![ValidationProblem::new(path, message)] }
    }
}

/// The steps of compiling a schema.
pub(super) fn compile_cost(schema: &Value) -> u64 {
    PATTERN_COMPILE_COST * collect_patterns(schema).len() as u64
}

/// What a schema asks for.
#[derive(Default)]
pub(super) struct SchemaCost {
    /// Of each value, at all levels.
    per_value: u64,
    /// Of each byte of text, names included.
    per_byte: u64,
    /// Of members, besides.
    members: BTreeMap<String, SchemaCost>,
}

impl SchemaCost {
    pub(super) fn new(schema: &Value) -> Self {
        let mut demand = Self { per_value: 1, ..Self::default() };
        for (word, inner) in schema.as_object().into_iter().flatten() {
            match inner {
                Value::Object(named) if word == "properties" => {
                    demand.per_value += named.len() as u64;
                    demand.members =
                        named.iter().map(|(name, inner)| (name.clone(), Self::new(inner))).collect();
                }
                _ => demand.per_value += keyword_cost(word, inner),
            }
            if word != "properties" {
                demand.per_byte +=
                    keyword_patterns(word, inner).into_iter().map(pattern_positions).sum::<u64>();
            }
        }
        demand
    }

    /// The steps of judging a value.
    pub(super) fn validation_cost(&self, value: &Value) -> u64 {
        let (values, bytes) = count_values_and_bytes(value);
        let member = |(name, value): (&String, &Value)| Some(self.members.get(name)?.validation_cost(value));
        let inside: u64 = value.as_object().into_iter().flatten().filter_map(member).sum();
        self.per_value * (values + bytes / 16) + self.per_byte * bytes + inside
    }
}

/// What a word of a schema, and all that is inside of it, asks of each value.
fn keyword_cost(word: &str, inner: &Value) -> u64 {
    1 + match inner {
        Value::Object(map) => map.iter().map(|(word, inner)| keyword_cost(word, inner)).sum(),
        Value::Array(items) => items.iter().map(|item| keyword_cost("", item)).sum(),
        _ if word == "multipleOf" => MULTIPLE_OF_COST,
        _ => 0,
    }
}

/// All patterns in a schema.
pub(super) fn collect_patterns(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(map) => map.iter().flat_map(|(word, inner)| keyword_patterns(word, inner)).collect(),
        Value::Array(items) => items.iter().flat_map(collect_patterns).collect(),
        _ => Vec::new(),
    }
}

fn keyword_patterns<'a>(word: &str, inner: &'a Value) -> Vec<&'a str> {
    let mut found = collect_patterns(inner);
    match inner {
        Value::String(pattern) if word == "pattern" => found.push(pattern),
        Value::Object(map) if word == "patternProperties" => found.extend(map.keys().map(String::as_str)),
        _ => {}
    }
    found
}

/// How many values there are in JSON, all levels together, and how many bytes of text.
fn count_values_and_bytes(value: &Value) -> (u64, u64) {
    let sum = |(values, bytes): (u64, u64), inner: (u64, u64)| (values + inner.0, bytes + inner.1);
    match value {
        Value::String(text) => (1, text.len() as u64),
        Value::Array(items) => items.iter().map(count_values_and_bytes).fold((1, 0), sum),
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| sum(count_values_and_bytes(value), (0, name.len() as u64)))
            .fold((1, 0), sum),
        _ => (1, 0),
    }
}

/// In how many places of a pattern a search may be at once: how many characters it has when repetitions are written out.
fn pattern_positions(pattern: &str) -> u64 {
    fn hir_positions(hir: &Hir) -> u64 {
        let found = match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => 0,
            HirKind::Literal(literal) => literal.0.len() as u64,
            HirKind::Class(_) => 1,
            HirKind::Repetition(repeated) => {
                let most = repeated.max.unwrap_or(repeated.min).max(1);
                hir_positions(&repeated.sub).saturating_mul(u64::from(most))
            }
            HirKind::Capture(group) => hir_positions(&group.sub),
            HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().map(hir_positions).sum(),
        };
        found.min(MAX_PATTERN_POSITIONS)
    }
    regex_syntax::parse(pattern).map_or(MAX_PATTERN_POSITIONS, |hir| hir_positions(&hir))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pattern_positions_are_counted() {
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
            ("((a{99}){99}){99}", MAX_PATTERN_POSITIONS),
            ("(?=a)", MAX_PATTERN_POSITIONS),
        ] {
            assert_eq!(pattern_positions(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn validation_cost_is_predicted() {
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
            assert_eq!(SchemaCost::new(&schema).validation_cost(&props), expected, "{schema} {props:.40}");
        }
    }
}
