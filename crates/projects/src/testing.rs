//! A double for tests of those who use a store.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use store_api::{StoreError, StoreFuture};

use crate::error::Error;
use crate::store::{Backend, TxKind, UseCase};

type BeforeTransaction = dyn Fn(TxKind<'_>) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync;

/// A database before whose transactions something happens: another writer comes first, or it fails.
pub struct InterceptedBackend {
    database: Arc<dyn Backend>,
    before: Box<BeforeTransaction>,
}

impl InterceptedBackend {
    /// Does `before` ahead of every transaction. If that fails, so does the transaction.
    pub fn new(
        database: Arc<dyn Backend>,
        before: impl Fn(TxKind<'_>) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync + 'static,
    ) -> Self {
        Self { database, before: Box::new(before) }
    }
}

impl Backend for InterceptedBackend {
    fn transact<'a>(&'a self, kind: TxKind<'a>, case: Arc<dyn UseCase>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            (self.before)(kind).await?;
            self.database.transact(kind, case).await
        })
    }

    fn offload(&self, work: Box<dyn FnOnce() + Send>) -> StoreFuture<'_, ()> {
        self.database.offload(work)
    }
}
