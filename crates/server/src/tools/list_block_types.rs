//! `list_block_types`: lists the block types and their props.

use projects::{BlockType, BlockTypes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Effect, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::project_scope::ProjectScope;
use crate::error::RequestError;

/// List the block types: built-in and a project's custom ones. With `names` also the JSON Schema of the
/// props.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Also its custom types.
    project_id: Option<String>,
    /// Only these, with their schemas.
    #[serde(default)]
    names: Vec<String>,
}

/// Block types.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    types: Vec<TypeView>,
}

/// A block type.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TypeView {
    name: String,
    description: String,
    built_in: bool,
    /// Allowed child types; none if empty, any that accept this parent if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<String>>,
    /// Allowed parent types, if not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    parents: Option<Vec<String>>,
    /// The JSON Schema of its props.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
}

impl TypeView {
    fn from_block_type(kind: &BlockType, with_schema: bool) -> Self {
        Self {
            name: kind.name.clone(),
            description: kind.description.clone(),
            built_in: kind.is_built_in,
            children: kind.children.to_names(),
            parents: kind.parents.clone(),
            schema: with_schema.then(|| kind.schema.clone()),
        }
    }
}

pub(crate) struct ListBlockTypes;

impl Tool for ListBlockTypes {
    const SPEC: ToolSpec = ToolSpec {
        name: "list_block_types",
        title: "List block types",
        toolset: Toolset::Projects,
        effect: Effect::ReadOnly,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: ToolContext, args: Args) -> Result<Reply, RequestError> {
        let types = match &args.project_id {
            None => BlockTypes::default(),
            Some(project) => {
                let scope = ProjectScope::for_call(&call).await?;
                let id = scope.resolve_project_id(project)?;
                BlockTypes::with_custom(&scope.store().block_types(&scope.account, &id).await?.value)
            }
        };
        if args.names.is_empty() {
            return Ok(Reply {
                types: types.all().map(|kind| TypeView::from_block_type(kind, false)).collect(),
            });
        }
        let named = |name: &String| match types.get(name) {
            Some(kind) => Ok(TypeView::from_block_type(kind, true)),
            None => Err(projects::ProjectRejection::not_found(projects::EntityKind::BlockType, name).into()),
        };
        Ok(Reply { types: args.names.iter().map(named).collect::<Result<_, RequestError>>()? })
    }
}
