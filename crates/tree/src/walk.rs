//! Walks a tree on several threads.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use cap_std::fs::{Dir, DirEntry, FileType};

use crate::gitignore::IgnoreRules;
use crate::{ReadError, Tree, WorkBudget, read_file, read_only, vendored};

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub files: u64,
    /// Bytes read in total.
    pub bytes: u64,
    /// Bytes read from a single file.
    pub file_bytes: u64,
    /// Nesting of folders.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { files: 200_000, bytes: 512 << 20, file_bytes: 2 << 20, depth: 64 }
    }
}

/// A limit that ended a walk early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitHit {
    Files,
    Bytes,
    Depth,
    Time,
    Cancelled,
}

impl LimitHit {
    pub fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Bytes => "bytes",
            Self::Depth => "depth",
            Self::Time => "time",
            Self::Cancelled => "stopped",
        }
    }
}

/// A path that was not read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkippedPath {
    /// Path relative to the root, converted lossily to Unicode.
    pub path: String,
    pub reason: SkipReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    Unreadable,
    /// Larger than [`Limits::file_bytes`].
    TooLarge,
    /// A pipe, device or socket.
    NotRegularFile,
    NonUnicodeName,
}

impl SkipReason {
    pub fn message(self) -> &'static str {
        match self {
            Self::Unreadable => "cannot be read",
            Self::TooLarge => "is too large to read",
            Self::NotRegularFile => "is not a regular file",
            Self::NonUnicodeName => "has a name that is not valid Unicode",
        }
    }
}

pub struct WalkReport<V> {
    /// One visitor per thread.
    pub visitors: Vec<V>,
    pub files: u64,
    /// Folders entered, not counting the root.
    pub directories: u64,
    pub limits_hit: BTreeSet<LimitHit>,
    /// Paths that could not be read, at most 100.
    pub skipped: Vec<SkippedPath>,
    /// The total number of skipped paths.
    pub skipped_total: u64,
}

/// Visits files; each thread has its own visitor.
pub trait Visitor: Send {
    fn visit(&mut self, file: &FileEntry<'_>);
}

/// A file passed to a visitor.
pub struct FileEntry<'a> {
    /// Path relative to the root, with `/` separators.
    pub path: &'a str,
    entry: &'a DirEntry,
    walk: &'a Walk<'a>,
}

impl FileEntry<'_> {
    pub fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(self.path, |(_, name)| name)
    }

    /// Reads the file into `bytes`. Returns `false` if that fails or exceeds a limit; the report records why.
    pub fn read(&self, bytes: &mut Vec<u8>) -> bool {
        let walk = self.walk;
        if walk.bytes.load(Ordering::Relaxed) >= walk.limits.bytes {
            walk.record_limit_hit(LimitHit::Bytes);
            return false;
        }
        let opened = walk.tree.faults.check().and_then(|()| self.entry.open_with(&read_only()));
        let read = opened.map_err(ReadError::from).and_then(|f| read_file(f, walk.limits.file_bytes, bytes));
        match read {
            Ok(()) => {
                walk.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                return true;
            }
            Err(ReadError::Io(_)) => walk.record_skipped(self.path, SkipReason::Unreadable),
            Err(ReadError::NotAFile) => walk.record_skipped(self.path, SkipReason::NotRegularFile),
            Err(ReadError::TooLarge { .. }) => walk.record_skipped(self.path, SkipReason::TooLarge),
        }
        false
    }
}

impl Tree {
    /// Passes every file that is not ignored, vendored or generated to a visitor. Each thread creates its
    /// own.
    pub fn walk<V: Visitor>(
        &self,
        limits: Limits,
        budget: &WorkBudget,
        visitor: impl Fn() -> V + Sync,
    ) -> WalkReport<V> {
        let rules = match self.read(".git/info/exclude", MAX_IGNORE_FILE_BYTES) {
            Ok(text) => IgnoreRules::default().extended_with("", &text),
            Err(_) => IgnoreRules::default(),
        };
        let walk = Walk::new(self, limits, budget);
        walk.jobs.lock().unwrap_or_else(PoisonError::into_inner).waiting.push(FolderJob {
            parent: None,
            path: String::new(),
            depth: 0,
            rules,
        });
        let threads = thread::available_parallelism().map_or(1, usize::from).min(8);
        let visitors = thread::scope(|scope| {
            let work = || {
                let mut own = visitor();
                walk.work(&mut own);
                own
            };
            // If a thread cannot be started, the others do the work.
            let spawn = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
            let others: Vec<_> = (1..threads).filter_map(spawn).collect();
            let mut visitors = vec![work()];
            // The results of a panicked visitor are lost, so propagate the panic.
            visitors.extend(
                others.into_iter().map(|o| o.join().unwrap_or_else(|p| std::panic::resume_unwind(p))),
            );
            visitors
        });
        walk.into_report(visitors)
    }
}

