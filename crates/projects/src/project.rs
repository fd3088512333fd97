//! A project: what it says of itself, how much is in it, and how it is written.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::blocks::Block;
use crate::cursor::Cursor;
use crate::error::{ProjectRejection, ValidationProblem};
use crate::ids::{Account, ProjectId};
use crate::limits::{
    MAX_ASSET_MENTIONS, MAX_ASSETS, MAX_BLOCKS, MAX_CUSTOM_TYPES, MAX_DESCRIPTION_CHARS, MAX_METADATA_BYTES,
    MAX_NAME_CHARS, MAX_TOTAL_ASSET_BYTES, MAX_TOTAL_PROPS_BYTES, MAX_TOTAL_VERSION_BYTES, MAX_VERSIONS,
};
use crate::{naming, patch};

/// What a project says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectFields {
    /// Its name.
    pub name: String,
    /// A short name for addresses; no two projects of an account have the same.
    pub slug: String,
    /// What it is for.
    pub description: String,
    /// Whatever its users note down.
    pub metadata: Map<String, Value>,
}

/// Whether there is something to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectStatus {
    /// Nothing is published.
    Draft,
    /// A version is published. The draft may have gone on since.
    Published,
}

/// A version that is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publication {
    /// Which one.
    pub version: u32,
    /// The revision at which the draft was last known to be it. The draft has changed since if the project is at another.
    pub revision: u64,
}

/// How much is in a project. A store keeps it with the project, so that nobody has to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProjectUsage {
    /// Blocks, pages included.
    pub blocks: u64,
    /// Bytes of their props.
    pub block_bytes: u64,
    /// Block types of its own.
    pub types: u64,
    /// Assets.
    pub assets: u64,
    /// Bytes of all that is kept of assets: each content once, those that only versions name included.
    pub asset_bytes: u64,
    /// Versions.
    pub versions: u64,
    /// Bytes of all versions, as text.
    pub version_bytes: u64,
    /// How often blocks name assets: see [`Block::mention_count`](crate::Block::mention_count).
    pub asset_mentions: u64,
}

/// A project without its content.
#[derive(Clone, Debug, PartialEq)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// Whose it is.
    pub account: Account,
    /// What it says of itself.
    pub fields: ProjectFields,
    /// When it was made.
    pub created: Timestamp,
    /// When something of it was last written.
    pub updated: Timestamp,
    /// Grows by one with every write to anything of it. A new project is at revision 1.
    pub revision: u64,
    /// The version that is published.
    pub published: Option<Publication>,
    /// The number that the next version gets. None comes twice, even if a version is deleted.
    pub next_version: u32,
    /// How much is in it.
    pub usage: ProjectUsage,
}

impl Project {
    /// Whether there is something to see.
    pub const fn status(&self) -> ProjectStatus {
        if self.published.is_some() { ProjectStatus::Published } else { ProjectStatus::Draft }
    }

    /// Whether the draft is not what is published.
    pub fn has_unpublished_changes(&self) -> bool {
        self.published.is_none_or(|published| published.revision != self.revision)
    }

    /// Its place in the list of projects.
    pub fn cursor(&self) -> Cursor {
        Cursor::from_time(self.created, self.id.as_str())
    }

    /// Refuses a write that was made from another revision.
    pub fn check_revision(&self, write: &ProjectWrite) -> Result<(), ProjectRejection> {
        write.check_revision(self.revision)
    }

    /// The project after a write that leaves so much in it. Refused if something grows past its limit.
    ///
    /// The time never goes back, even if replicas disagree about it.
    pub fn after_write(&self, now: Timestamp, usage: ProjectUsage) -> Result<Self, ProjectRejection> {
        usage.check_growth(&self.usage)?;
        Ok(Self { revision: self.revision + 1, updated: now.max(self.updated), usage, ..self.clone() })
    }

    /// The same, for a write that leaves the draft as it is: if that is what is published, it still is.
    pub(crate) fn after_non_draft_write(
        &self,
        now: Timestamp,
        usage: ProjectUsage,
    ) -> Result<Self, ProjectRejection> {
        let written = self.after_write(now, usage)?;
        let revision = if self.has_unpublished_changes() { None } else { Some(written.revision) };
        let published = written
            .published
            .map(|published| Publication { revision: revision.unwrap_or(published.revision), ..published });
        Ok(Self { published, ..written })
    }
}

impl ProjectUsage {
    /// With these blocks in addition.
    #[must_use]
    pub fn with_blocks(self, new: &[Block]) -> Self {
        Self {
            blocks: self.blocks + new.len() as u64,
            block_bytes: self.block_bytes + new.iter().map(Block::props_len).sum::<u64>(),
            asset_mentions: self.asset_mentions + new.iter().map(Block::mention_count).sum::<u64>(),
            ..self
        }
    }

    /// With a block as it is now.
    #[must_use]
    pub fn with_changed_block(self, before: &Block, after: &Block) -> Self {
        Self {
            block_bytes: (self.block_bytes + after.props_len()).saturating_sub(before.props_len()),
            asset_mentions: (self.asset_mentions + after.mention_count())
                .saturating_sub(before.mention_count()),
            ..self
        }
    }

    /// With one version more, of so many bytes.
    pub(crate) const fn with_version(self, bytes: u64) -> Self {
        Self { versions: self.versions + 1, version_bytes: self.version_bytes + bytes, ..self }
    }

