//! Who takes a connection next. Who has to wait for others waits here, and not with a connection in their hands: a project
//! that many write to at once, or that another replica holds, or a tenant whose statements are slow, would else take the
//! connections of everybody.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use storage::StoreError;
use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// So many lines that two projects seldom share one.
const LINES: usize = 256;
/// So many that two tenants seldom do.
const TENANTS: usize = 1024;
/// The connections that are left to those who only look.
const SPARED: usize = 2;

/// The lines in which those wait who want a connection.
pub(super) struct Turns {
    lines: Vec<Mutex<()>>,
    tenants: Vec<Share>,
    writers: Semaphore,
    /// What tenants may use together.
    shared: Semaphore,
    /// Nobody can choose whose line they stand in.
    hasher: RandomState,
    patience: Duration,
}

/// What one tenant may use at once.
struct Share {
    connections: Semaphore,
    /// Fewer than that, so that those who write leave something to those of the same tenant who look.
    writers: Semaphore,
}

/// The right to take a connection. It ends when it is dropped.
pub(super) struct Turn<'a> {
    _line: Option<MutexGuard<'a, ()>>,
    _permits: [Option<SemaphorePermit<'a>>; 4],
}

/// The most connections that one tenant uses at once: three quarters of them.
fn share(connections: usize) -> usize {
    (connections * 3 / 4).max(1)
}

/// The most that all tenants use together: one is left to those who look up keys and limits, since without them nobody gets
/// in. Where there are few, it matters more that one tenant leaves something to another.
fn shared(connections: usize) -> usize {
    connections.saturating_sub(1).max(share(connections) + 1).min(connections.max(1))
}

impl Share {
    fn new(connections: usize) -> Self {
        Self {
            connections: Semaphore::new(connections),
            writers: Semaphore::new(connections.saturating_sub(1).max(1)),
        }
    }
}

impl Turns {
    /// Nobody waits yet.
    pub(super) fn of(connections: usize, patience: Duration) -> Self {
        Self {
            lines: (0..LINES).map(|_| Mutex::new(())).collect(),
            tenants: (0..TENANTS).map(|_| Share::new(share(connections))).collect(),
            writers: Semaphore::new(connections.saturating_sub(SPARED).max(1)),
            shared: Semaphore::new(shared(connections)),
            hasher: RandomState::new(),
            patience,
        }
    }

    /// Waits behind those who write to the same, if something is written to, and behind others of the same tenant, if it
    /// is done for one.
    pub(super) async fn wait(
        &self,
        tenant: Option<&str>,
        written: Option<&str>,
    ) -> Result<Turn<'_>, StoreError> {
        let late = || StoreError::Unreachable("others are at it; no turn in time".to_owned());
        timeout(self.patience, self.turn(tenant, written)).await.ok().flatten().ok_or_else(late)
    }

    /// Always in this order, so that nobody waits for somebody who waits for them: first what is one's own, then what is
    /// a tenant's, then what is everybody's, so that nobody who waits for their like keeps others from anything.
    async fn turn(&self, tenant: Option<&str>, written: Option<&str>) -> Option<Turn<'_>> {
        let line = match written {
            Some(written) => Some(self.lines.get(self.number(written, LINES)?)?.lock().await),
            None => None,
        };
        let share = match tenant {
            Some(tenant) => Some(self.tenants.get(self.number(tenant, TENANTS)?)?),
            None => None,
        };
        let permits = [
            permit(share.filter(|_| written.is_some()).map(|share| &share.writers)).await?,
            permit(share.map(|share| &share.connections)).await?,
            permit(written.map(|_| &self.writers)).await?,
            permit(share.map(|_| &self.shared)).await?,
        ];
        Some(Turn { _line: line, _permits: permits })
    }

    fn number(&self, name: &str, lines: usize) -> Option<usize> {
        usize::try_from(self.hasher.hash_one(name) % lines as u64).ok()
    }
}

/// A permit of this semaphore, where one is needed. `None`: it is closed, which none of them ever is.
async fn permit(semaphore: Option<&Semaphore>) -> Option<Option<SemaphorePermit<'_>>> {
    match semaphore {
        Some(semaphore) => semaphore.acquire().await.ok().map(Some),
        None => Some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::{share, shared};

    #[test]
    fn a_tenant_has_three_quarters_and_never_nothing() {
        for (connections, one, all) in
            [(0, 1, 1), (1, 1, 1), (2, 1, 2), (3, 2, 3), (4, 3, 4), (5, 3, 4), (8, 6, 7), (100, 75, 99)]
        {
            assert_eq!((share(connections), shared(connections)), (one, all), "{connections}");
        }
    }
}
