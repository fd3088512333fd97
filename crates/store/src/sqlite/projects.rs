//! Projects in SQLite: use cases run on the threads that own the connections.

#[cfg(test)]
mod query_plans;
mod rows;
mod tables;

use std::sync::Arc;

use ::projects::store::{Backend, TxKind, UseCase};
use ::projects::{Error, ProjectRejection};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rusqlite::Connection;
use store_api::{StoreError, StoreFuture};

use super::Sqlite;
use super::group_commit::{SqliteTransaction, TxOutcome};
use crate::offload;
use tables::SqliteTables;

impl Backend for Sqlite {
    fn transact<'a>(&'a self, kind: TxKind<'a>, case: Arc<dyn UseCase>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let told = match kind {
                TxKind::Read(_) | TxKind::ReadAll => {
                    let read = move |connection: &mut Connection| {
                        let mut transaction = SqliteTransaction::begin(connection, "BEGIN")?;
                        run_use_case(&mut transaction, &*case)
                    };
                    self.readers.run(read).await?
                }
                TxKind::Write { dry_run, .. } => {
                    let write = move |connection: &mut Connection| {
                        let told = run_use_case(connection, &*case)?;
                        Ok(if dry_run || told.is_err() {
                            TxOutcome::Rollback(told)
                        } else {
                            TxOutcome::Commit(told)
                        })
                    };
                    self.writer.try_change(write).await?
                }
            };
            Ok(told?)
        })
    }

    fn offload(&self, work: Box<dyn FnOnce() + Send>) -> StoreFuture<'_, ()> {
        Box::pin(offload::run_blocking(work))
    }
}

/// Runs a use case. A rejection is a result, not a failure. Use cases never wait here, because SQLite is
/// synchronous.
fn run_use_case(
    connection: &mut Connection,
    case: &dyn UseCase,
) -> Result<Result<(), ProjectRejection>, StoreError> {
    let rows = SqliteTables::new(connection);
    match case.run(&rows).now_or_never() {
        Some(Ok(())) => Ok(Ok(())),
        Some(Err(Error::Rejected(refusal))) => Ok(Err(refusal)),
        Some(Err(Error::Store(error))) => Err(error),
        None => Err(StoreError::Broken("a use case did not complete synchronously".to_owned())),
    }
}
