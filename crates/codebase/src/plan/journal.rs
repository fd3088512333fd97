//! What has been done to a tree, written down before it is done, so that it can be taken back, also by the next process
//! if this one is killed.
//!
//! Each plan has a folder `.fluxway/plans/<id>`: `journal.json`, the old content of every file as `<n>.old`, and, until
//! it has taken its place, the new one as `<n>.new`.

use std::io;

use serde::{Deserialize, Serialize};
use tree::{ReadError, Tree};

use super::digest::sha256;
use super::document::Change;
use super::path;

/// The folder for our notes.
pub const STATE: &str = ".fluxway";
const PLANS: &str = ".fluxway/plans";
const IGNORE: &str = ".fluxway/.gitignore";
const LARGEST_JOURNAL: u64 = 16 << 20;
const LARGEST_BLOB: u64 = 64 << 20;

/// How far a plan has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Progress {
    /// Files are being written. If nobody is at it, they go back.
    Applying,
    /// All is done.
    Applied,
    /// Files are going back.
    Undoing,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Journal {
    pub(crate) plan: String,
    pub(crate) summary: String,
    /// The folder that this is about. A journal that came with a copy of it is not ours.
    pub(crate) place: String,
    /// Higher for later ones.
    pub(crate) number: u64,
    pub(crate) progress: Progress,
    pub(crate) files: Vec<Entry>,
    /// Folders that were not there before.
    pub(crate) folders: Vec<String>,
}

/// One file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) old: Option<Side>,
    pub(crate) new: Option<Side>,
    /// What was changed, for explanations.
    pub(crate) changes: Vec<Change>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Side {
    pub(crate) sha256: String,
    pub(crate) mode: u32,
}

/// The old content of a file and the new one.
pub(crate) type Sides<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// What became of a file that was to be put back or forth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Put {
    Done,
    /// Somebody has edited it.
    Foreign,
}

impl Journal {
    pub(crate) fn folder(&self) -> String {
        format!("{PLANS}/{}", self.plan)
    }

    fn blob(&self, at: usize, end: &str) -> String {
        format!("{}/{at}.{end}", self.folder())
    }

    /// Writes it down; the old one stands until the new one is on the disk.
    pub(crate) fn save(&self, tree: &Tree) -> io::Result<()> {
        let text = serde_json::to_vec(self).map_err(io::Error::other)?;
        let aside = format!("{}/journal.new", self.folder());
        tree.remove(&aside)?;
        tree.replace(&format!("{}/journal.json", self.folder()), &aside, &text, 0o600)
    }