    /// Refuses what has grown past a limit. What was beyond it already may shrink.
    fn check_growth(&self, before: &Self) -> Result<(), ProjectRejection> {
        for (now, before, limit, what) in [
            (self.blocks, before.blocks, MAX_BLOCKS, "blocks in a project"),
            (self.block_bytes, before.block_bytes, MAX_TOTAL_PROPS_BYTES, "bytes in all props of a project"),
            (self.types, before.types, MAX_CUSTOM_TYPES, "block types in a project"),
            (self.assets, before.assets, MAX_ASSETS, "assets in a project"),
            (self.asset_bytes, before.asset_bytes, MAX_TOTAL_ASSET_BYTES, "bytes in all assets of a project"),
            (self.versions, before.versions, MAX_VERSIONS, "versions of a project"),
            (
                self.version_bytes,
                before.version_bytes,
                MAX_TOTAL_VERSION_BYTES,
                "bytes in all versions of a project",
            ),
            (
                self.asset_mentions,
                before.asset_mentions,
                MAX_ASSET_MENTIONS,
                "assets named by blocks of a project",
            ),
        ] {
            if now > limit && now > before {
                return Err(ProjectRejection::TooLarge { what, limit });
            }
        }
        Ok(())
    }
}

/// Whose project is written, from which revision, and when.
#[derive(Clone, Debug)]
pub struct ProjectWrite {
    /// Whose it must be.
    pub account: Account,
    /// Which one.
    pub project: ProjectId,
    /// The revision that the caller knows. Another one refuses the write; without it, the last one wins.
    pub if_revision: Option<u64>,
    /// Only tell what would happen. Everything is judged, nothing is kept.
    pub dry_run: bool,
    /// The time.
    pub now: Timestamp,
}

impl ProjectWrite {
    /// Refuses to write to a project that is at another revision than the caller knows.
    pub fn check_revision(&self, found: u64) -> Result<(), ProjectRejection> {
        match self.if_revision {
            Some(expected) if expected != found => Err(ProjectRejection::Conflict { expected, found }),
            _ => Ok(()),
        }
    }
}

/// Something of a project, and the revision that the project is at with it; in a dry run, would be at.
#[derive(Clone, Debug, PartialEq)]
pub struct AtRevision<T> {
    /// The revision.
    pub revision: u64,
    /// What was read or made.
    pub value: T,
}

/// What a new project says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewProjectFields {
    /// Its name.
    pub name: String,
    /// Its slug. Without one it is made from the name, and is free for sure.
    pub slug: Option<String>,
    /// What it is for.
    pub description: String,
    /// Whatever its users note down.
    pub metadata: Map<String, Value>,
}

impl NewProjectFields {
    /// Only a name.
    pub fn with_name(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The fields with a slug that nothing else has. `is_taken` tells whether a project of the account has one.
    pub fn into_fields(
        self,
        id: &ProjectId,
        is_taken: &mut dyn FnMut(&str) -> bool,
    ) -> Result<ProjectFields, ProjectRejection> {
        let Self { name, slug, description, metadata } = self;
        let slug = match slug {
            Some(slug) if is_taken(&slug) => {
                return Err(ProjectRejection::Taken { what: "slug", value: slug });
            }
            Some(slug) => slug,
            None => pick_free_slug(&name, id, is_taken),
        };
        let fields = ProjectFields { name, slug, description, metadata };
        ProjectRejection::reject_if_any(fields.problems())?;
        Ok(fields)
    }
}

/// The slugs that a name suggests: what a store has to look up for [`NewProjectFields::into_fields`] without a slug.
pub fn slug_candidates(name: &str, id: &ProjectId) -> [String; 2] {
    let plain = naming::slugify(name, "project");
    let tail: String = id.as_str().chars().rev().filter(char::is_ascii_alphanumeric).take(10).collect();
    let tail = tail.to_ascii_lowercase();
    [plain.clone(), format!("{plain}-{}", if tail.is_empty() { "x" } else { &tail })]
}

fn pick_free_slug(name: &str, id: &ProjectId, is_taken: &mut dyn FnMut(&str) -> bool) -> String {
    let [plain, unique] = slug_candidates(name, id);
    if is_taken(&plain) { unique } else { plain }
}

/// A change to what a project says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectFieldsPatch {
    /// Another name.
    pub name: Option<String>,
    /// Another slug.
    pub slug: Option<String>,
    /// Another description.
    pub description: Option<String>,
    /// A JSON Merge Patch for the metadata.
    pub metadata: Option<Map<String, Value>>,
}

impl ProjectFieldsPatch {
    /// The fields after the change. Whether the slug is free is for the store to tell.
    pub fn apply(&self, fields: &ProjectFields) -> Result<ProjectFields, ProjectRejection> {
        let mut changed = fields.clone();
        let set = |field: &mut String, value: &Option<String>| {
            if let Some(value) = value {
                field.clone_from(value);
            }
        };
        set(&mut changed.name, &self.name);
        set(&mut changed.slug, &self.slug);
        set(&mut changed.description, &self.description);
        if let Some(metadata) = &self.metadata {
            patch::merge_patch(&mut changed.metadata, metadata);
        }
        ProjectRejection::reject_if_any(changed.problems())?;
        Ok(changed)
    }
}

impl ProjectFields {
    /// Everything that is wrong with them.
    pub fn problems(&self) -> Vec<ValidationProblem> {
        let Self { name, slug, description, metadata } = self;
        let mut problems: Vec<ValidationProblem> =
            naming::check_line("/name", name, MAX_NAME_CHARS).into_iter().collect();
        problems.extend(naming::check_slug("/slug", slug));
        problems.extend(naming::check_text("/description", description, MAX_DESCRIPTION_CHARS));
        problems.extend(naming::check_json("/metadata", metadata, MAX_METADATA_BYTES));
        problems
    }
}
