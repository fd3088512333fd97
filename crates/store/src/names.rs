//! Which strings can be kept. PostgreSQL keeps no NUL and indexes no long names; SQLite would, but does the same.

use access::StoreError;

/// The longest name in bytes: two of them fit in an index of PostgreSQL.
const LONGEST_NAME: usize = 1000;

/// Whether something can have this name. What cannot is not there, and need not be looked for.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_NAME && is_text(text)
}

/// Whether a text can be kept.
pub(crate) fn is_text(text: &str) -> bool {
    !text.contains('\0')
}

/// Refuses a name that cannot be kept. `what` it names goes into the error, the name does not.
pub(crate) fn check_name(what: &str, name: &str) -> Result<(), StoreError> {
    if is_name(name) {
        return Ok(());
    }
    let rule = format!("{what} must have 1 to {LONGEST_NAME} bytes, none of them NUL");
    Err(StoreError::Broken(rule))
}

/// Refuses a text that cannot be kept.
pub(crate) fn check_text(what: &str, text: &str) -> Result<(), StoreError> {
    if is_text(text) { Ok(()) } else { Err(StoreError::Broken(format!("{what} must not contain NUL"))) }
}

/// Refuses a key that cannot be kept.
pub(crate) fn check_key(key: &access::KeyRecord, credential: &access::Credential) -> Result<(), StoreError> {
    check_name("the id of a key", &key.id)?;
    check_name("a tenant", &key.tenant)?;
    check_name("the prefix of a key", &credential.prefix)?;
    check_text("the label of a key", &key.label)?;
    check_text("the project of a key", key.project.as_deref().unwrap_or_default())
}
