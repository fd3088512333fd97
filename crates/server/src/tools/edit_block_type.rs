//! `edit_block_type`: block types of a project's own.

use projects::{Children, CustomType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::support::projects::takes::{self, needs, takes};
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::Call;
use crate::app::project_scope::{Changed, Desk, Guard};
use crate::error::Failure;

/// Define a block type of a project's own, or delete it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    /// a-z, 0-9 and -.
    name: String,
    /// The JSON Schema of the props, written out without $ref.
    schema: Option<Map<String, Value>>,
    #[serde(default)]
    description: String,
    /// The types that may be inside; any without it, none if empty.
    children: Option<Vec<String>>,
    /// Delete the type. Refused while blocks are of it.
    #[serde(default)]
    delete: bool,
    /// Refuse if the project is at another revision.
    if_revision: Option<u64>,
    /// Only tell what would happen.
    #[serde(default)]
    dry_run: bool,
}

/// What became of it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    revision: u64,
    name: String,
    /// It is gone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    deleted: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// The tool.
pub(crate) struct EditBlockType;

impl Tool for EditBlockType {
    const SPEC: ToolSpec = ToolSpec {
        name: "edit_block_type",
        title: "Define a block type",
        toolset: Toolset::Projects,
        effect: Effect::Writes,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: Call, args: Args) -> Result<Reply, Failure> {
        check(&args)?;
        let Args { project_id, name, schema, description, children, delete, if_revision, dry_run } = args;
        let desk = Desk::of(&call).await?;
        let (id, guard) = (desk.project(&project_id)?, Guard { if_revision, dry_run });
        let write = desk.write(&id, guard);
        let revision = if delete {
            desk.store().delete_block_type(write, &name).await?.revision
        } else {
            let (schema, children) =
                (Value::Object(schema.unwrap_or_default()), Children::of_names(children));
            let own = CustomType { name: name.clone(), description, schema, children };
            desk.store().put_block_type(write, own).await?.revision
        };
        desk.tell(&id, Changed::Project, guard);
        Ok(Reply { revision, name, deleted: delete, dry_run })
    }
}

/// What a type is made of has no meaning for one that goes.
fn check(args: &Args) -> Result<(), Failure> {
    const DEFINES: &[bool] = &[false];
    let what = if args.delete { "deletion" } else { "definition (unless you `delete`)" };
    let table = [
        needs("schema", args.schema.is_some(), DEFINES),
        takes("description", !args.description.is_empty(), DEFINES),
        takes("children", args.children.is_some(), DEFINES),
    ];
    takes::check("", what, &args.delete, &table)
}
