//! `publish_project`: publishes, unpublishes, restores and deletes versions.

use design_tokens::{TokenFinding, validate};
use projects::ProjectId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::support::projects::argument_rules::{self, optional, required};
use super::support::projects::view::{FindingView, VersionView};
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::project_scope::{ProjectChange, ProjectScope, WriteOptions};
use crate::error::RequestError;

/// Publish the draft of a project as a new version, unpublish it, or restore or delete a version. With
/// `dryRun` it reports all problems of the draft.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    /// Default: `publish`.
    #[serde(default)]
    action: PublishAction,
    /// The version to restore as the draft, or to delete.
    version: Option<u32>,
    /// To publish: what is new.
    #[serde(default)]
    note: String,
    /// Fail if the project is at another revision.
    if_revision: Option<u64>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum PublishAction {
    #[default]
    Publish,
    Unpublish,
    Restore,
    Delete,
}

/// The result of the action.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    /// The revision of the project.
    revision: u64,
    /// The version that was created or deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<VersionView>,
    /// The currently published version.
    #[serde(skip_serializing_if = "Option::is_none")]
    published_version: Option<u32>,
    /// Errors in the design system. They do not block publishing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingView>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

pub(crate) struct PublishProject;

impl Tool for PublishProject {
    const SPEC: ToolSpec = ToolSpec {
        name: "publish_project",
        title: "Publish a project",
        toolset: Toolset::Projects,
        effect: Effect::Write,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: ToolContext, args: Args) -> Result<Reply, RequestError> {
        let table = [
            required("version", args.version.is_some(), &[PublishAction::Restore, PublishAction::Delete]),
            optional("note", !args.note.is_empty(), &[PublishAction::Publish]),
        ];
        argument_rules::check_rules("", "action", &args.action, &table)?;
        let project_scope = ProjectScope::for_call(&call).await?;
        let (id, guard) = (
            project_scope.resolve_project_id(&args.project_id)?,
            WriteOptions { if_revision: args.if_revision, dry_run: args.dry_run },
        );
        let reply = apply_action(&project_scope, &id, guard, &args).await?;
        let changed = if args.action == PublishAction::Restore {
            ProjectChange::Everything
        } else {
            ProjectChange::Project
        };
        project_scope.notify(&id, changed, guard);
        Ok(reply)
    }
}

async fn apply_action(
    scope: &ProjectScope,
    id: &ProjectId,
    options: WriteOptions,
    args: &Args,
) -> Result<Reply, RequestError> {
    let (store, write) = (scope.store(), scope.write(id, options));
    // Read first: nothing may fail after the write.
    let findings =
        if args.action == PublishAction::Publish { design_errors(scope, id).await? } else { Vec::new() };
    let number = args.version.unwrap_or_default();
    let (revision, version, published_version) = match args.action {
        PublishAction::Publish => {
            let made = store.publish(write, &args.note).await?;
            (made.revision, Some(VersionView::from_version(&made.value)), Some(made.value.number))
        }
        PublishAction::Unpublish => (store.unpublish(write).await?.revision, None, None),
        PublishAction::Restore => {
            let project = store.restore_version(write, number).await?;
            (project.revision, None, project.published.map(|published| published.version))
        }
        PublishAction::Delete => {
            // Also read first. A published version is never deleted, so this stays valid.
            let published = store.project(&scope.account, id).await?.published;
            let gone = store.delete_version(write, number).await?;
            (
                gone.revision,
                Some(VersionView::from_version(&gone.value)),
                published.map(|published| published.version),
            )
        }
    };
    Ok(Reply { revision, version, published_version, findings, dry_run: args.dry_run })
}

/// The errors of the design system. Pages render without it, so they do not block publishing.
async fn design_errors(scope: &ProjectScope, id: &ProjectId) -> Result<Vec<FindingView>, RequestError> {
    let design = scope.store().design_system(&scope.account, id).await?.value;
    let errors = move || {
        let findings = validate(&design);
        Ok(findings
            .iter()
            .filter(|finding: &&TokenFinding| finding.is_error())
            .map(FindingView::from_finding)
            .collect())
    };
    scope.run_blocking(errors).await
}
