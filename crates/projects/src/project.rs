//! Projects: their fields, usage, and revisions.

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

/// The descriptive fields of a project.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectFields {
    pub name: String,
    /// Short name for URLs. Unique in the account.
    pub slug: String,
    /// Purpose of the project.
    pub description: String,
    /// Free-form data of its users.
    pub metadata: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectStatus {
    /// Nothing is published.
    Draft,
    /// A version is published. The draft may have changed since.
    Published,
}

/// The published version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publication {
    pub version: u32,
    /// The revision at which the draft was last equal to the version. If the project is at another one, the
    /// draft has changed.
    pub revision: u64,
}

/// Totals of a project. Stored with the project, so that nothing has to be counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProjectUsage {
    /// Pages included.
    pub blocks: u64,
    /// Bytes of all props.
    pub block_bytes: u64,
    pub types: u64,
    pub assets: u64,
    /// Bytes of asset content, each content counted once, including content that only versions reference.
    pub asset_bytes: u64,
    pub versions: u64,
    /// Bytes of all versions as text.
    pub version_bytes: u64,
    /// Asset references of all blocks; see [`Block::mention_count`](crate::Block::mention_count).
    pub asset_mentions: u64,
}

/// A project without its content.
#[derive(Clone, Debug, PartialEq)]
pub struct Project {
    pub id: ProjectId,
    pub account: Account,
    pub fields: ProjectFields,
    pub created: Timestamp,
    /// Time of the last write to anything in it.
    pub updated: Timestamp,
    /// Incremented by every write to anything in the project. Starts at 1.
    pub revision: u64,
    pub published: Option<Publication>,
    /// Number of the next version. Never reused, even if a version is deleted.
    pub next_version: u32,
    pub usage: ProjectUsage,
}

impl Project {
    pub const fn status(&self) -> ProjectStatus {
        if self.published.is_some() { ProjectStatus::Published } else { ProjectStatus::Draft }
    }

    /// Whether the draft differs from the published version, or nothing is published.
    pub fn has_unpublished_changes(&self) -> bool {
        self.published.is_none_or(|published| published.revision != self.revision)
    }

    /// Position in the list of projects.
    pub fn cursor(&self) -> Cursor {
        Cursor::from_time(self.created, self.id.as_str())
    }

    /// Rejects a write that is based on another revision.
    pub fn check_revision(&self, write: &ProjectWrite) -> Result<(), ProjectRejection> {
        write.check_revision(self.revision)
    }

    /// The project after a write that results in this usage. Rejected if a total grows beyond its limit.
    ///
    /// `updated` never decreases, even if the clocks of replicas disagree.
    pub fn after_write(&self, now: Timestamp, usage: ProjectUsage) -> Result<Self, ProjectRejection> {
        usage.check_growth(&self.usage)?;
        Ok(Self { revision: self.revision + 1, updated: now.max(self.updated), usage, ..self.clone() })
    }

    /// Like [`after_write`](Self::after_write), for a write that leaves the draft unchanged: a draft without
    /// unpublished changes stays that way.
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
    /// Adds these blocks.
    #[must_use]
    pub fn with_blocks(self, new: &[Block]) -> Self {
        Self {
            blocks: self.blocks + new.len() as u64,
            block_bytes: self.block_bytes + new.iter().map(Block::props_len).sum::<u64>(),
            asset_mentions: self.asset_mentions + new.iter().map(Block::mention_count).sum::<u64>(),
            ..self
        }
    }

    /// Replaces a block.
    #[must_use]
    pub fn with_changed_block(self, before: &Block, after: &Block) -> Self {
        Self {
            block_bytes: (self.block_bytes + after.props_len()).saturating_sub(before.props_len()),
            asset_mentions: (self.asset_mentions + after.mention_count())
                .saturating_sub(before.mention_count()),
            ..self
        }
    }

    /// Adds a version of this size.
    pub(crate) const fn with_version(self, bytes: u64) -> Self {
        Self { versions: self.versions + 1, version_bytes: self.version_bytes + bytes, ..self }
    }

    /// Rejects totals that grew beyond a limit. A total that already exceeds its limit may still shrink.
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
                "asset references in the blocks of a project",
            ),
        ] {
            if now > limit && now > before {
                return Err(ProjectRejection::TooLarge { what, limit });
            }
        }
        Ok(())
    }
}

/// The target, precondition and time of a write.
#[derive(Clone, Debug)]
pub struct ProjectWrite {
    /// Must own the project.
    pub account: Account,
    pub project: ProjectId,
    /// The revision known to the caller. The write is rejected if it differs; if `None`, the last write wins.
    pub if_revision: Option<u64>,
    /// Validates and answers like a real write, then rolls back.
    pub dry_run: bool,
    pub now: Timestamp,
}

impl ProjectWrite {
    /// Rejects the write if the project is at another revision than the caller expects.
    pub fn check_revision(&self, found: u64) -> Result<(), ProjectRejection> {
        match self.if_revision {
            Some(expected) if expected != found => Err(ProjectRejection::Conflict { expected, found }),
            _ => Ok(()),
        }
    }
}

/// A value with the revision of the project it belongs to. In a dry run, the revision it would have.
#[derive(Clone, Debug, PartialEq)]
pub struct AtRevision<T> {
    pub revision: u64,
    pub value: T,
}

/// The fields of a new project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewProjectFields {
    pub name: String,
    /// If `None`, a free slug is derived from the name.
    pub slug: Option<String>,
    /// Purpose of the project.
    pub description: String,
    /// Free-form data of its users.
    pub metadata: Map<String, Value>,
}

impl NewProjectFields {
    pub fn with_name(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Validates the fields and picks a free slug. `is_taken` reports whether another project of the account
    /// has a slug.
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

/// Slugs derived from a name: what a store has to look up for [`NewProjectFields::into_fields`] without a
/// slug.
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

/// A change to the fields of a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectFieldsPatch {
    pub name: Option<String>,
    pub slug: Option<String>,
    pub description: Option<String>,
    /// JSON Merge Patch.
    pub metadata: Option<Map<String, Value>>,
}

impl ProjectFieldsPatch {
    /// Whether the slug is free must be checked by the store.
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
