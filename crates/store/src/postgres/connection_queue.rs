//! Queues for connections. Requests that have to wait for others wait here, without holding a connection.
//! Otherwise many writes to one project, a project locked by another replica, or a tenant with slow
//! statements would occupy the connections of all tenants.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use store_api::StoreError;
use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// Enough queues that two projects seldom share one.
const TARGET_LOCK_COUNT: usize = 256;
/// Enough queues that two tenants seldom share one.
const TENANT_SHARE_COUNT: usize = 1024;
/// Connections that writers leave to other work.
const RESERVED_CONNECTIONS: usize = 2;

pub(super) struct PgConnectionQueue {
    target_locks: Vec<Mutex<()>>,
    tenants: Vec<TenantShare>,
    writers: Semaphore,
    /// The connections that all tenants may use together.
    all_tenants: Semaphore,
    /// Randomly keyed, so that clients cannot choose which queue they share.
    hasher: RandomState,
    wait_timeout: Duration,
}

/// The connections that one tenant may use at once.
struct TenantShare {
    connections: Semaphore,
    /// Fewer than the total, so that writes leave connections for reads of the same tenant.
    writers: Semaphore,
}

/// The right to take a connection, until dropped.
pub(super) struct PgConnectionSlot<'a> {
    _target_lock: Option<MutexGuard<'a, ()>>,
    _permits: [Option<SemaphorePermit<'a>>; 4],
}

/// Maximum number of connections per tenant: three quarters.
fn tenant_limit(connections: usize) -> usize {
    (connections * 3 / 4).max(1)
}

/// Maximum number of connections of all tenants together. One is reserved for looking up keys and limits,
/// because no request succeeds without them. With few connections, fairness between tenants matters more.
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

    /// Waits for other writes to the same project, if something is written, and for other requests of the
    /// same tenant, if there is one.
    pub(super) async fn acquire(
        &self,
        tenant: Option<&str>,
        written: Option<&str>,
    ) -> Result<PgConnectionSlot<'_>, StoreError> {
        let late = || StoreError::Unreachable("timed out waiting for other requests".to_owned());
        timeout(self.wait_timeout, self.acquire_slot(tenant, written)).await.ok().flatten().ok_or_else(late)
    }

    /// Acquires the permits in a fixed order, which avoids deadlocks: project, tenant, then all tenants.
    /// Requests that wait for their own project or tenant therefore hold nothing that others need.
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

/// A permit, if a semaphore is given. The outer `None` means that it is closed, which never happens.
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