const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;
const MAX_SKIPPED_REPORTED: usize = 100;

struct Walk<'a> {
    tree: &'a Tree,
    limits: Limits,
    budget: &'a WorkBudget,
    files: AtomicU64,
    directories: AtomicU64,
    bytes: AtomicU64,
    is_file_limit_reached: AtomicBool,
    jobs: Mutex<WalkQueue>,
    changed: Condvar,
    issues: Mutex<WalkIssues>,
}

#[derive(Default)]
struct WalkQueue {
    waiting: Vec<FolderJob>,
    running: usize,
}

#[derive(Default)]
struct WalkIssues {
    limits_hit: BTreeSet<LimitHit>,
    skipped: Vec<SkippedPath>,
    skipped_total: u64,
}

struct FolderJob {
    /// The open parent folder; `None` for the root. Jobs are processed last in, first out, so few are open at
    /// a time.
    parent: Option<Arc<Dir>>,
    path: String,
    depth: usize,
    rules: IgnoreRules,
}

impl<'a> Walk<'a> {
    fn new(tree: &'a Tree, limits: Limits, budget: &'a WorkBudget) -> Self {
        Self {
            tree,
            limits,
            budget,
            files: AtomicU64::new(0),
            directories: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            is_file_limit_reached: AtomicBool::new(false),
            jobs: Mutex::default(),
            changed: Condvar::new(),
            issues: Mutex::default(),
        }
    }

    fn into_report<V>(self, visitors: Vec<V>) -> WalkReport<V> {
        let WalkIssues { limits_hit: cuts, mut skipped, skipped_total: skipped_in_all } =
            self.issues.into_inner().unwrap_or_else(PoisonError::into_inner);
        skipped.sort();
        let directories = self.directories.into_inner().saturating_sub(1);
        WalkReport {
            visitors,
            files: self.files.into_inner(),
            directories,
            limits_hit: cuts,
            skipped,
            skipped_total: skipped_in_all,
        }
    }

    fn work(&self, visitor: &mut impl Visitor) {
        while let Some(job) = self.next_job() {
            // Drop guard: if visiting this folder panics, the other threads must not wait forever.
            let done = FolderJobGuard(self);
            let found = if self.should_stop() { Vec::new() } else { self.visit_folder(job, visitor) };
            self.lock_jobs().waiting.extend(found);
            drop(done);
        }
    }

