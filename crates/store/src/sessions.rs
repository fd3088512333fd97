//! What both databases have in common about sessions.

use flow::session::{SessionOwner, SessionQuota};
use store_api::{StoreError, check_name, is_valid_name};

/// The most rows of a kind that one sweep takes.
pub(crate) const MAX_SWEPT_ROWS: i64 = 1000;

/// How many sessions that have ended are kept, if that is limited.
pub(crate) fn ended_limit(quota: SessionQuota) -> Option<i64> {
    (quota.max_ended < u32::MAX).then_some(i64::from(quota.max_ended))
}

/// Whether there can be such a session. What cannot be kept is not there.
pub(crate) fn is_storable(owner: SessionOwner<'_>, id: &str) -> bool {
    [id, owner.tenant, owner.subject].into_iter().all(is_valid_name)
}

/// Refuses a session that cannot be kept.
pub(crate) fn check_session(owner: SessionOwner<'_>, id: &str) -> Result<(), StoreError> {
    check_name("the id of a session", id)?;
    check_name("a tenant", owner.tenant)?;
    check_name("the owner of a session", owner.subject)
}
