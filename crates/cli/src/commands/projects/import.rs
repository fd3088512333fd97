//! Folders to projects.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use server::projects::{
    Account, Digest, Error, IdGenerator, IdSeed, ImportSource, ImportedVersion, Project, ProjectHistory,
    ProjectId, ProjectImport, ProjectRejection, ProjectStore,
};
use server::{Entropy, OsEntropy, Timestamp};

use super::export_folder::{self, PROJECT_FILE};
use super::export_format::{self, ExportManifest, ExportedVersion};
use crate::exit::CommandError;

/// What an import is to be.
pub(super) struct ImportOptions<'a> {
    /// Whose it will be; without, whose it was.
    pub(super) account: Option<&'a str>,
    /// A new project, beside the one that it was.
    pub(super) copy: bool,
    pub(super) now: Timestamp,
}

/// What came of an export.
pub(super) enum ImportOutcome {
    /// It is there now.
    Imported(Project),
    /// It exists and is unchanged.
    AlreadyPresent(Project),
}

/// Brings a project in, all of it or nothing.
pub(super) async fn import_project(
    store: &ProjectStore,
    folder: &Path,
    options: &ImportOptions<'_>,
) -> Result<ImportOutcome, CommandError> {
    let about = ExportManifest::read(folder)?;
    let unusable = |what: &str| {
        CommandError::Refused(format!("{} names no usable {what}", folder.join(PROJECT_FILE).display()))
    };
    super::check_account(&about.account).map_err(|_| unusable("account"))?;
    let (id, past) = (about.id().ok_or_else(|| unusable("id"))?, about.history());
    let account = Account::new(options.account.unwrap_or(&about.account));
    if !options.copy
        && let Some(there) = optional_project(store.project(&account, &id).await)?
    {
        return check_already_present(there, &past);
    }
    let content = export_format::read_draft(folder)?;
    let slug = (!options.copy).then(|| content.fields.slug.clone());
    let (id, past) = if options.copy {
        (new_project_id(), ProjectHistory { created: options.now, updated: options.now, ..past })
    } else {
        (id, past)
    };
    let shelf = Arc::new(ExportParts::new(folder));
    let _waiting = CancelImportOnDrop(Arc::clone(&shelf));
    let parts = Arc::clone(&shelf) as Arc<dyn ImportSource>;
    let imported = store
        .import_project(&account, ProjectImport { id, slug, content, history: past, source: parts })
        .await;
    imported
        .map(ImportOutcome::Imported)
        .map_err(|error| shelf.take_failure().unwrap_or_else(|| describe_refusal(error, folder)))
}

fn optional_project(project: Result<Project, Error>) -> Result<Option<Project>, Error> {
    match project {
        Ok(project) => Ok(Some(project)),
        Err(Error::Rejected(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// An import that was interrupted can be repeated: what is there, and the same, has come already.
fn check_already_present(there: Project, past: &ProjectHistory) -> Result<ImportOutcome, CommandError> {
    if ProjectHistory::from_project(&there, past.versions.clone()) == *past {
        return Ok(ImportOutcome::AlreadyPresent(there));
    }
    Err(CommandError::Refused(format!(
        "{} is there already and not the same: it is at revision {}, and in the export at {}; import it with --copy",
        there.id, there.revision, past.revision
    )))
}

/// What is taken cannot be chosen anew on the command line: a copy gets another id and slug.
fn describe_refusal(error: Error, folder: &Path) -> CommandError {
    match error {
        Error::Rejected(ProjectRejection::Taken { what, value }) => {
            CommandError::Refused(format!("the {what} `{value}` is taken here; import it with --copy"))
        }
        Error::Rejected(refusal) => CommandError::Refused(format!("{}: {refusal}", folder.display())),
        Error::Store(_) => error.into(),
    }
}

fn new_project_id() -> ProjectId {
    let mut seed = [0; 16];
    OsEntropy.fill(&mut seed);
    IdGenerator::from_seed(IdSeed(seed)).next_project_id()
}

/// The parts of an export, read when a store asks for them.
struct ExportParts {
    folder: PathBuf,
    /// Why a part could not be read. A store knows rules, and no files.
    failure: Mutex<Option<CommandError>>,
    is_cancelled: AtomicBool,
}

/// The caller of an import. If it is gone, the store gets no more data and rolls back what it
/// has begun.
struct CancelImportOnDrop(Arc<ExportParts>);

impl Drop for CancelImportOnDrop {
    fn drop(&mut self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
    }
}

impl ExportParts {
    fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), failure: Mutex::default(), is_cancelled: AtomicBool::new(false) }
    }

    fn take_failure(&self) -> Option<CommandError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn read_part<T>(&self, read: impl FnOnce() -> Result<T, CommandError>) -> Result<T, ProjectRejection> {
        if self.is_cancelled.load(Ordering::Relaxed) {
            return Err(ProjectRejection::invalid("", "the import was cancelled"));
        }
        read().map_err(|failure| {
            let told = ProjectRejection::invalid("", failure.to_string());
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
            told
        })
    }

    fn read_version(&self, number: u32) -> Result<ImportedVersion, CommandError> {
        let kept = ExportedVersion::read(&self.folder, number)?;
        let content = kept.decode_content(&self.folder)?;
        Ok(ImportedVersion { note: kept.note, created: kept.created, revision: kept.revision, content })
    }

    /// The bytes of a digest. They must be what it says.
    fn read_bytes(&self, digest: &Digest) -> Result<Vec<u8>, CommandError> {
        let file = export_format::asset_file(&self.folder, digest);
        if file.symlink_metadata().is_err() {
            return Err(CommandError::Refused(format!("the export lacks the content {digest} of an asset")));
        }
        let bytes = export_folder::read_file(&file)?;
        if Digest::from_content(&bytes) == *digest {
            return Ok(bytes);
        }
        Err(CommandError::Refused(format!("the content {digest} of an asset is damaged in the export")))
    }
}

impl ImportSource for ExportParts {
    fn version(&self, number: u32) -> Result<ImportedVersion, ProjectRejection> {
        self.read_part(|| self.read_version(number))
    }

    fn bytes(&self, digest: &Digest) -> Result<Vec<u8>, ProjectRejection> {
        self.read_part(|| self.read_bytes(digest))
    }
}
