//! What has been done to a tree, written down before it is done, so that it can be taken back, also by the next process
//! if this one is killed.
//!
//! Each plan has a folder `.fluxway/plans/<id>`: `journal.json`, the old content of every file as `<n>.old`, and, until
//! it has taken its place, the new one as `<n>.new`.

use std::io;

use serde::{Deserialize, Serialize};
use tree::{ReadError, Tree};

use super::digest::sha256_hex;
use super::document::TextChange;
use super::path_check;

/// The folder for our notes.
pub const STATE_FOLDER: &str = ".fluxway";
const PLANS_FOLDER: &str = ".fluxway/plans";
const GITIGNORE_PATH: &str = ".fluxway/.gitignore";
const MAX_JOURNAL_BYTES: u64 = 16 << 20;
const MAX_BLOB_BYTES: u64 = 64 << 20;

/// How far a plan has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JournalState {
    /// Files are being written. If nobody is at it, they go back.
    Applying,
    /// All is done.
    Applied,
    /// Files are going back.
    Undoing,
}

/// The version of the format. A journal of another one is left alone and reported.
const JOURNAL_VERSION: u32 = 2;
/// What a signature is good for.
const SIGNING_PURPOSE: &str = "fluxway plan journal";

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
pub(crate) struct PlanOwner {
    pub(crate) tenant: String,
    pub(crate) subject: String,
}

/// A journal as it stands in its file: the signature is over the text of the journal, byte for byte.
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
    /// The folder that this is about. A journal that came with a copy of it is not ours.
    pub(crate) place: String,
    /// Higher for later ones.
    pub(crate) number: u64,
    pub(crate) progress: JournalState,
    pub(crate) files: Vec<PlanJournalEntry>,
    /// Folders that were not there before.
    pub(crate) folders: Vec<String>,
}

/// One file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlanJournalEntry {
    pub(crate) path: String,
    /// The number in the names of its copies.
    pub(crate) blob: usize,
    pub(crate) old: Option<FileVersion>,
    pub(crate) new: Option<FileVersion>,
    /// What was changed, for explanations.
    pub(crate) changes: Vec<TextChange>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileVersion {
    pub(crate) sha256: String,
    pub(crate) mode: u32,
}

/// The digest of a side, if there is one.
pub(crate) fn version_digest(side: Option<&FileVersion>) -> Option<&str> {
    side.map(|side| side.sha256.as_str())
}

/// The old content of a file and the new one.
pub(crate) type FileSides<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// What became of a file that was to be put back or forth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileWriteOutcome {
    Done,
    /// Somebody has edited it.
    EditedSince,
}

impl PlanJournal {
    pub(crate) fn folder(&self) -> String {
        format!("{PLANS_FOLDER}/{}", self.plan)
    }

    fn blob_path(&self, at: usize, end: &str) -> String {
        format!("{}/{}.{end}", self.folder(), self.files[at].blob)
    }

    /// Writes it down, signed; the old one stands until the new one is on the disk.
    pub(crate) fn save(&self, tree: &Tree, signer: &dyn Signer) -> io::Result<()> {
        let journal = serde_json::to_string(self).map_err(io::Error::other)?;
        let signature = signer.sign(SIGNING_PURPOSE, journal.as_bytes());
        let text = serde_json::to_vec(&SignedJournal { version: JOURNAL_VERSION, journal, signature });
        let text = text.map_err(io::Error::other)?;
        let aside = format!("{}/journal.new", self.folder());
        tree.remove(&aside)?;
        tree.replace(&format!("{}/journal.json", self.folder()), &aside, &text, 0o600)
    }

    /// Makes the folder, and keeps what stands and what will.
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

    /// Puts a file forth or back. What was written before is never written over something else.
    pub(crate) fn write_file(&self, tree: &Tree, at: usize, forth: bool) -> io::Result<FileWriteOutcome> {
        let entry = &self.files[at];
        let (want, other, end) =
            if forth { (&entry.new, &entry.old, "new") } else { (&entry.old, &entry.new, "old") };
        // A journal is a file like any other, and may lie.
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
                    return Err(io::Error::other(format!("the copy in `{blob}` is damaged")));
                }
                // Whoever has changed its mode since means it.
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

    /// Puts everything back that is still as it was written, as far as that goes. Gives those that somebody has edited.
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
            // It stays if somebody has put something there.
            let is_never = path_check::is_never_writable(tree, folder);
            if let Err(error) = is_never.and_then(|never| Ok(!never && tree.remove_folder(folder)?)) {
                failed = failed.or(Some(error));
            }
        }
        foreign.reverse();
        failed.map_or(Ok(foreign), Err)
    }

    /// Ends it: forgets it, or keeps what concerns files that somebody has edited. Their work stays, and `undo` explains.
    pub(crate) fn finish(mut self, tree: &Tree, foreign: &[usize], signer: &dyn Signer) -> io::Result<()> {
        if foreign.is_empty() {
            return remove_journal(tree, &self.plan);
        }
        let mut at = 0;
        self.files.retain(|_| (foreign.contains(&at), at += 1).0);
        self.progress = JournalState::Applied;
        self.save(tree, signer)
    }

    /// What a file was before.
    pub(crate) fn old_text(&self, tree: &Tree, at: usize) -> Option<String> {
        self.files[at].old.as_ref()?;
        String::from_utf8(tree.read_nofollow(&self.blob_path(at, "old"), MAX_BLOB_BYTES).ok()?).ok()
    }
}

