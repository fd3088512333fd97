//! Threads that own connections and run jobs from a channel. An in-memory database needs no thread: nothing
//! waits for a disk, so its jobs run on the calling thread.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use rusqlite::Connection;
use store_api::StoreError;
use tokio::sync::oneshot;

use super::error;
use super::group_commit::{self, GroupedChange, PendingChange, TxOutcome};

/// Maximum number of queued jobs. A disk too slow for that is treated as unavailable.
const MAX_QUEUED_JOBS: usize = 1024;
/// Maximum number of changes per transaction, so that the first of them does not wait too long.
const MAX_GROUPED_CHANGES: usize = 64;

enum WorkerJob {
    /// Has the connection to itself.
    Exclusive(ExclusiveJob),
    /// Runs in a transaction that it may share with others.
    Change(Box<dyn GroupedChange>),
}

type ExclusiveJob = Box<dyn FnOnce(&mut Connection) + Send>;

/// A handle to the threads.
#[derive(Clone)]
pub(super) struct Worker(Arc<WorkerThreads>);

/// The threads. When the last handle is dropped, they finish their queued jobs and close their connections.
/// The drop waits for that.
struct WorkerThreads {
    /// Whether the last completed job failed because the disk is full.
    is_full: AtomicBool,
    jobs: Option<Sender<WorkerJob>>,
    /// The in-memory connection, which needs no thread.
    inline_connection: Option<Mutex<Connection>>,
    handles: Vec<JoinHandle<Connection>>,
}

impl Drop for WorkerThreads {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.handles.drain(..) {
            // A panic has already been reported. Close the connections one after the other: the last one
            // checkpoints the WAL into the database file, and of two that close at the same time neither
            // would be the last.
            drop(thread.join());
        }
    }
}

impl Worker {
    /// Starts one thread per connection.
    pub(super) fn start(name: &str, connections: Vec<Connection>) -> io::Result<Self> {
        let (sender, jobs) = bounded(MAX_QUEUED_JOBS);
        let start = |connection| {
            let jobs = jobs.clone();
            thread::Builder::new().name(name.to_owned()).spawn(move || run_jobs(connection, &jobs))
        };
        let handles = connections.into_iter().map(start).collect::<io::Result<_>>()?;
        let is_full = AtomicBool::new(false);
        Ok(Self(Arc::new(WorkerThreads { is_full, jobs: Some(sender), inline_connection: None, handles })))
    }

    /// Runs every job immediately on the calling thread.
    pub(super) fn inline(connection: Connection) -> Self {
        let here = Some(Mutex::new(connection));
        Self(Arc::new(WorkerThreads {
            is_full: AtomicBool::new(false),
            jobs: None,
            inline_connection: here,
            handles: Vec::new(),
        }))
    }

    /// Runs a job. It is skipped if its caller has gone before its turn.
    pub(super) async fn query<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(move |connection| job(connection).map_err(error::store_error)).await
    }

    /// Like [`query`](Self::query), for a job with another error type.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job: ExclusiveJob = Box::new(move |connection| {
            if !reply.is_closed() {
                // The caller may have gone in the meantime.
                let _ = reply.send(error::catch_panic(|| job(connection)));
            }
        });
        self.submit(WorkerJob::Exclusive(job), answer).await
    }

    /// Runs a change atomically. It is skipped if its caller has gone before its turn.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.try_change(move |connection| work(connection).map(TxOutcome::Commit).map_err(error::store_error))
            .await
    }

    /// Runs a change that decides itself whether it is kept.
    pub(super) async fn try_change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<TxOutcome<T>, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.submit(WorkerJob::Change(Box::new(PendingChange::new(work, reply))), answer).await
    }

    async fn submit<T>(
        &self,
        job: WorkerJob,
        answer: oneshot::Receiver<Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let ended = || StoreError::Broken("a store thread ended".to_owned());
        if let Some(here) = &self.0.inline_connection {
            {
                let mut connection = here.lock().unwrap_or_else(PoisonError::into_inner);
                match job {
                    WorkerJob::Exclusive(job) => job(&mut connection),
                    WorkerJob::Change(change) => group_commit::apply_changes(&mut connection, vec![change]),
                }
            }
            return answer.await.map_err(|_| ended())?;
        }
        let sent = self.0.jobs.as_ref().ok_or_else(ended)?.try_send(job);
        sent.map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Unreachable("too many queued disk jobs".to_owned()),
            TrySendError::Disconnected(_) => ended(),
        })?;
        let answer = answer.await.map_err(|_| ended())?;
        self.0.is_full.store(matches!(answer, Err(StoreError::Full(_))), Ordering::Relaxed);
        answer
    }

    /// Whether the last completed job failed because the disk is full.
    pub(super) fn is_full(&self) -> bool {
        self.0.is_full.load(Ordering::Relaxed)
    }
}

fn run_jobs(mut connection: Connection, jobs: &Receiver<WorkerJob>) -> Connection {
    while let Ok(job) = jobs.recv() {
        match job {
            WorkerJob::Exclusive(job) => job(&mut connection),
            WorkerJob::Change(first) => {
                let (changes, next) = take_queued_changes(first, jobs);
                group_commit::apply_changes(&mut connection, changes);
                if let Some(job) = next {
                    job(&mut connection);
                }
            }
        }
    }
    connection
}

/// Takes the queued changes, up to the first job of another kind.
fn take_queued_changes(
    first: Box<dyn GroupedChange>,
    jobs: &Receiver<WorkerJob>,
) -> (Vec<Box<dyn GroupedChange>>, Option<ExclusiveJob>) {
    let mut changes = vec![first];
    while changes.len() < MAX_GROUPED_CHANGES {
        match jobs.try_recv() {
            Ok(WorkerJob::Change(change)) => changes.push(change),
            Ok(WorkerJob::Exclusive(job)) => return (changes, Some(job)),
            Err(_) => break,
        }
    }
    (changes, None)
}
