//! Projects to folders.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use server::projects::{
    Account, Asset, Digest, EntityKind, Error, Page, Project, ProjectId, ProjectRejection, ProjectStore,
    Version,
};

use super::export_folder::{self, StagedFolder};
use super::export_format::{self, ExportManifest, ExportedVersion};
use crate::exit::CommandError;

/// How often an export starts again because the project was written to meanwhile. Versions and bytes that were copied
/// stay copied, so that it takes but a moment each time.
const MAX_ATTEMPTS: usize = 100;

/// Writes a project into a new folder, all of it or nothing. Gives what it was then; nothing if it is not there.
pub(super) async fn export_project(
    store: &ProjectStore,
    account: &Account,
    id: &ProjectId,
    place: &Path,
) -> Result<Option<Project>, CommandError> {
    let draft = StagedFolder::create(place)?;
    let written = write_project(store, account, id, draft.path()).await?;
    if written.is_some() {
        draft.commit()?;
    }
    Ok(written)
}

/// Writes a project into this folder, as it is at one moment. Gives what it was then; nothing if it is not there, and then
/// there is no folder.
pub(super) async fn write_project(
    store: &ProjectStore,
    account: &Account,
    id: &ProjectId,
    folder: &Path,
) -> Result<Option<Project>, CommandError> {
    let mut copy =
        ProjectCopy { store, account, id, folder, versions: BTreeMap::new(), bytes: BTreeSet::new() };
    for part in ["versions", "assets"] {
        export_folder::create_folder(&folder.join(part))?;
    }
    for _ in 0..MAX_ATTEMPTS {
        match copy.attempt().await {
            Err(CommandError::Project(Error::Rejected(ProjectRejection::NotFound {
                what: EntityKind::Project,
                ..
            }))) => {
                export_folder::remove_folder(folder)?;
                return Ok(None);
            }
            // What is missing was there a moment ago.
            Ok(None) | Err(CommandError::Project(Error::Rejected(ProjectRejection::NotFound { .. }))) => {}
            ended => return ended,
        }
    }
    Err(CommandError::Refused(format!(
        "cannot export a consistent state of {id}: it changes all the time, or data is missing; try again later"
    )))
}

/// A copy that is being made of a project.
struct ProjectCopy<'a> {
    store: &'a ProjectStore,
    account: &'a Account,
    id: &'a ProjectId,
    folder: &'a Path,
    /// The versions that are in the folder, and which bytes they name.
    versions: BTreeMap<u32, BTreeSet<Digest>>,
    /// The bytes that are in the folder.
    bytes: BTreeSet<Digest>,
}

impl ProjectCopy<'_> {
    /// Copies what is not copied yet. Returns nothing if the project was written to meanwhile.
    ///
    /// Versions never change, and none gets the number of another. So those of a moment are all that are still there with
    /// lesser numbers than the next of that moment had, if none was deleted since.
    async fn attempt(&mut self) -> Result<Option<Project>, CommandError> {
        let project = self.store.project(self.account, self.id).await?;
        let content = self.store.content(self.account, self.id).await?;
        let versions = self.store.list_versions(self.account, self.id, Page::ALL).await?.items;
        let numbers = versions.iter().map(|version| version.number);
        let numbers: BTreeSet<u32> = numbers.filter(|number| *number < project.next_version).collect();
        if content.revision != project.revision || numbers.len() as u64 != project.usage.versions {
            return Ok(None);
        }
        self.copy_versions(&numbers).await?;
        let mut named: BTreeSet<Digest> = self.versions.values().flatten().copied().collect();
        named.extend(asset_digests(&content.value.assets));
        self.copy_bytes(&named).await?;
        export_folder::write_new_file(
            &export_format::draft_file(self.folder),
            content.value.encode().as_bytes(),
        )?;
        // It comes last: what has it is whole.
        ExportManifest::from_project(&project, numbers).write(self.folder)?;
        Ok(Some(project))
    }

    async fn copy_versions(&mut self, numbers: &BTreeSet<u32>) -> Result<(), CommandError> {
        let gone: Vec<u32> =
            self.versions.keys().filter(|number| !numbers.contains(number)).copied().collect();
        for number in gone {
            export_folder::remove_file(&ExportedVersion::path(self.folder, number))?;
            self.versions.remove(&number);
        }
        for number in numbers {
            if self.versions.contains_key(number) {
                continue;
            }
            let (version, content) = self.store.version(self.account, self.id, *number).await?;
            let Version { number, note, created, revision, .. } = version;
            let kept = ExportedVersion { number, note, created, revision, content: content.encode() };
            kept.write(self.folder)?;
            self.versions.insert(number, asset_digests(&content.assets).collect());
        }
        Ok(())
    }

    async fn copy_bytes(&mut self, named: &BTreeSet<Digest>) -> Result<(), CommandError> {
        for gone in self.bytes.difference(named) {
            export_folder::remove_file(&export_format::asset_file(self.folder, gone))?;
        }
        self.bytes.retain(|digest| named.contains(digest));
        for digest in named {
            if self.bytes.contains(digest) {
                continue;
            }
            let bytes = self.store.asset_bytes(self.account, self.id, digest).await?;
            export_folder::write_new_file(&export_format::asset_file(self.folder, digest), &bytes)?;
            self.bytes.insert(*digest);
        }
        Ok(())
    }
}

fn asset_digests(assets: &[Asset]) -> impl Iterator<Item = Digest> {
    assets.iter().map(|asset| asset.digest)
}
