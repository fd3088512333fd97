//! `update_project`: changes what a project says of itself.

use projects::FieldsPatch;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::support::projects::view::ProjectView;
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::Call;
use crate::app::project_scope::{Changed, Desk, Guard};
use crate::error::Failure;

/// Change the name, slug, description or metadata of a project.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    name: Option<String>,
    /// Its name in addresses.
    slug: Option<String>,
    description: Option<String>,
    /// A JSON Merge Patch: null removes.
    metadata: Option<Map<String, Value>>,
    /// Refuse if the project is at another revision.
    if_revision: Option<u64>,
    /// Only tell what would happen.
    #[serde(default)]
    dry_run: bool,
}

/// The tool.
pub(crate) struct UpdateProject;

impl Tool for UpdateProject {
    const SPEC: ToolSpec = ToolSpec {
        name: "update_project",
        title: "Update a project",
        toolset: Toolset::Projects,
        effect: Effect::Writes,
    };
    type Args = Args;
    type Reply = ProjectView;

    async fn call(&self, call: Call, args: Args) -> Result<ProjectView, Failure> {
        let Args { project_id, name, slug, description, metadata, if_revision, dry_run } = args;
        let patch = FieldsPatch { name, slug, description, metadata };
        if patch == FieldsPatch::default() {
            let why = "nothing is to change; give a name, slug, description or metadata";
            return Err(Failure::against_rule("", why));
        }
        let desk = Desk::of(&call).await?;
        let (id, guard) = (desk.project(&project_id)?, Guard { if_revision, dry_run });
        // Whether a slug is free tells of the other projects of the account.
        if patch.slug.is_some() && desk.only().is_some() {
            desk.look(&project_id, guard).await?;
            return Err(Failure::BoundToProject);
        }
        // Names stand in the list of resources.
        let changed = if patch.name.is_some() { Changed::Name } else { Changed::Project };
        let project = desk.store().update_project(desk.write(&id, guard), patch).await?;
        desk.tell(&id, changed, guard);
        Ok(ProjectView::written(project, guard))
    }
}
