//! Folders to projects.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use server::projects::{
    Account, Digest, Error, Ids, Import, ImportedVersion, Parts, Past, Project, ProjectId, ProjectStore,
    Refusal, Seed,
};
use server::{Entropy, OsEntropy, Timestamp};

use super::folder::{self, PROJECT};
use super::form::{self, About, Kept};
use crate::exit::Failure;

/// What an import is to be.
pub(super) struct Wish<'a> {
    /// Whose it will be; without, whose it was.
    pub(super) account: Option<&'a str>,
    /// A new project, beside the one that it was.
    pub(super) copy: bool,
    pub(super) now: Timestamp,
}

/// What came of an export.
pub(super) enum Brought {
    /// It is there now.
    In(Project),
    /// It was there, and nobody has written to it since.
    Already(Project),
}

/// Brings a project in, all of it or nothing.
pub(super) async fn import(store: &ProjectStore, folder: &Path, wish: &Wish<'_>) -> Result<Brought, Failure> {
    let about = About::read(folder)?;
    let unusable =
        |what: &str| Failure::Refused(format!("{} names no usable {what}", folder.join(PROJECT).display()));
    super::check_account(&about.account).map_err(|_| unusable("account"))?;
    let (id, past) = (about.id().ok_or_else(|| unusable("id"))?, about.past());
    let account = Account::new(wish.account.unwrap_or(&about.account));
    if !wish.copy
        && let Some(there) = found(store.project(&account, &id).await)?
    {
        return already(there, &past);
    }
    let content = form::read_draft(folder)?;
    let slug = (!wish.copy).then(|| content.fields.slug.clone());
    let (id, past) = if wish.copy {
        (fresh_id(), Past { created: wish.now, updated: wish.now, ..past })
    } else {
        (id, past)
    };
    let shelf = Arc::new(Shelf::of(folder));
    let _waiting = Waiting(Arc::clone(&shelf));
    let parts = Arc::clone(&shelf) as Arc<dyn Parts>;
    let imported = store.import_project(&account, Import { id, slug, content, past, parts }).await;
    imported.map(Brought::In).map_err(|error| shelf.failure().unwrap_or_else(|| refused(error, folder)))
}

fn found(project: Result<Project, Error>) -> Result<Option<Project>, Error> {
    match project {
        Ok(project) => Ok(Some(project)),
        Err(Error::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// An import that was interrupted can be repeated: what is there, and the same, has come already.
fn already(there: Project, past: &Past) -> Result<Brought, Failure> {
    if Past::of(&there, past.versions.clone()) == *past {
        return Ok(Brought::Already(there));
    }
    Err(Failure::Refused(format!(
        "{} is there already and not the same: it is at revision {}, and in the export at {}; import it with --copy",
        there.id, there.revision, past.revision
    )))
}

/// What is taken cannot be chosen anew on the command line: a copy gets another id and slug.
fn refused(error: Error, folder: &Path) -> Failure {
    match error {
        Error::Refused(Refusal::Taken { what, value }) => {
            Failure::Refused(format!("the {what} `{value}` is taken here; import it with --copy"))
        }
        Error::Refused(refusal) => Failure::Refused(format!("{}: {refusal}", folder.display())),
        Error::Store(_) => error.into(),
    }
}

fn fresh_id() -> ProjectId {
    let mut seed = [0; 16];
    OsEntropy.fill(&mut seed);
    Ids::of(Seed(seed)).project()
}

/// The parts of an export, read when a store asks for them.
struct Shelf {
    folder: PathBuf,
    /// Why a part could not be read. A store knows rules, and no files.
    failure: Mutex<Option<Failure>>,
    is_left: AtomicBool,
}

/// Whoever waits for an import. A store that is still at it when they are gone gets nothing any more, and takes back what it
/// has begun.
struct Waiting(Arc<Shelf>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.is_left.store(true, Ordering::Relaxed);
    }
}

impl Shelf {
    fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), failure: Mutex::default(), is_left: AtomicBool::new(false) }
    }

    fn failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn give<T>(&self, read: impl FnOnce() -> Result<T, Failure>) -> Result<T, Refusal> {
        if self.is_left.load(Ordering::Relaxed) {
            return Err(Refusal::invalid("", "nobody waits for it any more"));
        }
        read().map_err(|failure| {
            let told = Refusal::invalid("", failure.to_string());
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
            told
        })
    }

    fn read_version(&self, number: u32) -> Result<ImportedVersion, Failure> {
        let kept = Kept::read(&self.folder, number)?;
        let content = kept.content(&self.folder)?;
        Ok(ImportedVersion { note: kept.note, created: kept.created, revision: kept.revision, content })
    }

    /// The bytes of a digest. They must be what it says.
    fn read_bytes(&self, digest: &Digest) -> Result<Vec<u8>, Failure> {
        let file = form::bytes_file(&self.folder, digest);
        if file.symlink_metadata().is_err() {
            return Err(Failure::Refused(format!("the export lacks the content {digest} of an asset")));
        }
        let bytes = folder::read(&file)?;
        if Digest::of(&bytes) == *digest {
            return Ok(bytes);
        }
        Err(Failure::Refused(format!("the content {digest} of an asset is damaged in the export")))
    }
}

impl Parts for Shelf {
    fn version(&self, number: u32) -> Result<ImportedVersion, Refusal> {
        self.give(|| self.read_version(number))
    }

    fn bytes(&self, digest: &Digest) -> Result<Vec<u8>, Refusal> {
        self.give(|| self.read_bytes(digest))
    }
}
