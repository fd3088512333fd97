//! One folder, listed once: names, and what stands behind each.

use std::io;

use crate::{Tree, vendored, walk};

/// A name in a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// What has this name.
    pub kind: Kind,
}

/// What has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, wherever it leads.
    Link,
    /// A pipe, a device, a socket.
    Other,
}

impl Tree {
    /// The folders at the top that a walk would enter, sorted. At most `most` entries are looked at.
    pub fn folders(&self, most: usize) -> io::Result<Vec<String>> {
        let entries = self.entries("", most)?;
        let is_there = |name: &str| entries.iter().any(|entry| entry.name == name);
        let folders = entries.iter().filter(|entry| entry.kind == Kind::Folder);
        Ok(folders
            .filter(|entry| !vendored::by_name(&entry.name, is_there))
            .map(|entry| entry.name.clone())
            .collect())
    }

    /// What a folder holds, sorted by name; nothing if there is no such folder. At most `most` entries are looked at: a
    /// folder of a million files costs no more than that. The root is `""`.
    pub fn entries(&self, folder: &str, most: usize) -> io::Result<Vec<Entry>> {
        let folder = if folder.is_empty() { "." } else { folder };
        if self.find(folder)?.is_none() {
            return Ok(Vec::new());
        }
        self.faults.pass()?;
        let mut entries = Vec::new();
        for entry in self.folder(folder)?.entries()?.take(most) {
            let entry = entry?;
            let kind = match walk::kind(&entry)? {
                kind if kind.is_file() => Kind::File,
                kind if kind.is_dir() => Kind::Folder,
                kind if kind.is_symlink() => Kind::Link,
                _ => Kind::Other,
            };
            entries.extend(entry.file_name().into_string().ok().map(|name| Entry { name, kind }));
        }
        entries.sort_unstable();
        Ok(entries)
    }
}