    fn lock_jobs(&self) -> MutexGuard<'_, WalkQueue> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_job(&self) -> Option<FolderJob> {
        let mut jobs = self.lock_jobs();
        loop {
            if let Some(job) = jobs.waiting.pop() {
                jobs.running += 1;
                return Some(job);
            }
            if jobs.running == 0 {
                return None;
            }
            jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Visits the files of one folder and returns its subfolders.
    fn visit_folder(&self, job: FolderJob, visitor: &mut impl Visitor) -> Vec<FolderJob> {
        let Some((dir, entries)) = self.open_folder(&job) else {
            self.record_skipped(&job.path, SkipReason::Unreadable);
            return Vec::new();
        };
        let has = |name: &str| entries.iter().any(|(listed, _)| listed == name);
        // The root is analysed even if it is a virtual environment.
        if job.depth > 0 && vendored::is_virtual_env(has) {
            return Vec::new();
        }
        self.directories.fetch_add(1, Ordering::Relaxed);
        let rules = self.load_ignore_rules(&job, &entries);
        let dir = Arc::new(dir);
        let mut folders = Vec::new();
        for (name, entry) in &entries {
            let path = join_path(&job.path, name);
            let Ok(kind) = entry_file_type(entry) else {
                self.record_skipped(&path, SkipReason::Unreadable);
                continue;
            };
            if kind.is_dir() {
                if vendored::is_vendored_name(name, has) || rules.is_ignored(&path, true) {
                    continue;
                }
                if job.depth >= self.limits.depth {
                    self.record_limit_hit(LimitHit::Depth);
                    continue;
                }
                let (parent, rules) = (Some(dir.clone()), rules.clone());
                folders.push(FolderJob { parent, path, depth: job.depth + 1, rules });
            } else if kind.is_file() {
                if rules.is_ignored(&path, false) {
                    continue;
                }
                if self.should_stop() || !self.try_count_file() {
                    return Vec::new();
                }
                visitor.visit(&FileEntry { path: &path, entry, walk: self });
            } else if !kind.is_symlink() {
                // The target of a link is visited at its real path, if it is inside the tree.
                self.record_skipped(&path, SkipReason::NotRegularFile);
            }
        }
        folders
    }

    fn open_folder(&self, job: &FolderJob) -> Option<(Dir, Vec<(String, DirEntry)>)> {
        self.tree.faults.check().ok()?;
        let dir = match &job.parent {
            Some(parent) => parent.open_dir(job.path.rsplit('/').next()?).ok()?,
            None => self.tree.dir.try_clone().ok()?,
        };
        // Do not list a huge folder further than the file limit.
        let most = usize::try_from(self.limits.files).unwrap_or(usize::MAX);
        let mut entries = Vec::new();
        for entry in dir.entries().ok()? {
            if entries.len() > most {
                self.record_limit_hit(LimitHit::Files);
                break;
            }
            let entry = entry.ok()?;
            match entry.file_name().into_string() {
                Ok(name) => entries.push((name, entry)),
                Err(name) => self.record_skipped(
                    &join_path(&job.path, &name.to_string_lossy()),
                    SkipReason::NonUnicodeName,
                ),
            }
        }
        Some((dir, entries))
    }

    /// The ignore rules of this folder, including inherited ones.
    fn load_ignore_rules(&self, job: &FolderJob, entries: &[(String, DirEntry)]) -> IgnoreRules {
        let own = entries
            .iter()
            .find(|(name, entry)| name == ".gitignore" && entry.file_type().is_ok_and(|kind| kind.is_file()));
        let Some((_, entry)) = own else { return job.rules.clone() };
        let mut text = Vec::new();
        let opened = self.tree.faults.check().and_then(|()| entry.open_with(&read_only()));
        let read =
            opened.map_err(ReadError::from).and_then(|f| read_file(f, MAX_IGNORE_FILE_BYTES, &mut text));
        if read.is_err() {
            self.record_skipped(&join_path(&job.path, ".gitignore"), SkipReason::Unreadable);
            return job.rules.clone();
        }
        job.rules.extended_with(&job.path, &text)
    }

    /// Counts a file; `false` if the limit is reached.
    fn try_count_file(&self) -> bool {
        let before = self.files.fetch_add(1, Ordering::Relaxed);
        if before >= self.limits.files {
            self.files.fetch_sub(1, Ordering::Relaxed);
            self.is_file_limit_reached.store(true, Ordering::Relaxed);
            self.record_limit_hit(LimitHit::Files);
            return false;
        }
        if before % 1024 == 1023 {
            self.budget.report_progress(before + 1, "files seen");
        }
        true
    }

    fn should_stop(&self) -> bool {
        if self.is_file_limit_reached.load(Ordering::Relaxed) {
            return true;
        }
        if self.budget.is_cancelled() {
            self.record_limit_hit(LimitHit::Cancelled);
        } else if self.budget.is_expired() {
            self.record_limit_hit(LimitHit::Time);
        } else {
            return false;
        }
        true
    }

    fn record_limit_hit(&self, cut: LimitHit) {
        self.issues.lock().unwrap_or_else(PoisonError::into_inner).limits_hit.insert(cut);
    }

    fn record_skipped(&self, path: &str, reason: SkipReason) {
        let mut outcome = self.issues.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.skipped_total += 1;
        if outcome.skipped.len() < MAX_SKIPPED_REPORTED {
            outcome.skipped.push(SkippedPath { path: path.to_owned(), reason });
        }
    }
}

/// Marks a job as done on drop, even after a panic.
struct FolderJobGuard<'a, 'b>(&'a Walk<'b>);

impl Drop for FolderJobGuard<'_, '_> {
    fn drop(&mut self) {
        self.0.lock_jobs().running -= 1;
        self.0.changed.notify_all();
    }
}

/// The type of an entry. Some file systems do not report it in listings, so it is queried separately.
pub(crate) fn entry_file_type(entry: &DirEntry) -> io::Result<FileType> {
    let listed = entry.file_type()?;
    let is_known =
        listed.is_file() || listed.is_dir() || listed.is_symlink() || listed != FileType::unknown();
    if is_known { Ok(listed) } else { entry.metadata().map(|found| found.file_type()) }
}

fn join_path(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
