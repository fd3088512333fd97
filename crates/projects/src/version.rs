//! Versions: what was published, kept for good; and what differs between two.

mod diff;
#[cfg(test)]
mod tests;

use jiff::Timestamp;

use crate::content::Content;
use crate::cursor::Cursor;
use crate::error::{Noun, Refusal};
use crate::limits::MAX_DESCRIPTION;
use crate::naming;
use crate::project::{Fields, Project, Published, Usage, Write};

pub use diff::{BlockChange, Differences, FieldChange, Moved, Names, differences};

/// A version without its content. Nothing about it ever changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its number; the first is 1.
    pub number: u32,
    /// What its author noted.
    pub note: String,
    /// When it was published.
    pub created: Timestamp,
    /// The revision that publishing made.
    pub revision: u64,
    /// How many blocks are in it.
    pub blocks: u64,
    /// How many bytes its content has as text.
    pub bytes: u64,
}

impl Version {
    /// Its place in the list of versions.
    pub fn cursor(&self) -> Cursor {
        Cursor::of_number(u64::from(self.number), "")
    }

    /// Says that there is no version of this number.
    pub fn missing(number: u32) -> Refusal {
        Refusal::not_found(Noun::Version, number.to_string())
    }
}

/// What publishing makes: the project as it is then, the version, and its content as text. Everything that is wrong with the
/// draft refuses it.
pub fn publish(
    project: &Project,
    content: &Content,
    write: &Write,
    note: &str,
) -> Result<(Project, Version, String), Refusal> {
    project.admit(write)?;
    let mut problems: Vec<_> = naming::text("/note", note, MAX_DESCRIPTION).into_iter().collect();
    problems.extend(content.problems());
    Refusal::if_any(problems)?;
    let text = content.encode();
    let bytes = text.len() as u64;
    let mut written = project.written(write.now, project.usage.with_version(bytes))?;
    let version = Version {
        number: project.next_version,
        note: note.to_owned(),
        created: write.now,
        revision: written.revision,
        blocks: content.blocks.len() as u64,
        bytes,
    };
    written.published = Some(Published { version: version.number, revision: version.revision });
    written.next_version = project.next_version.saturating_add(1);
    Ok((written, version, text))
}

/// The project after the version of a number has become its draft. It keeps its slug, which may be somebody else's by now,
/// and what is published. Refused if the draft could not be so: a version may be older than a rule. `kept` is how many bytes
/// of assets are kept then, for the draft and for all versions.
pub fn restore(
    project: &Project,
    number: u32,
    content: &Content,
    write: &Write,
    kept: u64,
) -> Result<Project, Refusal> {
    project.admit(write)?;
    Refusal::if_any(content.structure())?;
    let Usage { versions, version_bytes, .. } = project.usage;
    let usage = Usage { versions, version_bytes, asset_bytes: kept, ..content.usage() };
    let mut written = project.written(write.now, usage)?;
    // The draft is what is published again, unless the project has another slug by now.
    if let Some(published) = &mut written.published
        && published.version == number
        && content.fields.slug == project.fields.slug
    {
        published.revision = written.revision;
    }
    written.fields = Fields { slug: project.fields.slug.clone(), ..content.fields.clone() };
    Ok(written)
}

/// The project after nothing is published any more.
pub fn unpublish(project: &Project, write: &Write) -> Result<Project, Refusal> {
    project.admit(write)?;
    let mut written = project.written(write.now, project.usage)?;
    written.published = None;
    Ok(written)
}

/// The project after a version is gone. How many bytes of assets are kept then is still to be told.
pub fn forget(project: &Project, gone: &Version, write: &Write) -> Result<Project, Refusal> {
    project.admit(write)?;
    if project.published.is_some_and(|published| published.version == gone.number) {
        return Err(Refusal::Published { version: gone.number });
    }
    let versions = project.usage.versions.saturating_sub(1);
    let version_bytes = project.usage.version_bytes.saturating_sub(gone.bytes);
    project.written_apart(write.now, Usage { versions, version_bytes, ..project.usage })
}
