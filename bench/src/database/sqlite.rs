//! A database in a file: one thread writes, and commits together what waits; two read.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rusqlite::{Connection, Result};
use tokio::sync::oneshot;

use super::Done;
use crate::Outcome;

/// Threads that read: as many as the store has.
const READERS: usize = 2;
/// Writes that share a transaction, as in the store.
const SHARING: usize = 64;
/// Statements that are kept prepared, as in the store.
const STATEMENTS: usize = 128;

type Work = Box<dyn Fn(&Connection) -> Result<()> + Send>;
type Job = (Work, oneshot::Sender<Done>);

pub(crate) struct Sqlite {
    writes: SyncSender<Job>,
    reads: SyncSender<Job>,
}

impl Sqlite {
    /// A file in which the store has made its tables.
    pub(crate) fn open(path: &Path) -> Outcome<Self> {
        let ((writes, to_write), (reads, to_read)) = (sync_channel(1024), sync_channel(1024));
        let to_read = Arc::new(Mutex::new(to_read));
        let mut writing = connect(path)?;
        thread::spawn(move || write_all(&mut writing, &to_write));
        for _ in 0..READERS {
            let (reading, to_read) = (connect(path)?, Arc::clone(&to_read));
            thread::spawn(move || read_all(&reading, &to_read));
        }
        Ok(Self { writes, reads })
    }

    /// Writes, in a transaction that others may share.
    pub(crate) async fn change(&self, work: impl Fn(&Connection) -> Result<()> + Send + 'static) -> Done {
        done(&self.writes, Box::new(work)).await
    }

    /// Reads.
    pub(crate) async fn look(&self, work: impl Fn(&Connection) -> Result<()> + Send + 'static) -> Done {
        done(&self.reads, Box::new(work)).await
    }
}

fn connect(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

async fn done(to: &SyncSender<Job>, work: Work) -> Done {
    let (reply, answer) = oneshot::channel();
    to.try_send((work, reply)).map_err(|error| error.to_string())?;
    answer.await.map_err(|error| error.to_string())?
}

fn write_all(connection: &mut Connection, jobs: &Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        let jobs: Vec<Job> = std::iter::once(first).chain(jobs.try_iter().take(SHARING - 1)).collect();
        let done = together(connection, &jobs).map_err(|error| error.to_string());
        for (_, reply) in jobs {
            let _ = reply.send(done.clone());
        }
    }
}

fn together(connection: &mut Connection, jobs: &[Job]) -> Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    jobs.iter().try_for_each(|(work, _)| work(&transaction))?;
    transaction.commit()
}

fn read_all(connection: &Connection, jobs: &Mutex<Receiver<Job>>) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((work, reply)) = job else { return };
        let _ = reply.send(work(connection).map_err(|error| error.to_string()));
    }
}
