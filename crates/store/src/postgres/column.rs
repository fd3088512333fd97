//! What goes into the columns of a row, and comes out of them.

use access::StoreError;
use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::FromSqlOwned;

use super::fault;

/// Without what is less than a microsecond, as SQLite has it too. The driver would round, up as well.
pub(super) fn whole(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

/// What is in a column.
pub(super) fn get<T: FromSqlOwned>(row: &Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| fault::of(&error))
}

/// Something that this program never wrote.
pub(super) fn unreadable(what: &str) -> StoreError {
    StoreError::Broken(format!("{what} cannot be read"))
}
