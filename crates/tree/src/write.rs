//! Writing: whole files, by a new file that takes the old one's place.
//!
//! Nothing is written through a link, and nothing but a plain name is written to: [`Tree::find`] says what stands at a
//! path, and refuses a path with a link in it.

use std::fs;
use std::io::{self, Write};

use cap_fs_ext::{DirExt, FollowSymlinks, MetadataExt, OpenOptionsFollowExt};
use cap_std::fs::{DirBuilder, File, OpenOptions, Permissions, PermissionsExt};

use crate::Tree;

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// A regular file, or else a folder, a pipe …
    pub is_file: bool,
    /// A folder.
    pub is_folder: bool,
    /// Its size in bytes.
    pub size: u64,
    /// Its permissions.
    pub mode: u32,
    /// How many names the file has.
    pub names: u64,
}

/// Held by whoever changes the tree. Gone when it is dropped, or when its process is.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, not used")] fs::File);

impl Tree {
    /// What stands at a path, if anything does. A link on the way, or at its end, is an error.
    pub fn find(&self, path: &str) -> io::Result<Option<Found>> {
        self.faults.pass()?;
        for (at, _) in path.match_indices('/').chain([(path.len(), "")]) {
            let found = match self.dir.symlink_metadata(&path[..at]) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
            if found.is_symlink() {
                let reason = format!("`{}` is a symbolic link", &path[..at]);
                return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
            }
            if at == path.len() {
                return Ok(Some(Found {
                    is_file: found.is_file(),
                    is_folder: found.is_dir(),
                    size: found.len(),
                    mode: found.permissions().mode() & 0o7777,
                    names: found.nlink(),
                }));
            }
        }
        Ok(None)
    }

    /// Puts a whole file at a path: what stood there stands there until the new one is on the disk. `aside` is a name in
    /// the same folder that nobody uses.
    pub fn replace(&self, path: &str, aside: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.stage(aside, bytes, mode)?;
        self.rename(aside, path)
    }

    /// Writes a new file, and waits until it is on the disk.
    pub fn stage(&self, path: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.faults.pass()?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).follow(FollowSymlinks::No);
        let mut file = self.dir.open_with(path, &options)?;
        self.faults.pass()?;
        write(&mut file, bytes, mode).inspect_err(|_| drop(self.dir.remove_file(path)))
    }

    /// Gives a file other permissions.
    pub fn set_mode(&self, path: &str, mode: u32) -> io::Result<()> {
        self.faults.pass()?;
        self.dir.set_permissions(path, Permissions::from_mode(mode))
    }

    /// Gives a file another name, in place of what had it.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.faults.pass()?;
        self.dir.rename(from, &self.dir, to)?;
        self.settle(to)
    }

    /// Removes a file. That it is not there is no error.
    pub fn remove(&self, path: &str) -> io::Result<()> {
        self.faults.pass()?;
        match self.dir.remove_file_or_symlink(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.settle(path),
        }
    }

    /// Makes a folder and those above it. Gives those that were not there before, the outermost first.
    pub fn make_folders(&self, path: &str) -> io::Result<Vec<String>> {
        let mut made = Vec::new();
        for (at, _) in path.match_indices('/').chain([(path.len(), "")]).filter(|(at, _)| *at > 0) {
            let folder = &path[..at];
            match self.find(folder)? {
                Some(found) if found.is_folder => {}
                Some(_) => {
                    return Err(io::Error::new(
                        io::ErrorKind::NotADirectory,
                        format!("`{folder}` is a file"),
                    ));
                }
                None => {
                    self.faults.pass()?;
                    self.dir.create_dir_with(folder, &DirBuilder::new())?;
                    made.push(folder.to_owned());
                }
            }
        }
        Ok(made)
    }

    /// Removes a folder if nothing is in it. Says whether it is gone.
    pub fn remove_folder(&self, path: &str) -> io::Result<bool> {
        self.faults.pass()?;
        match self.dir.remove_dir(path) {
            Ok(()) => self.settle(path).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The names in a folder, sorted; none if there is no such folder.
    pub fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        if self.find(folder)?.is_none() {
            return Ok(Vec::new());
        }
        self.faults.pass()?;
        let mut names = Vec::new();
        for entry in self.dir.read_dir(folder)? {
            names.extend(entry?.file_name().into_string().ok());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Locks the tree against others that change it. `None` if somebody does right now.
    pub fn lock(&self) -> io::Result<Option<Lock>> {
        self.faults.pass()?;
        // A handle of its own: a lock is shared by all copies of a handle.
        let own = self.dir.open(".")?.into_std();
        match own.try_lock() {
            Ok(()) => Ok(Some(Lock(own))),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// A number that this folder has on this machine, and its copies elsewhere have not.
    pub fn identity(&self) -> io::Result<String> {
        self.faults.pass()?;
        let found = self.dir.dir_metadata()?;
        Ok(format!("{:x}:{:x}", found.dev(), found.ino()))
    }

    /// Waits until the names in the folder of `path` are on the disk.
    fn settle(&self, path: &str) -> io::Result<()> {
        self.faults.pass()?;
        let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        // Opened as a file: the handle of a `Dir` only stands for a place.
        match self.dir.open(folder) {
            Ok(folder) => folder.sync_all(),
            // The folder has just been removed as well.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn write(file: &mut File, bytes: &[u8], mode: u32) -> io::Result<()> {
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()
}
