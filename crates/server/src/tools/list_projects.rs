//! `list_projects`: the projects of the caller, as the CODEFLUSS document has it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::support::projects::List;
use super::support::projects::view::{ProjectView, Selected, listed};
use super::{Effect, German, Tool, ToolSpec, Toolset};
use crate::Call;
use crate::app::project_scope::Desk;
use crate::error::Failure;

/// List all projects of the user, the oldest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("required" = []))]
pub(crate) struct Args {
    /// At most so many; all without it.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
    /// `nextCursor` of the page before.
    cursor: Option<String>,
    /// Only these, such as `["name", "revision"]`.
    #[serde(default)]
    fields: Vec<String>,
}

/// A page of projects.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    #[schemars(with = "Vec<Selected<ProjectView>>")]
    projects: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// The tool.
pub(crate) struct ListProjects;

impl Tool for ListProjects {
    const SPEC: ToolSpec = ToolSpec {
        name: "list_projects",
        title: "List projects",
        toolset: Toolset::Projects,
        effect: Effect::Reads,
    };
    const GERMAN: Option<German> =
        Some(German { description: "Listet alle Projekte des Benutzers auf", arguments: &[] });
    type Args = Args;
    type Reply = Reply;

    /// The document has a bare array there; `structuredContent` must be an object (contract row 15a).
    fn text(reply: &Reply) -> Option<String> {
        Some(reply.projects.get().to_owned())
    }

    async fn call(&self, call: Call, args: Args) -> Result<Reply, Failure> {
        let selection = ProjectView::selection(&args.fields)?;
        let desk = Desk::of(&call).await?;
        let list = List::of("projects");
        let view = |project| Selected::of(ProjectView::of(project), &selection);
        let (projects, next) = listed(&desk, list.page(args.cursor.as_deref(), args.limit)?, view).await?;
        let next_cursor = next.map(|next| list.encode(&next));
        Ok(Reply { projects, next_cursor })
    }
}
