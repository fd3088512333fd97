//! `get_project`: one project, as in the CODEFLUSS document.

use schemars::JsonSchema;
use serde::Deserialize;

use super::support::projects::view::{ProjectView, SelectedFields};
use super::{Effect, GermanTexts, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::project_scope::ProjectScope;
use crate::error::RequestError;

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

pub(crate) struct GetProject;

impl Tool for GetProject {
    const SPEC: ToolSpec = ToolSpec {
        name: "get_project",
        title: "Get a project",
        toolset: Toolset::Projects,
        effect: Effect::ReadOnly,
    };
    const GERMAN: Option<GermanTexts> = Some(GermanTexts {
        description: "Ruft Details eines spezifischen Projekts ab",
        arguments: &[("projectId", "Die eindeutige Projekt-ID")],
    });
    type Args = Args;
    type Reply = SelectedFields<ProjectView>;

    async fn call(&self, call: ToolContext, args: Args) -> Result<Self::Reply, RequestError> {
        let selection = ProjectView::parse_selection(&args.fields)?;
        let scope = ProjectScope::for_call(&call).await?;
        let project =
            scope.store().project(&scope.account, &scope.resolve_project_id(&args.project_id)?).await?;
        SelectedFields::new(ProjectView::from_project(project), &selection)
    }
}
