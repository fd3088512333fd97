//! Maps PostgreSQL errors to store errors.

use std::error::Error as _;
use std::io;

use deadpool_postgres::{Pool, PoolError};
use store_api::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

/// Transient error classes: connection, transaction conflicts, resources, locks, operator intervention.
const TRANSIENT_CLASSES: &[&str] = &["08", "40", "53", "55", "57"];
/// Classes whose messages concern the database and never contain row values.
const SAFE_MESSAGE_CLASSES: &[&str] = &["08", "25", "28", "3D", "40", "42", "53", "55", "57"];
/// The server has become read-only, because another one has taken over.
const READ_ONLY_CODE: &str = "25006";
/// The server closed a connection whose transaction was idle or took too long.
const TRANSACTION_TIMEOUT_CODES: [&str; 2] = ["25P03", "25P04"];
/// Checked before writing, so a violation means that another transaction was first.
const RACE_PRONE_CONSTRAINTS: [&str; 3] =
    ["projects_account_slug_key", "projects_pkey", "project_accounts_pkey"];

/// Why a transaction failed, and whether it can be retried.
#[derive(Clone, Debug)]
pub(super) enum PgError {
    /// The connection is lost, and with it all uncommitted changes.
    ConnectionLost(StoreError),
    /// A conflict with other transactions. A retry may succeed.
    Conflict(StoreError),
    Final(StoreError),
}

impl PgError {
    pub(super) fn new(error: &Error) -> Self {
        let told = store_error(error);
        if is_connection_lost(error) {
            Self::ConnectionLost(told)
        } else if is_conflict(error) {
            Self::Conflict(told)
        } else {
            Self::Final(told)
        }
    }

    /// The error for a caller that does not retry.
    pub(super) fn into_store_error(self) -> StoreError {
        let (Self::ConnectionLost(error) | Self::Conflict(error) | Self::Final(error)) = self;
        error
    }
}

/// The retry policy: once if a connection breaks before the commit, and a few times after a conflict. A
/// commit without an answer is final, because it may have succeeded.
#[derive(Default)]
pub(super) struct RetryState {
    was_lost: bool,
    conflicts: u32,
}

/// Maximum number of retries after conflicts.
const MAX_CONFLICT_RETRIES: u32 = 5;

impl RetryState {
    /// Returns `Ok` if the transaction should be retried.
    pub(super) fn check_retry(&mut self, failure: PgError, pool: &Pool) -> Result<(), StoreError> {
        match failure {
            PgError::ConnectionLost(_) if !self.was_lost => {
                self.was_lost = true;
                // The other pooled connections are probably broken as well.
                pool.retain(|_, _| false);
            }
            PgError::Conflict(_) if self.conflicts < MAX_CONFLICT_RETRIES => self.conflicts += 1,
            failure => return Err(failure.into_store_error()),
        }
        Ok(())
    }
}

pub(super) fn store_error(error: &Error) -> StoreError {
    if error.code() == Some(&SqlState::DISK_FULL) {
        return StoreError::Full(error_text(error));
    }
    let passes = error.as_db_error().map_or_else(|| is_connection_lost(error), is_transient);
    if passes { StoreError::Unreachable(error_text(error)) } else { StoreError::Broken(error_text(error)) }
}

/// Maps an error of the pool.
pub(super) fn pool_store_error(error: &PoolError) -> StoreError {
    match error {
        PoolError::Backend(error) => store_error(error),
        PoolError::Timeout(_) => StoreError::Unreachable("timed out waiting for a connection".to_owned()),
        other => StoreError::Broken(other.to_string()),
    }
}

/// Whether the connection is lost, so that a retry on another one may succeed.
pub(super) fn is_connection_lost(error: &Error) -> bool {
    match error.as_db_error() {
        Some(answer) => {
            let code = answer.code().code();
            code.starts_with("08") || code.starts_with("57P") || TRANSACTION_TIMEOUT_CODES.contains(&code)
        }
        None => error.is_closed() || io_cause(error).is_some_and(|cause| !is_tls_error(cause)),
    }
}

/// Whether other transactions interfered, so that a retry may succeed: a deadlock, a conflict, or a name that
/// was free when it was checked.
fn is_conflict(error: &Error) -> bool {
    let Some(answer) = error.as_db_error() else { return false };
    let was_sought = answer.constraint().is_some_and(|name| RACE_PRONE_CONSTRAINTS.contains(&name));
    answer.code().code().starts_with("40") || (*answer.code() == SqlState::UNIQUE_VIOLATION && was_sought)
}

/// Whether an earlier statement of the transaction failed; its error is the cause.
pub(super) fn is_in_failed_transaction(error: &Error) -> bool {
    error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION)
}

fn is_transient(answer: &DbError) -> bool {
    let code = answer.code().code();
    code == READ_ONLY_CODE
        || TRANSACTION_TIMEOUT_CODES.contains(&code)
        || TRANSIENT_CLASSES.iter().any(|class| code.starts_with(class))
}

fn io_cause(error: &Error) -> Option<&io::Error> {
    error.source()?.downcast_ref()
}

/// Whether TLS failed. Retrying does not help.
fn is_tls_error(cause: &io::Error) -> bool {
    cause.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()).is_some()
}

fn error_text(error: &Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(answer), _) => db_error_text(answer),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}

/// The server's message, or only the place for classes whose messages may quote values.
fn db_error_text(answer: &DbError) -> String {
    let code = answer.code().code();
    if SAFE_MESSAGE_CLASSES.iter().any(|class| code.starts_with(class)) {
        return format!("{} ({code})", answer.message());
    }
    let place = [answer.table(), answer.constraint()].into_iter().flatten().collect::<Vec<_>>().join(", ");
    format!("SQLSTATE {code} {place}").trim_end().to_owned()
}
