//! `publish_project`: versions are made, taken back, restored and deleted.

use design_tokens::{Finding, validate};
use projects::ProjectId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::support::projects::takes::{self, needs, takes};
use super::support::projects::view::{FindingView, VersionView};
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::Call;
use crate::app::project_scope::{Changed, Desk, Guard};
use crate::error::Failure;

/// Publish the draft of a project as a new version, take it back, or restore or delete a version. With `dryRun` it
/// tells everything that is wrong with the draft.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    /// `publish` without it.
    #[serde(default)]
    action: Action,
    /// The version to restore as the draft, or to delete.
    version: Option<u32>,
    /// To publish: what is new.
    #[serde(default)]
    note: String,
    /// Refuse if the project is at another revision.
    if_revision: Option<u64>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Action {
    #[default]
    Publish,
    Unpublish,
    Restore,
    Delete,
}

/// What became of it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    /// The revision of the project.
    revision: u64,
    /// The version that was made or deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<VersionView>,
    /// The version that is published now.
    #[serde(skip_serializing_if = "Option::is_none")]
    published_version: Option<u32>,
    /// Errors in the design system, which is published all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingView>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// The tool.
pub(crate) struct PublishProject;

impl Tool for PublishProject {
    const SPEC: ToolSpec = ToolSpec {
        name: "publish_project",
        title: "Publish a project",
        toolset: Toolset::Projects,
        effect: Effect::Edits,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: Call, args: Args) -> Result<Reply, Failure> {
        let table = [
            needs("version", args.version.is_some(), &[Action::Restore, Action::Delete]),
            takes("note", !args.note.is_empty(), &[Action::Publish]),
        ];
        takes::check("", "action", &args.action, &table)?;
        let desk = Desk::of(&call).await?;
        let (id, guard) =
            (desk.project(&args.project_id)?, Guard { if_revision: args.if_revision, dry_run: args.dry_run });
        let reply = act(&desk, &id, guard, &args).await?;
        let changed = if args.action == Action::Restore { Changed::Everything } else { Changed::Project };
        desk.tell(&id, changed, guard);
        Ok(reply)
    }
}

async fn act(desk: &Desk, id: &ProjectId, guard: Guard, args: &Args) -> Result<Reply, Failure> {
    let (store, write) = (desk.store(), desk.write(id, guard));
    // Read first: after the write nothing may go wrong any more.
    let findings = if args.action == Action::Publish { broken(desk, id).await? } else { Vec::new() };
    let number = args.version.unwrap_or_default();
    let (revision, version, published_version) = match args.action {
        Action::Publish => {
            let made = store.publish(write, &args.note).await?;
            (made.revision, Some(VersionView::of(&made.value)), Some(made.value.number))
        }
        Action::Unpublish => (store.unpublish(write).await?.revision, None, None),
        Action::Restore => {
            let project = store.restore_version(write, number).await?;
            (project.revision, None, project.published.map(|published| published.version))
        }
        Action::Delete => {
            // Also read first. What is published is never deleted.
            let published = store.project(&desk.account, id).await?.published;
            let gone = store.delete_version(write, number).await?;
            (gone.revision, Some(VersionView::of(&gone.value)), published.map(|published| published.version))
        }
    };
    Ok(Reply { revision, version, published_version, findings, dry_run: args.dry_run })
}

/// What is broken in the design system. A page shows without it, so nothing is refused for that.
async fn broken(desk: &Desk, id: &ProjectId) -> Result<Vec<FindingView>, Failure> {
    let design = desk.store().design_system(&desk.account, id).await?.value;
    let errors = move || {
        let findings = validate(&design);
        Ok(findings.iter().filter(|finding: &&Finding| finding.is_error()).map(FindingView::of).collect())
    };
    desk.aside(errors).await
}
