//! Runs project use cases in one transaction, and retries them when that is safe.
//!
//! A use case only borrows its input and generates no ids, so it can be rerun from the start on another
//! connection.

use ::projects::Error;
use ::projects::store::{TxKind, UseCase};

use super::error::{PgError, RetryState};
use super::request::RlsScope;
use super::transaction::{PgTransaction, TxMode};
use super::{Postgres, error};

enum UseCaseError {
    Refused(Error),
    Failed(PgError),
}

impl From<PgError> for UseCaseError {
    fn from(failure: PgError) -> Self {
        Self::Failed(failure)
    }
}

impl Postgres {
    /// Runs a use case atomically.
    pub(super) async fn run_use_case(&self, kind: TxKind<'_>, case: &dyn UseCase) -> Result<(), Error> {
        let (view, target) = match kind {
            TxKind::Read(account) => (RlsScope::Tenant(account.as_str()), None),
            TxKind::ReadAll => (RlsScope::Operator, None),
            TxKind::Write { account, target, .. } => (RlsScope::Tenant(account.as_str()), Some(target)),
        };
        let _turn = self.queue.acquire(view.tenant(), target).await?;
        let mut retries = RetryState::default();
        loop {
            match self.run_once(view, kind, case).await {
                Ok(()) => return Ok(()),
                Err(UseCaseError::Refused(refusal)) => return Err(refusal),
                Err(UseCaseError::Failed(failure)) => retries.check_retry(failure, &self.pool)?,
            }
        }
    }

    async fn run_once(
        &self,
        view: RlsScope<'_>,
        kind: TxKind<'_>,
        case: &dyn UseCase,
    ) -> Result<(), UseCaseError> {
        let mode = if matches!(kind, TxKind::Write { .. }) { TxMode::Write } else { TxMode::Read };
        let transaction = self.begin(view, mode).await?;
        let failure = match case.run(&transaction).await {
            Ok(()) if matches!(kind, TxKind::Write { dry_run: false, .. }) => {
                return Ok(transaction.commit().await?);
            }
            Ok(()) => {
                transaction.rollback().await;
                return Ok(());
            }
            Err(refusal @ Error::Rejected(_)) => {
                transaction.rollback().await;
                return Err(UseCaseError::Refused(refusal));
            }
            // If no statement failed, the rows themselves were unreadable.
            Err(Error::Store(error)) => transaction.take_failure().unwrap_or(PgError::Final(error)),
        };
        match failure {
            PgError::Conflict(_) => transaction.rollback().await,
            // The statement may still be running, so close the connection.
            PgError::ConnectionLost(_) | PgError::Final(_) => drop(transaction),
        }
        Err(failure.into())
    }

    /// Takes a connection from the pool for a transaction. Nothing is sent yet.
    pub(super) async fn begin<'a>(
        &self,
        view: RlsScope<'a>,
        mode: TxMode,
    ) -> Result<PgTransaction<'a>, PgError> {
        let client =
            self.pool.get().await.map_err(|error| PgError::Final(error::pool_store_error(&error)))?;
        Ok(PgTransaction::new(
            self.guard_client(client, mode.is_single_batch()),
            view,
            mode,
            self.answer_timeout,
        ))
    }
}
