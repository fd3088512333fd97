//! A test double for code that uses a store.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use store_api::{StoreError, StoreFuture};

use crate::error::Error;
use crate::store::{Backend, TxKind, UseCase};

type BeforeTransaction = dyn Fn(TxKind<'_>) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync;

/// A database with a hook before every transaction, for instance to write first or to fail.
pub struct InterceptedBackend {
    database: Arc<dyn Backend>,
    before: Box<BeforeTransaction>,
}

impl InterceptedBackend {
    /// Runs `before` ahead of every transaction, which fails if `before` fails.
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
