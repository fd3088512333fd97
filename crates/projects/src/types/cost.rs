//! The cost of validation, computed before it runs.
//!
//! A step is a schema keyword applied to a value, or a pattern position tried at a byte; both take some ten
//! nanoseconds at most. Members named in `properties` are charged by their own schema, everything else by all
//! the other keywords: an overestimate rather than an underestimate.

use std::collections::BTreeMap;

use regex_syntax::hir::{Hir, HirKind};
use serde_json::Value;

use crate::error::ValidationProblem;
use crate::limits::MAX_VALIDATION_STEPS;

/// Very large and very small numbers are divided as fractions with many digits.
const MULTIPLE_OF_COST: u64 = 500;
/// A pattern has to be compiled, and uses memory for the duration of the call.
const PATTERN_COMPILE_COST: u64 = 75_000;
/// More positions than a pattern that compiles can have. Also assumed for patterns that cannot be parsed.
const MAX_PATTERN_POSITIONS: u64 = 1 << 12;

/// Remaining steps of a call for validation by custom schemas.
pub(crate) struct ValidationBudget {
    remaining: u64,
    is_exhausted: bool,
}

impl ValidationBudget {
    pub(crate) const fn per_call() -> Self {
        Self { remaining: MAX_VALIDATION_STEPS, is_exhausted: false }
    }

    pub(super) const fn spend(&mut self, steps: u64) -> bool {
        let is_there = steps <= self.remaining && !self.is_exhausted;
        if is_there {
            self.remaining -= steps;
        }
        is_there
    }

    /// Reports an exhausted budget. That rejects the whole call, so nothing else is validated, and it is
    /// reported only once.
    pub(super) fn report_exhausted(&mut self, path: &str) -> Vec<ValidationProblem> {
        let is_said = std::mem::replace(&mut self.is_exhausted, true);
        let message = "is too expensive to validate against the project's custom block types; make schemas or props smaller, \
            remove patterns and `multipleOf`, or write fewer blocks at once";
        if is_said { Vec::new() } else { vec![ValidationProblem::new(path, message)] }
    }
}

/// Cost of compiling a schema, in steps.
pub(super) fn compile_cost(schema: &Value) -> u64 {
    PATTERN_COMPILE_COST * collect_patterns(schema).len() as u64
}

/// Cost of validating against a schema.
#[derive(Default)]
pub(super) struct SchemaCost {
    /// Steps per value, at all levels.
    per_value: u64,
    /// Steps per byte of text, names included.
    per_byte: u64,
    /// Additional cost of named members.
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

    /// Cost of validating a value, in steps.
    pub(super) fn validation_cost(&self, value: &Value) -> u64 {
        let (values, bytes) = count_values_and_bytes(value);
        let member = |(name, value): (&String, &Value)| Some(self.members.get(name)?.validation_cost(value));
        let inside: u64 = value.as_object().into_iter().flatten().filter_map(member).sum();
        self.per_value * (values + bytes / 16) + self.per_byte * bytes + inside
    }
}

/// Steps per value for a keyword and everything inside it.
fn keyword_cost(word: &str, inner: &Value) -> u64 {
    1 + match inner {
        Value::Object(map) => map.iter().map(|(word, inner)| keyword_cost(word, inner)).sum(),
        Value::Array(items) => items.iter().map(|item| keyword_cost("", item)).sum(),
        _ if word == "multipleOf" => MULTIPLE_OF_COST,
        _ => 0,
    }
}

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

/// Number of values at all levels, and bytes of text.
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

/// Number of pattern positions that a search may be at simultaneously: the length of the pattern with
/// repetitions expanded.
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
