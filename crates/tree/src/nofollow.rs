//! Opens folders one component at a time without following links.
//!
//! A checked path may lead elsewhere a moment later, when a folder is swapped for a link or another folder.
//! Writes are therefore relative to a handle, and the check is made on the handle itself.

use std::io;

use cap_fs_ext::{DirExt, MetadataExt};
use cap_std::fs::Dir;

use crate::Tree;
use crate::protection::contains_version_control_name;

/// Device and inode: identifies a file or folder regardless of its name.
pub(crate) type FileId = (u64, u64);

pub(crate) fn file_id(dir: &Dir) -> io::Result<FileId> {
    let found = dir.dir_metadata()?;
    Ok((found.dev(), found.ino()))
}

/// Opens a subfolder by name; a symbolic link is an error.
pub(crate) fn open_folder_nofollow(dir: &Dir, name: &str) -> io::Result<Dir> {
    dir.open_dir_nofollow(name).map_err(|error| {
        let is_link = dir.symlink_metadata(name).is_ok_and(|found| found.is_symlink());
        if is_link { symlink_error(name) } else { error }
    })
}

pub(crate) fn symlink_error(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("`{path}` is a symbolic link"))
}

/// The components of a relative path. Absolute paths and `..` are errors.
pub(crate) fn path_components(path: &str) -> io::Result<Vec<&str>> {
    if path.starts_with('/') || path.split('/').any(|name| name == "..") {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("`{path}` is outside the folder"),
        ));
    }
    Ok(path.split('/').filter(|name| !matches!(*name, "" | ".")).collect())
}

impl Tree {
    pub(crate) fn open_folder(&self, path: &str) -> io::Result<Dir> {
        path_components(path)?
            .into_iter()
            .try_fold(self.dir.try_clone()?, |dir, name| open_folder_nofollow(&dir, name))
    }

    /// Opens the parent folder of a path, and returns it with the last component.
    pub(crate) fn open_parent<'a>(&self, path: &'a str) -> io::Result<(Dir, &'a str)> {
        let mut names = path_components(path)?;
        let last = names.pop().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let dir = names
            .into_iter()
            .try_fold(self.dir.try_clone()?, |dir, name| open_folder_nofollow(&dir, name))?;
        Ok((dir, last))
    }

    /// Like [`Tree::open_parent`], for writing: no component may belong to a version control system, neither
    /// by name nor by the identity of the folder.
    pub(crate) fn open_parent_for_write<'a>(&self, path: &'a str) -> io::Result<(Dir, &'a str)> {
        let mut dir = self.open_root_for_write(path)?;
        let mut names = path_components(path)?;
        let last = names.pop().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        for name in names {
            dir = open_folder_nofollow(&dir, name)?;
            self.check_writable(&dir, path)?;
        }
        Ok((dir, last))
    }

    /// Opens the root for writing to `path`, unless `path` contains a name of a version control system.
    pub(crate) fn open_root_for_write(&self, path: &str) -> io::Result<Dir> {
        if contains_version_control_name(path) {
            return Err(version_control_error(path));
        }
        self.check_writable(&self.dir, path)?;
        self.dir.try_clone()
    }

    /// Fails if an open folder belongs to a version control system.
    pub(crate) fn check_writable(&self, dir: &Dir, path: &str) -> io::Result<()> {
        if self.is_version_control_folder(file_id(dir)?) { Err(version_control_error(path)) } else { Ok(()) }
    }
}

fn version_control_error(path: &str) -> io::Error {
    let says = format!("`{path}` is inside a version control folder, which is never written to");
    io::Error::new(io::ErrorKind::PermissionDenied, says)
}
