//! The one door to the disk.
//!
//! A [`Tree`] is a folder that was opened once. Everything else is opened beneath that handle, by the kernel's own
//! rules (`openat2` with "resolve beneath", through cap-std): no comparison of path strings decides what may be read,
//! and no symbolic link leads out. Only regular files are read, each up to a limit.
//!
//! [`Tree::walk`] lists a tree on several threads. It honours the `.gitignore` files it finds on its way (none above
//! the root), leaves out vendored and generated folders, and stops at its [`Limits`]; what it left out is in [`WalkReport`].
//!
//! Files are written whole: a new one beside the old is put on the disk and then takes its name. Folders on the way are
//! opened one by one and without following links, and what is written is written relative to the last of them.
//!
//! [`Tree::protection`] says which paths need more than a plan to be written to. The table of them is in `protection.rs`.

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

/// A folder, and everything beneath it.
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
    /// It does not exist, or lies outside, or the system refuses.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A folder, pipe, device or socket.
    #[error("not a regular file")]
    NotAFile,
    /// Larger than the reader is willing to read.
    #[error("larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
}

impl Tree {
    fn new(dir: Dir, path: PathBuf, root: AllowedRoot) -> Self {
        Self { dir, path, root, protected_folders: OnceLock::new(), faults: FaultInjector::default() }
    }

    /// Where it is: for people, and for programs that are started there. Nothing is opened by this path again.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same tree, in which the `n`-th operation (counted from 0) fails. For tests of what happens then.
    #[must_use]
    pub fn failing_at(mut self, n: u64) -> Self {
        self.faults = FaultInjector::failing_at(n);
        self
    }

    /// Whether the operation that was to fail has been reached.
    pub fn has_failed(&self) -> bool {
        self.faults.has_fired()
    }

    /// Reads a whole file, given by its path from the root.
    pub fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.faults.check()?;
        let mut bytes = Vec::new();
        read_file(self.dir.open_with(path, &read_only())?, limit, &mut bytes)?;
        Ok(bytes)
    }

    /// The same, but follows no link, at the end of the path or on the way: what will be written in its place is read so.
    pub fn read_nofollow(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.faults.check()?;
        let (folder, name) = self.open_parent(path)?;
        let mut options = read_only();
        options.follow(FollowSymlinks::No);
        let mut bytes = Vec::new();
        read_file(folder.open_with(name, &options)?, limit, &mut bytes)?;
        Ok(bytes)
    }

    /// Opens a file that is too large to hold, to be read piece by piece. It ends at `limit`, even if it grows meanwhile.
    pub fn stream(&self, path: &str, limit: u64) -> Result<impl Read + use<>, ReadError> {
        self.faults.check()?;
        let file = self.dir.open_with(path, &read_only())?;
        readable_size(&file, limit)?;
        Ok(file.take(limit))
    }
}

/// Opening a pipe must not wait for somebody at its other end.
fn read_only() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true);
    options
}

/// Reads a file that has just been opened, if it is a regular one of bearable size.
fn read_file(file: File, limit: u64, bytes: &mut Vec<u8>) -> Result<(), ReadError> {
    let size = readable_size(&file, limit)?;
    bytes.clear();
    bytes.reserve(usize::try_from(size).unwrap_or(0) + 1);
    // It may grow while it is read.
    file.take(limit + 1).read_to_end(bytes)?;
    if bytes.len() as u64 > limit { Err(ReadError::TooLarge { limit }) } else { Ok(()) }
}

/// The size of a file that has just been opened, if it is a regular one of bearable size.
fn readable_size(file: &File, limit: u64) -> Result<u64, ReadError> {
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(ReadError::NotAFile);
    }
    if found.len() > limit { Err(ReadError::TooLarge { limit }) } else { Ok(found.len()) }
}

#[cfg(test)]
mod tests;
