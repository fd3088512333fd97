//! Projects in SQLite: use cases run on the threads that have the connections.

#[cfg(test)]
mod plans;
mod rows;
mod tables;

use std::sync::Arc;

use ::projects::store::{Backend, TxKind, UseCase};
use ::projects::{Error, Refusal};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rusqlite::Connection;
use storage::{StoreError, Stored};

use super::Sqlite;
use super::shared::{Made, Transaction};
use crate::offload;
use tables::Rows;

impl Backend for Sqlite {
    fn transact<'a>(&'a self, kind: TxKind<'a>, case: Arc<dyn UseCase>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let told = match kind {
                TxKind::Read(_) | TxKind::ReadAll => {
                    let read = move |connection: &mut Connection| {
                        let mut transaction = Transaction::begin(connection, "BEGIN")?;
                        run(&mut transaction, &*case)
                    };
                    self.readers.run(read).await?
                }
                TxKind::Write { dry_run, .. } => {
                    let write = move |connection: &mut Connection| {
                        let told = run(connection, &*case)?;
                        Ok(if dry_run || told.is_err() { Made::Undone(told) } else { Made::Kept(told) })
                    };
                    self.writer.attempt(write).await?
                }
            };
            Ok(told?)
        })
    }

    fn offload(&self, work: Box<dyn FnOnce() + Send>) -> Stored<'_, ()> {
        Box::pin(offload::run(work))
    }
}

/// Runs a use case. What a rule says is an answer and no failure. Nothing in it waits, since the tables answer when asked.
fn run(connection: &mut Connection, case: &dyn UseCase) -> Result<Result<(), Refusal>, StoreError> {
    let rows = Rows::new(connection);
    match case.run(&rows).now_or_never() {
        Some(Ok(())) => Ok(Ok(())),
        Some(Err(Error::Refused(refusal))) => Ok(Err(refusal)),
        Some(Err(Error::Store(error))) => Err(error),
        None => Err(StoreError::Broken("a use case waited for something".to_owned())),
    }
}
