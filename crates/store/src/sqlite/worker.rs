//! Threads that own connections and do the jobs that come over a channel. A database in memory needs no thread: nothing in it
//! waits for a disk, so its jobs are done where they are asked for.

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

/// The most jobs that wait. A disk that is so slow that more would is as good as none.
const MAX_QUEUED_JOBS: usize = 1024;
/// The most changes that share a transaction, so that the first of them does not wait for long.
const MAX_GROUPED_CHANGES: usize = 64;

/// Something to do.
enum WorkerJob {
    /// What has the connection to itself.
    Exclusive(ExclusiveJob),
    /// What happens in a transaction, which others may share.
    Change(Box<dyn GroupedChange>),
}

type ExclusiveJob = Box<dyn FnOnce(&mut Connection) + Send>;

/// The way to the threads.
#[derive(Clone)]
pub(super) struct Worker(Arc<WorkerThreads>);

/// The threads. When the last way to them is gone they do what was given to them and give their connections back. Whoever
/// drops it waits for that.
struct WorkerThreads {
    /// The last job that was answered found no space left to write.
    is_full: AtomicBool,
    jobs: Option<Sender<WorkerJob>>,
    /// The connection that needs no thread.
    inline_connection: Option<Mutex<Connection>>,
    handles: Vec<JoinHandle<Connection>>,
}

impl Drop for WorkerThreads {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.handles.drain(..) {
            // One that panicked has told so already. They are closed one after the other: the last puts everything into
            // one file, and of two at the same moment each would take the other for the last.
            drop(thread.join());
        }
    }
}

impl Worker {
    /// Starts one thread for each connection.
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

    /// Does every job at once, on the thread of the caller.
    pub(super) fn inline(connection: Connection) -> Self {
        let here = Some(Mutex::new(connection));
        Self(Arc::new(WorkerThreads {
            is_full: AtomicBool::new(false),
            jobs: None,
            inline_connection: here,
            handles: Vec::new(),
        }))
    }

    /// Has a job done. One that nobody waits for any more when its turn comes is left out.
    pub(super) async fn query<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(move |connection| job(connection).map_err(error::store_error)).await
    }

    /// The same for a job that can fail in other ways.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job: ExclusiveJob = Box::new(move |connection| {
            if !reply.is_closed() {
                // Whoever has gone in the meantime does not want the answer.
                let _ = reply.send(error::catch_panic(|| job(connection)));
            }
        });
        self.submit(WorkerJob::Exclusive(job), answer).await
    }

    /// Has a change made: all of it, or nothing. One that nobody waits for any more is left out as well.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.try_change(move |connection| work(connection).map(TxOutcome::Commit).map_err(error::store_error))
            .await
    }

    /// The same for a change that decides itself whether it stays.
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
        let ended = || StoreError::Broken("a thread of the store has ended".to_owned());
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
            TrySendError::Full(_) => StoreError::Unreachable("too many jobs wait for the disk".to_owned()),
            TrySendError::Disconnected(_) => ended(),
        })?;
        let answer = answer.await.map_err(|_| ended())?;
        self.0.is_full.store(matches!(answer, Err(StoreError::Full(_))), Ordering::Relaxed);
        answer
    }

    /// Whether the last job found no space left to write.
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

/// The changes that wait already, up to the first job of another kind.
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