/// Removes what is ours in the folder of a plan, and the folders above it that are empty then.
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

/// Nothing, for what is not there or is something else than it should be; other errors are errors.
fn default_if_missing<T: Default>(found: io::Result<T>) -> io::Result<T> {
    use io::ErrorKind::{InvalidInput, IsADirectory, NotADirectory, NotFound};
    match found {
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | IsADirectory | InvalidInput) => {
            Ok(T::default())
        }
        other => other,
    }
}

/// The ids of folders for plans.
fn plan_ids(tree: &Tree) -> io::Result<Vec<String>> {
    let mut ids = default_if_missing(tree.file_names(PLANS_FOLDER))?;
    ids.retain(|id| is_plan_id(id));
    Ok(ids)
}

/// The journals of a tree.
#[derive(Debug, Default)]
pub(crate) struct PlanJournals {
    /// Those that are ours, in the order in which they came.
    pub(crate) trusted: Vec<PlanJournal>,
    /// Those that cannot be believed, and why.
    pub(crate) untrusted: Vec<UntrustedJournal>,
}

/// A journal that is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntrustedJournal {
    /// The plan that it names by its folder.
    pub plan: String,
    /// Why it is not believed.
    pub reason: &'static str,
}

impl UntrustedJournal {
    /// The whole sentence.
    pub fn message(&self) -> String {
        format!(
            "the journal `{PLANS_FOLDER}/{}` was left alone: {}. If you applied that plan, `fluxway undo --plan FILE` takes it \
             back; if not, delete the folder",
            self.plan, self.reason
        )
    }
}

/// The journal of a plan, if it has one.
fn read_journal(
    tree: &Tree,
    id: &str,
    signer: &dyn Signer,
) -> io::Result<Option<Result<PlanJournal, &'static str>>> {
    let text = match tree.read_nofollow(&format!("{PLANS_FOLDER}/{id}/journal.json"), MAX_JOURNAL_BYTES) {
        Ok(text) => text,
        Err(ReadError::Io(error)) => return default_if_missing(Err(error)),
        Err(ReadError::NotAFile | ReadError::TooLarge { .. }) => {
            return Ok(Some(Err("it is not a file of a journal's size")));
        }
    };
    Ok(Some(verify_journal(&text, id, signer)))
}

/// A journal from its file, if we signed it.
fn verify_journal(text: &[u8], id: &str, signer: &dyn Signer) -> Result<PlanJournal, &'static str> {
    let file: SignedJournal = serde_json::from_slice(text)
        .map_err(|_| "it is damaged, or was written by another version of fluxway")?;
    if file.version != JOURNAL_VERSION {
        return Err("it was written by another version of fluxway");
    }
    if !signer.verify(SIGNING_PURPOSE, file.journal.as_bytes(), &file.signature) {
        return Err("it is not signed with your key: it came with the files, or was written by another user");
    }
    let journal: PlanJournal = serde_json::from_str(&file.journal).map_err(|_| "it is damaged")?;
    if journal.plan == id { Ok(journal) } else { Err("it is about another plan") }
}

/// All journals of this tree. One about another folder, of which this one is a copy, is left out.
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

/// Takes away what was begun and never written down.
pub(crate) fn remove_unrecorded_plans(tree: &Tree) -> io::Result<()> {
    for id in plan_ids(tree)? {
        if tree.metadata(&format!("{PLANS_FOLDER}/{id}/journal.json")).is_ok_and(|found| found.is_none()) {
            remove_journal(tree, &id)?;
        }
    }
    Ok(())
}

/// Whether it looks as if a process was killed at work: a plan has no journal, or one that does not say it was applied. Only
/// a look: what the journals say is not verified.
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

/// Whether something was left half done.
pub(crate) fn is_interrupted(tree: &Tree, signer: &dyn Signer) -> io::Result<bool> {
    Ok(read_journals(tree, signer)?.trusted.iter().any(|journal| journal.progress != JournalState::Applied))
}

pub(crate) fn is_plan_id(id: &str) -> bool {
    (1..=80).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// What stands at a path right now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileState {
    Missing,
    File {
        sha256: String,
        mode: u32,
    },
    /// A folder, a link, or more than anybody would want to read.
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

    /// Whether it is a file with this digest; without one, whether it is nothing.
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
