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

use crate::exit::Failure;

/// The file that makes a folder an export.
pub(super) const PROJECT: &str = "project.json";
/// The file that makes a folder a backup, also if there was nothing to back up.
pub(super) const BACKUP: &str = "backup.json";
/// A project is at most so large as text; more is none of ours.
const LONGEST: u64 = 256 * 1024 * 1024;

/// The name of a folder that is not at its place yet has so many letters of that of the place, so that it is not too long where
/// that is just not too long.
const NAMED: usize = 50;
/// And so many random ones.
const RANDOM: usize = 16;

/// A folder that is not at its place yet. One that is not finished is gone.
pub(super) struct Draft {
    folder: TempDir,
    place: PathBuf,
}

impl Draft {
    pub(super) fn begin(place: &Path) -> Result<Self, Failure> {
        if place.symlink_metadata().is_ok() {
            let why = format!("{} is there already; name a folder that is not", place.display());
            return Err(Failure::Usage(why));
        }
        let name = place.file_name().ok_or_else(|| Failure::Usage("name a folder to write".to_owned()))?;
        let begin: String = name.to_string_lossy().chars().take(NAMED).collect();
        let beside = format!(".{begin}.");
        let failed = || Failure::io(format!("cannot make {}", place.display()));
        let around = around(place);
        builder().recursive(true).create(around).map_err(failed())?;
        let mut draft = tempfile::Builder::new();
        draft.prefix(&beside).rand_bytes(RANDOM).permissions(Permissions::from_mode(0o700));
        let folder = draft.tempdir_in(around).map_err(failed())?;
        Ok(Self { folder, place: place.to_owned() })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let describe = format!("cannot write {}", self.place.display());
        fs::rename(self.folder.path(), &self.place).map_err(Failure::io(describe))?;
        self.folder.disable_cleanup(true);
        Ok(())
    }
}

/// The folder that a path lies in.
fn around(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn builder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Makes a folder that is not there yet, and those that it lies in where they are missing.
pub(super) fn make(folder: &Path) -> Result<(), Failure> {
    let made = builder().recursive(true).create(around(folder)).and_then(|()| builder().create(folder));
    made.map_err(Failure::io(format!("cannot make {}", folder.display())))
}

/// Writes a file that is not there yet.
pub(super) fn write(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let written = opened.and_then(|mut opened| opened.write_all(bytes));
    written.map_err(Failure::io(format!("cannot write {}", file.display())))
}

pub(super) fn remove(file: &Path) -> Result<(), Failure> {
    fs::remove_file(file).map_err(Failure::io(format!("cannot delete {}", file.display())))
}

pub(super) fn remove_folder(folder: &Path) -> Result<(), Failure> {
    fs::remove_dir_all(folder).map_err(Failure::io(format!("cannot delete {}", folder.display())))
}

pub(super) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let describe = || format!("cannot read {}", file.display());
    let found = match fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Failure::Refused(format!("{} is missing", file.display())));
        }
        found => found.map_err(Failure::io(describe()))?,
    };
    if !found.is_file() || found.len() > LONGEST {
        return Err(Failure::Refused(format!("{} is no file of an export", file.display())));
    }
    fs::read(file).map_err(Failure::io(describe()))
}

pub(super) fn read_text(file: &Path) -> Result<String, Failure> {
    String::from_utf8(read(file)?).map_err(|_| Failure::Refused(format!("{} is no text", file.display())))
}

/// The exports in a folder, by name: itself, those of an account of a backup, or all of a backup, which may be none. A folder
/// that cannot be read is an error: nobody should believe that all of a backup was there.
pub(super) fn projects_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    if is_export(folder) {
        return Ok(vec![folder.to_owned()]);
    }
    let inside = if folder.is_dir() { folders(folder)? } else { Vec::new() };
    let mut found: Vec<PathBuf> = inside.iter().filter(|folder| is_export(folder)).cloned().collect();
    if found.is_empty() {
        for account in &inside {
            found.extend(folders(account)?.into_iter().filter(|folder| is_export(folder)));
        }
    }
    if found.is_empty() && !folder.join(BACKUP).is_file() {
        let why = format!("{} is neither an export nor a backup: it has no {PROJECT}", folder.display());
        return Err(Failure::Refused(why));
    }
    Ok(found)
}

fn is_export(folder: &Path) -> bool {
    folder.join(PROJECT).is_file()
}

/// The folders in a folder, by name.
fn folders(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = || Failure::io(format!("cannot read {}", folder.display()));
    let entries = fs::read_dir(folder).map_err(failed())?.map(|entry| entry.map(|entry| entry.path()));
    let mut folders: Vec<PathBuf> = entries.collect::<Result<_, _>>().map_err(failed())?;
    folders.retain(|path| path.is_dir());
    folders.sort();
    Ok(folders)
}

/// An account as the name of a folder. The true name is in the project's file.
pub(super) fn account_name(account: &Account) -> String {
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

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn nobody_can_tell_where_a_draft_will_be() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("new").join("site");
        let drafts = [(); 3].map(|()| Draft::begin(&place).unwrap());
        let found = names(place.parent().unwrap());
        assert_eq!(found.len(), 3, "each has its own: {found:?}");
        for name in &found {
            let random = name.strip_prefix(".site.").unwrap();
            assert!(random.len() == RANDOM && random.bytes().all(|b| b.is_ascii_alphanumeric()), "{name}");
        }
        for path in drafts.iter().map(Draft::path).chain([place.parent().unwrap()]) {
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{}", path.display());
        }
        let mut drafts = drafts.into_iter();
        drafts.next().unwrap().finish().unwrap();
        drop(drafts);
        assert_eq!(names(place.parent().unwrap()), ["site"], "what is not finished is gone");
    }

    #[test]
    fn a_place_may_have_the_longest_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["x".repeat(255), "ü".repeat(127), "日".repeat(85)] {
            Draft::begin(&folder.path().join(&name)).and_then(Draft::finish).unwrap();
            assert!(names(folder.path()).contains(&name));
        }
    }

    #[test]
    fn what_is_there_is_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("theirs")).unwrap();
        fs::write(path("file"), "theirs").unwrap();
        symlink(path("theirs"), path("link to a folder")).unwrap();
        symlink(path("file"), path("link to a file")).unwrap();
        symlink(path("nothing"), path("link to nothing")).unwrap();
        let before = names(folder.path());
        for name in &before {
            assert!(make(&path(name)).is_err(), "{name}");
            assert!(write(&path(name), b"ours").is_err(), "{name}");
            assert!(Draft::begin(&path(name)).is_err(), "{name}");
        }
        assert_eq!(names(folder.path()), before);
        assert_eq!(fs::read_to_string(path("file")).unwrap(), "theirs");
    }
}
