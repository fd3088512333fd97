//! The only access to the file system of a repository.
//!
//! A [`Tree`] is a folder that was opened once. Everything else is opened relative to that handle, and the
//! kernel enforces containment (`openat2` with `RESOLVE_BENEATH`, through cap-std): no comparison of path
//! strings decides what may be read, and no symbolic link leads out of the tree. Only regular files are read,
//! each up to a limit.
//!
//! [`Tree::walk`] lists a tree on several threads. It honours the `.gitignore` files it finds (none above the
//! root), skips vendored and generated folders, and stops at its [`Limits`]; [`WalkReport`] records what was
//! skipped.
//!
//! Files are written whole: a new file is synced to disk next to the old one and then renamed over it. Parent
//! folders are opened one by one without following links, and files are written relative to the last handle.
//!
//! [`Tree::protection`] reports which paths need consent or can never be written. The rules are in
//! `protection.rs`.

mod budget;
mod fault_injection;
mod gitconfig;
mod gitignore;
mod globs;
mod list;
mod nofollow;
mod protection;
mod protection_check;
mod root;
mod root_intersection;
mod vendored;
mod walk;
mod write;

pub use budget::WorkBudget;
pub use globs::{GlobError, GlobFilter};
pub use list::{FolderEntry, FolderEntryKind};
pub use protection::{Protection, normalized_components};
pub use root::{RootError, Roots, check_root};
pub use root_intersection::intersect_roots;
pub use walk::{FileEntry, LimitHit, Limits, SkipReason, SkippedPath, Visitor, WalkReport};
pub use write::{EntryMetadata, TreeLock};

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, OpenOptions};

use fault_injection::FaultInjector;
use protection_check::{AllowedRoot, ProtectedFolder};

/// A folder and everything below it.
pub struct Tree {
    dir: Dir,
    path: PathBuf,
    root: AllowedRoot,
    protected_folders: OnceLock<Vec<ProtectedFolder>>,
    faults: FaultInjector,
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It does not exist, is outside the tree, or the system denies access.
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("not a regular file")]
    NotAFile,
    #[error("larger than {limit} bytes")]
    TooLarge { limit: u64 },
}

impl Tree {
    fn new(dir: Dir, path: PathBuf, root: AllowedRoot) -> Self {
        Self { dir, path, root, protected_folders: OnceLock::new(), faults: FaultInjector::default() }
    }

    /// The path, for display and as the working directory of programs. Files are never opened through it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the `n`-th operation (counted from 0) fail. For tests.
    #[must_use]
    pub fn failing_at(mut self, n: u64) -> Self {
        self.faults = FaultInjector::failing_at(n);
        self
    }

    /// Whether the injected failure was reached.
    pub fn has_failed(&self) -> bool {
        self.faults.has_fired()
    }

    /// Reads a whole file, given by its path relative to the root.
    pub fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.faults.check()?;
        let mut bytes = Vec::new();
        read_file(self.dir.open_with(path, &read_only())?, limit, &mut bytes)?;
        Ok(bytes)
    }

    /// Like [`Tree::read`], but follows no symbolic link in any path component. Used for files that will be
    /// overwritten, because writes do not follow links either.
    pub fn read_nofollow(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.faults.check()?;
        let (folder, name) = self.open_parent(path)?;
        let mut options = read_only();
        options.follow(FollowSymlinks::No);
        let mut bytes = Vec::new();
        read_file(folder.open_with(name, &options)?, limit, &mut bytes)?;
        Ok(bytes)
    }

    /// Opens a file for streaming. Reads end at `limit`, even if the file grows in the meantime.
    pub fn stream(&self, path: &str, limit: u64) -> Result<impl Read + use<>, ReadError> {
        self.faults.check()?;
        let file = self.dir.open_with(path, &read_only())?;
        readable_size(&file, limit)?;
        Ok(file.take(limit))
    }
}

/// Non-blocking, because opening a pipe would otherwise wait for a writer.
fn read_only() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true);
    options
}

/// Reads an open file, if it is a regular file within the limit.
fn read_file(file: File, limit: u64, bytes: &mut Vec<u8>) -> Result<(), ReadError> {
    let size = readable_size(&file, limit)?;
    bytes.clear();
    bytes.reserve(usize::try_from(size).unwrap_or(0) + 1);
    // The file may grow while it is read.
    file.take(limit + 1).read_to_end(bytes)?;
    if bytes.len() as u64 > limit { Err(ReadError::TooLarge { limit }) } else { Ok(()) }
}

/// The size of an open file, if it is a regular file within the limit.
fn readable_size(file: &File, limit: u64) -> Result<u64, ReadError> {
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(ReadError::NotAFile);
    }
    if found.len() > limit { Err(ReadError::TooLarge { limit }) } else { Ok(found.len()) }
}

#[cfg(test)]
mod tests;
