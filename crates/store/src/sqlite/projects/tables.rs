//! The tables of projects. Everything is done when it is asked for, and what comes back is ready.

#![expect(refining_impl_trait_internal, reason = "what is ready need not be hidden")]

pub(super) mod assets;
pub(super) mod blocks;
pub(super) mod places;
pub(super) mod projects;
pub(super) mod types;
pub(super) mod versions;

use std::future::{Ready, ready};

use rusqlite::{Connection, OptionalExtension as _, Params, Result, Row};

use crate::projects::tables::{Database, Stop};

/// The tables, inside of the transaction that the connection has open.
pub(super) struct Rows<'c>(pub(super) &'c Connection);

impl Database for Rows<'_> {
    type Fault = rusqlite::Error;
}

/// What was done.
type Done<T> = Ready<std::result::Result<T, Stop<rusqlite::Error>>>;

fn done<T>(result: Result<T>) -> Done<T> {
    ready(result.map_err(Stop::Failed))
}

impl Rows<'_> {
    /// Runs a statement. Gives how many rows it changed.
    fn run(&self, sql: &str, values: impl Params) -> Result<usize> {
        self.0.prepare_cached(sql)?.execute(values)
    }

    /// The one row that there may be.
    fn one<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.0.prepare_cached(sql)?.query_row(values, read).optional()
    }

    /// All rows.
    fn all<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.0.prepare_cached(sql)?.query_map(values, read)?.collect()
    }

    /// Whether there is a row.
    fn any(&self, sql: &str, values: impl Params) -> Result<bool> {
        self.0.prepare_cached(sql)?.exists(values)
    }
}
