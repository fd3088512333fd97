//! Threads that own connections and do the jobs that come over a channel.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use access::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::fault;

/// The most jobs that wait. A disk that is so slow that more would is as good as none.
const WAITING: usize = 1024;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// The way to the threads.
#[derive(Clone)]
pub(super) struct Worker(Arc<Threads>);

/// The threads. When the last way to them is gone they do what was given to them, and close their connections: the last
/// one to do so puts everything into one file. Whoever drops it waits for that.
struct Threads {
    jobs: Option<SyncSender<Job>>,
    handles: Vec<JoinHandle<()>>,
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.handles.drain(..) {
            // One that panicked has told so already.
            let _ = thread.join();
        }
    }
}

impl Worker {
    /// Starts one thread for each connection.
    pub(super) fn start(name: &str, connections: Vec<Connection>) -> io::Result<Self> {
        let (sender, jobs) = sync_channel(WAITING);
        let jobs = Arc::new(Mutex::new(jobs));
        let start = |connection| {
            let jobs = Arc::clone(&jobs);
            thread::Builder::new().name(name.to_owned()).spawn(move || work(connection, &jobs))
        };
        let handles = connections.into_iter().map(start).collect::<io::Result<_>>()?;
        Ok(Self(Arc::new(Threads { jobs: Some(sender), handles })))
    }

    /// Has a job done. One that nobody waits for any more when its turn comes is left out.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            if !reply.is_closed() {
                // Whoever has gone in the meantime does not want the answer.
                let _ = reply.send(job(connection));
            }
        });
        let full = || StoreError::Unreachable("too many jobs wait for the disk".to_owned());
        self.0.jobs.as_ref().and_then(|jobs| jobs.try_send(job).ok()).ok_or_else(full)?;
        let result =
            answer.await.map_err(|_| StoreError::Broken("a thread of the store has ended".to_owned()))?;
        result.map_err(fault::of)
    }
}

fn work(mut connection: Connection, jobs: &Mutex<Receiver<Job>>) {
    loop {
        // One waits for a job, the others wait for the lock.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match job {
            Ok(job) => job(&mut connection),
            Err(_) => return,
        }
    }
}
