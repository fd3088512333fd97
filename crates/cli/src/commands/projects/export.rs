//! Projects to folders.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use server::projects::{
    Account, Asset, Digest, Error, Noun, Page, Project, ProjectId, ProjectStore, Refusal, Version,
};

use super::folder::{self, Draft};
use super::form::{self, About, Kept};
use crate::exit::Failure;

/// How often a project is looked at anew because somebody has written to it meanwhile. Versions and bytes that were copied
/// stay copied, so that it takes but a moment each time.
const TRIES: usize = 100;

/// Writes a project into a new folder, all of it or nothing. Gives what it was then; nothing if it is not there.
pub(super) async fn export(
    store: &ProjectStore,
    account: &Account,
    id: &ProjectId,
    place: &Path,
) -> Result<Option<Project>, Failure> {
    let draft = Draft::begin(place)?;
    let written = write(store, account, id, draft.path()).await?;
    if written.is_some() {
        draft.finish()?;
    }
    Ok(written)
}

/// Writes a project into this folder, as it is at one moment. Gives what it was then; nothing if it is not there, and then
/// there is no folder.
pub(super) async fn write(
    store: &ProjectStore,
    account: &Account,
    id: &ProjectId,
    folder: &Path,
) -> Result<Option<Project>, Failure> {
    let mut copy = Copy { store, account, id, folder, versions: BTreeMap::new(), bytes: BTreeSet::new() };
    for part in ["versions", "assets"] {
        folder::make(&folder.join(part))?;
    }
    for _ in 0..TRIES {
        match copy.attempt().await {
            Err(Failure::Project(Error::Refused(Refusal::NotFound { what: Noun::Project, .. }))) => {
                folder::remove_folder(folder)?;
                return Ok(None);
            }
            // What is missing was there a moment ago.
            Ok(None) | Err(Failure::Project(Error::Refused(Refusal::NotFound { .. }))) => {}
            ended => return ended,
        }
    }
    Err(Failure::Refused(format!(
        "{id} cannot be read as it is at one moment: somebody keeps writing to it, or something of it is lost; try again later"
    )))
}

/// A copy that is being made of a project.
struct Copy<'a> {
    store: &'a ProjectStore,
    account: &'a Account,
    id: &'a ProjectId,
    folder: &'a Path,
    /// The versions that are in the folder, and which bytes they name.
    versions: BTreeMap<u32, BTreeSet<Digest>>,
    /// The bytes that are in the folder.
    bytes: BTreeSet<Digest>,
}

impl Copy<'_> {
    /// Copies what is not copied yet. Nothing comes of it if somebody has written meanwhile.
    ///
    /// Versions never change, and none gets the number of another. So those of a moment are all that are still there with
    /// lesser numbers than the next of that moment had, if none was deleted since.
    async fn attempt(&mut self) -> Result<Option<Project>, Failure> {
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
        named.extend(digests(&content.value.assets));
        self.copy_bytes(&named).await?;
        folder::write(&form::draft_file(self.folder), content.value.encode().as_bytes())?;
        // It comes last: what has it is whole.
        About::of(&project, numbers).write(self.folder)?;
        Ok(Some(project))
    }

    async fn copy_versions(&mut self, numbers: &BTreeSet<u32>) -> Result<(), Failure> {
        let gone: Vec<u32> =
            self.versions.keys().filter(|number| !numbers.contains(number)).copied().collect();
        for number in gone {
            folder::remove(&Kept::file(self.folder, number))?;
            self.versions.remove(&number);
        }
        for number in numbers {
            if self.versions.contains_key(number) {
                continue;
            }
            let (version, content) = self.store.version(self.account, self.id, *number).await?;
            let Version { number, note, created, revision, .. } = version;
            let kept = Kept { number, note, created, revision, content: content.encode() };
            kept.write(self.folder)?;
            self.versions.insert(number, digests(&content.assets).collect());
        }
        Ok(())
    }

    async fn copy_bytes(&mut self, named: &BTreeSet<Digest>) -> Result<(), Failure> {
        for gone in self.bytes.difference(named) {
            folder::remove(&form::bytes_file(self.folder, gone))?;
        }
        self.bytes.retain(|digest| named.contains(digest));
        for digest in named {
            if self.bytes.contains(digest) {
                continue;
            }
            let bytes = self.store.asset_bytes(self.account, self.id, digest).await?;
            folder::write(&form::bytes_file(self.folder, digest), &bytes)?;
            self.bytes.insert(*digest);
        }
        Ok(())
    }
}

fn digests(assets: &[Asset]) -> impl Iterator<Item = Digest> {
    assets.iter().map(|asset| asset.digest)
}
