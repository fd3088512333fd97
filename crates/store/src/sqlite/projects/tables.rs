//! The project tables. All methods complete synchronously.

pub(super) mod assets;
pub(super) mod blocks;
pub(super) mod positions;
pub(super) mod projects;
pub(super) mod types;
pub(super) mod versions;

use std::sync::{Mutex, MutexGuard, PoisonError};

use ::projects::StoreError;
use ::projects::store::tables::Tables;
use rusqlite::{Connection, OptionalExtension as _, Params, Result, Row};

use crate::sqlite::error;

/// The tables, inside the open transaction of the connection. Only one thread uses it; the lock satisfies the
/// compiler, because use cases may move between threads with other databases.
pub(super) struct SqliteTables<'c>(Mutex<&'c mut Connection>);

type SqliteTableResult<T> = std::result::Result<T, StoreError>;

fn to_store_result<T>(result: Result<T>) -> SqliteTableResult<T> {
    result.map_err(error::store_error)
}

impl Tables for SqliteTables<'_> {}

impl<'c> SqliteTables<'c> {
    pub(super) fn new(connection: &'c mut Connection) -> Self {
        Self(Mutex::new(connection))
    }

    fn connection(&self) -> MutexGuard<'_, &'c mut Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a statement and returns the number of changed rows.
    fn execute(&self, sql: &str, values: impl Params) -> Result<usize> {
        self.connection().prepare_cached(sql)?.execute(values)
    }

    /// Returns at most one row.
    fn query_one<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.connection().prepare_cached(sql)?.query_row(values, read).optional()
    }

    fn query_all<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.connection().prepare_cached(sql)?.query_map(values, read)?.collect()
    }

    fn exists(&self, sql: &str, values: impl Params) -> Result<bool> {
        self.connection().prepare_cached(sql)?.exists(values)
    }
}
