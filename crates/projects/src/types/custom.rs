//! Block types of a project's own.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::check::{Judge, values};
use super::steps::{Steps, compiling, patterns};
use super::{BlockType, Children, built_in};
use crate::error::Problem;
use crate::limits::{MAX_DESCRIPTION, MAX_PATTERNS, MAX_PROPS_DEPTH, MAX_SCHEMA, MAX_SCHEMA_VALUES};
use crate::naming;

/// A block type of a project's own, as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomType {
    /// Its name: a-z, 0-9 and -, and none that is built in.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of the props.
    pub schema: Value,
    /// Which blocks may be inside.
    pub children: Children,
}

/// The most types that [`Children::Only`] names.
const MOST_CHILDREN: usize = 200;

impl CustomType {
    /// Everything that is wrong with it.
    pub fn problems(&self) -> Vec<Problem> {
        self.problems_within(&mut Steps::for_a_call())
    }

    /// The same for one of several in a call. A schema is not compiled if that would be too much.
    pub(crate) fn problems_within(&self, left: &mut Steps) -> Vec<Problem> {
        let mut problems = self.form_problems();
        if !problems.is_empty() {
            return problems;
        }
        if !left.take(compiling(&self.schema)) {
            problems.extend(left.refuse("/schema"));
        } else if let Err(message) = Judge::of(&self.schema, false) {
            let message = format!("is not a usable JSON Schema: {message}; mend it");
            problems.push(Problem::new("/schema", message));
        }
        problems
    }

    /// What is wrong with it apart from whether its schema can be compiled, which takes time.
    pub(crate) fn form_problems(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = naming::slug("/name", &self.name).into_iter().collect();
        if built_in(&self.name).is_some() {
            problems.push(Problem::new("/name", "is the name of a built-in type; choose another"));
        }
        problems.extend(naming::text("/description", &self.description, MAX_DESCRIPTION));
        problems.extend(self.schema_problems());
        if let Children::Only(names) = &self.children {
            let bad = |name: &String| built_in(name).is_none() && naming::slug("", name).is_some();
            if names.len() > MOST_CHILDREN || names.iter().any(bad) {
                let message =
                    format!("must be at most {MOST_CHILDREN} names of block types; name those that fit");
                problems.push(Problem::new("/children", message));
            }
        }
        problems
    }

    fn schema_problems(&self) -> Vec<Problem> {
        let Value::Object(schema) = &self.schema else {
            return vec![Problem::new(
                "/schema",
                "must be a JSON Schema that is an object; `{}` takes anything",
            )];
        };
        // Twice as deep as props: every level of them takes two in a schema.
        let problems = naming::json_to("/schema", schema, MAX_SCHEMA, 2 * MAX_PROPS_DEPTH);
        if !problems.is_empty() {
            return problems;
        }
        if let Some(message) = costly(&self.schema).or_else(|| forbidden(&self.schema, true)) {
            return vec![Problem::new("/schema", message)];
        }
        Vec::new()
    }
}

impl From<&CustomType> for BlockType {
    fn from(own: &CustomType) -> Self {
        Self {
            name: own.name.clone(),
            description: own.description.clone(),
            schema: own.schema.clone(),
            children: own.children.clone(),
            parents: None,
            is_built_in: false,
            judge: Arc::default(),
        }
    }
}

/// What is wrong with the types of a project, by `look`, and with their names together; pointers begin with `/types`.
pub(crate) fn problems_of(
    types: &[CustomType],
    mut look: impl FnMut(&CustomType) -> Vec<Problem>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for (at, own) in types.iter().enumerate() {
        let mut told = look(own);
        if !seen.insert(&own.name) {
            told.push(Problem::new("/name", "occurs twice; choose another"));
        }
        problems.extend(
            told.into_iter().map(|told| Problem { path: format!("/types/{at}{}", told.path), ..told }),
        );
    }
    problems
}

/// Says that a schema would cost too much to be compiled or used.
fn costly(schema: &Value) -> Option<String> {
    let (found, patterns) = (values(schema), patterns(schema).len());
    if found > MAX_SCHEMA_VALUES {
        return Some(format!("has {found} values in it and may have {MAX_SCHEMA_VALUES}; make it smaller"));
    }
    (patterns > MAX_PATTERNS).then(|| {
        format!("has {patterns} patterns and may have {MAX_PATTERNS}; put them together or leave some out")
    })
}

/// Says which word of a schema is not taken: those that lead elsewhere, and those that judge the same again and again. A
/// property of such a name would be refused too; there is no need for one.
fn forbidden(schema: &Value, is_top: bool) -> Option<String> {
    const WORDS: [&str; 9] = [
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
                let message = format!("must be JSON Schema 2020-12: leave `$schema` out, or say {DIALECT}");
                return (said != Some(DIALECT)).then_some(message);
            }
            if WORDS.contains(&name.as_str()) {
                return Some(format!("must not use `{name}`; write out what is meant"));
            }
            forbidden(value, false)
        }),
        Value::Array(items) => items.iter().find_map(|item| forbidden(item, false)),
        _ => None,
    }
}
