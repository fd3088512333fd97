//! Group commit: changes share a transaction, and so the disk sync, which is most of their cost. Each change
//! is atomic by itself, and no caller gets an answer before the transaction is committed.

use std::ops::{Deref, DerefMut};

use rusqlite::Connection;
use store_api::StoreError;
use tokio::sync::oneshot;

use super::error;

pub(super) trait GroupedChange: Send {
    /// Applies the change, or nothing of it.
    fn apply(&mut self, connection: &mut Connection);
    /// Sends the result to the caller, once it is known whether the transaction was committed.
    fn notify(self: Box<Self>, kept: Result<(), StoreError>);
}

/// The result of a change, and whether to keep the change. The caller gets the result either way.
pub(super) enum TxOutcome<T> {
    Commit(T),
    /// A dry run, or rejected by a rule: only this change is rolled back.
    Rollback(T),
}

pub(super) struct PendingChange<T, W> {
    work: Option<W>,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, W> PendingChange<T, W> {
    pub(super) fn new(work: W, reply: oneshot::Sender<Result<T, StoreError>>) -> Self {
        Self { work: Some(work), result: None, reply }
    }
}

impl<T: Send, W: FnOnce(&mut Connection) -> Result<TxOutcome<T>, StoreError> + Send> GroupedChange
    for PendingChange<T, W>
{
    fn apply(&mut self, connection: &mut Connection) {
        // Skip the change if its caller has gone.
        let work = self.work.take().filter(|_| !self.reply.is_closed());
        self.result = work.map(|work| in_savepoint(connection, work));
    }

    fn notify(self: Box<Self>, kept: Result<(), StoreError>) {
        let answer = match (self.result, kept) {
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (Some(Ok(made)), Ok(())) => Ok(made),
            (None, Ok(())) => return,
        };
        // The caller may have gone in the meantime.
        let _ = self.reply.send(answer);
    }
}

/// Applies a change that can be rolled back without the others.
fn in_savepoint<T>(
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<TxOutcome<T>, StoreError>,
) -> Result<T, StoreError> {
    execute(connection, "SAVEPOINT change").map_err(error::store_error)?;
    let made = error::catch_panic(|| work(connection));
    let undo = !matches!(made, Ok(TxOutcome::Commit(_)));
    let ended = if undo { execute(connection, "ROLLBACK TO change") } else { Ok(()) };
    let ended = ended.and_then(|()| execute(connection, "RELEASE change"));
    // If SQLite has rolled back the whole transaction, the savepoint is gone; report the first error.
    let (TxOutcome::Commit(made) | TxOutcome::Rollback(made)) = made?;
    ended.map_err(error::store_error).map(|()| made)
}

/// Rolled back on drop unless committed. Unlike the transaction of `rusqlite`, it lends the connection
/// mutably.
pub(super) struct SqliteTransaction<'c>(&'c mut Connection);

impl<'c> SqliteTransaction<'c> {
    pub(super) fn begin(connection: &'c mut Connection, sql: &str) -> Result<Self, StoreError> {
        execute(connection, sql).map_err(error::store_error)?;
        Ok(Self(connection))
    }

    fn commit(self) -> Result<(), StoreError> {
        execute(self.0, "COMMIT").map_err(error::store_error)
    }
}

impl Deref for SqliteTransaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.0
    }
}

impl DerefMut for SqliteTransaction<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.0
    }
}

impl Drop for SqliteTransaction<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            let _ = execute(self.0, "ROLLBACK");
        }
    }
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

/// Applies the changes in one transaction, and sends every caller its result.
pub(super) fn apply_changes(connection: &mut Connection, mut changes: Vec<Box<dyn GroupedChange>>) {
    let kept = apply_in_one_transaction(connection, &mut changes);
    for change in changes {
        change.notify(kept.clone());
    }
}

