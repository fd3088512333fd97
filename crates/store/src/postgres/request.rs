//! How statements get to the database and come back, and when they are sent again.
//!
//! Every transaction first tells the database who asks, because its policies show nothing otherwise. Statements that do
//! not need each other's answers travel together: a look-up costs one round trip.
//!
//! When a connection breaks, the work is done again on a new one, once, if that cannot do harm: what is only read, what
//! was not committed yet, and single statements for which twice is as good as once. A commit without an answer is an
//! error, because nobody knows whether it happened. [`Postgres::run_idempotent`] is for single statements that tell by themselves.

use std::slice;

use deadpool_postgres::Object;
use futures_util::future::try_join_all;
use store_api::StoreError;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::Postgres;
use super::cancel::Canceller;
use super::column::get;
use super::error::{PgError, RetryState};
use super::transaction::TxMode;

/// Who asks: what the policies let them see.
#[derive(Clone, Copy)]
pub(super) enum RlsScope<'a> {
    /// What belongs to this tenant.
    Tenant(&'a str),
    /// The key with this prefix.
    Prefix(&'a str),
    /// Everything.
    Operator,
}

/// One statement.
pub(super) struct PgStatement<'a> {
    pub(super) sql: &'static str,
    pub(super) values: &'a [&'a (dyn ToSql + Sync)],
}

/// What is to be done, as a whole.
pub(super) enum PgRequest<'a> {
    /// A statement that is a transaction by itself, on tables that have no policies. Twice must be as good as once.
    Unscoped(PgStatement<'a>),
    /// The same for this tenant, in a function that tells the policies who asks.
    ForTenant(&'a str, PgStatement<'a>),
    /// A question.
    Read(RlsScope<'a>, PgStatement<'a>),
    /// Changes: all of them or none.
    Write(RlsScope<'a>, &'a [PgStatement<'a>]),
}

impl<'a> PgRequest<'a> {
    /// The tenant whose connections are used for it.
    fn tenant(&self) -> Option<&'a str> {
        match self {
            Self::Unscoped(_) => None,
            Self::ForTenant(tenant, _) => Some(tenant),
            Self::Read(view, _) | Self::Write(view, _) => view.tenant(),
        }
    }
}

impl<'a> RlsScope<'a> {
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

pub(super) fn mark_outcome_unknown(error: StoreError) -> StoreError {
    match error {
        StoreError::Unreachable(reason) => {
            StoreError::Unreachable(format!("{reason}; it may have been done"))
        }
        StoreError::Broken(_) | StoreError::Full(_) => error,
    }
}

pub(super) fn answer_timeout_error() -> StoreError {
    StoreError::Unreachable("no answer in time".to_owned())
}

impl Postgres {
    /// Gives a connection out of the hands of the pool.
    pub(super) fn guard_client(&self, client: Object, is_clean: bool) -> PooledClient {
        PooledClient { client: Some(client), is_clean, canceller: self.canceller.clone() }
    }

    /// Does it. Gives the rows of every statement.
    pub(super) async fn run(&self, request: PgRequest<'_>) -> Result<Vec<Vec<Row>>, StoreError> {
        let mut retries = RetryState::default();
        loop {
            match self.attempt(&request).await {
                Ok(answers) => return Ok(answers),
                Err(failure) => retries.check_retry(failure, &self.pool)?,
            }
        }
    }

    /// Does what is one statement.
    pub(super) async fn run_one(&self, request: PgRequest<'_>) -> Result<Vec<Row>, StoreError> {
        Ok(self.run(request).await?.pop().unwrap_or_default())
    }

    /// Does what happens at most once, however often it is sent, and says `true` when it has. If a connection breaks, it
    /// is sent again. What says then that it has not happened may have done so the first time.
    pub(super) async fn run_idempotent(&self, request: PgRequest<'_>) -> Result<bool, StoreError> {
        Ok(self.run_idempotent_with_row(request).await?.0)
    }

    /// The same for what says more than that it has happened: also gives its row, if it is known.
    pub(super) async fn run_idempotent_with_row(
        &self,
        request: PgRequest<'_>,
    ) -> Result<(bool, Option<Row>), StoreError> {
        let (mut retries, mut lost) = (RetryState::default(), None);
        loop {
            let failure = match (self.attempt(&request).await, &lost) {
                (Ok(answers), None) => {
                    return Ok((reports_success(&answers)?, answers.into_iter().flatten().next()));
                }
                (Ok(answers), Some(_)) if matches!(reports_success(&answers), Ok(true)) => {
                    return Ok((true, None));
                }
                (Ok(_) | Err(_), Some(error)) => return Err(mark_outcome_unknown(StoreError::clone(error))),
                (Err(failure), None) => failure,
            };
            if let PgError::ConnectionLost(error) = &failure {
                lost = Some(error.clone());
            }
            retries.check_retry(failure, &self.pool)?;
        }
    }

    async fn attempt(&self, request: &PgRequest<'_>) -> Result<Vec<Vec<Row>>, PgError> {
        let _turn = match request.tenant() {
            None => None,
            tenant => Some(self.queue.acquire(tenant, None).await.map_err(PgError::Final)?),
        };
        let (view, mode, steps) = match request {
            PgRequest::Unscoped(step) | PgRequest::ForTenant(_, step) => {
                (RlsScope::Operator, TxMode::Statement, slice::from_ref(step))
            }
            PgRequest::Read(view, step) => (*view, TxMode::Query, slice::from_ref(step)),
            PgRequest::Write(view, steps) => (*view, TxMode::Write, *steps),
        };
        let mut transaction = self.begin(view, mode).await?;
        let sent = try_join_all(steps.iter().map(|step| transaction.fetch_rows(step.sql, step.values))).await;
        match sent {
            Ok(answers) => transaction.commit().await.map(|()| answers),
            Err(error) => {
                transaction.mark_broken();
                Err(transaction.take_failure().unwrap_or(PgError::Final(error)))
            }
        }
    }
}

/// What a statement says about itself in its only column. One without a row has done nothing.
fn reports_success(answers: &[Vec<Row>]) -> Result<bool, StoreError> {
    answers.iter().flatten().next().map_or(Ok(false), |row| get(row, 0))
}

/// A connection in use. It goes back to the pool if it is clean; else what it does is stopped, and it is closed.
pub(super) struct PooledClient {
    pub(super) client: Option<Object>,
    pub(super) is_clean: bool,
    canceller: Canceller,
}

impl Drop for PooledClient {
    fn drop(&mut self) {
        if let Some(client) = self.client.take_if(|_| !self.is_clean) {
            self.canceller.cancel(client.cancel_token());
            drop(Object::take(client));
        }
    }
}
