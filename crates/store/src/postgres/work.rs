//! How statements get to the database and come back, and when they are sent again.
//!
//! Every transaction first tells the database who asks, because its policies show nothing otherwise. Statements that do
//! not need each other's answers travel together: a look-up costs one round trip.
//!
//! When a connection breaks, the work is done again on a new one, once, if that cannot do harm: what is only read, what
//! was not committed yet, and single statements for which twice is as good as once. A commit without an answer is an
//! error, because nobody knows whether it happened. [`Postgres::change`] is for single statements that tell by themselves.

use std::slice;

use deadpool_postgres::Object;
use futures_util::future::try_join_all;
use storage::StoreError;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::Postgres;
use super::cancel::Canceller;
use super::column::get;
use super::fault::{Failure, Retries};
use super::transaction::Mode;

/// Who asks: what the policies let them see.
#[derive(Clone, Copy)]
pub(super) enum View<'a> {
    /// What belongs to this tenant.
    Tenant(&'a str),
    /// The key with this prefix.
    Prefix(&'a str),
    /// Everything.
    Operator,
}

/// One statement.
pub(super) struct Step<'a> {
    pub(super) sql: &'static str,
    pub(super) values: &'a [&'a (dyn ToSql + Sync)],
}

/// What is to be done, as a whole.
pub(super) enum Work<'a> {
    /// A statement that is a transaction by itself, on tables that have no policies. Twice must be as good as once.
    Alone(Step<'a>),
    /// The same for this tenant, in a function that tells the policies who asks.
    For(&'a str, Step<'a>),
    /// A question.
    Read(View<'a>, Step<'a>),
    /// Changes: all of them or none.
    Write(View<'a>, &'a [Step<'a>]),
}

impl<'a> Work<'a> {
    /// The tenant whose connections are used for it.
    fn tenant(&self) -> Option<&'a str> {
        match self {
            Self::Alone(_) => None,
            Self::For(tenant, _) => Some(tenant),
            Self::Read(view, _) | Self::Write(view, _) => view.tenant(),
        }
    }
}

impl<'a> View<'a> {
    /// The tenant whose connections are used for it.
    pub(super) fn tenant(&self) -> Option<&'a str> {
        match self {
            Self::Tenant(tenant) => Some(tenant),
            Self::Prefix(_) | Self::Operator => None,
        }
    }

    pub(super) fn setting(&self) -> (&str, &str) {
        match self {
            Self::Tenant(tenant) => ("fluxway.tenant", tenant),
            Self::Prefix(prefix) => ("fluxway.prefix", prefix),
            Self::Operator => ("fluxway.operator", "on"),
        }
    }
}

pub(super) fn perhaps_done(error: StoreError) -> StoreError {
    match error {
        StoreError::Unreachable(reason) => {
            StoreError::Unreachable(format!("{reason}; it may have been done"))
        }
        StoreError::Broken(_) | StoreError::Full(_) => error,
    }
}

pub(super) fn too_late() -> StoreError {
    StoreError::Unreachable("no answer in time".to_owned())
}

impl Postgres {
    /// Gives a connection out of the hands of the pool.
    pub(super) fn lend(&self, client: Object, is_clean: bool) -> Lent {
        Lent { client: Some(client), is_clean, canceller: self.canceller.clone() }
    }

    /// Does it. Gives the rows of every statement.
    pub(super) async fn run(&self, work: Work<'_>) -> Result<Vec<Vec<Row>>, StoreError> {
        let mut retries = Retries::default();
        loop {
            match self.attempt(&work).await {
                Ok(answers) => return Ok(answers),
                Err(failure) => retries.again(failure, &self.pool)?,
            }
        }
    }

    /// Does what is one statement.
    pub(super) async fn run_one(&self, work: Work<'_>) -> Result<Vec<Row>, StoreError> {
        Ok(self.run(work).await?.pop().unwrap_or_default())
    }

    /// Does what happens at most once, however often it is sent, and says `true` when it has. If a connection breaks, it
    /// is sent again. What says then that it has not happened may have done so the first time.
    pub(super) async fn change(&self, work: Work<'_>) -> Result<bool, StoreError> {
        Ok(self.change_telling(work).await?.0)
    }

    /// The same for what says more than that it has happened: also gives its row, if it is known.
    pub(super) async fn change_telling(&self, work: Work<'_>) -> Result<(bool, Option<Row>), StoreError> {
        let (mut retries, mut lost) = (Retries::default(), None);
        loop {
            let failure = match (self.attempt(&work).await, &lost) {
                (Ok(answers), None) => {
                    return Ok((happened(&answers)?, answers.into_iter().flatten().next()));
                }
                (Ok(answers), Some(_)) if matches!(happened(&answers), Ok(true)) => return Ok((true, None)),
                (Ok(_) | Err(_), Some(error)) => return Err(perhaps_done(StoreError::clone(error))),
                (Err(failure), None) => failure,
            };
            if let Failure::Lost(error) = &failure {
                lost = Some(error.clone());
            }
            retries.again(failure, &self.pool)?;
        }
    }

    async fn attempt(&self, work: &Work<'_>) -> Result<Vec<Vec<Row>>, Failure> {
        let _turn = match work.tenant() {
            None => None,
            tenant => Some(self.turns.wait(tenant, None).await.map_err(Failure::Final)?),
        };
        let (view, mode, steps) = match work {
            Work::Alone(step) | Work::For(_, step) => {
                (View::Operator, Mode::Statement, slice::from_ref(step))
            }
            Work::Read(view, step) => (*view, Mode::Query, slice::from_ref(step)),
            Work::Write(view, steps) => (*view, Mode::Write, *steps),
        };
        let mut transaction = self.begin(view, mode).await?;
        let sent = try_join_all(steps.iter().map(|step| transaction.rows(step.sql, step.values))).await;
        match sent {
            Ok(answers) => transaction.keep().await.map(|()| answers),
            Err(error) => {
                transaction.close();
                Err(transaction.failure().unwrap_or(Failure::Final(error)))
            }
        }
    }
}

/// What a statement says about itself in its only column. One without a row has done nothing.
fn happened(answers: &[Vec<Row>]) -> Result<bool, StoreError> {
    answers.iter().flatten().next().map_or(Ok(false), |row| get(row, 0))
}

/// A connection in use. It goes back to the pool if it is clean; else what it does is stopped, and it is closed.
pub(super) struct Lent {
    pub(super) client: Option<Object>,
    pub(super) is_clean: bool,
    canceller: Canceller,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(client) = self.client.take_if(|_| !self.is_clean) {
            self.canceller.cancel(client.cancel_token());
            drop(Object::take(client));
        }
    }
}
