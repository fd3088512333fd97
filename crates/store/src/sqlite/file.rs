//! The file that the database is in. It holds secrets, so nobody but its owner may read it.

#![expect(
    clippy::disallowed_methods,
    reason = "SQLite opens its file by name; the `tree` crate is for source trees"
)]

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Makes the file and the folders above it, if they are missing. Gives the path under which SQLite must open it.
pub(super) fn create_if_missing(path: &Path) -> io::Result<PathBuf> {
    // SQLite takes a name that begins with `file:` for a URL.
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

/// Waits until the file's name is on the disk. SQLite does so for the files that it makes itself.
fn sync_new_file(file: &File, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn warn_if_readable_by_others(path: &Path) -> io::Result<()> {
    let mode = path.metadata()?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "other users of this machine may read the store; chmod 600 helps");
    }
    Ok(())
}
