//! Who takes a connection next. Who has to wait for others waits here, and not with a connection in their hands: a project
//! that many write to at once, or that another replica holds, or a tenant whose statements are slow, would else take the
//! connections of everybody.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use store_api::StoreError;
use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// So many lines that two projects seldom share one.
const TARGET_LOCK_COUNT: usize = 256;
/// So many that two tenants seldom do.
const TENANT_SHARE_COUNT: usize = 1024;
/// The connections that are left to those who only look.
const RESERVED_CONNECTIONS: usize = 2;

/// The lines in which those wait who want a connection.
pub(super) struct PgConnectionQueue {
    target_locks: Vec<Mutex<()>>,
    tenants: Vec<TenantShare>,
    writers: Semaphore,
    /// What tenants may use together.
    all_tenants: Semaphore,
    /// Nobody can choose whose line they stand in.
    hasher: RandomState,
    wait_timeout: Duration,
}

/// What one tenant may use at once.
struct TenantShare {
    connections: Semaphore,
    /// Fewer than that, so that those who write leave something to those of the same tenant who look.
    writers: Semaphore,
}

/// The right to take a connection. It ends when it is dropped.
pub(super) struct PgConnectionSlot<'a> {
    _target_lock: Option<MutexGuard<'a, ()>>,
    _permits: [Option<SemaphorePermit<'a>>; 4],
}

/// The most connections that one tenant uses at once: three quarters of them.
fn tenant_limit(connections: usize) -> usize {
    (connections * 3 / 4).max(1)
}

/// The most that all tenants use together: one is left to those who look up keys and limits, since without them nobody gets
/// in. Where there are few, it matters more that one tenant leaves something to another.
fn all_tenants_limit(connections: usize) -> usize {
    connections.saturating_sub(1).max(tenant_limit(connections) + 1).min(connections.max(1))
}

impl TenantShare {
    fn new(connections: usize) -> Self {
        Self {
            connections: Semaphore::new(connections),
            writers: Semaphore::new(connections.saturating_sub(1).max(1)),
        }
    }
}

impl PgConnectionQueue {
    /// Nobody waits yet.
    pub(super) fn new(connections: usize, wait_timeout: Duration) -> Self {
        Self {
            target_locks: (0..TARGET_LOCK_COUNT).map(|_| Mutex::new(())).collect(),
            tenants: (0..TENANT_SHARE_COUNT).map(|_| TenantShare::new(tenant_limit(connections))).collect(),
            writers: Semaphore::new(connections.saturating_sub(RESERVED_CONNECTIONS).max(1)),
            all_tenants: Semaphore::new(all_tenants_limit(connections)),
            hasher: RandomState::new(),
            wait_timeout,
        }
    }

    /// Waits behind those who write to the same, if something is written to, and behind others of the same tenant, if it
    /// is done for one.
    pub(super) async fn acquire(
        &self,
        tenant: Option<&str>,
        written: Option<&str>,
    ) -> Result<PgConnectionSlot<'_>, StoreError> {
        let late = || StoreError::Unreachable("others are at it; no turn in time".to_owned());
        timeout(self.wait_timeout, self.acquire_slot(tenant, written)).await.ok().flatten().ok_or_else(late)
    }

    /// Always in this order, so that nobody waits for somebody who waits for them: first what is one's own, then what is
    /// a tenant's, then what is everybody's, so that nobody who waits for their like keeps others from anything.
    async fn acquire_slot(
        &self,
        tenant: Option<&str>,
        written: Option<&str>,
    ) -> Option<PgConnectionSlot<'_>> {
        let line = match written {
            Some(written) => {
                Some(self.target_locks.get(self.hash_index(written, TARGET_LOCK_COUNT)?)?.lock().await)
            }
            None => None,
        };
        let share = match tenant {
            Some(tenant) => Some(self.tenants.get(self.hash_index(tenant, TENANT_SHARE_COUNT)?)?),
            None => None,
        };
        let permits = [
            acquire_permit(share.filter(|_| written.is_some()).map(|share| &share.writers)).await?,
            acquire_permit(share.map(|share| &share.connections)).await?,
            acquire_permit(written.map(|_| &self.writers)).await?,
            acquire_permit(share.map(|_| &self.all_tenants)).await?,
        ];
        Some(PgConnectionSlot { _target_lock: line, _permits: permits })
    }

    fn hash_index(&self, name: &str, lines: usize) -> Option<usize> {
        usize::try_from(self.hasher.hash_one(name) % lines as u64).ok()
    }
}

/// A permit of this semaphore, where one is needed. `None`: it is closed, which none of them ever is.
async fn acquire_permit(semaphore: Option<&Semaphore>) -> Option<Option<SemaphorePermit<'_>>> {
    match semaphore {
        Some(semaphore) => semaphore.acquire().await.ok().map(Some),
        None => Some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::{all_tenants_limit, tenant_limit};

    #[test]
    fn tenant_limit_is_three_quarters_and_at_least_one() {
        for (connections, one, all) in
            [(0, 1, 1), (1, 1, 1), (2, 1, 2), (3, 2, 3), (4, 3, 4), (5, 3, 4), (8, 6, 7), (100, 75, 99)]
        {
            assert_eq!(
                (tenant_limit(connections), all_tenants_limit(connections)),
                (one, all),
                "{connections}"
            );
        }
    }
}
