//! Checks that a key can be stored.

use store_api::{StoreError, check_name, check_text};

/// Rejects a key that cannot be stored.
pub(crate) fn check_key(
    key: &access::KeyRecord,
    credential: &access::KeyCredential,
) -> Result<(), StoreError> {
    check_name("the id of a key", &key.id)?;
    check_name("a tenant", &key.tenant)?;
    check_name("the prefix of a key", &credential.prefix)?;
    check_text("the label of a key", &key.label)?;
    check_text("the project of a key", key.project.as_deref().unwrap_or_default())
}
