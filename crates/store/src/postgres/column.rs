//! What goes into the columns of a row, and comes out of them.

use store_api::StoreError;
use tokio_postgres::Row;
use tokio_postgres::types::FromSqlOwned;

use super::error;

/// The driver would round, up as well.
pub(super) use ::projects::store::truncate_to_micros;

/// What is in a column.
pub(super) fn get<T: FromSqlOwned>(row: &Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| error::store_error(&error))
}

/// Something that this program never wrote.
pub(super) fn unreadable(what: &str) -> StoreError {
    StoreError::Broken(format!("{what} cannot be read"))
}
