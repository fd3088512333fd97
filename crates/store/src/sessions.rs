//! What both databases have in common about sessions.

use flow::session::{Owner, Quota};
use storage::{StoreError, check_name, is_name};

/// The most rows of a kind that one sweep takes.
pub(crate) const SWEPT: i64 = 1000;

/// How many sessions that have ended are kept, if that is limited.
pub(crate) fn most_ended(quota: Quota) -> Option<i64> {
    (quota.ended < u32::MAX).then_some(i64::from(quota.ended))
}

/// Whether there can be such a session. What cannot be kept is not there.
pub(crate) fn can_be(owner: Owner<'_>, id: &str) -> bool {
    [id, owner.tenant, owner.subject].into_iter().all(is_name)
}

/// Refuses a session that cannot be kept.
pub(crate) fn check(owner: Owner<'_>, id: &str) -> Result<(), StoreError> {
    check_name("the id of a session", id)?;
    check_name("a tenant", owner.tenant)?;
    check_name("the owner of a session", owner.subject)
}
