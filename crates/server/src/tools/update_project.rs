//! `update_project`: changes the name, slug, description or metadata of a project.

use projects::ProjectFieldsPatch;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::support::projects::view::ProjectView;
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::project_scope::{ProjectChange, ProjectScope, WriteOptions};
use crate::error::RequestError;

/// Change the name, slug, description or metadata of a project.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    name: Option<String>,
    /// Name in URLs.
    slug: Option<String>,
    description: Option<String>,
    /// A JSON Merge Patch: null removes.
    metadata: Option<Map<String, Value>>,
    /// Fail if the project is at another revision.
    if_revision: Option<u64>,
    /// Validate without writing.
    #[serde(default)]
    dry_run: bool,
}

pub(crate) struct UpdateProject;

impl Tool for UpdateProject {
    const SPEC: ToolSpec = ToolSpec {
        name: "update_project",
        title: "Update a project",
        toolset: Toolset::Projects,
        effect: Effect::IdempotentWrite,
    };
    type Args = Args;
    type Reply = ProjectView;

    async fn call(&self, call: ToolContext, args: Args) -> Result<ProjectView, RequestError> {
        let Args { project_id, name, slug, description, metadata, if_revision, dry_run } = args;
        let patch = ProjectFieldsPatch { name, slug, description, metadata };
        if patch == ProjectFieldsPatch::default() {
            let why = "nothing to change; pass a name, slug, description or metadata";
            return Err(RequestError::rule_violation("", why));
        }
        let scope = ProjectScope::for_call(&call).await?;
        let (id, guard) = (scope.resolve_project_id(&project_id)?, WriteOptions { if_revision, dry_run });
        // Whether a slug is free would reveal other projects of the account.
        if patch.slug.is_some() && scope.bound_project().is_some() {
            scope.load_for_write(&project_id, guard).await?;
            return Err(RequestError::BoundToProject);
        }
        // The resource list contains project names.
        let changed = if patch.name.is_some() { ProjectChange::Name } else { ProjectChange::Project };
        let project = scope.store().update_project(scope.write(&id, guard), patch).await?;
        scope.notify(&id, changed, guard);
        Ok(ProjectView::after_write(project, guard))
    }
}
