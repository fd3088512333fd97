//! A store that fails, or takes its process with it, at a chosen operation.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

use flow::session::{Admission, Memory, Owner, Quota, Row, SessionStore, StoreError, Stored};
use jiff::Timestamp;

/// How an operation goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    /// It does not happen, and says so.
    FailBefore,
    /// It happens, and says that it does not.
    FailAfter,
    /// The process dies before it happens.
    DieBefore,
    /// The process dies when it has happened.
    DieAfter,
    /// It happens when the store is healed.
    Wait,
}

impl Way {
    pub(crate) const ALL: [Self; 4] = [Self::FailBefore, Self::FailAfter, Self::DieBefore, Self::DieAfter];

    pub(crate) fn dies(self) -> bool {
        matches!(self, Self::DieBefore | Self::DieAfter)
    }
}

/// A store in memory, with faults.
#[derive(Default)]
pub(crate) struct Faulty {
    pub(crate) inner: Arc<Memory>,
    count: AtomicUsize,
    fault: Mutex<Option<(usize, bool, Way)>>,
    struck: AtomicBool,
}

impl Faulty {
    /// Over a store that others use as well.
    pub(crate) fn over(inner: &Arc<Memory>) -> Self {
        Self { inner: Arc::clone(inner), ..Self::default() }
    }

    /// The n-th operation from now on, counted from 0, goes wrong.
    pub(crate) fn at(&self, n: usize, way: Way) {
        *self.fault.lock().unwrap() = Some((self.count() + n, false, way));
    }

    /// So do all after it.
    pub(crate) fn from(&self, n: usize, way: Way) {
        *self.fault.lock().unwrap() = Some((self.count() + n, true, way));
    }

    pub(crate) fn heal(&self) {
        *self.fault.lock().unwrap() = None;
    }

    /// How many operations there were.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Whether anything went wrong.
    pub(crate) fn has_struck(&self) -> bool {
        self.struck.load(Ordering::SeqCst)
    }

    fn maybe<'a, T: Send + 'a>(
        &'a self,
        happen: impl FnOnce() -> Stored<'a, T> + Send + 'a,
    ) -> Stored<'a, T> {
        let n = self.count.fetch_add(1, Ordering::SeqCst);
        let fault = *self.fault.lock().unwrap();
        let way = fault.filter(|(at, and_on, _)| n == *at || *and_on && n > *at).map(|(_, _, way)| way);
        self.struck.fetch_or(way.is_some(), Ordering::SeqCst);
        let failed = || Err(StoreError::Unreachable("on purpose".to_owned()));
        Box::pin(async move {
            match way {
                None => happen().await,
                Some(Way::FailBefore) => failed(),
                Some(Way::FailAfter) => happen().await.and_then(|_| failed()),
                Some(Way::Wait) => {
                    let healed = |_: &mut std::task::Context<'_>| match *self.fault.lock().unwrap() {
                        None => Poll::Ready(()),
                        Some(_) => Poll::Pending,
                    };
                    std::future::poll_fn(healed).await;
                    happen().await
                }
                Some(Way::DieBefore) => std::future::pending().await,
                Some(Way::DieAfter) => {
                    happen().await?;
                    std::future::pending().await
                }
            }
        })
    }
}

impl SessionStore for Faulty {
    fn begin<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        row: Row,
        quota: Quota,
        now: Timestamp,
    ) -> Stored<'a, Admission> {
        self.maybe(move || self.inner.begin(owner, id, row, quota, now))
    }
    fn load<'a>(&'a self, owner: Owner<'a>, id: &'a str) -> Stored<'a, Option<(i64, Row)>> {
        self.maybe(move || self.inner.load(owner, id))
    }
    fn save<'a>(&'a self, owner: Owner<'a>, id: &'a str, version: i64, row: Row) -> Stored<'a, bool> {
        self.maybe(move || self.inner.save(owner, id, version, row))
    }
    fn renew<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        version: i64,
        leased_until: Timestamp,
    ) -> Stored<'a, bool> {
        self.maybe(move || self.inner.renew(owner, id, version, leased_until))
    }
    fn spend<'a>(&'a self, token: &'a [u8; 32], forgotten: Timestamp) -> Stored<'a, bool> {
        self.maybe(move || self.inner.spend(token, forgotten))
    }
    fn is_spent<'a>(&'a self, token: &'a [u8; 32]) -> Stored<'a, bool> {
        self.maybe(move || self.inner.is_spent(token))
    }
    fn sweep(&self, now: Timestamp) -> Stored<'_, u64> {
        self.maybe(move || self.inner.sweep(now))
    }
}
