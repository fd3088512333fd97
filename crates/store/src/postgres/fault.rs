//! What errors of PostgreSQL mean to others.

use std::error::Error as _;
use std::io;

use access::StoreError;
use deadpool_postgres::PoolError;
use tokio_postgres::Error;
use tokio_postgres::error::DbError;

/// Classes of errors that pass: the connection, conflicts between transactions, resources, locks, operators.
const PASSING: &[&str] = &["08", "40", "53", "55", "57"];
/// Classes whose texts are about the database and never about what is in its rows.
const HARMLESS: &[&str] = &["08", "25", "28", "3D", "40", "42", "53", "55", "57"];
/// The server became one that only reads: another has taken over.
const READ_ONLY: &str = "25006";

/// The error that callers see.
pub(super) fn of(error: &Error) -> StoreError {
    let passes = error.as_db_error().map_or_else(|| is_lost(error), passes);
    if passes { StoreError::Unreachable(text(error)) } else { StoreError::Broken(text(error)) }
}

/// The same for a connection that was not to be had.
pub(super) fn of_pool(error: &PoolError) -> StoreError {
    match error {
        PoolError::Backend(error) => of(error),
        PoolError::Timeout(_) => StoreError::Unreachable("no connection in time".to_owned()),
        other => StoreError::Broken(other.to_string()),
    }
}

/// Whether the connection is gone, so that another one may do better.
pub(super) fn is_lost(error: &Error) -> bool {
    match error.as_db_error() {
        Some(answer) => answer.code().code().starts_with("08") || answer.code().code().starts_with("57P"),
        None => error.is_closed() || io_cause(error).is_some_and(|cause| !is_about_trust(cause)),
    }
}

fn passes(answer: &DbError) -> bool {
    let code = answer.code().code();
    code == READ_ONLY || PASSING.iter().any(|class| code.starts_with(class))
}

fn io_cause(error: &Error) -> Option<&io::Error> {
    error.source()?.downcast_ref()
}

/// Whether TLS has failed. It will again.
fn is_about_trust(cause: &io::Error) -> bool {
    cause.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()).is_some()
}

fn text(error: &Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(answer), _) => answer_text(answer),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}

/// What the server said, or else where it happened: some of its texts quote values.
fn answer_text(answer: &DbError) -> String {
    let code = answer.code().code();
    if HARMLESS.iter().any(|class| code.starts_with(class)) {
        return format!("{} ({code})", answer.message());
    }
    let place = [answer.table(), answer.constraint()].into_iter().flatten().collect::<Vec<_>>().join(", ");
    format!("SQLSTATE {code} {place}").trim_end().to_owned()
}