    /// Makes the folder, and keeps what stands and what will.
    pub(crate) fn begin(&self, tree: &Tree, sides: &[Sides<'_>]) -> io::Result<()> {
        tree.make_folders(&self.folder())?;
        if tree.find(IGNORE)?.is_none() {
            tree.stage(IGNORE, b"*\n", 0o644)?;
        }
        for (at, (old, new)) in sides.iter().enumerate() {
            let mode = |side: &Option<Side>| side.as_ref().map_or(0o644, |side| side.mode);
            if let Some(old) = old {
                tree.stage(&self.blob(at, "old"), old, mode(&self.files[at].old))?;
            }
            if let Some(new) = new {
                tree.stage(&self.blob(at, "new"), new, mode(&self.files[at].new))?;
            }
        }
        self.save(tree)
    }

    /// Puts a file forth or back. What was written before is never written over something else.
    pub(crate) fn put(&self, tree: &Tree, at: usize, forth: bool) -> io::Result<Put> {
        let entry = &self.files[at];
        let (want, other, end) =
            if forth { (&entry.new, &entry.old, "new") } else { (&entry.old, &entry.new, "old") };
        // A journal is a file like any other, and may lie.
        if path::problem(&entry.path).is_some() || path::is_never(&entry.path) {
            return Ok(Put::Foreign);
        }
        let now = digest_of(tree, &entry.path)?;
        let is = |side: &Option<Side>| now.as_deref() == side.as_ref().map(|side| side.sha256.as_str());
        if is(want) {
            return Ok(Put::Done);
        }
        if !is(other) {
            return Ok(Put::Foreign);
        }
        match want {
            None => tree.remove(&entry.path)?,
            Some(side) => {
                let blob = self.blob(at, end);
                let kept = tree.read(&blob, LARGEST_BLOB).map_err(into_io)?;
                if sha256(&kept) != side.sha256 {
                    return Err(io::Error::other(format!("the copy in `{blob}` is damaged")));
                }
                tree.rename(&blob, &entry.path)?;
            }
        }
        Ok(Put::Done)
    }

    /// Puts everything back that is still as it was written. Gives those that are not.
    pub(crate) fn put_back(&self, tree: &Tree) -> io::Result<Vec<usize>> {
        let mut foreign = Vec::new();
        for at in (0..self.files.len()).rev() {
            if self.put(tree, at, false)? == Put::Foreign {
                foreign.push(at);
            }
        }
        for folder in self.folders.iter().rev().filter(|folder| path::problem(folder).is_none()) {
            // It stays if somebody has put something there.
            tree.remove_folder(folder)?;
        }
        foreign.reverse();
        Ok(foreign)
    }

    /// Forgets it.
    pub(crate) fn clear(&self, tree: &Tree) -> io::Result<()> {
        clear(tree, &self.plan)
    }

    /// What a file was before.
    pub(crate) fn old_text(&self, tree: &Tree, at: usize) -> Option<String> {
        self.files[at].old.as_ref()?;
        String::from_utf8(tree.read(&self.blob(at, "old"), LARGEST_BLOB).ok()?).ok()
    }
}

fn clear(tree: &Tree, id: &str) -> io::Result<()> {
    let folder = format!("{PLANS}/{id}");
    // The journal last but one: without it, the rest is only litter.
    for name in tree.names(&folder)? {
        tree.remove(&format!("{folder}/{name}"))?;
    }
    tree.remove_folder(&folder)?;
    if tree.remove_folder(PLANS)? && tree.names(STATE)? == [".gitignore"] {
        tree.remove(IGNORE)?;
        tree.remove_folder(STATE)?;
    }
    Ok(())
}

/// All journals of this tree, in the order in which they came. What is no journal, or about another folder, is left out;
/// what was never begun is cleared away.
pub(crate) fn all(tree: &Tree) -> io::Result<Vec<Journal>> {
    let place = tree.identity()?;
    let mut found = Vec::new();
    for id in tree.names(PLANS)? {
        if !is_id(&id) {
            continue;
        }
        match tree.read(&format!("{PLANS}/{id}/journal.json"), LARGEST_JOURNAL) {
            Ok(text) => {
                let journal: Option<Journal> = serde_json::from_slice(&text).ok();
                found.extend(journal.filter(|journal| journal.place == place && journal.plan == id));
            }
            Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::NotFound => clear(tree, &id)?,
            Err(error) => return Err(into_io(error)),
        }
    }
    found.sort_by_key(|journal| journal.number);
    Ok(found)
}

pub(crate) fn is_id(id: &str) -> bool {
    (1..=80).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The plans that are applied: id, summary, files; the latest last.
pub fn applied(tree: &Tree) -> io::Result<Vec<(String, String, Vec<String>)>> {
    let all = all(tree)?.into_iter().filter(|journal| journal.progress == Progress::Applied);
    let files = |journal: &Journal| journal.files.iter().map(|entry| entry.path.clone()).collect();
    Ok(all.map(|journal| (journal.plan.clone(), journal.summary.clone(), files(&journal))).collect())
}

/// The digest of a file; nothing if it is not there.
pub(crate) fn digest_of(tree: &Tree, path: &str) -> io::Result<Option<String>> {
    match tree.find(path)? {
        None => Ok(None),
        Some(found) if !found.is_file => Err(io::Error::other(format!("`{path}` is not a regular file"))),
        Some(_) => Ok(Some(sha256(&tree.read(path, LARGEST_BLOB).map_err(into_io)?))),
    }
}

pub(crate) fn into_io(error: ReadError) -> io::Error {
    match error {
        ReadError::Io(error) => error,
        other => io::Error::other(other.to_string()),
    }
}
