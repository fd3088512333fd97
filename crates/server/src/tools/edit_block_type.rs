//! `edit_block_type`: defines and deletes custom block types.

use projects::{AllowedChildren, CustomBlockType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::support::projects::argument_rules::{self, optional, required};
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::project_scope::{ProjectChange, ProjectScope, WriteOptions};
use crate::error::RequestError;

/// Define or delete a custom block type of a project.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    /// a-z, 0-9 and -.
    name: String,
    /// JSON Schema of the props, without $ref.
    schema: Option<Map<String, Value>>,
    #[serde(default)]
    description: String,
    /// Allowed child types; default: any; none if empty.
    children: Option<Vec<String>>,
    /// Delete the type. Fails while blocks use it.
    #[serde(default)]
    delete: bool,
    /// Fail if the project is at another revision.
    if_revision: Option<u64>,
    /// Validate without writing.
    #[serde(default)]
    dry_run: bool,
}

/// The result of the edit.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    revision: u64,
    name: String,
    /// The type was deleted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    deleted: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

pub(crate) struct EditBlockType;

impl Tool for EditBlockType {
    const SPEC: ToolSpec = ToolSpec {
        name: "edit_block_type",
        title: "Define a block type",
        toolset: Toolset::Projects,
        effect: Effect::IdempotentWrite,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: ToolContext, args: Args) -> Result<Reply, RequestError> {
        check_arguments(&args)?;
        let Args { project_id, name, schema, description, children, delete, if_revision, dry_run } = args;
        let scope = ProjectScope::for_call(&call).await?;
        let (id, guard) = (scope.resolve_project_id(&project_id)?, WriteOptions { if_revision, dry_run });
        let write = scope.write(&id, guard);
        let revision = if delete {
            scope.store().delete_block_type(write, &name).await?.revision
        } else {
            let (schema, children) =
                (Value::Object(schema.unwrap_or_default()), AllowedChildren::from_names(children));
            let own = CustomBlockType { name: name.clone(), description, schema, children };
            scope.store().put_block_type(write, own).await?.revision
        };
        scope.notify(&id, ProjectChange::Project, guard);
        Ok(Reply { revision, name, deleted: delete, dry_run })
    }
}

/// A deletion takes no definition.
fn check_arguments(args: &Args) -> Result<(), RequestError> {
    const WHEN_DEFINING: &[bool] = &[false];
    let what = if args.delete { "deletion" } else { "definition (unless `delete` is set)" };
    let table = [
        required("schema", args.schema.is_some(), WHEN_DEFINING),
        optional("description", !args.description.is_empty(), WHEN_DEFINING),
        optional("children", args.children.is_some(), WHEN_DEFINING),
    ];
    argument_rules::check_rules("", what, &args.delete, &table)
}
