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

/// The version of the format. A journal of another one is left alone and reported.
const VERSION: u32 = 2;
/// What a signature is good for.
const PURPOSE: &str = "fluxway plan journal";

/// Signs journals with a key of the user's, so that one that came with a repository is told from our own.
pub trait Signer: Send + Sync {
    /// A signature over `text` for this purpose.
    fn sign(&self, purpose: &str, text: &[u8]) -> String;
    /// Whether `signature` is one of ours over `text` for this purpose.
    fn verify(&self, purpose: &str, text: &[u8], signature: &str) -> bool;
}

/// On whose behalf a plan is applied or undone.
#[derive(Clone, Copy)]
pub struct Actor<'a> {
    /// The tenant: no other can undo what it applied.
    pub tenant: &'a str,
    /// The caller within the tenant.
    pub subject: &'a str,
    /// Signs and verifies journals.
    pub signer: &'a dyn Signer,
}

/// Who applied a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Principal {
    pub(crate) tenant: String,
    pub(crate) subject: String,
}

/// A journal as it stands in its file: the signature is over the text of the journal, byte for byte.
#[derive(Serialize, Deserialize)]
struct Signed {
    version: u32,
    journal: String,
    signature: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Journal {
    pub(crate) plan: String,
    pub(crate) principal: Principal,
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
    /// The number in the names of its copies.
    pub(crate) blob: usize,
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

/// The digest of a side, if there is one.
pub(crate) fn digest_of(side: Option<&Side>) -> Option<&str> {
    side.map(|side| side.sha256.as_str())
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
        format!("{}/{}.{end}", self.folder(), self.files[at].blob)
    }

    /// Writes it down, signed; the old one stands until the new one is on the disk.
    pub(crate) fn save(&self, tree: &Tree, signer: &dyn Signer) -> io::Result<()> {
        let journal = serde_json::to_string(self).map_err(io::Error::other)?;
        let signature = signer.sign(PURPOSE, journal.as_bytes());
        let text = serde_json::to_vec(&Signed { version: VERSION, journal, signature });
        let text = text.map_err(io::Error::other)?;
        let aside = format!("{}/journal.new", self.folder());
        tree.remove(&aside)?;
        tree.replace(&format!("{}/journal.json", self.folder()), &aside, &text, 0o600)
    }

    /// Makes the folder, and keeps what stands and what will.
    pub(crate) fn begin(&self, tree: &Tree, sides: &[Sides<'_>], signer: &dyn Signer) -> io::Result<()> {
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
        self.save(tree, signer)
    }

    /// Puts a file forth or back. What was written before is never written over something else.
    pub(crate) fn put(&self, tree: &Tree, at: usize, forth: bool) -> io::Result<Put> {
        let entry = &self.files[at];
        let (want, other, end) =
            if forth { (&entry.new, &entry.old, "new") } else { (&entry.old, &entry.new, "old") };
        // A journal is a file like any other, and may lie.
        if path::problem(&entry.path).is_some() || path::is_never(tree, &entry.path)? {
            return Ok(Put::Foreign);
        }
        let now = Now::at(tree, &entry.path)?;
        if now.is(digest_of(want.as_ref())) {
            return Ok(Put::Done);
        }
        if !now.is(digest_of(other.as_ref())) {
            return Ok(Put::Foreign);
        }
        match want {
            None => tree.remove(&entry.path)?,
            Some(side) => {
                let blob = self.blob(at, end);
                let kept = tree.read_plain(&blob, LARGEST_BLOB).map_err(into_io)?;
                if sha256(&kept) != side.sha256 {
                    return Err(io::Error::other(format!("the copy in `{blob}` is damaged")));
                }
                // Whoever has changed its mode since means it.
                if let (Now::File { mode, .. }, Some(written)) = (&now, other)
                    && *mode != written.mode
                {
                    tree.set_mode(&blob, *mode)?;
                }
                tree.rename(&blob, &entry.path)?;
            }
        }
        Ok(Put::Done)
    }

    /// Puts everything back that is still as it was written, as far as that goes. Gives those that somebody has edited.
    pub(crate) fn put_back(&self, tree: &Tree) -> io::Result<Vec<usize>> {
        let (mut foreign, mut failed) = (Vec::new(), None);
        for at in (0..self.files.len()).rev() {
            match self.put(tree, at, false) {
                Ok(Put::Done) => {}
                Ok(Put::Foreign) => foreign.push(at),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        for folder in self.folders.iter().rev().filter(|folder| path::problem(folder).is_none()) {
            // It stays if somebody has put something there.
            let is_never = path::is_never(tree, folder);
            if let Err(error) = is_never.and_then(|never| Ok(!never && tree.remove_folder(folder)?)) {
                failed = failed.or(Some(error));
            }
        }
        foreign.reverse();
        failed.map_or(Ok(foreign), Err)
    }

    /// Ends it: forgets it, or keeps what concerns files that somebody has edited. Their work stays, and `undo` explains.
    pub(crate) fn end(mut self, tree: &Tree, foreign: &[usize], signer: &dyn Signer) -> io::Result<()> {
        if foreign.is_empty() {
            return clear(tree, &self.plan);
        }
        let mut at = 0;
        self.files.retain(|_| (foreign.contains(&at), at += 1).0);
        self.progress = Progress::Applied;
        self.save(tree, signer)
    }

    /// What a file was before.
    pub(crate) fn old_text(&self, tree: &Tree, at: usize) -> Option<String> {
        self.files[at].old.as_ref()?;
        String::from_utf8(tree.read_plain(&self.blob(at, "old"), LARGEST_BLOB).ok()?).ok()
    }
}

/// Removes what is ours in the folder of a plan, and the folders above it that are empty then.
pub(crate) fn clear(tree: &Tree, id: &str) -> io::Result<()> {
    let folder = format!("{PLANS}/{id}");
    let is_ours = |name: &str| {
        let blob = name.strip_suffix(".old").or_else(|| name.strip_suffix(".new"));
        matches!(name, "journal.json" | "journal.new")
            || blob.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    for name in tree.names(&folder)?.iter().filter(|name| is_ours(name)) {
        tree.remove(&format!("{folder}/{name}"))?;
    }
    if tree.remove_folder(&folder)? && tree.remove_folder(PLANS)? && tree.names(STATE)? == [".gitignore"] {
        tree.remove(IGNORE)?;
        tree.remove_folder(STATE)?;
    }
    Ok(())
}

/// Nothing, for what is not there or is something else than it should be; other errors are errors.
fn or_nothing<T: Default>(found: io::Result<T>) -> io::Result<T> {
    use io::ErrorKind::{InvalidInput, IsADirectory, NotADirectory, NotFound};
    match found {
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | IsADirectory | InvalidInput) => {
            Ok(T::default())
        }
        other => other,
    }
}

/// The ids of folders for plans.
fn ids(tree: &Tree) -> io::Result<Vec<String>> {
    let mut ids = or_nothing(tree.names(PLANS))?;
    ids.retain(|id| is_id(id));
    Ok(ids)
}

/// The journals of a tree.
#[derive(Debug, Default)]
pub(crate) struct Journals {
    /// Those that are ours, in the order in which they came.
    pub(crate) known: Vec<Journal>,
    /// Those that cannot be believed, and why.
    pub(crate) unreadable: Vec<Unreadable>,
}

/// A journal that is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The plan that it names by its folder.
    pub plan: String,
    /// Why it is not believed.
    pub reason: &'static str,
}

impl Unreadable {
    /// The whole sentence.
    pub fn sentence(&self) -> String {
        format!(
            "the journal `{PLANS}/{}` was left alone: {}. If you applied that plan, `fluxway undo --plan FILE` takes it \
             back; if not, delete the folder",
            self.plan, self.reason
        )
    }
}

/// The journal of a plan, if it has one.
fn read(tree: &Tree, id: &str, signer: &dyn Signer) -> io::Result<Option<Result<Journal, &'static str>>> {
    let text = match tree.read_plain(&format!("{PLANS}/{id}/journal.json"), LARGEST_JOURNAL) {
        Ok(text) => text,
        Err(ReadError::Io(error)) => return or_nothing(Err(error)),
        Err(ReadError::NotAFile | ReadError::TooLarge { .. }) => {
            return Ok(Some(Err("it is not a file of a journal's size")));
        }
    };
    Ok(Some(verified(&text, id, signer)))
}

/// A journal from its file, if we signed it.
fn verified(text: &[u8], id: &str, signer: &dyn Signer) -> Result<Journal, &'static str> {
    let file: Signed = serde_json::from_slice(text)
        .map_err(|_| "it is damaged, or was written by another version of fluxway")?;
    if file.version != VERSION {
        return Err("it was written by another version of fluxway");
    }
    if !signer.verify(PURPOSE, file.journal.as_bytes(), &file.signature) {
        return Err("it is not signed with your key: it came with the files, or was written by another user");
    }
    let journal: Journal = serde_json::from_str(&file.journal).map_err(|_| "it is damaged")?;
    if journal.plan == id { Ok(journal) } else { Err("it is about another plan") }
}

/// All journals of this tree. One about another folder, of which this one is a copy, is left out.
pub(crate) fn all(tree: &Tree, signer: &dyn Signer) -> io::Result<Journals> {
    let place = tree.identity()?;
    let mut found = Journals::default();
    for id in ids(tree)? {
        match read(tree, &id, signer)? {
            Some(Ok(journal)) if journal.place == place => found.known.push(journal),
            None | Some(Ok(_)) => {}
            Some(Err(reason)) => found.unreadable.push(Unreadable { plan: id, reason }),
        }
    }
    found.known.sort_by_key(|journal| journal.number);
    Ok(found)
}

/// Takes away what was begun and never written down.
pub(crate) fn sweep(tree: &Tree) -> io::Result<()> {
    for id in ids(tree)? {
        if tree.find(&format!("{PLANS}/{id}/journal.json")).is_ok_and(|found| found.is_none()) {
            clear(tree, &id)?;
        }
    }
    Ok(())
}

/// Whether it looks as if a process was killed at work: a plan has no journal, or one that does not say it was applied. Only
/// a look: what the journals say is not verified.
pub(crate) fn has_leftovers(tree: &Tree) -> io::Result<bool> {
    struct Anything;
    impl Signer for Anything {
        fn sign(&self, _: &str, _: &[u8]) -> String {
            String::new()
        }

        fn verify(&self, _: &str, _: &[u8], _: &str) -> bool {
            true
        }
    }
    for id in ids(tree)? {
        match read(tree, &id, &Anything)? {
            None => return Ok(true),
            Some(Ok(journal)) if journal.progress != Progress::Applied => return Ok(true),
            Some(_) => {}
        }
    }
    Ok(false)
}

/// Whether something was left half done.
pub(crate) fn is_half_done(tree: &Tree, signer: &dyn Signer) -> io::Result<bool> {
    Ok(all(tree, signer)?.known.iter().any(|journal| journal.progress != Progress::Applied))
}

pub(crate) fn is_id(id: &str) -> bool {
    (1..=80).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// What stands at a path right now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Now {
    Nothing,
    File {
        sha256: String,
        mode: u32,
    },
    /// A folder, a link, or more than anybody would want to read.
    Other,
}

impl Now {
    pub(crate) fn at(tree: &Tree, path: &str) -> io::Result<Self> {
        let found = match tree.find(path) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(Self::Other),
            other => other?,
        };
        match found {
            None => Ok(Self::Nothing),
            Some(found) if !found.is_file || found.size > LARGEST_BLOB => Ok(Self::Other),
            Some(found) => {
                let bytes = tree.read_plain(path, LARGEST_BLOB).map_err(into_io)?;
                Ok(Self::File { sha256: sha256(&bytes), mode: found.mode })
            }
        }
    }

    /// Whether it is a file with this digest; without one, whether it is nothing.
    pub(crate) fn is(&self, digest: Option<&str>) -> bool {
        match (self, digest) {
            (Self::Nothing, None) => true,
            (Self::File { sha256, .. }, Some(digest)) => sha256 == digest,
            _ => false,
        }
    }
}

pub(crate) fn into_io(error: ReadError) -> io::Error {
    match error {
        ReadError::Io(error) => error,
        other => io::Error::other(other.to_string()),
    }
}
