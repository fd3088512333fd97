//! The tables of projects. Nothing in them waits: SQLite answers when it is asked.

pub(super) mod assets;
pub(super) mod blocks;
pub(super) mod places;
pub(super) mod projects;
pub(super) mod types;
pub(super) mod versions;

use std::sync::{Mutex, MutexGuard, PoisonError};

use ::projects::StoreError;
use ::projects::store::tables::Tables;
use rusqlite::{Connection, OptionalExtension as _, Params, Result, Row};

use crate::sqlite::fault;

/// The tables, inside the transaction that the connection has open. Only one thread uses it; the lock is for the compiler,
/// since use cases may move between threads in other databases.
pub(super) struct Rows<'c>(Mutex<&'c mut Connection>);

type Done<T> = std::result::Result<T, StoreError>;

fn done<T>(result: Result<T>) -> Done<T> {
    result.map_err(fault::of)
}

impl Tables for Rows<'_> {}

impl<'c> Rows<'c> {
    pub(super) fn new(connection: &'c mut Connection) -> Self {
        Self(Mutex::new(connection))
    }

    fn connection(&self) -> MutexGuard<'_, &'c mut Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a statement. Gives how many rows it changed.
    fn run(&self, sql: &str, values: impl Params) -> Result<usize> {
        self.connection().prepare_cached(sql)?.execute(values)
    }

    /// The one row that there may be.
    fn one<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.connection().prepare_cached(sql)?.query_row(values, read).optional()
    }

    /// All rows.
    fn all<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.connection().prepare_cached(sql)?.query_map(values, read)?.collect()
    }

    /// Whether there is a row.
    fn any(&self, sql: &str, values: impl Params) -> Result<bool> {
        self.connection().prepare_cached(sql)?.exists(values)
    }
}
