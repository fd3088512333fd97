//! Applying a plan atomically, and undoing it.

use std::io;
use std::time::Duration;

use tree::{Tree, TreeLock};

use super::MAX_EDITED_FILE_BYTES;
use super::diff::unified_diff;
use super::digest::sha256_hex;
use super::document::{EditPlan, TextChange};
use super::journal::{
    self, Actor, FileState, FileVersion, FileWriteOutcome, JournalState, PlanJournal, PlanJournalEntry,
    PlanOwner, Signer, UntrustedJournal, to_io_error, version_digest,
};
use super::resolve::ResolvedFile;
use super::text_file::apply_changes;
use crate::source::run_with_parser_stack;
use crate::text_encoding::decode_text;

/// Why a plan was not applied or not undone. The files are unchanged in every case.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Another process holds the lock on this tree.
    #[error("another plan is being applied or undone in this folder; try again in a moment")]
    Busy,
    /// Files differ from what the plan expects.
    #[error("{}", conflicts.first().map_or("a file has changed", |conflict| conflict.message.as_str()))]
    Conflict { conflicts: Vec<Conflict> },
    #[error("{0}")]
    Unknown(String),
    #[error("the files could not be written: {0}")]
    Io(#[from] io::Error),
}

/// A file that differs from what the plan expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub path: String,
    pub message: String,
    /// Diff of what the plan does to it.
    pub ours: String,
    /// Diff of what was changed outside the plan.
    pub theirs: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyOutcome {
    Applied,
    /// The files already had the content that the plan writes.
    AlreadyApplied,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyResult {
    pub outcome: ApplyOutcome,
    /// The files that were written.
    pub files: Vec<String>,
    /// Whether a journal exists, so that the plan can be undone by id.
    pub can_undo: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoResult {
    pub plan: String,
    /// The files that were restored.
    pub files: Vec<String>,
}

/// A file's required current content and its new content.
struct FileWrite {
    path: String,
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
    changes: Vec<TextChange>,
}

/// Applies a plan whose files have been resolved.
pub fn apply(
    tree: &Tree,
    plan: &EditPlan,
    files: &[ResolvedFile],
    actor: &Actor<'_>,
) -> Result<ApplyResult, ApplyError> {
    let _lock = acquire_lock(tree)?;
    recover_locked(tree, actor.signer)?;
    let write = |file: &ResolvedFile| FileWrite {
        path: file.change.path.clone(),
        old: file.old_bytes(),
        new: Some(file.new_bytes()),
        changes: plan.changes_in_file(&file.change.path),
    };
    let writes: Vec<FileWrite> = files.iter().map(write).collect();
    let outcome = write_transaction(tree, &plan.id, &plan.summary, &writes, actor)?;
    let can_undo = outcome == ApplyOutcome::Applied || can_undo(tree, &plan.id, actor)?;
    let files = if outcome == ApplyOutcome::Applied {
        writes.into_iter().map(|write| write.path).collect()
    } else {
        Vec::new()
    };
    Ok(ApplyResult { outcome, files, can_undo })
}

/// Whether this actor can undo a plan: its journal exists and belongs to the actor's tenant.
pub fn can_undo(tree: &Tree, id: &str, actor: &Actor<'_>) -> Result<bool, ApplyError> {
    Ok(journals_of_tenant(journal::read_journals(tree, actor.signer)?.trusted, actor)
        .iter()
        .any(|journal| journal.plan == id))
}

fn journals_of_tenant(mut journals: Vec<PlanJournal>, actor: &Actor<'_>) -> Vec<PlanJournal> {
    journals.retain(|journal| journal.principal.tenant == actor.tenant);
    journals
}

/// A plan that was applied and can be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoablePlan {
    pub plan: String,
    pub summary: String,
    /// The files that the plan wrote.
    pub files: Vec<String>,
}

/// The plans that this actor can undo, most recent first, and the journals that were rejected as untrusted.
pub fn list_undoable_plans(
    tree: &Tree,
    actor: &Actor<'_>,
) -> Result<(Vec<UndoablePlan>, Vec<UntrustedJournal>), ApplyError> {
    let journals = journal::read_journals(tree, actor.signer)?;
    let one = |journal: PlanJournal| UndoablePlan {
        files: journal.files.iter().map(|entry| entry.path.clone()).collect(),
        plan: journal.plan,
        summary: journal.summary,
    };
    Ok((journals_of_tenant(journals.trusted, actor).into_iter().rev().map(one).collect(), journals.untrusted))
}

/// Rolls back plans that an earlier process left half applied or half undone, and returns their ids. Takes no
/// lock if nothing is pending.
pub fn recover(tree: &Tree, signer: &dyn Signer) -> Result<Vec<String>, ApplyError> {
    if !journal::is_interrupted(tree, signer)? {
        return Ok(Vec::new());
    }
    let _lock = acquire_lock(tree)?;
    Ok(recover_locked(tree, signer)?)
}

/// Whether a process seems to have been killed while applying or undoing a plan in this tree.
pub fn has_interrupted_plan(tree: &Tree) -> Result<bool, ApplyError> {
    Ok(journal::has_interrupted_plan(tree)?)
}

/// Rolls back plans that a killed process left half done, returning their ids, and deletes plan folders
/// without a journal.
pub fn recover_and_clean_up(tree: &Tree, signer: &dyn Signer) -> Result<Vec<String>, ApplyError> {
    let _lock = acquire_lock(tree)?;
    Ok(recover_locked(tree, signer)?)
}

/// Retries: the lock is held only briefly.
fn acquire_lock(tree: &Tree) -> Result<TreeLock, ApplyError> {
    const MAX_LOCK_ATTEMPTS: u32 = 25;
    for _ in 0..MAX_LOCK_ATTEMPTS {
        if let Some(lock) = tree.lock()? {
            return Ok(lock);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(ApplyError::Busy)
}

fn recover_locked(tree: &Tree, signer: &dyn Signer) -> io::Result<Vec<String>> {
    let mut recovered = Vec::new();
    let known = journal::read_journals(tree, signer)?.trusted;
    for journal in known.into_iter().filter(|journal| journal.progress != JournalState::Applied) {
        let foreign = journal.restore_files(tree)?;
        recovered.push(journal.plan.clone());
        journal.finish(tree, &foreign, signer)?;
    }
    journal::remove_unrecorded_plans(tree)?;
    Ok(recovered)
}

/// Writes all files or none, and leaves a journal from which the plan can be undone.
fn write_transaction(
    tree: &Tree,
    id: &str,
    summary: &str,
    writes: &[FileWrite],
    actor: &Actor<'_>,
) -> Result<ApplyOutcome, ApplyError> {
    let mut modes = Vec::new();
    let (mut done, mut conflicts) = (0, Vec::new());
    for write in writes {
        let found = tree.metadata(&write.path)?;
        modes.push(found.map_or(0o644, |found| found.mode));
        let now = match found {
            Some(found) if found.is_file => {
                Some(tree.read_nofollow(&write.path, MAX_EDITED_FILE_BYTES).map_err(to_io_error)?)
            }
            _ => None,
        };
        if now == write.new {
            done += 1;
        } else if now != write.old || found.is_some_and(|found| !found.is_file || found.hard_links > 1) {
            conflicts.push(build_conflict(write, now.as_deref()));
        }
    }
    if done == writes.len() {
        return Ok(ApplyOutcome::AlreadyApplied);
    }
    if !conflicts.is_empty() {
        return Err(ApplyError::Conflict { conflicts });
    }
    let mut journal = prepare_journal(tree, id, summary, writes, &modes, actor)?;
    if let Err(error) = write_all(tree, &journal) {
        roll_back(tree, journal, actor.signer);
        return Err(error);
    }
    journal.progress = JournalState::Applied;
    if let Err(error) = journal.save(tree, actor.signer) {
        roll_back(tree, journal, actor.signer);
        return Err(error.into());
    }
    Ok(ApplyOutcome::Applied)
}

/// Restores the files already written. If that fails too, the journal stays and the next call recovers.
fn roll_back(tree: &Tree, journal: PlanJournal, signer: &dyn Signer) {
    if let Ok(foreign) = journal.restore_files(tree) {
        let _ = journal.finish(tree, &foreign, signer);
    }
}

/// Saves the journal and the copies of all files, before any file of the tree is touched.
fn prepare_journal(
    tree: &Tree,
    id: &str,
    summary: &str,
    writes: &[FileWrite],
    modes: &[u32],
    actor: &Actor<'_>,
) -> Result<PlanJournal, ApplyError> {
    let side = |bytes: &Option<Vec<u8>>, mode: u32| {
        bytes.as_ref().map(|bytes| FileVersion { sha256: sha256_hex(bytes), mode })
    };
    let entry = |(blob, (write, mode)): (usize, (&FileWrite, &u32))| PlanJournalEntry {
        path: write.path.clone(),
        blob,
        old: side(&write.old, *mode),
        new: side(&write.new, *mode),
        changes: write.changes.clone(),
    };
    let mut folders = Vec::new();
    for write in writes.iter().filter(|write| write.new.is_some()) {
        for (at, _) in write.path.match_indices('/') {
            let folder = write.path[..at].to_owned();
            if !folders.contains(&folder) && tree.metadata(&folder)?.is_none() {
                folders.push(folder);
            }
        }
    }
    let known = journal::read_journals(tree, actor.signer)?.trusted;
    // A leftover: the plan was applied before and its files were restored by hand, or the journal came with a
    // copy of the folder.
    journal::remove_journal(tree, id)?;
    let journal = PlanJournal {
        plan: id.to_owned(),
        principal: PlanOwner { tenant: actor.tenant.to_owned(), subject: actor.subject.to_owned() },
        summary: summary.chars().take(300).collect(),
        place: tree.identity()?,
        number: known.last().map_or(1, |last| last.number + 1),
        progress: JournalState::Applying,
        files: writes.iter().zip(modes).enumerate().map(entry).collect(),
        folders,
    };
    let sides: Vec<_> = writes.iter().map(|write| (write.old.as_deref(), write.new.as_deref())).collect();
    if let Err(error) = journal.create(tree, &sides, actor.signer) {
        let _ = journal::remove_journal(tree, id); // leftovers are removed by the next call
        return Err(error.into());
    }
    Ok(journal)
}

fn write_all(tree: &Tree, journal: &PlanJournal) -> Result<(), ApplyError> {
    for folder in &journal.folders {
        tree.create_folders(folder)?;
    }
    for at in 0..journal.files.len() {
        // Checked again right before the write: the file may have changed since the plan was validated.
        if journal.write_file(tree, at, true)? == FileWriteOutcome::EditedSince {
            let path = journal.files[at].path.clone();
            let says = format!("{path} was changed while the plan was being applied; nothing was applied");
            let conflict = Conflict { path, message: says, ours: String::new(), theirs: String::new() };
            return Err(ApplyError::Conflict { conflicts: vec![conflict] });
        }
    }
    Ok(())
}

fn build_conflict(write: &FileWrite, now: Option<&[u8]>) -> Conflict {
    let text = |bytes: Option<&[u8]>| bytes.map(decode_text);
    let (old, new, now) = (text(write.old.as_deref()), text(write.new.as_deref()), text(now));
    let says = format!("{} has changed since the plan was made; nothing was applied", write.path);
    Conflict {
        ours: unified_diff(&write.path, old.as_deref(), new.as_deref()),
        theirs: unified_diff(&write.path, old.as_deref(), now.as_deref()),
        path: write.path.clone(),
        message: says,
    }
}

/// Undoes a plan from its journal.
pub fn undo(tree: &Tree, id: &str, actor: &Actor<'_>) -> Result<UndoResult, ApplyError> {
    let _lock = acquire_lock(tree)?;
    recover_locked(tree, actor.signer)?;
    let all = journal::read_journals(tree, actor.signer)?.trusted;
    let own = journals_of_tenant(all.clone(), actor);
    let Some(journal) = own.iter().find(|journal| journal.plan == id) else {
        return Err(unknown_plan_error(id, &own));
    };
    let conflicts = find_edited_files(tree, journal, &all)?;
    if !conflicts.is_empty() {
        return Err(ApplyError::Conflict { conflicts });
    }
    let mut journal = journal.clone();
    journal.progress = JournalState::Undoing;
    let signer = actor.signer;
    let finish = || journal.save(tree, signer).and_then(|()| finish_undo(tree, &journal, signer));
    if finish().is_err() {
        // Retry once so that the plan is not left half undone. If this fails too, the next call recovers.
        finish()?;
    }
    Ok(UndoResult {
        files: journal.files.iter().map(|entry| entry.path.clone()).collect(),
        plan: journal.plan,
    })
}

fn finish_undo(tree: &Tree, journal: &PlanJournal, signer: &dyn Signer) -> io::Result<()> {
    let foreign = journal.restore_files(tree)?;
    journal.clone().finish(tree, &foreign, signer)
}

fn unknown_plan_error(id: &str, own: &[PlanJournal]) -> ApplyError {
    let id: String = id.chars().take(80).collect();
    let applied: Vec<_> = own.iter().map(|journal| journal.plan.as_str()).collect();
    ApplyError::Unknown(match applied.as_slice() {
        [] => format!("plan `{id}` is not applied here; no plan is applied"),
        applied => format!("plan `{id}` is not applied here; applied plans: {}", applied.join(", ")),
    })
}

/// The files of a plan that were edited after it was applied, each with the plan's diff and the later diff.
fn find_edited_files(
    tree: &Tree,
    journal: &PlanJournal,
    all: &[PlanJournal],
) -> Result<Vec<Conflict>, ApplyError> {
    let mut conflicts = Vec::new();
    for (at, entry) in journal.files.iter().enumerate() {
        let now = FileState::read(tree, &entry.path)?;
        if now.has_digest(version_digest(entry.new.as_ref()))
            || now.has_digest(version_digest(entry.old.as_ref()))
        {
            continue;
        }
        let old = journal.old_text(tree, at);
        // If the copy is damaged, the conflict is reported without a useful diff.
        let new = apply_changes(old.as_deref().unwrap_or_default(), &entry.changes).unwrap_or_default();
        let now = tree.read_nofollow(&entry.path, MAX_EDITED_FILE_BYTES).ok();
        let now = now.map(|bytes| decode_text(&bytes));
        let later = all.iter().find(|other| {
            other.number > journal.number && other.files.iter().any(|file| file.path == entry.path)
        });
        let says = match later {
            Some(later) => {
                format!("{} was changed later by plan {}; undo that plan first", entry.path, later.plan)
            }
            None => format!(
                "{} has been edited since the plan was applied; undo would lose those edits. Move them elsewhere, undo \
                 the plan, then reapply them",
                entry.path
            ),
        };
        conflicts.push(Conflict {
            ours: unified_diff(&entry.path, old.as_deref(), Some(&new)),
            theirs: unified_diff(&entry.path, Some(&new), now.as_deref()),
            path: entry.path.clone(),
            message: says,
        });
    }
    Ok(conflicts)
}

/// Undoes a plan that an editor applied, without a journal. The original texts are reconstructed from the
/// plan, which is accepted only if its edits reproduce the current files.
pub fn undo_by_plan(
    tree: &Tree,
    plan: &EditPlan,
    consent: &[String],
    actor: &Actor<'_>,
) -> Result<UndoResult, ApplyError> {
    let lock = acquire_lock(tree)?;
    recover_locked(tree, actor.signer)?;
    if journal::read_journals(tree, actor.signer)?.trusted.iter().any(|journal| journal.plan == plan.id) {
        drop(lock);
        // `undo` checks the tenant: only the tenant that applied the plan can undo it.
        return undo(tree, &plan.id, actor);
    }
    let mut conflicts = Vec::new();
    let mut done = Vec::new();
    for file in &plan.files {
        let now = FileState::read(tree, &file.path)?;
        let is_new = now.has_digest(Some(&file.sha256));
        if !is_new && !now.has_digest(file.before.as_ref().map(|before| before.sha256.as_str())) {
            let says = format!(
                "{} matches neither its state before the plan nor its state after it; nothing was changed",
                file.path
            );
            conflicts.push(Conflict {
                path: file.path.clone(),
                message: says,
                ours: file.diff.clone(),
                theirs: String::new(),
            });
        }
        done.push(is_new);
    }
    if !conflicts.is_empty() {
        return Err(ApplyError::Conflict { conflicts });
    }
    let before = texts_before_plan(tree, plan, consent)?;
    let mut writes = Vec::new();
    for ((file, old), _) in plan.files.iter().zip(before).zip(done).filter(|(_, done)| *done) {
        let text = tree.read_nofollow(&file.path, MAX_EDITED_FILE_BYTES).map_err(to_io_error)?;
        writes.push(FileWrite { path: file.path.clone(), old: Some(text), new: old, changes: Vec::new() });
    }
    if writes.is_empty() {
        return Err(ApplyError::Unknown(
            "all files are already in their state before the plan; nothing to undo".to_owned(),
        ));
    }
    let id =
        format!("undo-{}", plan.id.chars().filter(char::is_ascii_alphanumeric).take(64).collect::<String>());
    write_transaction(tree, &id, &plan.summary, &writes, actor)?;
    journal::remove_journal(tree, &id)?;
    Ok(UndoResult { plan: plan.id.clone(), files: writes.into_iter().map(|write| write.path).collect() })
}

/// Whether every file is in its state before the plan.
pub fn is_undone(tree: &Tree, plan: &EditPlan) -> bool {
    plan.files.iter().all(|file| {
        let before = file.before.as_ref().map(|before| before.sha256.as_str());
        FileState::read(tree, &file.path).is_ok_and(|now| now.has_digest(before))
    })
}

/// The texts before a plan, in the order of its files. A plan whose edits do not lead from these texts to its
/// recorded results is rejected: undoing it could write content that was never there.
fn texts_before_plan(
    tree: &Tree,
    plan: &EditPlan,
    consent: &[String],
) -> Result<Vec<Option<Vec<u8>>>, ApplyError> {
    let before =
        run_with_parser_stack(|| super::original_texts::reconstruct_original_texts(tree, plan, consent))?;
    before.map_err(|reason| ApplyError::Unknown(format!("this plan cannot be undone: {reason}")))
}
