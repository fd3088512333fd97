//! Threads that own connections and do the jobs that come over a channel. A database in memory needs no thread: nothing in it
//! waits for a disk, so its jobs are done where they are asked for.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use rusqlite::Connection;
use storage::StoreError;
use tokio::sync::oneshot;

use super::fault;
use super::shared::{self, Change, Made, Pending};

/// The most jobs that wait. A disk that is so slow that more would is as good as none.
const WAITING: usize = 1024;
/// The most changes that share a transaction, so that the first of them does not wait for long.
const SHARING: usize = 64;

/// Something to do.
enum Job {
    /// What has the connection to itself.
    Alone(Alone),
    /// What happens in a transaction, which others may share.
    Change(Box<dyn Change>),
}

type Alone = Box<dyn FnOnce(&mut Connection) + Send>;

/// The way to the threads.
#[derive(Clone)]
pub(super) struct Worker(Arc<Threads>);

/// The threads. When the last way to them is gone they do what was given to them and give their connections back. Whoever
/// drops it waits for that.
struct Threads {
    /// The last job that was answered found no space left to write.
    is_full: AtomicBool,
    jobs: Option<Sender<Job>>,
    /// The connection that needs no thread.
    here: Option<Mutex<Connection>>,
    handles: Vec<JoinHandle<Connection>>,
}

impl Drop for Threads {
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
        let (sender, jobs) = bounded(WAITING);
        let start = |connection| {
            let jobs = jobs.clone();
            thread::Builder::new().name(name.to_owned()).spawn(move || work(connection, &jobs))
        };
        let handles = connections.into_iter().map(start).collect::<io::Result<_>>()?;
        let is_full = AtomicBool::new(false);
        Ok(Self(Arc::new(Threads { is_full, jobs: Some(sender), here: None, handles })))
    }

    /// Does every job at once, on the thread of the caller.
    pub(super) fn without_thread(connection: Connection) -> Self {
        let here = Some(Mutex::new(connection));
        Self(Arc::new(Threads { is_full: AtomicBool::new(false), jobs: None, here, handles: Vec::new() }))
    }

    /// Has a job done. One that nobody waits for any more when its turn comes is left out.
    pub(super) async fn query<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(move |connection| job(connection).map_err(fault::of)).await
    }

    /// The same for a job that can fail in other ways.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job: Alone = Box::new(move |connection| {
            if !reply.is_closed() {
                // Whoever has gone in the meantime does not want the answer.
                let _ = reply.send(fault::caught(|| job(connection)));
            }
        });
        self.done(Job::Alone(job), answer).await
    }

    /// Has a change made: all of it, or nothing. One that nobody waits for any more is left out as well.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.attempt(move |connection| work(connection).map(Made::Kept).map_err(fault::of)).await
    }

    /// The same for a change that decides itself whether it stays.
    pub(super) async fn attempt<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<Made<T>, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.done(Job::Change(Box::new(Pending::new(work, reply))), answer).await
    }

    async fn done<T>(
        &self,
        job: Job,
        answer: oneshot::Receiver<Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let ended = || StoreError::Broken("a thread of the store has ended".to_owned());
        if let Some(here) = &self.0.here {
            {
                let mut connection = here.lock().unwrap_or_else(PoisonError::into_inner);
                match job {
                    Job::Alone(job) => job(&mut connection),
                    Job::Change(change) => shared::make(&mut connection, vec![change]),
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

fn work(mut connection: Connection, jobs: &Receiver<Job>) -> Connection {
    while let Ok(job) = jobs.recv() {
        match job {
            Job::Alone(job) => job(&mut connection),
            Job::Change(first) => {
                let (changes, next) = gather(first, jobs);
                shared::make(&mut connection, changes);
                if let Some(job) = next {
                    job(&mut connection);
                }
            }
        }
    }
    connection
}

/// The changes that wait already, up to the first job of another kind.
fn gather(first: Box<dyn Change>, jobs: &Receiver<Job>) -> (Vec<Box<dyn Change>>, Option<Alone>) {
    let mut changes = vec![first];
    while changes.len() < SHARING {
        match jobs.try_recv() {
            Ok(Job::Change(change)) => changes.push(change),
            Ok(Job::Alone(job)) => return (changes, Some(job)),
            Err(_) => break,
        }
    }
    (changes, None)
}
