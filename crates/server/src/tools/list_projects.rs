//! `list_projects`: the projects of the caller, as in the CODEFLUSS document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::support::projects::ListCursors;
use super::support::projects::view::{ProjectView, SelectedFields, visible_projects_json};
use super::{Effect, GermanTexts, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::project_scope::ProjectScope;
use crate::error::RequestError;

/// List all projects of the user, oldest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("required" = []))]
pub(crate) struct Args {
    /// Maximum number; default: all.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
    /// Previous page's `nextCursor`.
    cursor: Option<String>,
    /// Only these, such as `["name", "revision"]`.
    #[serde(default)]
    fields: Vec<String>,
}

/// A page of projects.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    #[schemars(with = "Vec<SelectedFields<ProjectView>>")]
    projects: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

pub(crate) struct ListProjects;

impl Tool for ListProjects {
    const SPEC: ToolSpec = ToolSpec {
        name: "list_projects",
        title: "List projects",
        toolset: Toolset::Projects,
        effect: Effect::ReadOnly,
    };
    const GERMAN: Option<GermanTexts> =
        Some(GermanTexts { description: "Listet alle Projekte des Benutzers auf", arguments: &[] });
    type Args = Args;
    type Reply = Reply;

    /// The document has a bare array there; `structuredContent` must be an object (contract row 15a).
    fn text(reply: &Reply) -> Option<String> {
        Some(reply.projects.get().to_owned())
    }

    async fn call(&self, call: ToolContext, args: Args) -> Result<Reply, RequestError> {
        let selection = ProjectView::parse_selection(&args.fields)?;
        let scope = ProjectScope::for_call(&call).await?;
        let list = ListCursors::new("projects");
        let view = |project| SelectedFields::new(ProjectView::from_project(project), &selection);
        let (projects, next) =
            visible_projects_json(&scope, list.page(args.cursor.as_deref(), args.limit)?, view).await?;
        let next_cursor = next.map(|next| list.encode(&next));
        Ok(Reply { projects, next_cursor })
    }
}
