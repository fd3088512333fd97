//! Custom block types.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::cost::{ValidationBudget, collect_patterns, compile_cost};
use super::schema::{SchemaValidator, count_values};
use super::{AllowedChildren, BlockType, find_built_in};
use crate::error::ValidationProblem;
use crate::limits::{
    MAX_DESCRIPTION_CHARS, MAX_PROPS_DEPTH, MAX_SCHEMA_BYTES, MAX_SCHEMA_PATTERNS, MAX_SCHEMA_VALUES,
};
use crate::naming;

/// A custom block type as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomBlockType {
    /// a-z, 0-9 and -. Must not be the name of a built-in type.
    pub name: String,
    /// Purpose of the type.
    pub description: String,
    /// JSON Schema of the props.
    pub schema: Value,
    pub children: AllowedChildren,
}

/// Maximum number of types in [`AllowedChildren::Only`].
const MAX_CHILD_TYPES: usize = 200;

impl CustomBlockType {
    pub fn problems(&self) -> Vec<ValidationProblem> {
        self.problems_within_budget(&mut ValidationBudget::per_call())
    }

    /// Like [`problems`](Self::problems), for one of several types in a call. Schemas are only compiled
    /// within the budget.
    pub(crate) fn problems_within_budget(&self, budget: &mut ValidationBudget) -> Vec<ValidationProblem> {
        let mut problems = self.definition_problems();
        if !problems.is_empty() {
            return problems;
        }
        if !budget.spend(compile_cost(&self.schema)) {
            problems.extend(budget.report_exhausted("/schema"));
        } else if let Err(message) = SchemaValidator::new(&self.schema, false) {
            let message = format!("is not a valid JSON Schema: {message}; fix it");
            problems.push(ValidationProblem::new("/schema", message));
        }
        problems
    }

    /// Every problem except for a schema that does not compile, which takes time to find out.
    pub(crate) fn definition_problems(&self) -> Vec<ValidationProblem> {
        let mut problems: Vec<ValidationProblem> =
            naming::check_slug("/name", &self.name).into_iter().collect();
        if find_built_in(&self.name).is_some() {
            problems.push(ValidationProblem::new("/name", "is the name of a built-in type; choose another"));
        }
        problems.extend(naming::check_text("/description", &self.description, MAX_DESCRIPTION_CHARS));
        problems.extend(self.schema_problems());
        if let AllowedChildren::Only(names) = &self.children {
            let bad = |name: &String| find_built_in(name).is_none() && naming::check_slug("", name).is_some();
            if names.len() > MAX_CHILD_TYPES || names.iter().any(bad) {
                let message = format!("must be at most {MAX_CHILD_TYPES} valid names of block types");
                problems.push(ValidationProblem::new("/children", message));
            }
        }
        problems
    }

    fn schema_problems(&self) -> Vec<ValidationProblem> {
        let Value::Object(schema) = &self.schema else {
            return vec![ValidationProblem::new(
                "/schema",
                "must be a JSON Schema object; `{}` allows anything",
            )];
        };
        // Twice the depth of props, because every level of props takes two levels of schema.
        let problems =
            naming::check_json_with_depth("/schema", schema, MAX_SCHEMA_BYTES, 2 * MAX_PROPS_DEPTH);
        if !problems.is_empty() {
            return problems;
        }
        if let Some(message) =
            check_schema_size(&self.schema).or_else(|| find_forbidden_keyword(&self.schema, true))
        {
            return vec![ValidationProblem::new("/schema", message)];
        }
        Vec::new()
    }
}

impl From<&CustomBlockType> for BlockType {
    fn from(own: &CustomBlockType) -> Self {
        Self {
            name: own.name.clone(),
            description: own.description.clone(),
            schema: own.schema.clone(),
            children: own.children.clone(),
            parents: None,
            is_built_in: false,
            validator: Arc::default(),
        }
    }
}

/// Problems of all types as reported by `look`, and duplicate names. Pointers start with `/types`.
pub(crate) fn collect_type_problems(
    types: &[CustomBlockType],
    mut look: impl FnMut(&CustomBlockType) -> Vec<ValidationProblem>,
) -> Vec<ValidationProblem> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for (at, own) in types.iter().enumerate() {
        let mut told = look(own);
        if !seen.insert(&own.name) {
            told.push(ValidationProblem::new("/name", "is not unique; choose another"));
        }
        problems.extend(
            told.into_iter()
                .map(|told| ValidationProblem { path: format!("/types/{at}{}", told.path), ..told }),
        );
    }
    problems
}

/// Rejects schemas that are too expensive to compile or use.
fn check_schema_size(schema: &Value) -> Option<String> {
    let (found, patterns) = (count_values(schema), collect_patterns(schema).len());
    if found > MAX_SCHEMA_VALUES {
        return Some(format!("has {found} values, but the limit is {MAX_SCHEMA_VALUES}; make it smaller"));
    }
    (patterns > MAX_SCHEMA_PATTERNS).then(|| {
        format!("has {patterns} patterns, but the limit is {MAX_SCHEMA_PATTERNS}; combine or remove some")
    })
}

/// Finds forbidden keywords: references, and those that validate the same values repeatedly. Also rejects
/// properties of these names, which is acceptable.
fn find_forbidden_keyword(schema: &Value, is_top: bool) -> Option<String> {
    const FORBIDDEN_KEYWORDS: [&str; 9] = [
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "$id",
        "$schema",
        "$anchor",
        "$dynamicAnchor",
        "unevaluatedProperties",
        "unevaluatedItems",
    ];
    const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
    match schema {
        Value::Object(map) => map.iter().find_map(|(name, value)| {
            if is_top && name == "$schema" {
                let said = value.as_str().map(|said| said.trim_end_matches('#'));
                let message = format!("must be JSON Schema 2020-12: omit `$schema` or set it to {DIALECT}");
                return (said != Some(DIALECT)).then_some(message);
            }
            if FORBIDDEN_KEYWORDS.contains(&name.as_str()) {
                return Some(format!("must not use `{name}`; inline the schema instead"));
            }
            find_forbidden_keyword(value, false)
        }),
        Value::Array(items) => items.iter().find_map(|item| find_forbidden_keyword(item, false)),
        _ => None,
    }
}
