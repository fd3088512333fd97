//! `list_block_types`: what blocks there can be, and what each takes.

use projects::{BlockType, Types};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Effect, Tool, ToolSpec, Toolset};
use crate::Call;
use crate::app::project_scope::Desk;
use crate::error::Failure;

/// List the block types: those that are built in, and a project's own. With `names` also the JSON Schema of their props.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Also this project's own types.
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
    /// The types that may be inside; none if empty, any that fit if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<String>>,
    /// The types that it may be inside of, if not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    parents: Option<Vec<String>>,
    /// The JSON Schema of its props.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
}

impl TypeView {
    fn of(kind: &BlockType, with_schema: bool) -> Self {
        Self {
            name: kind.name.clone(),
            description: kind.description.clone(),
            built_in: kind.is_built_in,
            children: kind.children.names(),
            parents: kind.parents.clone(),
            schema: with_schema.then(|| kind.schema.clone()),
        }
    }
}

/// The tool.
pub(crate) struct ListBlockTypes;

impl Tool for ListBlockTypes {
    const SPEC: ToolSpec = ToolSpec {
        name: "list_block_types",
        title: "List block types",
        toolset: Toolset::Projects,
        effect: Effect::Reads,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: Call, args: Args) -> Result<Reply, Failure> {
        let types = match &args.project_id {
            None => Types::default(),
            Some(project) => {
                let desk = Desk::of(&call).await?;
                let id = desk.project(project)?;
                Types::with(&desk.store().block_types(&desk.account, &id).await?.value)
            }
        };
        if args.names.is_empty() {
            return Ok(Reply { types: types.all().map(|kind| TypeView::of(kind, false)).collect() });
        }
        let named = |name: &String| match types.get(name) {
            Some(kind) => Ok(TypeView::of(kind, true)),
            None => Err(projects::Refusal::not_found(projects::Noun::BlockType, name).into()),
        };
        Ok(Reply { types: args.names.iter().map(named).collect::<Result<_, Failure>>()? })
    }
}
