//! Use cases: done in one transaction, and done again when that can do no harm.
//!
//! A use case only borrows what it gets, and draws no names of its own; so it can be done from the start on another connection.
//! That happens once if a connection breaks before the commit, and a few times if others were in the way. A commit without an
//! answer is an error, because nobody knows whether it happened.

use std::sync::Arc;

use ::projects::Error;
use access::StoreError;

use super::transaction::{Fault, Mode, Transaction};
use super::work::View;
use super::{Postgres, fault};
use crate::projects::in_projects;
use crate::projects::tables::Stop;

/// How often it is done again because others were in the way.
const PATIENT: u32 = 5;

/// What a use case is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Aim<'a> {
    /// To know something.
    Read,
    /// To change this, of which writers hold the row: a project, or the account that gets one.
    Write(&'a str),
    /// To know what such a change would do.
    Rehearse(&'a str),
}

impl<'a> Aim<'a> {
    /// To change something, or only to see what would happen.
    pub(super) const fn to_write(to: &'a str, dry_run: bool) -> Self {
        if dry_run { Self::Rehearse(to) } else { Self::Write(to) }
    }
}

impl Postgres {
    /// Does a use case as a whole, or not at all.
    pub(super) async fn case<'a, T, F, D>(&self, view: View<'a>, aim: Aim<'_>, case: F) -> Result<T, Error>
    where
        T: Send,
        F: Fn(Arc<Transaction<'a>>) -> D + Send + Sync,
        D: Future<Output = Result<T, Stop<Fault>>> + Send,
    {
        let written = match aim {
            Aim::Read => None,
            Aim::Write(to) | Aim::Rehearse(to) => Some(to),
        };
        let _turn = self.turns.wait(view.tenant(), written).await.map_err(in_projects)?;
        let (mut was_lost, mut conflicts) = (false, 0);
        loop {
            match self.once(view, aim, &case).await {
                Ok(value) => return Ok(value),
                Err(Stop::Refused(refusal)) => return Err(refusal.into()),
                Err(Stop::Failed(Fault::Lost(_))) if !was_lost => {
                    was_lost = true;
                    // The others in the pool have likely gone with it.
                    self.pool.retain(|_, _| false);
                }
                Err(Stop::Failed(Fault::Conflict(_))) if conflicts < PATIENT => conflicts += 1,
                Err(Stop::Failed(fault)) => return Err(in_projects(fault.into_error())),
            }
        }
    }

    async fn once<'a, T, F, D>(&self, view: View<'a>, aim: Aim<'_>, case: &F) -> Result<T, Stop<Fault>>
    where
        F: Fn(Arc<Transaction<'a>>) -> D,
        D: Future<Output = Result<T, Stop<Fault>>> + Send,
    {
        let client = self.pool.get().await;
        let client = client.map_err(|error| Fault::Failed(fault::of_pool(&error)))?;
        let mode = if aim == Aim::Read { Mode::Read } else { Mode::Write };
        let transaction = Arc::new(Transaction::on(self.lend(client, false), view, mode, self.patience));
        let answer = case(Arc::clone(&transaction)).await;
        let transaction = Arc::into_inner(transaction).ok_or_else(|| Fault::Failed(still_in_use()))?;
        match &answer {
            Ok(_) if matches!(aim, Aim::Write(_)) => transaction.keep().await?,
            Ok(_) | Err(Stop::Refused(_) | Stop::Failed(Fault::Conflict(_))) => transaction.undo().await,
            // Nobody knows what it still does. It is closed.
            Err(Stop::Failed(Fault::Lost(_) | Fault::Failed(_))) => drop(transaction),
        }
        answer
    }
}

/// No use case keeps its transaction; this says so without panicking.
fn still_in_use() -> StoreError {
    StoreError::Broken("a transaction is still in use".to_owned())
}
