//! SQLite: one thread writes, a few read. They reply through channels, so that disk access never blocks the
//! async runtime. Changes that queue up at the same time share a transaction.
//!
//! The file is in WAL mode: readers and the writer do not block each other, and other processes can use it as
//! well.

mod access;
mod column;
mod error;
mod file;
mod group_commit;
mod projects;
mod schema;
mod sessions;
mod worker;

use std::path::PathBuf;
use std::sync::atomic::AtomicU32;

use rusqlite::Connection;
use store_api::StoreError;

use crate::{OpenError, Store};
use worker::Worker;

const READER_THREADS: usize = 2;

/// A store in SQLite. Its threads end when it is dropped.
pub(crate) struct Sqlite {
    writer: Worker,
    readers: Worker,
    lease_count: AtomicU32,
}

impl Store for Sqlite {}

impl Sqlite {
    /// Opens the file, or an in-memory database.
    pub(crate) async fn open(path: Option<PathBuf>) -> Result<Self, OpenError> {
        let opening = tokio::task::spawn_blocking(move || match path {
            Some(path) => Self::open_file(path),
            None => Self::open_memory(),
        });
        opening.await.unwrap_or_else(|_| Err(open_failed("SQLite", "the opening thread ended")))
    }

    fn open_memory() -> Result<Self, OpenError> {
        let place = "sqlite::memory:";
        let opened = Connection::open_in_memory().and_then(schema::configure);
        let mut connection = opened.map_err(|error| error::open_error(place, error))?;
        schema::migrate(place, &mut connection)?;
        let worker = Worker::inline(connection);
        Ok(Self { readers: worker.clone(), writer: worker, lease_count: AtomicU32::default() })
    }

    fn open_file(path: PathBuf) -> Result<Self, OpenError> {
        let place = format!("sqlite:{}", path.display());
        let path = file::create_if_missing(&path)
            .map_err(|source| OpenError::File { place: place.clone(), source })?;
        schema::check_file(&place, &path)?;
        let connect = || schema::connect(&path).map_err(|error| error::open_error(&place, error));
        let mut writing = connect()?;
        schema::migrate(&place, &mut writing)?;
        let reading = (0..READER_THREADS).map(|_| connect()).collect::<Result<_, _>>()?;
        let start =
            |name, connections| Worker::start(name, connections).map_err(|error| open_failed(&place, &error));
        Ok(Self {
            writer: start("store-write", vec![writing])?,
            readers: start("store-read", reading)?,
            lease_count: AtomicU32::default(),
        })
    }
}

fn open_failed(place: &str, reason: impl ToString) -> OpenError {
    OpenError::Failed { place: place.to_owned(), cause: StoreError::Broken(reason.to_string()) }
}

#[cfg(test)]
mod tests {
    use ::access::{AccessStore, BucketParams};
    use jiff::Timestamp;

    use super::*;

    /// Limiting the size of the database simulates a full disk.
    #[tokio::test]
    async fn full_disk_is_reported_until_space_is_available() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(Some(folder.path().join("store.db"))).await.unwrap();
        let most_pages = async |pages: u32| {
            let set = move |connection: &mut rusqlite::Connection| {
                connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
            };
            store.writer.query(set).await.unwrap();
        };
        store.get_or_insert_secret("small", b"x").await.unwrap();
        most_pages(1).await;
        let large = vec![7; 100_000];
        assert!(matches!(store.get_or_insert_secret("large", &large).await, Err(StoreError::Full(_))));
        assert_eq!(
            store.get_or_insert_secret("small", b"y").await.unwrap(),
            b"x",
            "smaller writes still succeed"
        );
        assert!(matches!(store.get_or_insert_secret("large", &large).await, Err(StoreError::Full(_))));
        assert!(store.writer.is_full() && store.check_ready().await.is_ok() && !store.writer.is_full());
        most_pages(u32::MAX).await;
        assert_eq!(store.get_or_insert_secret("large", &large).await.unwrap(), large);
    }

    #[tokio::test]
    async fn writes_are_synced_after_an_unsynced_lease() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(Some(folder.path().join("store.db"))).await.unwrap();
        let terms = BucketParams { refill_per_second: 1.0, capacity: 1, max_lease: 1 };
        store.lease_tokens("one", terms, Timestamp::UNIX_EPOCH.into()).await.unwrap();
        for worker in [&store.writer, &store.readers] {
            for (pragma, expected) in [("synchronous", "2"), ("foreign_keys", "1"), ("journal_mode", "wal")] {
                let sql = format!("SELECT CAST({pragma} AS TEXT) FROM pragma_{pragma}");
                let found = worker
                    .query(move |connection| connection.query_row(&sql, [], |row| row.get::<_, String>(0)))
                    .await;
                assert_eq!(found.unwrap(), expected, "{pragma}");
            }
        }
    }
}
