//! Writing a plan to the disk, all of it or nothing, and taking it back.

use std::io;
use std::time::Duration;

use tree::{Lock, Tree};

use super::LARGEST_FILE;
use super::diff::unified;
use super::digest::sha256;
use super::document::{Change, Plan};
use super::journal::{
    self, Actor, Entry, Journal, Now, Principal, Progress, Put, Side, Signer, Unreadable, digest_of, into_io,
};
use super::resolve::Resolved;
use super::text::patched;
use crate::source::with_stack;

/// Why a plan was not applied, or not taken back. In every case nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Somebody else is at it.
    #[error("another plan is being applied or undone in this folder right now; try again when it is done")]
    Busy,
    /// Files are not as the plan expects them.
    #[error("{}", conflicts.first().map_or("a file has changed", |conflict| conflict.says.as_str()))]
    Conflict {
        /// Which, and how.
        conflicts: Vec<Conflict>,
    },
    /// There is no such plan to undo.
    #[error("{0}")]
    Unknown(String),
    /// The disk.
    #[error("the files could not be written: {0}")]
    Io(#[from] io::Error),
}

/// A file that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The file.
    pub path: String,
    /// What is wrong.
    pub says: String,
    /// What the plan did to it.
    pub ours: String,
    /// What somebody did since.
    pub theirs: String,
}

/// How applying ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The files were written.
    Applied,
    /// They were so already.
    AlreadyApplied,
}

/// What was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// How it ended.
    pub outcome: Outcome,
    /// The files that were written.
    pub files: Vec<String>,
    /// Whether the plan can be undone by its id: it has a journal.
    pub can_undo: bool,
}

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The plan.
    pub plan: String,
    /// The files that were put back.
    pub files: Vec<String>,
}

/// A file as it must be and as it will be.
struct Write {
    path: String,
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
    changes: Vec<Change>,
}

/// Applies a plan whose files have been resolved.
pub fn apply(tree: &Tree, plan: &Plan, files: &[Resolved], actor: &Actor<'_>) -> Result<Applied, ApplyError> {
    let _lock = locked(tree)?;
    recover_locked(tree, actor.signer)?;
    let write = |file: &Resolved| Write {
        path: file.change.path.clone(),
        old: file.old.clone().map(String::into_bytes),
        new: Some(file.new.clone().into_bytes()),
        changes: plan.changes(&file.change.path),
    };
    let writes: Vec<Write> = files.iter().map(write).collect();
    let outcome = transact(tree, &plan.id, &plan.summary, &writes, actor)?;
    let can_undo = outcome == Outcome::Applied || can_undo(tree, &plan.id, actor)?;
    let files = if outcome == Outcome::Applied {
        writes.into_iter().map(|write| write.path).collect()
    } else {
        Vec::new()
    };
    Ok(Applied { outcome, files, can_undo })
}

/// Whether there is a journal by which this actor can undo a plan.
pub fn can_undo(tree: &Tree, id: &str, actor: &Actor<'_>) -> Result<bool, ApplyError> {
    Ok(own(journal::all(tree, actor.signer)?.known, actor).iter().any(|journal| journal.plan == id))
}

/// The journals of the actor's tenant.
fn own(mut journals: Vec<Journal>, actor: &Actor<'_>) -> Vec<Journal> {
    journals.retain(|journal| journal.principal.tenant == actor.tenant);
    journals
}

/// A plan that was applied and can be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undoable {
    /// Its id.
    pub plan: String,
    /// What it does.
    pub summary: String,
    /// The files that it wrote.
    pub files: Vec<String>,
}

/// The plans that this actor can undo, the last one first; and journals that are not believed.
pub fn undoable(tree: &Tree, actor: &Actor<'_>) -> Result<(Vec<Undoable>, Vec<Unreadable>), ApplyError> {
    let journals = journal::all(tree, actor.signer)?;
    let one = |journal: Journal| Undoable {
        files: journal.files.iter().map(|entry| entry.path.clone()).collect(),
        plan: journal.plan,
        summary: journal.summary,
    };
    Ok((own(journals.known, actor).into_iter().rev().map(one).collect(), journals.unreadable))
}

