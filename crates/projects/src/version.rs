//! Versions: immutable snapshots of what was published, and their differences.

mod diff;
#[cfg(test)]
mod tests;

use jiff::Timestamp;

use crate::content::ProjectContent;
use crate::cursor::Cursor;
use crate::error::{EntityKind, ProjectRejection};
use crate::limits::MAX_DESCRIPTION_CHARS;
use crate::naming;
use crate::project::{Project, ProjectFields, ProjectUsage, ProjectWrite, Publication};

pub use diff::{BlockChange, BlockMove, ContentDiff, FieldChange, NameChanges, diff_content};

/// A version without its content. Immutable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The first is 1.
    pub number: u32,
    pub note: String,
    /// Time of publication.
    pub created: Timestamp,
    /// The revision created by publishing it.
    pub revision: u64,
    pub blocks: u64,
    /// Size of its content as text.
    pub bytes: u64,
}

impl Version {
    /// Position in the list of versions.
    pub fn cursor(&self) -> Cursor {
        Cursor::from_number(u64::from(self.number), "")
    }

    /// Rejection for a version that does not exist.
    pub fn missing(number: u32) -> ProjectRejection {
        ProjectRejection::not_found(EntityKind::Version, number.to_string())
    }
}

/// Publishes the draft. Returns the project afterwards, the version, and its content as text. Rejected if the
/// draft has any problem.
pub fn publish(
    project: &Project,
    content: &ProjectContent,
    write: &ProjectWrite,
    note: &str,
) -> Result<(Project, Version, String), ProjectRejection> {
    project.check_revision(write)?;
    let mut problems: Vec<_> = naming::check_text("/note", note, MAX_DESCRIPTION_CHARS).into_iter().collect();
    problems.extend(content.problems());
    ProjectRejection::reject_if_any(problems)?;
    let text = content.encode();
    let bytes = text.len() as u64;
    let mut written = project.after_write(write.now, project.usage.with_version(bytes))?;
    let version = Version {
        number: project.next_version,
        note: note.to_owned(),
        created: write.now,
        revision: written.revision,
        blocks: content.blocks.len() as u64,
        bytes,
    };
    written.published = Some(Publication { version: version.number, revision: version.revision });
    written.next_version = project.next_version.saturating_add(1);
    Ok((written, version, text))
}

/// The project after a version has replaced its draft. It keeps its publication and its slug, since the old
/// slug may belong to another project by now. Rejected if the version is not a valid draft any more: a
/// version may be older than a rule. `kept` is the size of the asset content stored afterwards, for the draft
/// and all versions.
pub fn restore(
    project: &Project,
    number: u32,
    content: &ProjectContent,
    write: &ProjectWrite,
    kept: u64,
) -> Result<Project, ProjectRejection> {
    project.check_revision(write)?;
    ProjectRejection::reject_if_any(content.structure_problems())?;
    let ProjectUsage { versions, version_bytes, .. } = project.usage;
    let usage = ProjectUsage { versions, version_bytes, asset_bytes: kept, ..content.usage() };
    let mut written = project.after_write(write.now, usage)?;
    // The draft is equal to the published version again, unless the slug has changed since.
    if let Some(published) = &mut written.published
        && published.version == number
        && content.fields.slug == project.fields.slug
    {
        published.revision = written.revision;
    }
    written.fields = ProjectFields { slug: project.fields.slug.clone(), ..content.fields.clone() };
    Ok(written)
}

/// The project after it is unpublished.
pub fn unpublish(project: &Project, write: &ProjectWrite) -> Result<Project, ProjectRejection> {
    project.check_revision(write)?;
    let mut written = project.after_write(write.now, project.usage)?;
    written.published = None;
    Ok(written)
}

/// The project after a version is deleted. The caller still has to update its `asset_bytes`.
pub fn remove_version(
    project: &Project,
    gone: &Version,
    write: &ProjectWrite,
) -> Result<Project, ProjectRejection> {
    project.check_revision(write)?;
    if project.published.is_some_and(|published| published.version == gone.number) {
        return Err(ProjectRejection::Published { version: gone.number });
    }
    let versions = project.usage.versions.saturating_sub(1);
    let version_bytes = project.usage.version_bytes.saturating_sub(gone.bytes);
    project.after_non_draft_write(write.now, ProjectUsage { versions, version_bytes, ..project.usage })
}
