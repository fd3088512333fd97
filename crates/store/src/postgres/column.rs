//! Reading and writing the columns of a row.

use store_api::StoreError;
use tokio_postgres::Row;
use tokio_postgres::types::FromSqlOwned;

use super::error;

/// Truncates, because the driver would round, possibly up.
pub(super) use ::projects::store::truncate_to_micros;

pub(super) fn get<T: FromSqlOwned>(row: &Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| error::store_error(&error))
}

/// The error for a value that this program never wrote.
pub(super) fn unreadable(what: &str) -> StoreError {
    StoreError::Broken(format!("{what} cannot be read"))
}
