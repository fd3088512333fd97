//! Session code shared by both databases.

use flow::session::{SessionOwner, SessionQuota};
use store_api::{StoreError, check_name, is_valid_name};

/// Maximum number of rows of each kind per sweep.
pub(crate) const MAX_SWEPT_ROWS: i64 = 1000;

/// How many ended sessions are retained, if limited.
pub(crate) fn ended_limit(quota: SessionQuota) -> Option<i64> {
    (quota.max_ended < u32::MAX).then_some(i64::from(quota.max_ended))
}

/// Whether such a session can exist. One that cannot be stored does not.
pub(crate) fn is_storable(owner: SessionOwner<'_>, id: &str) -> bool {
    [id, owner.tenant, owner.subject].into_iter().all(is_valid_name)
}

/// Rejects a session that cannot be stored.
pub(crate) fn check_session(owner: SessionOwner<'_>, id: &str) -> Result<(), StoreError> {
    check_name("the id of a session", id)?;
    check_name("a tenant", owner.tenant)?;
    check_name("the owner of a session", owner.subject)
}
