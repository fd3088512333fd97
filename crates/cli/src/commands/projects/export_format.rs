//! What stands in the files of an export.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use server::Timestamp;
use server::projects::{Digest, Project, ProjectContent, ProjectHistory, ProjectId, Publication};

use super::export_folder::{self, BACKUP_FILE, PROJECT_FILE};
use crate::exit::CommandError;

/// The form of an export. Older ones must stay readable.
const FORMAT_VERSION: u32 = 1;

/// What every file that makes a folder ours begins with. It is all that is in `backup.json`.
#[derive(Serialize, Deserialize)]
struct ExportHeader {
    form: u32,
}

/// `project.json`: which project it is, whose, and what it has behind it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExportManifest {
    form: u32,
    id: String,
    pub(super) account: String,
    created: Timestamp,
    updated: Timestamp,
    revision: u64,
    next_version: u32,
    versions: BTreeSet<u32>,
    published: Option<ExportedPublication>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct ExportedPublication {
    version: u32,
    revision: u64,
}

/// A file in `versions`.
#[derive(Serialize, Deserialize)]
pub(super) struct ExportedVersion {
    pub(super) number: u32,
    pub(super) note: String,
    pub(super) created: Timestamp,
    pub(super) revision: u64,
    /// As [`ProjectContent::encode`] writes it.
    pub(super) content: String,
}

impl ExportManifest {
    /// A project with these versions.
    pub(super) fn from_project(project: &Project, versions: BTreeSet<u32>) -> Self {
        let ProjectHistory { created, updated, revision, next_version, published, versions } =
            ProjectHistory::from_project(project, versions);
        let then = |Publication { version, revision }| ExportedPublication { version, revision };
        Self {
            form: FORMAT_VERSION,
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

    pub(super) fn read(folder: &Path) -> Result<Self, CommandError> {
        let file = folder.join(PROJECT_FILE);
        // A newer form may have other names for everything else.
        let ExportHeader { form } = parse_json_file(&file)?;
        if form > FORMAT_VERSION {
            let why = format!("{} was written by a newer fluxway; use that one", folder.display());
            return Err(CommandError::Refused(why));
        }
        parse_json_file(&file)
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), CommandError> {
        export_folder::write_new_file(&folder.join(PROJECT_FILE), &to_pretty_json(self)?)
    }

    pub(super) fn id(&self) -> Option<ProjectId> {
        ProjectId::parse(&self.id).ok()
    }

    pub(super) fn history(&self) -> ProjectHistory {
        let published =
            self.published.map(|ExportedPublication { version, revision }| Publication { version, revision });
        ProjectHistory {
            created: self.created,
            updated: self.updated,
            revision: self.revision,
            next_version: self.next_version,
            published,
            versions: self.versions.clone(),
        }
    }
}

impl ExportedVersion {
    pub(super) fn path(folder: &Path, number: u32) -> PathBuf {
        folder.join("versions").join(format!("{number}.json"))
    }

    pub(super) fn read(folder: &Path, number: u32) -> Result<Self, CommandError> {
        let file = Self::path(folder, number);
        let kept: Self = parse_json_file(&file)?;
        if kept.number == number {
            return Ok(kept);
        }
        Err(CommandError::Refused(format!("{} has the version {}", file.display(), kept.number)))
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), CommandError> {
        export_folder::write_new_file(&Self::path(folder, self.number), &to_pretty_json(self)?)
    }

    pub(super) fn decode_content(&self, folder: &Path) -> Result<ProjectContent, CommandError> {
        decode_file_content(&self.content, &Self::path(folder, self.number))
    }
}

/// Makes a folder a backup.
pub(super) fn mark_backup(folder: &Path) -> Result<(), CommandError> {
    export_folder::write_new_file(
        &folder.join(BACKUP_FILE),
        &to_pretty_json(&ExportHeader { form: FORMAT_VERSION })?,
    )
}

/// Where the draft is.
pub(super) fn draft_file(folder: &Path) -> PathBuf {
    folder.join("content.json")
}

pub(super) fn read_draft(folder: &Path) -> Result<ProjectContent, CommandError> {
    let file = draft_file(folder);
    decode_file_content(&export_folder::read_text_file(&file)?, &file)
}

/// Where the bytes of a digest are.
pub(super) fn asset_file(folder: &Path, digest: &Digest) -> PathBuf {
    folder.join("assets").join(digest.to_string())
}

fn decode_file_content(text: &str, file: &Path) -> Result<ProjectContent, CommandError> {
    ProjectContent::decode(text)
        .map_err(|error| CommandError::Refused(format!("{}: {error}", file.display())))
}

fn parse_json_file<T: DeserializeOwned>(file: &Path) -> Result<T, CommandError> {
    let text = export_folder::read_text_file(file)?;
    serde_json::from_str(&text).map_err(|error| CommandError::Refused(format!("{}: {error}", file.display())))
}

fn to_pretty_json(value: &impl Serialize) -> Result<Vec<u8>, CommandError> {
    serde_json::to_vec_pretty(value).map_err(|error| CommandError::Refused(error.to_string()))
}
