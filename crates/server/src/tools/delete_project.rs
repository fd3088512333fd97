//! `delete_project`: deletes a project permanently, once the user has typed its name.

use flow::{Conversation, Flow, Halt, InvalidAnswer, text};
use projects::Project;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, InteractiveTool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::project_scope::{ProjectChange, ProjectScope, WriteOptions};
use crate::error::RequestError;

/// Permanently delete a project with its blocks, assets and versions. The user must type its name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    /// If the client cannot ask: the project's name, as the user typed it.
    confirm: Option<String>,
    /// Fail if the project is at another revision.
    if_revision: Option<u64>,
    /// Preview without deleting.
    #[serde(default)]
    dry_run: bool,
}

/// The deleted project.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    id: String,
    name: String,
    blocks: u64,
    assets: u64,
    versions: u64,
    /// Whether it was deleted.
    deleted: bool,
    /// Dry run: nothing was deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl Reply {
    fn from_project(project: &Project, options: WriteOptions) -> Self {
        Self {
            id: project.id.to_string(),
            name: project.fields.name.clone(),
            blocks: project.usage.blocks,
            assets: project.usage.assets,
            versions: project.usage.versions,
            deleted: !options.dry_run,
            dry_run: options.dry_run,
        }
    }
}

pub(crate) struct DeleteProject {
    call: ToolContext,
}

impl InteractiveTool for DeleteProject {
    const SPEC: ToolSpec = ToolSpec {
        name: "delete_project",
        title: "Delete a project",
        toolset: Toolset::Projects,
        effect: Effect::IdempotentWrite,
    };
    type Conversation = Self;

    fn conversation(call: &ToolContext) -> Self {
        Self { call: call.clone() }
    }
}

impl Conversation for DeleteProject {
    type Args = Args;
    type Reply = Reply;

    async fn run(&self, f: &mut Flow<'_>, args: Args) -> Result<Reply, Halt> {
        let guard = WriteOptions { if_revision: args.if_revision, dry_run: args.dry_run };
        let id = args.project_id;
        if guard.dry_run {
            return Ok(self.delete(&id, guard).await?);
        }
        // Checked again after the answer: what is deleted must be what the user agreed to.
        let look = async || self.load_summary(&id, guard).await.map_err(failure_to_halt);
        let (project, revision): (Reply, u64) = f.derive("project", look).await?;
        let Reply { name, blocks, assets, versions, .. } = project;
        let is_named = |typed: &str| typed == name;
        if args.confirm.is_some_and(|typed| !is_named(&typed)) {
            Err(RequestError::rule_violation(
                "/confirm",
                "is not the project's name; ask the user to type it",
            ))?;
        }
        let question = format!(
            "{name} ({id}) will be deleted permanently, with its content (blocks: {blocks}, assets: {assets}, \
             versions: {versions}). Type its name to delete it."
        );
        let wrong =
            || InvalidAnswer::new("That is not its name", format!("Type {name} to delete it, or cancel"));
        let fits = |typed: &String| if is_named(typed) { Ok(()) } else { Err(wrong()) };
        // A model could fill in an argument. If the user can be asked, only the user's answer counts.
        let key = if f.can_ask() { "name" } else { "confirm" };
        f.ask_until(key, text(question).length(1..=200), fits).await?;
        let guard = WriteOptions { if_revision: guard.if_revision.or(Some(revision)), ..guard };
        let gone = f.once("delete", async || Ok(self.delete(&id, guard).await?)).await?;
        f.set_summary(format!("Deleted the project {name} ({id})."));
        Ok(gone)
    }
}

/// An unavailable store may be back at the next try, so the conversation must survive it.
fn failure_to_halt(failure: RequestError) -> Halt {
    match failure {
        RequestError::StoreUnavailable { source } | RequestError::StoreFull { source } => {
            Halt::store_unavailable(source)
        }
        failure => failure.into(),
    }
}

impl DeleteProject {
    async fn load_summary(&self, id: &str, options: WriteOptions) -> Result<(Reply, u64), RequestError> {
        let project = ProjectScope::for_call(&self.call).await?.load_for_write(id, options).await?;
        Ok((Reply::from_project(&project, options), project.revision))
    }

    async fn delete(&self, id: &str, options: WriteOptions) -> Result<Reply, RequestError> {
        let scope = ProjectScope::for_call(&self.call).await?;
        let id = scope.resolve_project_id(id)?;
        let gone = scope.store().delete_project(scope.write(&id, options)).await?;
        scope.notify(&id, ProjectChange::List, options);
        Ok(Reply::from_project(&gone, options))
    }
}
