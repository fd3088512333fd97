//! Writes whole files by renaming a new file over the old one.
//!
//! Nothing is written through a link: [`Tree::metadata`] rejects a path that contains one. Files are written
//! relative to a handle of their folder, opened component by component, so a folder that is swapped for a
//! link in the meantime has no effect.

use std::fs;
use std::io::{self, Write};

use cap_fs_ext::{DirExt, FollowSymlinks, MetadataExt, OpenOptionsFollowExt};
use cap_std::fs::{Dir, DirBuilder, File, OpenOptions, Permissions, PermissionsExt};

use crate::nofollow::{open_folder_nofollow, path_components, symlink_error};
use crate::{Tree, read_only};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryMetadata {
    /// A regular file.
    pub is_file: bool,
    pub is_folder: bool,
    pub size: u64,
    pub mode: u32,
    pub hard_links: u64,
}

/// Exclusive lock for changing a tree. Released on drop, or when the process ends.
#[derive(Debug)]
pub struct TreeLock(#[expect(dead_code, reason = "held, not used")] fs::File);

impl Tree {
    /// Metadata of the entry at a path, if it exists. A link in any component is an error.
    pub fn metadata(&self, path: &str) -> io::Result<Option<EntryMetadata>> {
        self.faults.check()?;
        if path.is_empty() {
            return Ok(None);
        }
        let mut dir = self.dir.try_clone()?;
        let names = path_components(path)?;
        let Some((last, above)) = names.split_last() else { return entry_metadata(&dir, ".", path) };
        for (at, name) in above.iter().enumerate() {
            dir = match open_folder_nofollow(&dir, name) {
                Ok(next) => next,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                // Report the whole path to the link, not just its name.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    return Err(symlink_error(&names[..=at].join("/")));
                }
                Err(error) => return Err(error),
            };
        }
        entry_metadata(&dir, last, path)
    }

    /// Replaces a file atomically: the old content stays until the new one is on disk. `aside` is an unused
    /// path in the same folder.
    pub fn replace(&self, path: &str, aside: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.create_file(aside, bytes, mode)?;
        self.rename(aside, path)
    }

    /// Creates a file and syncs it to disk.
    pub fn create_file(&self, path: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.faults.check()?;
        let (folder, name) = self.open_parent_for_write(path)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).follow(FollowSymlinks::No);
        let mut file = folder.open_with(name, &options)?;
        self.faults.check()?;
        write_and_sync(&mut file, bytes, mode).inspect_err(|_| drop(folder.remove_file(name)))
    }

    pub fn set_mode(&self, path: &str, mode: u32) -> io::Result<()> {
        self.faults.check()?;
        let (folder, name) = self.open_parent_for_write(path)?;
        let mut options = read_only();
        options.follow(FollowSymlinks::No);
        folder.open_with(name, &options)?.set_permissions(Permissions::from_mode(mode))
    }

    /// Renames a file, replacing the target.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.faults.check()?;
        let (old, old_name) = self.open_parent_for_write(from)?;
        let (new, new_name) = self.open_parent_for_write(to)?;
        old.rename(old_name, &new, new_name)?;
        self.sync_folder(&new)
    }

    /// Removes a file. A missing file is not an error.
    pub fn remove(&self, path: &str) -> io::Result<()> {
        self.faults.check()?;
        let (folder, name) = match self.open_parent_for_write(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        match folder.remove_file_or_symlink(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.sync_folder(&folder),
        }
    }

    /// Creates a folder and its parents. Returns the created ones, outermost first.
    pub fn create_folders(&self, path: &str) -> io::Result<Vec<String>> {
        let (mut made, mut whole) = (Vec::new(), String::new());
        let mut dir = self.open_root_for_write(path)?;
        for name in path_components(path)? {
            whole = if whole.is_empty() { name.to_owned() } else { format!("{whole}/{name}") };
            self.faults.check()?;
            let opened = match open_folder_nofollow(&dir, name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.faults.check()?;
                    dir.create_dir_with(name, &DirBuilder::new())?;
                    made.push(whole.clone());
                    open_folder_nofollow(&dir, name)
                }
                other => other,
            };
            dir = opened.map_err(|error| match error.kind() {
                io::ErrorKind::NotADirectory => io::Error::new(error.kind(), format!("`{whole}` is a file")),
                _ => error,
            })?;
            self.check_writable(&dir, path)?;
        }
        Ok(made)
    }

    /// Removes an empty folder, and returns whether it is gone. Anything that is not a folder, or is behind a
    /// link, stays.
    pub fn remove_folder(&self, path: &str) -> io::Result<bool> {
        use io::ErrorKind::{DirectoryNotEmpty, InvalidInput, NotADirectory, NotFound};
        self.faults.check()?;
        let removed = self.open_parent_for_write(path).and_then(|(folder, name)| {
            folder.remove_dir(name)?;
            Ok(folder)
        });
        match removed {
            Ok(folder) => self.sync_folder(&folder).map(|()| true),
            Err(error) if error.kind() == NotFound => Ok(true),
            Err(error) if matches!(error.kind(), DirectoryNotEmpty | InvalidInput | NotADirectory) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The names in a folder, sorted; empty if the folder does not exist.
    pub fn file_names(&self, folder: &str) -> io::Result<Vec<String>> {
        if self.metadata(folder)?.is_none() {
            return Ok(Vec::new());
        }
        self.faults.check()?;
        let mut names = Vec::new();
        for entry in self.open_folder(folder)?.entries()? {
            names.extend(entry?.file_name().into_string().ok());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Locks the tree for changes. `None` if another process or thread holds the lock.
    pub fn lock(&self) -> io::Result<Option<TreeLock>> {
        self.faults.check()?;
        // Open a new handle: duplicated handles would share the lock.
        let own = self.dir.open(".")?.into_std();
        match own.try_lock() {
            Ok(()) => Ok(Some(TreeLock(own))),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Identifies this folder on this machine. A copy has a different identity.
    pub fn identity(&self) -> io::Result<String> {
        self.faults.check()?;
        let found = self.dir.dir_metadata()?;
        Ok(format!("{:x}:{:x}", found.dev(), found.ino()))
    }

    /// Syncs the directory entries of a folder to disk.
    fn sync_folder(&self, folder: &Dir) -> io::Result<()> {
        self.faults.check()?;
        // Reopened as a file: the `Dir` handle may be an `O_PATH` handle, which cannot be synced.
        match folder.open(".") {
            Ok(folder) => folder.sync_all(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn entry_metadata(dir: &Dir, name: &str, path: &str) -> io::Result<Option<EntryMetadata>> {
    let found = match dir.symlink_metadata(name) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if found.is_symlink() {
        return Err(symlink_error(path));
    }
    Ok(Some(EntryMetadata {
        is_file: found.is_file(),
        is_folder: found.is_dir(),
        size: found.len(),
        mode: found.permissions().mode() & 0o7777,
        hard_links: found.nlink(),
    }))
}

fn write_and_sync(file: &mut File, bytes: &[u8], mode: u32) -> io::Result<()> {
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()
}
