//! Lists a single folder.

use std::io;

use crate::{Tree, vendored, walk};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FolderEntry {
    pub name: String,
    pub kind: FolderEntryKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FolderEntryKind {
    File,
    Folder,
    /// A symbolic link, regardless of its target.
    Symlink,
    /// A pipe, device or socket.
    Other,
}

impl Tree {
    /// The top-level folders that a walk would enter, sorted. At most `most` entries are read.
    pub fn top_level_folders(&self, most: usize) -> io::Result<Vec<String>> {
        let entries = self.entries("", most)?;
        let is_there = |name: &str| entries.iter().any(|entry| entry.name == name);
        let folders = entries.iter().filter(|entry| entry.kind == FolderEntryKind::Folder);
        Ok(folders
            .filter(|entry| !vendored::is_vendored_name(&entry.name, is_there))
            .map(|entry| entry.name.clone())
            .collect())
    }

    /// The entries of a folder, sorted by name; empty if the folder does not exist. At most `most` entries
    /// are read, so that a folder with a million files stays cheap. The root is `""`.
    pub fn entries(&self, folder: &str, most: usize) -> io::Result<Vec<FolderEntry>> {
        let folder = if folder.is_empty() { "." } else { folder };
        if self.metadata(folder)?.is_none() {
            return Ok(Vec::new());
        }
        self.faults.check()?;
        let mut entries = Vec::new();
        for entry in self.open_folder(folder)?.entries()?.take(most) {
            let entry = entry?;
            let kind = match walk::entry_file_type(&entry)? {
                kind if kind.is_file() => FolderEntryKind::File,
                kind if kind.is_dir() => FolderEntryKind::Folder,
                kind if kind.is_symlink() => FolderEntryKind::Symlink,
                _ => FolderEntryKind::Other,
            };
            entries.extend(entry.file_name().into_string().ok().map(|name| FolderEntry { name, kind }));
        }
        entries.sort_unstable();
        Ok(entries)
    }
}
