//! Write-ahead journal of applied plans, so that a plan can be undone, even by another process if this one is
//! killed.
//!
//! Each plan has a folder `.fluxway/plans/<id>`: `journal.json`, the old content of every file as `<n>.old`,
//! and the new content as `<n>.new` until it is moved into place.

use std::io;

use serde::{Deserialize, Serialize};
use tree::{ReadError, Tree};

use super::digest::sha256_hex;
use super::document::TextChange;
use super::path_check;
use crate::text_encoding::TextEncoding;

/// Where the server stores its state within a tree.
pub const STATE_FOLDER: &str = ".fluxway";
const PLANS_FOLDER: &str = ".fluxway/plans";
const GITIGNORE_PATH: &str = ".fluxway/.gitignore";
const MAX_JOURNAL_BYTES: u64 = 16 << 20;
const MAX_BLOB_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JournalState {
    /// Files are being written. If the process died, recovery restores them.
    Applying,
    Applied,
    /// Files are being restored.
    Undoing,
}

/// Version of the journal format. Journals of other versions are reported and not touched.
const JOURNAL_VERSION: u32 = 2;
/// Domain separation: a signature for another purpose does not verify a journal.
const SIGNING_PURPOSE: &str = "fluxway plan journal";

/// Signs journals with the user's key, so that a journal that came with a repository is not trusted.
pub trait Signer: Send + Sync {
    fn sign(&self, purpose: &str, text: &[u8]) -> String;
    fn verify(&self, purpose: &str, text: &[u8], signature: &str) -> bool;
}

/// The caller on whose behalf a plan is applied or undone.
#[derive(Clone, Copy)]
pub struct Actor<'a> {
    /// Plans can be undone only by the tenant that applied them.
    pub tenant: &'a str,
    pub subject: &'a str,
    pub signer: &'a dyn Signer,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlanOwner {
    pub(crate) tenant: String,
    pub(crate) subject: String,
}

