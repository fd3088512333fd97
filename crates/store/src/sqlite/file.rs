//! The database file. It contains secrets, so only its owner may read it.

#![expect(
    clippy::disallowed_methods,
    reason = "SQLite opens its file by path; the `tree` crate is for source trees"
)]

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Creates the file and its parent folders if they are missing. Returns the path that SQLite has to open.
pub(super) fn create_if_missing(path: &Path) -> io::Result<PathBuf> {
    // SQLite treats a name that starts with `file:` as a URL.
    let path = Path::new(".").join(path);
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
        Ok(file) => sync_new_file(&file, &path)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => warn_if_readable_by_others(&path)?,
        Err(error) => return Err(error),
    }
    Ok(path)
}

/// Syncs the new directory entry to disk, as SQLite does for the files that it creates itself.
fn sync_new_file(file: &File, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn warn_if_readable_by_others(path: &Path) -> io::Result<()> {
    let mode = path.metadata()?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "store file is readable by other users; run chmod 600");
    }
    Ok(())
}
