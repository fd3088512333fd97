//! A store that fails, or kills its process, at a chosen operation.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

use flow::session::{
    Admission, MemorySessionStore, SessionOwner, SessionQuota, SessionRow, SessionStore, StoreError,
    StoreFuture,
};
use jiff::Timestamp;

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StoreFault {
    /// It has no effect and reports an error.
    FailBefore,
    /// It takes effect but reports an error.
    FailAfter,
    /// The process dies before the operation.
    DieBefore,
    /// The process dies after the operation.
    DieAfter,
    /// It takes effect when the store recovers.
    WaitUntilCleared,
}

impl StoreFault {
    pub(crate) const ALL: [Self; 4] = [Self::FailBefore, Self::FailAfter, Self::DieBefore, Self::DieAfter];

    pub(crate) fn kills_process(self) -> bool {
        matches!(self, Self::DieBefore | Self::DieAfter)
    }
}

/// An in-memory store with faults.
#[derive(Default)]
pub(crate) struct FaultySessionStore {
    pub(crate) inner: Arc<MemorySessionStore>,
    count: AtomicUsize,
    fault: Mutex<Option<(usize, bool, StoreFault)>>,
    has_faulted: AtomicBool,
}

impl FaultySessionStore {
    /// Wraps a store that is shared with others.
    pub(crate) fn with_inner(inner: &Arc<MemorySessionStore>) -> Self {
        Self { inner: Arc::clone(inner), ..Self::default() }
    }

    /// Makes the n-th operation from now on fail, counted from 0.
    pub(crate) fn fail_at(&self, n: usize, fault: StoreFault) {
        *self.fault.lock().unwrap() = Some((self.operation_count() + n, false, fault));
    }

    /// Makes all later operations fail as well.
    pub(crate) fn fail_from(&self, n: usize, fault: StoreFault) {
        *self.fault.lock().unwrap() = Some((self.operation_count() + n, true, fault));
    }

    pub(crate) fn clear_fault(&self) {
        *self.fault.lock().unwrap() = None;
    }

    /// The number of operations so far.
    pub(crate) fn operation_count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Whether the fault has occurred.
    pub(crate) fn has_faulted(&self) -> bool {
        self.has_faulted.load(Ordering::SeqCst)
    }

    fn run_with_fault<'a, T: Send + 'a>(
        &'a self,
        happen: impl FnOnce() -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        let n = self.count.fetch_add(1, Ordering::SeqCst);
        let fault = *self.fault.lock().unwrap();
        let way = fault.filter(|(at, and_on, _)| n == *at || *and_on && n > *at).map(|(_, _, way)| way);
        self.has_faulted.fetch_or(way.is_some(), Ordering::SeqCst);
        let failed = || Err(StoreError::Unreachable("on purpose".to_owned()));
        Box::pin(async move {
            match way {
                None => happen().await,
                Some(StoreFault::FailBefore) => failed(),
                Some(StoreFault::FailAfter) => happen().await.and_then(|_| failed()),
                Some(StoreFault::WaitUntilCleared) => {
                    let healed = |_: &mut std::task::Context<'_>| match *self.fault.lock().unwrap() {
                        None => Poll::Ready(()),
                        Some(_) => Poll::Pending,
                    };
                    std::future::poll_fn(healed).await;
                    happen().await
                }
                Some(StoreFault::DieBefore) => std::future::pending().await,
                Some(StoreFault::DieAfter) => {
                    happen().await?;
                    std::future::pending().await
                }
            }
        })
    }
}

impl SessionStore for FaultySessionStore {
    fn insert<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
        row: SessionRow,
        quota: SessionQuota,
        now: Timestamp,
    ) -> StoreFuture<'a, Admission> {
        self.run_with_fault(move || self.inner.insert(owner, id, row, quota, now))
    }
    fn load<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
    ) -> StoreFuture<'a, Option<(i64, SessionRow)>> {
        self.run_with_fault(move || self.inner.load(owner, id))
    }
    fn save<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
        version: i64,
        row: SessionRow,
    ) -> StoreFuture<'a, bool> {
        self.run_with_fault(move || self.inner.save(owner, id, version, row))
    }
    fn renew_lease<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
        version: i64,
        leased_until: Timestamp,
    ) -> StoreFuture<'a, bool> {
        self.run_with_fault(move || self.inner.renew_lease(owner, id, version, leased_until))
    }
    fn mark_used<'a>(&'a self, token: &'a [u8; 32], forgotten: Timestamp) -> StoreFuture<'a, bool> {
        self.run_with_fault(move || self.inner.mark_used(token, forgotten))
    }
    fn is_used<'a>(&'a self, token: &'a [u8; 32]) -> StoreFuture<'a, bool> {
        self.run_with_fault(move || self.inner.is_used(token))
    }
    fn sweep(&self, now: Timestamp) -> StoreFuture<'_, u64> {
        self.run_with_fault(move || self.inner.sweep(now))
    }
}
