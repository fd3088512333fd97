//! Threads that own connections and do the jobs that come over a channel.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use access::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::fault;

/// The most jobs that wait. A disk that is so slow that more would is as good as none.
const WAITING: usize = 1024;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// The way to the threads. They end when the last copy of it is gone, after the jobs that were given to them.
#[derive(Clone)]
pub(super) struct Worker(SyncSender<Job>);

impl Worker {
    /// Starts one thread for each connection.
    pub(super) fn start(name: &str, connections: Vec<Connection>) -> io::Result<Self> {
        let (sender, jobs) = sync_channel(WAITING);
        let jobs = Arc::new(Mutex::new(jobs));
        for connection in connections {
            let jobs = Arc::clone(&jobs);
            thread::Builder::new().name(name.to_owned()).spawn(move || work(connection, &jobs))?;
        }
        Ok(Self(sender))
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
        self.0
            .try_send(job)
            .map_err(|_| StoreError::Unreachable("too many jobs wait for the disk".to_owned()))?;
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
