//! Exports on the disk. A folder is written beside its place and put there when it is whole.
//!
//! ```text
//! project.json        which project, whose, its times, revision and versions
//! content.json        its draft
//! assets/<digest>     bytes, once for each content
//! versions/<n>.json   what was published
//! ```
//! A backup has such folders as `<account>/<id>`, and a file `backup.json`. Older ones have none.
//!
//! Only their owner may read them, as it is with the database that they come from. Nothing is written to what is there
//! already: where several people have a folder in common, one of them may have put a folder or a link into the way.

#![expect(clippy::disallowed_methods, reason = "exports lie in no repository")]

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use server::projects::Account;
use tempfile::TempDir;

use crate::exit::CommandError;

/// The file that makes a folder an export.
pub(super) const PROJECT_FILE: &str = "project.json";
/// The file that makes a folder a backup, also if there was nothing to back up.
pub(super) const BACKUP_FILE: &str = "backup.json";
/// A project is at most so large as text; more is none of ours.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// The name of a folder that is not at its place yet has so many letters of that of the place, so that it is not too long where
/// that is just not too long.
const TEMP_NAME_PREFIX_CHARS: usize = 50;
/// And so many random ones.
const TEMP_NAME_RANDOM_CHARS: usize = 16;

/// A folder that is not at its place yet. One that is not finished is gone.
pub(super) struct StagedFolder {
    folder: TempDir,
    target: PathBuf,
}

impl StagedFolder {
    pub(super) fn create(place: &Path) -> Result<Self, CommandError> {
        if place.symlink_metadata().is_ok() {
            let why = format!("{} is there already; name a folder that is not", place.display());
            return Err(CommandError::Usage(why));
        }
        let name =
            place.file_name().ok_or_else(|| CommandError::Usage("name a folder to write".to_owned()))?;
        let begin: String = name.to_string_lossy().chars().take(TEMP_NAME_PREFIX_CHARS).collect();
        let beside = format!(".{begin}.");
        let failed = || CommandError::io(format!("cannot make {}", place.display()));
        let around = parent_dir(place);
        private_dir_builder().recursive(true).create(around).map_err(failed())?;
        let mut draft = tempfile::Builder::new();
        draft.prefix(&beside).rand_bytes(TEMP_NAME_RANDOM_CHARS).permissions(Permissions::from_mode(0o700));
        let folder = draft.tempdir_in(around).map_err(failed())?;
        Ok(Self { folder, target: place.to_owned() })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn commit(mut self) -> Result<(), CommandError> {
        let describe = format!("cannot write {}", self.target.display());
        fs::rename(self.folder.path(), &self.target).map_err(CommandError::io(describe))?;
        self.folder.disable_cleanup(true);
        Ok(())
    }
}

/// The folder that a path lies in.
fn parent_dir(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn private_dir_builder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Makes a folder that is not there yet, and those that it lies in where they are missing.
pub(super) fn create_folder(folder: &Path) -> Result<(), CommandError> {
    let made = private_dir_builder()
        .recursive(true)
        .create(parent_dir(folder))
        .and_then(|()| private_dir_builder().create(folder));
    made.map_err(CommandError::io(format!("cannot make {}", folder.display())))
}

/// Writes a file that is not there yet.
pub(super) fn write_new_file(file: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let written = opened.and_then(|mut opened| opened.write_all(bytes));
    written.map_err(CommandError::io(format!("cannot write {}", file.display())))
}

pub(super) fn remove_file(file: &Path) -> Result<(), CommandError> {
    fs::remove_file(file).map_err(CommandError::io(format!("cannot delete {}", file.display())))
}

pub(super) fn remove_folder(folder: &Path) -> Result<(), CommandError> {
    fs::remove_dir_all(folder).map_err(CommandError::io(format!("cannot delete {}", folder.display())))
}

pub(super) fn read_file(file: &Path) -> Result<Vec<u8>, CommandError> {
    let describe = || format!("cannot read {}", file.display());
    let found = match fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(CommandError::Refused(format!("{} is missing", file.display())));
        }
        found => found.map_err(CommandError::io(describe()))?,
    };
    if !found.is_file() || found.len() > MAX_FILE_BYTES {
        return Err(CommandError::Refused(format!("{} is no file of an export", file.display())));
    }
    fs::read(file).map_err(CommandError::io(describe()))
}

