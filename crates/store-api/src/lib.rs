//! What the store traits of `access`, `flow` and `projects` share: the error type, and which strings a store
//! accepts. The databases are implemented in `store`.

use std::pin::Pin;

/// Two names of this length fit into one PostgreSQL index entry.
const MAX_NAME_BYTES: usize = 1000;

/// The future that store methods return.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Why a store operation failed. The messages are for logs and contain no user data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Temporarily unreachable. Retrying may help.
    #[error("the store cannot be reached: {0}")]
    Unreachable(String),
    /// The store rejected the operation or is damaged. Retrying does not help.
    #[error("the store failed: {0}")]
    Broken(String),
    /// No space left to write. Reads still work; retrying helps once the operator has freed space.
    #[error("the store has no space left: {0}")]
    Full(String),
}

/// Whether a name can be stored. PostgreSQL stores no NUL and cannot index long names; SQLite could, but
/// applies the same rule. A lookup of an invalid name can be answered with "not found" without a query.
pub fn is_valid_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_NAME_BYTES && is_valid_text(text)
}

/// Whether a string can be stored.
pub fn is_valid_text(text: &str) -> bool {
    !text.contains('\0')
}

/// Rejects a name that cannot be stored. The error contains `what`, but not the name.
pub fn check_name(what: &str, name: &str) -> Result<(), StoreError> {
    if is_valid_name(name) {
        return Ok(());
    }
    Err(StoreError::Broken(format!("{what} must be 1 to {MAX_NAME_BYTES} bytes long and contain no NUL")))
}

/// Rejects a string that cannot be stored.
pub fn check_text(what: &str, text: &str) -> Result<(), StoreError> {
    if is_valid_text(text) { Ok(()) } else { Err(StoreError::Broken(format!("{what} must not contain NUL"))) }
}
