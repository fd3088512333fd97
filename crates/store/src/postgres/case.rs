//! Use cases of projects: run in one transaction, and again when that can do no harm.
//!
//! A use case only borrows what it gets, and draws no names of its own; so it can be run from the start on another connection.

use ::projects::Error;
use ::projects::store::{TxKind, UseCase};

use super::fault::{Failure, Retries};
use super::transaction::{Mode, Transaction};
use super::work::View;
use super::{Postgres, fault};

/// Why a use case did not happen.
enum Stop {
    /// A rule says no.
    Refused(Error),
    /// The database could not.
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Postgres {
    /// Runs a use case as a whole, or not at all.
    pub(super) async fn run_case(&self, kind: TxKind<'_>, case: &dyn UseCase) -> Result<(), Error> {
        let (view, target) = match kind {
            TxKind::Read(account) => (View::Tenant(account.as_str()), None),
            TxKind::ReadAll => (View::Operator, None),
            TxKind::Write { account, target, .. } => (View::Tenant(account.as_str()), Some(target)),
        };
        let _turn = self.turns.wait(view.tenant(), target).await?;
        let mut retries = Retries::default();
        loop {
            match self.run_once(view, kind, case).await {
                Ok(()) => return Ok(()),
                Err(Stop::Refused(refusal)) => return Err(refusal),
                Err(Stop::Failed(failure)) => retries.again(failure, &self.pool)?,
            }
        }
    }

    async fn run_once(&self, view: View<'_>, kind: TxKind<'_>, case: &dyn UseCase) -> Result<(), Stop> {
        let mode = if matches!(kind, TxKind::Write { .. }) { Mode::Write } else { Mode::Read };
        let transaction = self.begin(view, mode).await?;
        let failure = match case.run(&transaction).await {
            Ok(()) if matches!(kind, TxKind::Write { dry_run: false, .. }) => {
                return Ok(transaction.keep().await?);
            }
            Ok(()) => {
                transaction.undo().await;
                return Ok(());
            }
            Err(refusal @ Error::Refused(_)) => {
                transaction.undo().await;
                return Err(Stop::Refused(refusal));
            }
            // What no statement has said is in the rows themselves.
            Err(Error::Store(error)) => transaction.failure().unwrap_or(Failure::Final(error)),
        };
        match failure {
            Failure::Conflict(_) => transaction.undo().await,
            // It may still be at work. It is closed.
            Failure::Lost(_) | Failure::Final(_) => drop(transaction),
        }
        Err(failure.into())
    }

    /// A transaction on a connection of the pool. Nothing is sent yet.
    pub(super) async fn begin<'a>(&self, view: View<'a>, mode: Mode) -> Result<Transaction<'a>, Failure> {
        let client = self.pool.get().await.map_err(|error| Failure::Final(fault::of_pool(&error)))?;
        Ok(Transaction::on(self.lend(client, mode.is_whole()), view, mode, self.patience))
    }
}
