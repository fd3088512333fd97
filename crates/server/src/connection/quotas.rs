//! How much one caller may have open at once, over all connections.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use access::Principal;

use crate::error::RequestRejection;

/// What a caller may have several of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuotaKind {
    /// A stream that stays open for news.
    Stream,
    /// A session with what it remembers.
    Session,
    /// A call that is under way.
    Call,
}

/// The most that one caller may have.
#[derive(Clone, Copy, Debug)]
pub struct QuotaLimits {
    /// Streams.
    pub streams: usize,
    /// Sessions.
    pub sessions: usize,
    /// Calls under way.
    pub calls: usize,
}

impl Default for QuotaLimits {
    fn default() -> Self {
        Self { streams: 8, sessions: 100, calls: 256 }
    }
}

/// Who has how much.
pub(crate) struct Quotas {
    limits: QuotaLimits,
    in_use: Mutex<HashMap<(String, QuotaKind), usize>>,
}

/// One place, until it is dropped.
pub struct QuotaPermit {
    quotas: Arc<Quotas>,
    key: (String, QuotaKind),
}

impl Quotas {
    pub(crate) fn new(most: QuotaLimits) -> Arc<Self> {
        Arc::new(Self { limits: most, in_use: Mutex::default() })
    }

    pub(crate) fn acquire(
        self: &Arc<Self>,
        principal: &Principal,
        kind: QuotaKind,
    ) -> Result<QuotaPermit, RequestRejection> {
        let (most, full) = match kind {
            QuotaKind::Stream => {
                (self.limits.streams, RequestRejection::TooManyStreams { limit: self.limits.streams })
            }
            QuotaKind::Call => {
                (self.limits.calls, RequestRejection::TooManyCalls { limit: self.limits.calls })
            }
            QuotaKind::Session => {
                (self.limits.sessions, RequestRejection::TooManySessions { limit: self.limits.sessions })
            }
        };
        let key = (principal.subject().to_owned(), kind);
        let mut taken = self.lock();
        let count = taken.entry(key.clone()).or_default();
        if *count >= most {
            return Err(full);
        }
        *count += 1;
        Ok(QuotaPermit { quotas: Arc::clone(self), key })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, QuotaKind), usize>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for QuotaPermit {
    fn drop(&mut self) {
        let mut taken = self.quotas.lock();
        if let Some(count) = taken.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use access::Scope;

    use super::*;

    #[test]
    fn released_permit_can_be_acquired_again() {
        let quotas = Quotas::new(QuotaLimits { streams: 1, sessions: 2, calls: 1 });
        let me = Principal::local_user(Scope::Read);
        let permit = quotas.acquire(&me, QuotaKind::Stream);
        assert!(quotas.acquire(&me, QuotaKind::Stream).is_err());
        assert!(quotas.acquire(&me, QuotaKind::Session).is_ok(), "counted apart");
        drop(permit);
        assert!(quotas.acquire(&me, QuotaKind::Stream).is_ok());
        assert!(quotas.lock().is_empty(), "callers without permits are forgotten");
    }
}
