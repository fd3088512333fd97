//! Block types: which props a block may have, and which children.
//!
//! Twenty types are built in (`types/builtin.json`). A project may add custom ones: a name, a JSON Schema for
//! the props, and the allowed children. They are rendered generically.
//!
//! Schemas are JSON Schema 2020-12 with additional formats: `link`, `image`, `embed`, `page-path`, `line`.
//! Patterns run in linear time. A custom schema must not use `$ref`, which could recurse, or
//! `unevaluatedProperties`, which validates nested values again at every level, and its number of values and
//! patterns is limited. The cost of a validation is computed before it runs, and a call has a budget
//! ([`MAX_VALIDATION_STEPS`](crate::limits::MAX_VALIDATION_STEPS)).

mod cost;
mod custom;
mod schema;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::ValidationProblem;
use schema::SchemaValidator;

pub(crate) use cost::ValidationBudget;
pub use custom::CustomBlockType;
pub(crate) use custom::collect_type_problems;

/// The type of root blocks.
pub const PAGE: &str = "page";

/// The types of blocks allowed inside a block.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum AllowedChildren {
    None,
    /// Every type that does not restrict its parents.
    #[default]
    Any,
    Only(Vec<String>),
}

#[derive(Clone)]
pub struct BlockType {
    pub name: String,
    /// Purpose of the type.
    pub description: String,
    /// JSON Schema of the props.
    pub schema: Value,
    pub children: AllowedChildren,
    /// Types that may contain it; `None` for every type that allows it. Empty for pages.
    pub parents: Option<Vec<String>>,
    pub is_built_in: bool,
    /// Compiled when props are first validated: compiling takes time, and most uses of a type validate
    /// nothing.
    validator: Arc<OnceLock<Result<SchemaValidator, String>>>,
}

impl BlockType {
    /// Every problem with the props, with JSON pointers into them, or that validating them would exceed the
    /// budget.
    pub(crate) fn problems(
        &self,
        props: &Map<String, Value>,
        budget: &mut ValidationBudget,
    ) -> Vec<ValidationProblem> {
        let is_ready = self.is_built_in || self.validator.get().is_some();
        if !is_ready && !budget.spend(cost::compile_cost(&self.schema)) {
            return budget.report_exhausted("");
        }
        match self.validator.get_or_init(|| SchemaValidator::new(&self.schema, self.is_built_in)) {
            Ok(judge) => judge.problems(props, budget),
            Err(message) => {
                let message = format!(
                    "cannot be validated: the schema of its type is invalid ({message}); fix the type"
                );
                vec![ValidationProblem::new("", message)]
            }
        }
    }
}

impl std::fmt::Debug for BlockType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockType").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The available block types: built-in and custom.
#[derive(Clone, Debug, Default)]
pub struct BlockTypes {
    custom: BTreeMap<String, BlockType>,
}

impl BlockTypes {
    /// The built-in types and these.
    pub fn with_custom(own: &[CustomBlockType]) -> Self {
        let own = own.iter().filter(|own| find_built_in(&own.name).is_none());
        Self { custom: own.map(|own| (own.name.clone(), own.into())).collect() }
    }

    pub fn get(&self, name: &str) -> Option<&BlockType> {
        find_built_in(name).or_else(|| self.custom.get(name))
    }

    /// All types: built-in ones first.
    pub fn all(&self) -> impl Iterator<Item = &BlockType> {
        BUILT_IN_TYPES.iter().chain(self.custom.values())
    }

    /// Why a block of type `kind` may not be inside a block of type `parent`, if so. `None` as parent is the
    /// top level.
    pub fn placement_error(&self, kind: &str, parent: Option<&str>) -> Option<String> {
        let Some(parent) = parent else {
            return (kind != PAGE)
                .then(|| format!("a `{kind}` cannot be at the top level; only a `page` can"));
        };
        let belongs = self.get(kind).and_then(|kind| kind.parents.as_ref());
        if let Some(parents) = belongs
            && !parents.iter().any(|known| known == parent)
        {
            let place = if parents.is_empty() {
                "at the top level".to_owned()
            } else {
                format!("in {}", join_names(parents))
            };
            return Some(format!("a `{kind}` cannot be in a `{parent}`; it belongs {place}"));
        }
        match self.get(parent).map(|parent| &parent.children) {
            Some(AllowedChildren::Any) => None,
            Some(AllowedChildren::Only(kinds)) if kinds.iter().any(|known| known == kind) => None,
            Some(AllowedChildren::Only(kinds)) => {
                Some(format!("a `{kind}` cannot be in a `{parent}`, which only allows {}", join_names(kinds)))
            }
            Some(AllowedChildren::None) => {
                Some(format!("a `{parent}` cannot contain blocks; choose another place"))
            }
            None => Some(format!(
                "block type `{parent}` no longer exists; create it again or choose another place"
            )),
        }
    }

    /// Error for an unknown type, with the available ones.
    pub(crate) fn unknown_type_message(&self, name: &str) -> String {
        let known: Vec<String> = self.all().map(|known| known.name.clone()).collect();
        let name: String = name.chars().take(60).collect();
        format!("unknown block type `{name}`; available types are {}", join_names(&known))
    }
}

fn join_names(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

pub fn find_built_in(name: &str) -> Option<&'static BlockType> {
    BUILT_IN_TYPES.iter().find(|known| known.name == name)
}

/// Parsed once. A test checks that all of them are valid.
static BUILT_IN_TYPES: LazyLock<Vec<BlockType>> = LazyLock::new(|| {
    let described: Vec<BuiltInTypeDefinition> =
        serde_json::from_str(include_str!("types/builtin.json")).unwrap_or_default();
    described.into_iter().map(BlockType::from).collect()
});

#[derive(Deserialize)]
struct BuiltInTypeDefinition {
    name: String,
    description: String,
    #[serde(default)]
    parents: Option<Vec<String>>,
    children: Value,
    schema: Value,
}

impl From<BuiltInTypeDefinition> for BlockType {
    fn from(described: BuiltInTypeDefinition) -> Self {
        let children = match described.children {
            Value::Array(names) => {
                AllowedChildren::Only(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            }
            Value::String(word) if word == "none" => AllowedChildren::None,
            _ => AllowedChildren::Any,
        };
        Self {
            name: described.name,
            description: described.description,
            schema: described.schema,
            children,
            parents: described.parents,
            is_built_in: true,
            validator: Arc::default(),
        }
    }
}
