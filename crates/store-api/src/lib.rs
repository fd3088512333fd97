//! What `access`, `flow` and `projects` say alike about the data that they need kept: how a store fails, and which strings it
//! can hold. The databases themselves are in `store`.

use std::pin::Pin;

/// The longest name in bytes: two of them fit in an index of PostgreSQL.
const MAX_NAME_BYTES: usize = 1000;

/// The result of a store method, which may have to wait for a database.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Why a store did not do it. The messages are for logs: they name no content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It cannot be reached at the moment. Trying again may help.
    #[error("the store cannot be reached: {0}")]
    Unreachable(String),
    /// It refuses or is damaged. Trying again will not help.
    #[error("the store failed: {0}")]
    Broken(String),
    /// It has no space left to write. It can still be read; trying again helps when the operator has made room.
    #[error("the store has no space left: {0}")]
    Full(String),
}

/// Whether something can have this name. PostgreSQL keeps no NUL and indexes no long names; SQLite would, but does the same.
/// What cannot have a name is not there, and need not be looked for.
pub fn is_valid_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_NAME_BYTES && is_valid_text(text)
}

/// Whether a text can be kept.
pub fn is_valid_text(text: &str) -> bool {
    !text.contains('\0')
}

/// Refuses a name that cannot be kept. `what` it names goes into the error, the name does not.
pub fn check_name(what: &str, name: &str) -> Result<(), StoreError> {
    if is_valid_name(name) {
        return Ok(());
    }
    Err(StoreError::Broken(format!("{what} must have 1 to {MAX_NAME_BYTES} bytes, none of them NUL")))
}

/// Refuses a text that cannot be kept.
pub fn check_text(what: &str, text: &str) -> Result<(), StoreError> {
    if is_valid_text(text) { Ok(()) } else { Err(StoreError::Broken(format!("{what} must not contain NUL"))) }
}
