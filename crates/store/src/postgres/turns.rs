//! Who writes next. Writers of projects wait here, and not with a connection in their hands: a project that many write to at
//! once, or that another replica holds, would else take the connections of everybody.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use access::StoreError;
use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// So many lines that two projects seldom share one.
const LINES: usize = 256;
/// The connections that are left to those who only look.
const SPARED: usize = 2;

/// The lines in which writers wait.
pub(super) struct Turns {
    lines: Vec<Mutex<()>>,
    writers: Semaphore,
    /// Nobody can choose whose line they stand in.
    hasher: RandomState,
    patience: Duration,
}

/// The right to take a connection and write. It ends when it is dropped.
pub(super) struct Turn<'a> {
    _line: MutexGuard<'a, ()>,
    _writer: SemaphorePermit<'a>,
}

impl Turns {
    /// Nobody waits yet.
    pub(super) fn of(connections: usize, patience: Duration) -> Self {
        Self {
            lines: (0..LINES).map(|_| Mutex::new(())).collect(),
            writers: Semaphore::new(connections.saturating_sub(SPARED).max(1)),
            hasher: RandomState::new(),
            patience,
        }
    }

    /// Waits behind those who write to the same.
    pub(super) async fn wait(&self, to: &str) -> Result<Turn<'_>, StoreError> {
        let late = || StoreError::Unreachable("others write; no turn in time".to_owned());
        timeout(self.patience, self.turn(to)).await.ok().flatten().ok_or_else(late)
    }

    async fn turn(&self, to: &str) -> Option<Turn<'_>> {
        let line = usize::try_from(self.hasher.hash_one(to) % LINES as u64).ok()?;
        let line = self.lines.get(line)?.lock().await;
        let writer = self.writers.acquire().await.ok()?;
        Some(Turn { _line: line, _writer: writer })
    }
}
