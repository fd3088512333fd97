//! What errors of SQLite mean to others.

use access::StoreError;
use rusqlite::{Error, ErrorCode};

use crate::OpenError;

/// The error that callers see. The texts of SQLite name tables and columns, never values.
pub(super) fn of(error: Error) -> StoreError {
    let may_pass = matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::DiskFull
                | ErrorCode::CannotOpen
                | ErrorCode::OutOfMemory
        )
    );
    if may_pass { StoreError::Unreachable(error.to_string()) } else { StoreError::Broken(error.to_string()) }
}

/// The same while a store is being opened.
pub(super) fn opening(place: &str, error: Error) -> OpenError {
    let place = place.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => OpenError::NotADatabase { place },
        _ => OpenError::Failed { place, cause: of(error) },
    }
}