/// The file format of a journal. The signature covers the exact bytes of the `journal` string.
#[derive(Serialize, Deserialize)]
struct SignedJournal {
    version: u32,
    journal: String,
    signature: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlanJournal {
    pub(crate) plan: String,
    pub(crate) principal: PlanOwner,
    pub(crate) summary: String,
    /// Identity of the tree. A journal in a copy of the folder does not match and is ignored.
    pub(crate) place: String,
    /// Increases with every applied plan.
    pub(crate) number: u64,
    pub(crate) progress: JournalState,
    pub(crate) files: Vec<PlanJournalEntry>,
    /// Folders that the plan created.
    pub(crate) folders: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlanJournalEntry {
    pub(crate) path: String,
    /// The number `<n>` in the names of its copies.
    pub(crate) blob: usize,
    pub(crate) old: Option<FileVersion>,
    pub(crate) new: Option<FileVersion>,
    /// The changes, to explain conflicts.
    pub(crate) changes: Vec<TextChange>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileVersion {
    pub(crate) sha256: String,
    pub(crate) mode: u32,
}

pub(crate) fn version_digest(side: Option<&FileVersion>) -> Option<&str> {
    side.map(|side| side.sha256.as_str())
}

/// The old and the new content of a file.
pub(crate) type FileSides<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileWriteOutcome {
    Done,
    /// The file was edited outside the plan and was not touched.
    EditedSince,
}

impl PlanJournal {
    pub(crate) fn folder(&self) -> String {
        format!("{PLANS_FOLDER}/{}", self.plan)
    }

    fn blob_path(&self, at: usize, end: &str) -> String {
        format!("{}/{}.{end}", self.folder(), self.files[at].blob)
    }

    /// Saves the signed journal atomically: the old one stays until the new one is on disk.
    pub(crate) fn save(&self, tree: &Tree, signer: &dyn Signer) -> io::Result<()> {
        let journal = serde_json::to_string(self).map_err(io::Error::other)?;
        let signature = signer.sign(SIGNING_PURPOSE, journal.as_bytes());
        let text = serde_json::to_vec(&SignedJournal { version: JOURNAL_VERSION, journal, signature });
        let text = text.map_err(io::Error::other)?;
        let aside = format!("{}/journal.new", self.folder());
        tree.remove(&aside)?;
        tree.replace(&format!("{}/journal.json", self.folder()), &aside, &text, 0o600)
    }

    /// Creates the plan folder with copies of the old and the new content, then saves the journal.
    pub(crate) fn create(&self, tree: &Tree, sides: &[FileSides<'_>], signer: &dyn Signer) -> io::Result<()> {
        tree.create_folders(&self.folder())?;
        if tree.metadata(GITIGNORE_PATH)?.is_none() {
            tree.create_file(GITIGNORE_PATH, b"*\n", 0o644)?;
        }
        for (at, (old, new)) in sides.iter().enumerate() {
            let mode = |side: &Option<FileVersion>| side.as_ref().map_or(0o644, |side| side.mode);
            if let Some(old) = old {
                tree.create_file(&self.blob_path(at, "old"), old, mode(&self.files[at].old))?;
            }
            if let Some(new) = new {
                tree.create_file(&self.blob_path(at, "new"), new, mode(&self.files[at].new))?;
            }
        }
        self.save(tree, signer)
    }

    /// Moves the new (`forth`) or the old content of a file into place. Content that is neither of the two is
    /// never overwritten.
    pub(crate) fn write_file(&self, tree: &Tree, at: usize, forth: bool) -> io::Result<FileWriteOutcome> {
        let entry = &self.files[at];
        let (want, other, end) =
            if forth { (&entry.new, &entry.old, "new") } else { (&entry.old, &entry.new, "old") };
        // Do not trust the paths in a journal: check them like those of a plan.
        if path_check::find_path_problem(&entry.path).is_some()
            || path_check::is_never_writable(tree, &entry.path)?
        {
            return Ok(FileWriteOutcome::EditedSince);
        }
        let now = FileState::read(tree, &entry.path)?;
        if now.has_digest(version_digest(want.as_ref())) {
            return Ok(FileWriteOutcome::Done);
        }
        if !now.has_digest(version_digest(other.as_ref())) {
            return Ok(FileWriteOutcome::EditedSince);
        }
        match want {
            None => tree.remove(&entry.path)?,
            Some(side) => {
                let blob = self.blob_path(at, end);
                let kept = tree.read_nofollow(&blob, MAX_BLOB_BYTES).map_err(to_io_error)?;
                if sha256_hex(&kept) != side.sha256 {
                    return Err(io::Error::other(format!("the copy `{blob}` is damaged")));
                }
                // Keep a file mode that was changed after the plan was applied.
                if let (FileState::File { mode, .. }, Some(written)) = (&now, other)
                    && *mode != written.mode
                {
                    tree.set_mode(&blob, *mode)?;
                }
                tree.rename(&blob, &entry.path)?;
            }
        }
        Ok(FileWriteOutcome::Done)
    }

    /// Restores every file that still has the written content, continuing after errors. Returns the indices
    /// of the files that were edited since.
    pub(crate) fn restore_files(&self, tree: &Tree) -> io::Result<Vec<usize>> {
        let (mut foreign, mut failed) = (Vec::new(), None);
        for at in (0..self.files.len()).rev() {
            match self.write_file(tree, at, false) {
                Ok(FileWriteOutcome::Done) => {}
                Ok(FileWriteOutcome::EditedSince) => foreign.push(at),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        for folder in
            self.folders.iter().rev().filter(|folder| path_check::find_path_problem(folder).is_none())
        {
            // A folder that is no longer empty stays.
            let is_never = path_check::is_never_writable(tree, folder);
            if let Err(error) = is_never.and_then(|never| Ok(!never && tree.remove_folder(folder)?)) {
                failed = failed.or(Some(error));
            }
        }
        foreign.reverse();
        failed.map_or(Ok(foreign), Err)
    }

    /// Removes the journal, or reduces it to the files that were edited since (`foreign`). Those edits are
    /// kept, and `undo` reports them as conflicts.
    pub(crate) fn finish(mut self, tree: &Tree, foreign: &[usize], signer: &dyn Signer) -> io::Result<()> {
        if foreign.is_empty() {
            return remove_journal(tree, &self.plan);
        }
        let mut at = 0;
        self.files.retain(|_| (foreign.contains(&at), at += 1).0);
        self.progress = JournalState::Applied;
        self.save(tree, signer)
    }

    pub(crate) fn old_text(&self, tree: &Tree, at: usize) -> Option<String> {
        self.files[at].old.as_ref()?;
        let bytes = tree.read_nofollow(&self.blob_path(at, "old"), MAX_BLOB_BYTES).ok()?;
        TextEncoding::detect(&bytes).decode(bytes)
    }
}

/// Removes our files from the folder of a plan, then the folders above it that have become empty.
pub(crate) fn remove_journal(tree: &Tree, id: &str) -> io::Result<()> {
    let folder = format!("{PLANS_FOLDER}/{id}");
    let is_ours = |name: &str| {
        let blob = name.strip_suffix(".old").or_else(|| name.strip_suffix(".new"));
        matches!(name, "journal.json" | "journal.new")
            || blob.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    for name in tree.file_names(&folder)?.iter().filter(|name| is_ours(name)) {
        tree.remove(&format!("{folder}/{name}"))?;
    }
    if tree.remove_folder(&folder)?
        && tree.remove_folder(PLANS_FOLDER)?
        && tree.file_names(STATE_FOLDER)? == [".gitignore"]
    {
        tree.remove(GITIGNORE_PATH)?;
        tree.remove_folder(STATE_FOLDER)?;
    }
    Ok(())
}

/// Maps a missing entry, or one of an unexpected type, to the default value. Other errors are passed on.
fn default_if_missing<T: Default>(found: io::Result<T>) -> io::Result<T> {
    use io::ErrorKind::{InvalidInput, IsADirectory, NotADirectory, NotFound};
    match found {
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | IsADirectory | InvalidInput) => {
            Ok(T::default())
        }
        other => other,
    }
}

fn plan_ids(tree: &Tree) -> io::Result<Vec<String>> {
    let mut ids = default_if_missing(tree.file_names(PLANS_FOLDER))?;
    ids.retain(|id| is_plan_id(id));
    Ok(ids)
}

#[derive(Debug, Default)]
pub(crate) struct PlanJournals {
    /// Journals with a valid signature, oldest first.
    pub(crate) trusted: Vec<PlanJournal>,
    /// Journals that were rejected, and why.
    pub(crate) untrusted: Vec<UntrustedJournal>,
}

/// A journal that is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntrustedJournal {
    /// The plan id, taken from the folder name.
    pub plan: String,
    pub reason: &'static str,
}

impl UntrustedJournal {
    pub fn message(&self) -> String {
        format!(
            "the journal `{PLANS_FOLDER}/{}` was ignored: {}. If you applied that plan, undo it with \
             `fluxway undo --plan FILE`; otherwise delete the folder",
            self.plan, self.reason
        )
    }
}

fn read_journal(
    tree: &Tree,
    id: &str,
    signer: &dyn Signer,
) -> io::Result<Option<Result<PlanJournal, &'static str>>> {
    let text = match tree.read_nofollow(&format!("{PLANS_FOLDER}/{id}/journal.json"), MAX_JOURNAL_BYTES) {
        Ok(text) => text,
        Err(ReadError::Io(error)) => return default_if_missing(Err(error)),
        Err(ReadError::NotAFile | ReadError::TooLarge { .. }) => {
            return Ok(Some(Err("it is too large or not a regular file")));
        }
    };
    Ok(Some(verify_journal(&text, id, signer)))
}

/// Parses a journal and verifies its signature.
fn verify_journal(text: &[u8], id: &str, signer: &dyn Signer) -> Result<PlanJournal, &'static str> {
    let file: SignedJournal = serde_json::from_slice(text)
        .map_err(|_| "it is damaged, or was written by another version of fluxway")?;
    if file.version != JOURNAL_VERSION {
        return Err("it was written by another version of fluxway");
    }
    if !signer.verify(SIGNING_PURPOSE, file.journal.as_bytes(), &file.signature) {
        return Err(
            "it is not signed with your key: it came with the repository or was written by another user",
        );
    }
    let journal: PlanJournal = serde_json::from_str(&file.journal).map_err(|_| "it is damaged")?;
    if journal.plan == id { Ok(journal) } else { Err("it belongs to another plan") }
}

/// All journals of this tree. Journals of another folder, of which this one is a copy, are skipped.
pub(crate) fn read_journals(tree: &Tree, signer: &dyn Signer) -> io::Result<PlanJournals> {
    let place = tree.identity()?;
    let mut found = PlanJournals::default();
    for id in plan_ids(tree)? {
        match read_journal(tree, &id, signer)? {
            Some(Ok(journal)) if journal.place == place => found.trusted.push(journal),
            None | Some(Ok(_)) => {}
            Some(Err(reason)) => found.untrusted.push(UntrustedJournal { plan: id, reason }),
        }
    }
    found.trusted.sort_by_key(|journal| journal.number);
    Ok(found)
}

/// Removes plan folders without a journal: the process was killed before anything was written.
pub(crate) fn remove_unrecorded_plans(tree: &Tree) -> io::Result<()> {
    for id in plan_ids(tree)? {
        if tree.metadata(&format!("{PLANS_FOLDER}/{id}/journal.json")).is_ok_and(|found| found.is_none()) {
            remove_journal(tree, &id)?;
        }
    }
    Ok(())
}

/// Whether a process seems to have been killed while applying or undoing a plan: a plan folder has no
/// journal, or one whose state is not `applied`. Signatures are not verified.
pub(crate) fn has_interrupted_plan(tree: &Tree) -> io::Result<bool> {
    struct AcceptAnySigner;
    impl Signer for AcceptAnySigner {
        fn sign(&self, _: &str, _: &[u8]) -> String {
            String::new()
        }

        fn verify(&self, _: &str, _: &[u8], _: &str) -> bool {
            true
        }
    }
    for id in plan_ids(tree)? {
        match read_journal(tree, &id, &AcceptAnySigner)? {
            None => return Ok(true),
            Some(Ok(journal)) if journal.progress != JournalState::Applied => return Ok(true),
            Some(_) => {}
        }
    }
    Ok(false)
}

/// Whether a trusted journal shows a plan that was left half applied or half undone.
pub(crate) fn is_interrupted(tree: &Tree, signer: &dyn Signer) -> io::Result<bool> {
    Ok(read_journals(tree, signer)?.trusted.iter().any(|journal| journal.progress != JournalState::Applied))
}

pub(crate) fn is_plan_id(id: &str) -> bool {
    (1..=80).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The current state of a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileState {
    Missing,
    File {
        sha256: String,
        mode: u32,
    },
    /// A folder, a link, or a file above the size limit.
    Other,
}

impl FileState {
    pub(crate) fn read(tree: &Tree, path: &str) -> io::Result<Self> {
        let found = match tree.metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(Self::Other),
            other => other?,
        };
        match found {
            None => Ok(Self::Missing),
            Some(found) if !found.is_file || found.size > MAX_BLOB_BYTES => Ok(Self::Other),
            Some(found) => {
                let bytes = tree.read_nofollow(path, MAX_BLOB_BYTES).map_err(to_io_error)?;
                Ok(Self::File { sha256: sha256_hex(&bytes), mode: found.mode })
            }
        }
    }

    /// Whether it is a file with this digest; for `None`, whether nothing exists at the path.
    pub(crate) fn has_digest(&self, digest: Option<&str>) -> bool {
        match (self, digest) {
            (Self::Missing, None) => true,
            (Self::File { sha256, .. }, Some(digest)) => sha256 == digest,
            _ => false,
        }
    }
}

pub(crate) fn to_io_error(error: ReadError) -> io::Error {
    match error {
        ReadError::Io(error) => error,
        other => io::Error::other(other.to_string()),
    }
}
