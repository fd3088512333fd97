//! Reading the columns of a row.

use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Error, Result, Row};

pub(super) fn optional_timestamp(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>> {
    let microseconds: Option<i64> = row.get(column)?;
    microseconds
        .map(|time| Timestamp::from_microsecond(time).map_err(|_| unreadable(row, column)))
        .transpose()
}

/// The error for a value that this program never wrote.
pub(super) fn unreadable(row: &Row<'_>, column: usize) -> Error {
    let name = row.as_ref().column_name(column).unwrap_or_default().to_owned();
    Error::InvalidColumnType(column, name, Type::Null)
}