pub(super) fn read_text_file(file: &Path) -> Result<String, CommandError> {
    String::from_utf8(read_file(file)?)
        .map_err(|_| CommandError::Refused(format!("{} is no text", file.display())))
}

/// The exports in a folder, by name: itself, those of an account of a backup, or all of a backup, which may be none. A folder
/// that cannot be read is an error: an incomplete backup must not look complete.
pub(super) fn find_exports(folder: &Path) -> Result<Vec<PathBuf>, CommandError> {
    if is_export(folder) {
        return Ok(vec![folder.to_owned()]);
    }
    let inside = if folder.is_dir() { subfolders(folder)? } else { Vec::new() };
    let mut found: Vec<PathBuf> = inside.iter().filter(|folder| is_export(folder)).cloned().collect();
    if found.is_empty() {
        for account in &inside {
            found.extend(subfolders(account)?.into_iter().filter(|folder| is_export(folder)));
        }
    }
    if found.is_empty() && !folder.join(BACKUP_FILE).is_file() {
        let why = format!("{} is neither an export nor a backup: it has no {PROJECT_FILE}", folder.display());
        return Err(CommandError::Refused(why));
    }
    Ok(found)
}

fn is_export(folder: &Path) -> bool {
    folder.join(PROJECT_FILE).is_file()
}

/// The folders in a folder, by name.
fn subfolders(folder: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let failed = || CommandError::io(format!("cannot read {}", folder.display()));
    let entries = fs::read_dir(folder).map_err(failed())?.map(|entry| entry.map(|entry| entry.path()));
    let mut folders: Vec<PathBuf> = entries.collect::<Result<_, _>>().map_err(failed())?;
    folders.retain(|path| path.is_dir());
    folders.sort();
    Ok(folders)
}

/// An account as the name of a folder. The true name is in the project's file.
pub(super) fn account_folder_name(account: &Account) -> String {
    let plain = |c: char| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    let name: String = account.as_str().chars().map(plain).take(100).collect();
    let sum = account
        .as_str()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    if name == account.as_str() { name } else { format!("{name}-{sum:016x}") }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn entry_names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn staged_folders_have_random_private_names() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("new").join("site");
        let drafts = [(); 3].map(|()| StagedFolder::create(&place).unwrap());
        let found = entry_names(place.parent().unwrap());
        assert_eq!(found.len(), 3, "each has its own: {found:?}");
        for name in &found {
            let random = name.strip_prefix(".site.").unwrap();
            assert!(
                random.len() == TEMP_NAME_RANDOM_CHARS && random.bytes().all(|b| b.is_ascii_alphanumeric()),
                "{name}"
            );
        }
        for path in drafts.iter().map(StagedFolder::path).chain([place.parent().unwrap()]) {
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{}", path.display());
        }
        let mut drafts = drafts.into_iter();
        drafts.next().unwrap().commit().unwrap();
        drop(drafts);
        assert_eq!(entry_names(place.parent().unwrap()), ["site"], "what is not finished is gone");
    }

    #[test]
    fn longest_folder_names_can_be_staged() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["x".repeat(255), "ü".repeat(127), "日".repeat(85)] {
            StagedFolder::create(&folder.path().join(&name)).and_then(StagedFolder::commit).unwrap();
            assert!(entry_names(folder.path()).contains(&name));
        }
    }

    #[test]
    fn existing_paths_are_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("theirs")).unwrap();
        fs::write(path("file"), "theirs").unwrap();
        symlink(path("theirs"), path("link to a folder")).unwrap();
        symlink(path("file"), path("link to a file")).unwrap();
        symlink(path("nothing"), path("link to nothing")).unwrap();
        let before = entry_names(folder.path());
        for name in &before {
            assert!(create_folder(&path(name)).is_err(), "{name}");
            assert!(write_new_file(&path(name), b"ours").is_err(), "{name}");
            assert!(StagedFolder::create(&path(name)).is_err(), "{name}");
        }
        assert_eq!(entry_names(folder.path()), before);
        assert_eq!(fs::read_to_string(path("file")).unwrap(), "theirs");
    }
}
