//! Opening folders one name at a time, and following no link on the way.
//!
//! A path that was judged may lead elsewhere a moment later: a folder is swapped for a link, or for another folder. So
//! whatever is to be written is written relative to a handle, and the handle itself is judged.

use std::io;

use cap_fs_ext::{DirExt, MetadataExt};
use cap_std::fs::Dir;

use crate::Tree;
use crate::protection::contains_version_control_name;

/// What a file or folder is on this machine, under whatever name.
pub(crate) type FileId = (u64, u64);

pub(crate) fn file_id(dir: &Dir) -> io::Result<FileId> {
    let found = dir.dir_metadata()?;
    Ok((found.dev(), found.ino()))
}

/// Opens a folder by its name in another, if it is one and no link.
pub(crate) fn open_folder_nofollow(dir: &Dir, name: &str) -> io::Result<Dir> {
    dir.open_dir_nofollow(name).map_err(|error| {
        let is_link = dir.symlink_metadata(name).is_ok_and(|found| found.is_symlink());
        if is_link { symlink_error(name) } else { error }
    })
}

/// A link where none is followed.
pub(crate) fn symlink_error(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("`{path}` is a symbolic link"))
}

/// The names of a path. Only those that lead down: nothing here climbs, or begins elsewhere.
pub(crate) fn path_components(path: &str) -> io::Result<Vec<&str>> {
    if path.starts_with('/') || path.split('/').any(|name| name == "..") {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("`{path}` leads elsewhere")));
    }
    Ok(path.split('/').filter(|name| !matches!(*name, "" | ".")).collect())
}

impl Tree {
    /// Opens a folder of this tree by its path.
    pub(crate) fn open_folder(&self, path: &str) -> io::Result<Dir> {
        path_components(path)?
            .into_iter()
            .try_fold(self.dir.try_clone()?, |dir, name| open_folder_nofollow(&dir, name))
    }

    /// Opens the folder in which a path ends; with its last name.
    pub(crate) fn open_parent<'a>(&self, path: &'a str) -> io::Result<(Dir, &'a str)> {
        let mut names = path_components(path)?;
        let last = names.pop().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let dir = names
            .into_iter()
            .try_fold(self.dir.try_clone()?, |dir, name| open_folder_nofollow(&dir, name))?;
        Ok((dir, last))
    }

    /// The same for a path that is to be written to: no name and no folder on the way may be one of a version control
    /// system, whatever it is called.
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

    /// The root, for a path whose names may be written to.
    pub(crate) fn open_root_for_write(&self, path: &str) -> io::Result<Dir> {
        if contains_version_control_name(path) {
            return Err(version_control_error(path));
        }
        self.check_writable(&self.dir, path)?;
        self.dir.try_clone()
    }

    /// Whether a folder that has just been opened may be written to.
    pub(crate) fn check_writable(&self, dir: &Dir, path: &str) -> io::Result<()> {
        if self.is_version_control_folder(file_id(dir)?) { Err(version_control_error(path)) } else { Ok(()) }
    }
}

fn version_control_error(path: &str) -> io::Error {
    let says =
        format!("`{path}` leads into a folder of the version control system, which is never written to");
    io::Error::new(io::ErrorKind::PermissionDenied, says)
}