/// Puts back what an earlier process left half done. Gives the ids. Where nothing was, nothing is locked.
pub fn recover(tree: &Tree, signer: &dyn Signer) -> Result<Vec<String>, ApplyError> {
    if !journal::is_half_done(tree, signer)? {
        return Ok(Vec::new());
    }
    let _lock = locked(tree)?;
    Ok(recover_locked(tree, signer)?)
}

/// Whether it looks as if a process was killed while it applied or undid a plan in this tree.
pub fn has_leftovers(tree: &Tree) -> Result<bool, ApplyError> {
    Ok(journal::has_leftovers(tree)?)
}

/// Puts back what a killed process left half done, and removes what it had only begun. Gives the ids of what was put back.
pub fn clean_up(tree: &Tree, signer: &dyn Signer) -> Result<Vec<String>, ApplyError> {
    let _lock = locked(tree)?;
    Ok(recover_locked(tree, signer)?)
}

/// Who is at it is done in a moment.
fn locked(tree: &Tree) -> Result<Lock, ApplyError> {
    const TRIES: u32 = 25;
    for _ in 0..TRIES {
        if let Some(lock) = tree.lock()? {
            return Ok(lock);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(ApplyError::Busy)
}

fn recover_locked(tree: &Tree, signer: &dyn Signer) -> io::Result<Vec<String>> {
    let mut recovered = Vec::new();
    let known = journal::all(tree, signer)?.known;
    for journal in known.into_iter().filter(|journal| journal.progress != Progress::Applied) {
        let foreign = journal.put_back(tree)?;
        recovered.push(journal.plan.clone());
        journal.end(tree, &foreign, signer)?;
    }
    journal::sweep(tree)?;
    Ok(recovered)
}

/// Writes all files, or none. Leaves a journal by which it can be undone.
fn transact(
    tree: &Tree,
    id: &str,
    summary: &str,
    writes: &[Write],
    actor: &Actor<'_>,
) -> Result<Outcome, ApplyError> {
    let mut modes = Vec::new();
    let (mut done, mut conflicts) = (0, Vec::new());
    for write in writes {
        let found = tree.find(&write.path)?;
        modes.push(found.map_or(0o644, |found| found.mode));
        let now = match found {
            Some(found) if found.is_file => {
                Some(tree.read_plain(&write.path, LARGEST_FILE).map_err(into_io)?)
            }
            _ => None,
        };
        if now == write.new {
            done += 1;
        } else if now != write.old || found.is_some_and(|found| !found.is_file || found.names > 1) {
            conflicts.push(conflict(write, now.as_deref()));
        }
    }
    if done == writes.len() {
        return Ok(Outcome::AlreadyApplied);
    }
    if !conflicts.is_empty() {
        return Err(ApplyError::Conflict { conflicts });
    }
    let mut journal = prepare(tree, id, summary, writes, &modes, actor)?;
    if let Err(error) = write_all(tree, &journal) {
        take_back(tree, journal, actor.signer);
        return Err(error);
    }
    journal.progress = Progress::Applied;
    if let Err(error) = journal.save(tree, actor.signer) {
        take_back(tree, journal, actor.signer);
        return Err(error.into());
    }
    Ok(Outcome::Applied)
}

/// Puts back what was written. If this fails as well, the next call does it.
fn take_back(tree: &Tree, journal: Journal, signer: &dyn Signer) {
    if let Ok(foreign) = journal.put_back(tree) {
        let _ = journal.end(tree, &foreign, signer);
    }
}

/// Everything but the writing itself.
fn prepare(
    tree: &Tree,
    id: &str,
    summary: &str,
    writes: &[Write],
    modes: &[u32],
    actor: &Actor<'_>,
) -> Result<Journal, ApplyError> {
    let side =
        |bytes: &Option<Vec<u8>>, mode: u32| bytes.as_ref().map(|bytes| Side { sha256: sha256(bytes), mode });
    let entry = |(blob, (write, mode)): (usize, (&Write, &u32))| Entry {
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
            if !folders.contains(&folder) && tree.find(&folder)?.is_none() {
                folders.push(folder);
            }
        }
    }
    let known = journal::all(tree, actor.signer)?.known;
    // It was applied before, and its files were put back by hand; or it came with a copy of the folder.
    journal::clear(tree, id)?;
    let journal = Journal {
        plan: id.to_owned(),
        principal: Principal { tenant: actor.tenant.to_owned(), subject: actor.subject.to_owned() },
        summary: summary.chars().take(300).collect(),
        place: tree.identity()?,
        number: known.last().map_or(1, |last| last.number + 1),
        progress: Progress::Applying,
        files: writes.iter().zip(modes).enumerate().map(entry).collect(),
        folders,
    };
    let sides: Vec<_> = writes.iter().map(|write| (write.old.as_deref(), write.new.as_deref())).collect();
    if let Err(error) = journal.begin(tree, &sides, actor.signer) {
        let _ = journal::clear(tree, id); // litter at worst; the next call clears it
        return Err(error.into());
    }
    Ok(journal)
}

fn write_all(tree: &Tree, journal: &Journal) -> Result<(), ApplyError> {
    for folder in &journal.folders {
        tree.make_folders(folder)?;
    }
    for at in 0..journal.files.len() {
        // Looked at again, at the last moment.
        if journal.put(tree, at, true)? == Put::Foreign {
            let path = journal.files[at].path.clone();
            let says =
                format!("{path} was changed by somebody else at this very moment; nothing was applied");
            let conflict = Conflict { path, says, ours: String::new(), theirs: String::new() };
            return Err(ApplyError::Conflict { conflicts: vec![conflict] });
        }
    }
    Ok(())
}

fn conflict(write: &Write, now: Option<&[u8]>) -> Conflict {
    let text = |bytes: Option<&[u8]>| bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let (old, new, now) = (text(write.old.as_deref()), text(write.new.as_deref()), text(now));
    let says = format!("{} is not as it was when the plan was made; nothing was changed", write.path);
    Conflict {
        ours: unified(&write.path, old.as_deref(), new.as_deref()),
        theirs: unified(&write.path, old.as_deref(), now.as_deref()),
        path: write.path.clone(),
        says,
    }
}

/// Takes a plan back by its journal.
pub fn undo(tree: &Tree, id: &str, actor: &Actor<'_>) -> Result<Undone, ApplyError> {
    let _lock = locked(tree)?;
    recover_locked(tree, actor.signer)?;
    let all = journal::all(tree, actor.signer)?.known;
    let own = own(all.clone(), actor);
    let Some(journal) = own.iter().find(|journal| journal.plan == id) else { return Err(unknown(id, &own)) };
    let conflicts = edited(tree, journal, &all)?;
    if !conflicts.is_empty() {
        return Err(ApplyError::Conflict { conflicts });
    }
    let mut journal = journal.clone();
    journal.progress = Progress::Undoing;
    let signer = actor.signer;
    let finish = || journal.save(tree, signer).and_then(|()| finish_undo(tree, &journal, signer));
    if finish().is_err() {
        // Once more: what is half undone should not stay so. If this fails as well, the next call goes on.
        finish()?;
    }
    Ok(Undone { files: journal.files.iter().map(|entry| entry.path.clone()).collect(), plan: journal.plan })
}

fn finish_undo(tree: &Tree, journal: &Journal, signer: &dyn Signer) -> io::Result<()> {
    let foreign = journal.put_back(tree)?;
    journal.clone().end(tree, &foreign, signer)
}

fn unknown(id: &str, own: &[Journal]) -> ApplyError {
    let id: String = id.chars().take(80).collect();
    let applied: Vec<_> = own.iter().map(|journal| journal.plan.as_str()).collect();
    ApplyError::Unknown(match applied.as_slice() {
        [] => format!("the plan `{id}` is not applied here; no plan is"),
        applied => format!("the plan `{id}` is not applied here; applied are {}", applied.join(", ")),
    })
}

/// The files of a plan that somebody has edited since, explained from three sides.
fn edited(tree: &Tree, journal: &Journal, all: &[Journal]) -> Result<Vec<Conflict>, ApplyError> {
    let mut conflicts = Vec::new();
    for (at, entry) in journal.files.iter().enumerate() {
        let now = Now::at(tree, &entry.path)?;
        if now.is(digest_of(entry.new.as_ref())) || now.is(digest_of(entry.old.as_ref())) {
            continue;
        }
        let old = journal.old_text(tree, at);
        // A copy that was damaged explains nothing.
        let new = patched(old.as_deref().unwrap_or_default(), &entry.changes).unwrap_or_default();
        let now = tree.read_plain(&entry.path, LARGEST_FILE).ok();
        let now = now.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let later = all.iter().find(|other| {
            other.number > journal.number && other.files.iter().any(|file| file.path == entry.path)
        });
        let says = match later {
            Some(later) => {
                format!("{} was changed by the plan {} since; undo that one first", entry.path, later.plan)
            }
            None => format!(
                "{} has been edited since the plan was applied; undo would lose those edits. Take them out or keep them \
                 elsewhere, undo, and make them again",
                entry.path
            ),
        };
        conflicts.push(Conflict {
            ours: unified(&entry.path, old.as_deref(), Some(&new)),
            theirs: unified(&entry.path, Some(&new), now.as_deref()),
            path: entry.path.clone(),
            says,
        });
    }
    Ok(conflicts)
}

/// Takes a plan back that an editor applied: by what the plan says about each file, if its edits explain it.
pub fn undo_by_plan(
    tree: &Tree,
    plan: &Plan,
    consent: &[String],
    actor: &Actor<'_>,
) -> Result<Undone, ApplyError> {
    let lock = locked(tree)?;
    recover_locked(tree, actor.signer)?;
    if journal::all(tree, actor.signer)?.known.iter().any(|journal| journal.plan == plan.id) {
        drop(lock);
        // Of another tenant it is undone by that one alone.
        return undo(tree, &plan.id, actor);
    }
    let mut conflicts = Vec::new();
    let mut done = Vec::new();
    for file in &plan.files {
        let now = Now::at(tree, &file.path)?;
        let is_new = now.is(Some(&file.sha256));
        if !is_new && !now.is(file.before.as_ref().map(|before| before.sha256.as_str())) {
            let says = format!(
                "{} is neither as the plan found it nor as it left it; nothing was changed",
                file.path
            );
            conflicts.push(Conflict {
                path: file.path.clone(),
                says,
                ours: file.diff.clone(),
                theirs: String::new(),
            });
        }
        done.push(is_new);
    }
    if !conflicts.is_empty() {
        return Err(ApplyError::Conflict { conflicts });
    }
    let before = before_plan(tree, plan, consent)?;
    let mut writes = Vec::new();
    for ((file, old), _) in plan.files.iter().zip(before).zip(done).filter(|(_, done)| *done) {
        let text = tree.read_plain(&file.path, LARGEST_FILE).map_err(into_io)?;
        let new = old.map(String::into_bytes);
        writes.push(Write { path: file.path.clone(), old: Some(text), new, changes: Vec::new() });
    }
    if writes.is_empty() {
        return Err(ApplyError::Unknown(
            "every file is as it was before the plan; there is nothing to undo".to_owned(),
        ));
    }
    let id =
        format!("undo-{}", plan.id.chars().filter(char::is_ascii_alphanumeric).take(64).collect::<String>());
    transact(tree, &id, &plan.summary, &writes, actor)?;
    journal::clear(tree, &id)?;
    Ok(Undone { plan: plan.id.clone(), files: writes.into_iter().map(|write| write.path).collect() })
}

/// Whether every file is as it was before a plan.
pub fn is_undone(tree: &Tree, plan: &Plan) -> bool {
    plan.files.iter().all(|file| {
        let before = file.before.as_ref().map(|before| before.sha256.as_str());
        Now::at(tree, &file.path).is_ok_and(|now| now.is(before))
    })
}

/// The texts before a plan, in the order of its files. A plan whose edits do not lead from there to what it says is refused:
/// it would put back what it never took away.
fn before_plan(tree: &Tree, plan: &Plan, consent: &[String]) -> Result<Vec<Option<String>>, ApplyError> {
    let before = with_stack(|| super::explain::before(tree, plan, consent))?;
    before.map_err(|reason| ApplyError::Unknown(format!("this plan cannot be taken back: {reason}")))
}
