//! `get_project`: one project, as the CODEFLUSS document has it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::support::projects::view::{ProjectView, Selected};
use super::{Effect, German, Tool, ToolSpec, Toolset};
use crate::Call;
use crate::app::project_scope::Desk;
use crate::error::Failure;

/// Get the details of a project.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// The id of the project.
    project_id: String,
    /// Only these.
    #[serde(default)]
    fields: Vec<String>,
}

/// The tool.
pub(crate) struct GetProject;

impl Tool for GetProject {
    const SPEC: ToolSpec = ToolSpec {
        name: "get_project",
        title: "Get a project",
        toolset: Toolset::Projects,
        effect: Effect::Reads,
    };
    const GERMAN: Option<German> = Some(German {
        description: "Ruft Details eines spezifischen Projekts ab",
        arguments: &[("projectId", "Die eindeutige Projekt-ID")],
    });
    type Args = Args;
    type Reply = Selected<ProjectView>;

    async fn call(&self, call: Call, args: Args) -> Result<Self::Reply, Failure> {
        let selection = ProjectView::selection(&args.fields)?;
        let desk = Desk::of(&call).await?;
        let project = desk.store().project(&desk.account, &desk.project(&args.project_id)?).await?;
        Selected::of(ProjectView::of(project), &selection)
    }
}
