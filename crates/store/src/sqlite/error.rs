//! Maps SQLite errors to store errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::{Error, ErrorCode, ffi};
use store_api::StoreError;

use crate::OpenError;

/// SQLite messages contain names of tables and columns, never values, so they can be shown to callers.
pub(super) fn store_error(error: Error) -> StoreError {
    if error.sqlite_error_code() == Some(ErrorCode::DiskFull) {
        return StoreError::Full(error.to_string());
    }
    let may_pass = matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::CannotOpen
                | ErrorCode::OutOfMemory
        )
    );
    if may_pass { StoreError::Unreachable(error.to_string()) } else { StoreError::Broken(error.to_string()) }
}

/// Runs the work and turns a panic into an error: the thread that owns the connection must survive.
pub(super) fn catch_panic<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let panicked = |_| Err(StoreError::Broken("a store job panicked".to_owned()));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(panicked)
}

/// An error of this crate, not of SQLite.
pub(super) fn misuse_error(what: &str) -> Error {
    let misuse = ffi::Error { code: ErrorCode::ApiMisuse, extended_code: ffi::SQLITE_MISUSE };
    Error::SqliteFailure(misuse, Some(what.to_owned()))
}

/// Maps an error that occurs while a store is being opened.
pub(super) fn open_error(place: &str, error: Error) -> OpenError {
    let place = place.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => OpenError::NotADatabase { place },
        _ => OpenError::Failed { place, cause: store_error(error) },
    }
}
