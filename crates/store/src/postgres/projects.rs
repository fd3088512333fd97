//! Projects in PostgreSQL.

mod asset_rows;
mod block_rows;
mod project_rows;
mod read;
mod tree;
mod version_rows;

use std::sync::Arc;

use ::projects::Error;
use ::projects::store::tables::Tables;
use ::projects::store::{Backend, TxKind, UseCase};
use futures_util::future::BoxFuture;
use store_api::StoreFuture;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use super::Postgres;
use super::transaction::PgTransaction;
use crate::offload;

impl Backend for Postgres {
    fn transact<'a>(&'a self, kind: TxKind<'a>, case: Arc<dyn UseCase>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { self.run_use_case(kind, &*case).await })
    }

    fn offload(&self, work: Box<dyn FnOnce() + Send>) -> StoreFuture<'_, ()> {
        Box::pin(offload::run_blocking(work))
    }
}

impl Tables for PgTransaction<'_> {
    /// Moves other tasks off this thread while it computes. On a single-threaded runtime it just computes.
    fn compute(&self, work: &mut (dyn FnMut() + Send)) {
        let is_shared = |handle: Handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread;
        if Handle::try_current().is_ok_and(is_shared) { block_in_place(work) } else { work() }
    }
}

fn row_limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
