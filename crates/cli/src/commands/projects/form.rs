//! What stands in the files of an export.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use server::Timestamp;
use server::projects::{Content, Digest, Past, Project, ProjectId, Published};

use super::folder::{self, BACKUP, PROJECT};
use crate::exit::Failure;

/// The form of an export. Older ones must stay readable.
const FORM: u32 = 1;

/// What every file that makes a folder ours begins with. It is all that is in `backup.json`.
#[derive(Serialize, Deserialize)]
struct Form {
    form: u32,
}

/// `project.json`: which project it is, whose, and what it has behind it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct About {
    form: u32,
    id: String,
    pub(super) account: String,
    created: Timestamp,
    updated: Timestamp,
    revision: u64,
    next_version: u32,
    versions: BTreeSet<u32>,
    published: Option<PublishedThen>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct PublishedThen {
    version: u32,
    revision: u64,
}

/// A file in `versions`.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) number: u32,
    pub(super) note: String,
    pub(super) created: Timestamp,
    pub(super) revision: u64,
    /// As [`Content::encode`] writes it.
    pub(super) content: String,
}

impl About {
    /// A project with these versions.
    pub(super) fn of(project: &Project, versions: BTreeSet<u32>) -> Self {
        let Past { created, updated, revision, next_version, published, versions } =
            Past::of(project, versions);
        let then = |Published { version, revision }| PublishedThen { version, revision };
        Self {
            form: FORM,
            id: project.id.to_string(),
            account: project.account.to_string(),
            created,
            updated,
            revision,
            next_version,
            versions,
            published: published.map(then),
        }
    }

    pub(super) fn read(folder: &Path) -> Result<Self, Failure> {
        let file = folder.join(PROJECT);
        // A newer form may have other names for everything else.
        let Form { form } = parsed(&file)?;
        if form > FORM {
            let why = format!("{} was written by a newer fluxway; use that one", folder.display());
            return Err(Failure::Refused(why));
        }
        parsed(&file)
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        folder::write(&folder.join(PROJECT), &json(self)?)
    }

    pub(super) fn id(&self) -> Option<ProjectId> {
        ProjectId::parse(&self.id).ok()
    }

    pub(super) fn past(&self) -> Past {
        let published =
            self.published.map(|PublishedThen { version, revision }| Published { version, revision });
        Past {
            created: self.created,
            updated: self.updated,
            revision: self.revision,
            next_version: self.next_version,
            published,
            versions: self.versions.clone(),
        }
    }
}

impl Kept {
    pub(super) fn file(folder: &Path, number: u32) -> PathBuf {
        folder.join("versions").join(format!("{number}.json"))
    }

    pub(super) fn read(folder: &Path, number: u32) -> Result<Self, Failure> {
        let file = Self::file(folder, number);
        let kept: Self = parsed(&file)?;
        if kept.number == number {
            return Ok(kept);
        }
        Err(Failure::Refused(format!("{} has the version {}", file.display(), kept.number)))
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        folder::write(&Self::file(folder, self.number), &json(self)?)
    }

    pub(super) fn content(&self, folder: &Path) -> Result<Content, Failure> {
        decoded(&self.content, &Self::file(folder, self.number))
    }
}

/// Makes a folder a backup.
pub(super) fn mark_backup(folder: &Path) -> Result<(), Failure> {
    folder::write(&folder.join(BACKUP), &json(&Form { form: FORM })?)
}

/// Where the draft is.
pub(super) fn draft_file(folder: &Path) -> PathBuf {
    folder.join("content.json")
}

pub(super) fn read_draft(folder: &Path) -> Result<Content, Failure> {
    let file = draft_file(folder);
    decoded(&folder::read_text(&file)?, &file)
}

/// Where the bytes of a digest are.
pub(super) fn bytes_file(folder: &Path, digest: &Digest) -> PathBuf {
    folder.join("assets").join(digest.to_string())
}

fn decoded(text: &str, file: &Path) -> Result<Content, Failure> {
    Content::decode(text).map_err(|error| Failure::Refused(format!("{}: {error}", file.display())))
}

fn parsed<T: DeserializeOwned>(file: &Path) -> Result<T, Failure> {
    let text = folder::read_text(file)?;
    serde_json::from_str(&text).map_err(|error| Failure::Refused(format!("{}: {error}", file.display())))
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec_pretty(value).map_err(|error| Failure::Refused(error.to_string()))
}
