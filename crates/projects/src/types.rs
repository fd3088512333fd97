//! Block types: what the props of a block may be, and what may be inside it.
//!
//! Twenty are built in (`types/builtin.json`). A project may have more of its own: a name, a JSON Schema for the props,
//! and which blocks may be inside; they are rendered generically.
//!
//! Schemas are JSON Schema 2020-12. Formats of ours say more than text can: `link`, `image`, `embed`, `page-path`,
//! `line`. Patterns run in linear time. A project's own schema must not use `$ref`, which could lead in circles, or
//! `unevaluatedProperties`, which judges what is inside again at every level; and it may have so many values and patterns. How
//! many steps judging takes is counted before, and a call has so many ([`MAX_VALIDATION_STEPS`](crate::limits::MAX_VALIDATION_STEPS)).

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

/// The type of the roots.
pub const PAGE: &str = "page";

/// Which blocks may be inside one.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum AllowedChildren {
    /// None.
    None,
    /// All that do not say where they belong.
    #[default]
    Any,
    /// Those of these types.
    Only(Vec<String>),
}

/// A type of blocks.
#[derive(Clone)]
pub struct BlockType {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of the props.
    pub schema: Value,
    /// Which blocks may be inside.
    pub children: AllowedChildren,
    /// The types that it may be inside of; all that take it without. Pages are inside of none.
    pub parents: Option<Vec<String>>,
    /// Whether it is built in.
    pub is_built_in: bool,
    /// Compiled when props are judged first: that takes time, and most uses of a type judge none.
    validator: Arc<OnceLock<Result<SchemaValidator, String>>>,
}

impl BlockType {
    /// Everything that is wrong with props, as JSON pointers into them, or that judging them is too much for the call.
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
                let message =
                    format!("cannot be judged: the type has no usable schema ({message}); change the type");
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

/// The types that blocks can have: those that are built in, and a project's own.
#[derive(Clone, Debug, Default)]
pub struct BlockTypes {
    custom: BTreeMap<String, BlockType>,
}

impl BlockTypes {
    /// Those that are built in, and these.
    pub fn with_custom(own: &[CustomBlockType]) -> Self {
        let own = own.iter().filter(|own| find_built_in(&own.name).is_none());
        Self { custom: own.map(|own| (own.name.clone(), own.into())).collect() }
    }

    /// The type of this name.
    pub fn get(&self, name: &str) -> Option<&BlockType> {
        find_built_in(name).or_else(|| self.custom.get(name))
    }

    /// All of them: those that are built in first, each part in order.
    pub fn all(&self) -> impl Iterator<Item = &BlockType> {
        BUILT_IN_TYPES.iter().chain(self.custom.values())
    }

    /// What is wrong with a block of one type inside one of another; `None` as parent: among the pages.
    pub fn placement_error(&self, kind: &str, parent: Option<&str>) -> Option<String> {
        let Some(parent) = parent else {
            return (kind != PAGE).then(|| format!("a `{kind}` cannot be at the top; only a `page` can"));
        };
        let belongs = self.get(kind).and_then(|kind| kind.parents.as_ref());
        if let Some(parents) = belongs
            && !parents.iter().any(|known| known == parent)
        {
            let place = if parents.is_empty() {
                "at the top".to_owned()
            } else {
                format!("in {}", join_names(parents))
            };
            return Some(format!("a `{kind}` cannot be in a `{parent}`; it belongs {place}"));
        }
        match self.get(parent).map(|parent| &parent.children) {
            Some(AllowedChildren::Any) => None,
            Some(AllowedChildren::Only(kinds)) if kinds.iter().any(|known| known == kind) => None,
            Some(AllowedChildren::Only(kinds)) => {
                Some(format!("a `{kind}` cannot be in a `{parent}`; it takes {}", join_names(kinds)))
            }
            Some(AllowedChildren::None) => {
                Some(format!("nothing can be in a `{parent}`; choose another place"))
            }
            None => Some(format!(
                "there is no block type `{parent}` any more; make it again, or choose another place"
            )),
        }
    }

    /// Says that there is no type of this name, and which there are.
    pub(crate) fn unknown_type_message(&self, name: &str) -> String {
        let known: Vec<String> = self.all().map(|known| known.name.clone()).collect();
        let name: String = name.chars().take(60).collect();
        format!("there is no block type `{name}`; there are {}", join_names(&known))
    }
}

fn join_names(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The type of this name, if it is built in.
pub fn find_built_in(name: &str) -> Option<&'static BlockType> {
    BUILT_IN_TYPES.iter().find(|known| known.name == name)
}

/// Read once. A test holds that all of them can be used.
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