fn apply_in_one_transaction(
    connection: &mut Connection,
    changes: &mut [Box<dyn GroupedChange>],
) -> Result<(), StoreError> {
    let mut transaction = SqliteTransaction::begin(connection, "BEGIN IMMEDIATE")?;
    for change in changes {
        change.apply(&mut transaction);
        // Some errors, such as a full disk, roll back the whole transaction. Later changes would then commit
        // by themselves.
        if transaction.is_autocommit() {
            return Err(StoreError::Unreachable("SQLite rolled back the transaction".to_owned()));
        }
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use futures_util::future::{join_all, join3};

    use crate::sqlite::worker::Worker;

    use super::*;

    const TABLES: &str = "PRAGMA foreign_keys = ON;
        CREATE TABLE kept (id INTEGER PRIMARY KEY, parent REFERENCES kept DEFERRABLE INITIALLY DEFERRED, body BLOB);";

    /// Queues all statements at once. Returns which were reported as done, and the ids that exist afterwards.
    async fn run_concurrently(tables: &str, statements: &[&'static str]) -> (Vec<bool>, Vec<i64>) {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(tables).unwrap();
        let worker = Worker::start("test", vec![connection]).unwrap();
        let (open, gate) = channel();
        let busy = worker.query(move |_| Ok(gate.recv()));
        let changes = statements
            .iter()
            .copied()
            .map(|sql| worker.change(move |connection| connection.execute(sql, [])));
        let (_, told, ()) = join3(busy, join_all(changes), async { open.send(()).unwrap() }).await;
        let kept = worker.query(|connection| {
            let mut statement = connection.prepare("SELECT id FROM kept ORDER BY id")?;
            statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()
        });
        (told.iter().map(Result::is_ok).collect(), kept.await.unwrap())
    }

    #[tokio::test]
    async fn failed_change_does_not_affect_the_others() {
        let one = "INSERT INTO kept (id) VALUES (1)";
        let half = "INSERT INTO kept (id) VALUES (2), (1)";
        let last = "INSERT INTO kept (id) VALUES (3)";
        assert_eq!(run_concurrently(TABLES, &[one, half, last]).await, (vec![true, false, true], vec![1, 3]));
    }

    #[tokio::test]
    async fn rolled_back_change_is_answered_and_does_not_affect_the_others() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(TABLES).unwrap();
        let worker = Worker::start("test", vec![connection]).unwrap();
        let (open, gate) = channel();
        let busy = worker.query(move |_| Ok(gate.recv()));
        let insert = |id: i64, verdict: fn(usize) -> TxOutcome<usize>| {
            worker.try_change(move |connection| {
                connection
                    .execute("INSERT INTO kept (id) VALUES (?1)", [id])
                    .map(verdict)
                    .map_err(error::store_error)
            })
        };
        // The third change can use the id that the second one had taken.
        let changes = [
            (1, TxOutcome::Commit as fn(_) -> _),
            (2, TxOutcome::Rollback),
            (2, TxOutcome::Commit),
            (3, TxOutcome::Rollback),
        ];
        let changes = join_all(changes.map(|(id, verdict)| insert(id, verdict)));
        let (_, told, ()) = join3(busy, changes, async { open.send(()).unwrap() }).await;
        assert!(told.into_iter().all(|told| told.unwrap() == 1));
        let sum = |connection: &mut Connection| {
            connection.query_row("SELECT sum(id) FROM kept", [], |row| row.get::<_, i64>(0))
        };
        assert_eq!(worker.query(sum).await.unwrap(), 3);
    }

    #[tokio::test]
    async fn failed_commit_is_reported_to_every_caller() {
        let one = "INSERT INTO kept (id) VALUES (1)";
        let orphan = "INSERT INTO kept (id, parent) VALUES (2, 7)";
        assert_eq!(run_concurrently(TABLES, &[one, orphan]).await, (vec![false, false], vec![]));
        let parent = "INSERT INTO kept (id) VALUES (7)";
        assert_eq!(run_concurrently(TABLES, &[one, orphan, parent]).await, (vec![true; 3], vec![1, 2, 7]));
    }

    #[tokio::test]
    async fn full_disk_keeps_only_acknowledged_changes() {
        let full = format!("{TABLES} PRAGMA max_page_count = 20;");
        let one = "INSERT INTO kept (id) VALUES (1)";
        let large = "INSERT INTO kept (id, body) VALUES (2, zeroblob(1000000))";
        let last = "INSERT INTO kept (id) VALUES (3)";
        let (told, kept) = run_concurrently(&full, &[one, large, last]).await;
        let expected = [1, 2, 3].into_iter().zip(told).filter(|(_, told)| *told).map(|(id, _)| id);
        assert_eq!(kept, expected.collect::<Vec<_>>());
        assert!(!kept.contains(&2));
    }

    #[tokio::test]
    async fn panic_is_reported_and_does_not_affect_the_others() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(TABLES).unwrap();
        let worker = Worker::start("test", vec![connection]).unwrap();
        let insert = |id: i64| {
            worker.change(move |connection| {
                connection.execute("INSERT INTO kept (id) VALUES (?1)", [id])?;
                assert!(id < 10, "deliberate panic");
                Ok(())
            })
        };
        let reading = worker.query(|connection| {
            let transaction = connection.transaction()?;
            transaction.execute("INSERT INTO kept (id) VALUES (30)", [])?;
            assert!(transaction.is_autocommit(), "deliberate panic");
            Ok(())
        });
        let changes = join_all([1, 20, 2, 21].map(insert));
        let (told, looked, last) = join3(changes, reading, insert(3)).await;
        let is_kept: Vec<bool> = told.iter().map(Result::is_ok).collect();
        assert_eq!((is_kept, last.is_ok()), (vec![true, false, true, false], true));
        assert!(matches!(looked, Err(StoreError::Broken(_))), "{looked:?}");
        let sum = "SELECT sum(id) FROM kept";
        let kept = worker.query(move |connection| connection.query_row(sum, [], |row| row.get::<_, i64>(0)));
        assert_eq!(kept.await.unwrap(), 1 + 2 + 3);
    }

    #[tokio::test]
    async fn abandoned_changes_are_skipped() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(TABLES).unwrap();
        let worker = Worker::start("test", vec![connection]).unwrap();
        let (open, gate) = channel();
        let insert = |sql: &'static str| worker.change(move |connection| connection.execute(sql, []));
        let busy = worker.query(move |_| Ok(gate.recv()));
        let gone = Box::pin(insert("INSERT INTO kept (id) VALUES (1)"));
        let go = async {
            // The change is queued by now, and its caller is gone.
            tokio::time::timeout(std::time::Duration::ZERO, gone).await.unwrap_err();
            open.send(()).unwrap();
        };
        let (_, stays, ()) = join3(busy, insert("INSERT INTO kept (id) VALUES (2)"), go).await;
        assert_eq!(stays.unwrap(), 1);
        let count = |connection: &mut Connection| {
            connection
                .query_row("SELECT min(id), count(*) FROM kept", [], |row| Ok((row.get(0)?, row.get(1)?)))
        };
        assert_eq!(worker.query(count).await.unwrap(), (2, 1));
    }
}
