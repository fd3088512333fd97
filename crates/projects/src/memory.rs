//! A store in memory: the model of what a store does, and one for tests.
//!
//! A write works on a copy of the project, which takes its place at the end; so what fails or is a dry run has changed
//! nothing. That costs as much as there is in the project, which a database must not.

mod assets;
mod blocks;
mod projects;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::asset::{Asset, Digest};
use crate::blocks::Tree;
use crate::content::Content;
use crate::error::{Error, Refusal};
use crate::ids::{Account, AssetId, ProjectId};
use crate::project::{AtRevision, Project, Usage, Write};
use crate::store::Stored;
use crate::tokens::Document;
use crate::types::CustomType;
use crate::version::Version;

/// A store in memory.
#[derive(Default)]
pub struct Memory {
    projects: Mutex<BTreeMap<ProjectId, Held>>,
}

/// A project and everything of it.
#[derive(Clone)]
struct Held {
    project: Project,
    types: BTreeMap<String, CustomType>,
    tree: Tree,
    design: Document,
    assets: BTreeMap<AssetId, Asset>,
    bytes: BTreeMap<Digest, Arc<[u8]>>,
    versions: BTreeMap<u32, (Version, Content)>,
}

impl Held {
    fn content(&self) -> Content {
        Content {
            fields: self.project.fields.clone(),
            types: self.types.values().cloned().collect(),
            blocks: self.tree.walk().map(|(block, ..)| block.clone()).collect(),
            design: self.design.clone(),
            assets: self.assets.values().cloned().collect(),
        }
    }

    /// Drops bytes that nothing names. Gives how many are kept.
    fn sweep(&mut self) -> u64 {
        let versions = self.versions.values().flat_map(|(_, content)| &content.assets);
        let named: BTreeSet<Digest> =
            self.assets.values().chain(versions).map(|asset| asset.digest).collect();
        self.bytes.retain(|digest, _| named.contains(digest));
        self.bytes.values().map(|bytes| bytes.len() as u64).sum()
    }

    /// Notes a write that leaves so much in the project.
    fn note(&mut self, write: &Write, usage: Usage) -> Result<(), Refusal> {
        self.project = self.project.written(write.now, usage)?;
        Ok(())
    }
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ProjectId, Held>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(
        &self,
        account: &Account,
        id: &ProjectId,
        look: impl FnOnce(&Held) -> Result<T, Refusal>,
    ) -> Result<T, Error> {
        Ok(look(find(&self.lock(), account, id)?)?)
    }

    fn write<T>(
        &self,
        write: &Write,
        work: impl FnOnce(&mut Held) -> Result<T, Refusal>,
    ) -> Result<AtRevision<T>, Error> {
        self.write_beside(write, |held, _| work(held))
    }

    /// The same, for what must know the other projects.
    fn write_beside<T>(
        &self,
        write: &Write,
        work: impl FnOnce(&mut Held, &BTreeMap<ProjectId, Held>) -> Result<T, Refusal>,
    ) -> Result<AtRevision<T>, Error> {
        let mut projects = self.lock();
        let mut held = find(&projects, &write.account, &write.project)?.clone();
        held.project.admit(write)?;
        let value = work(&mut held, &projects)?;
        let revision = held.project.revision;
        if !write.dry_run {
            projects.insert(write.project.clone(), held);
        }
        Ok(AtRevision { revision, value })
    }
}

fn find<'a>(
    projects: &'a BTreeMap<ProjectId, Held>,
    account: &Account,
    id: &ProjectId,
) -> Result<&'a Held, Refusal> {
    projects.get(id).filter(|held| held.project.account == *account).ok_or_else(|| id.missing())
}

/// Does it when it is awaited, and not before.
fn soon<'a, T: Send + 'a>(work: impl FnOnce() -> Result<T, Error> + Send + 'a) -> Stored<'a, T> {
    Box::pin(async move { work() })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt as _;

    use super::*;
    use crate::store::ProjectStore;
    use crate::suite;

    macro_rules! cases {
        ($($case:ident),+ $(,)?) => {
            $(#[test]
            fn $case() {
                let memory: Arc<dyn ProjectStore> = Arc::new(Memory::default());
                // Nothing in memory waits.
                suite::$case([Arc::clone(&memory), memory]).now_or_never().unwrap();
            })+
        };
    }

    crate::for_each_case!(cases);
}
