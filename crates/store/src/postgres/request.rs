//! Sends statements to the database and retries them.
//!
//! Every transaction first sets who is asking, because the row policies hide everything otherwise. Statements
//! that do not depend on each other's results are pipelined: a lookup costs one round trip.
//!
//! When a connection breaks, the work is retried once on a new one if that is safe: reads, uncommitted
//! transactions, and idempotent single statements. A commit without an answer is an error, because its
//! outcome is unknown. [`Postgres::run_idempotent`] is for single statements that report whether they took
//! effect.

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

/// Who is asking, which determines the rows that the policies show.
#[derive(Clone, Copy)]
pub(super) enum RlsScope<'a> {
    /// The rows of this tenant.
    Tenant(&'a str),
    Prefix(&'a str),
    Operator,
}

pub(super) struct PgStatement<'a> {
    pub(super) sql: &'static str,
    pub(super) values: &'a [&'a (dyn ToSql + Sync)],
}

/// A request, executed atomically.
pub(super) enum PgRequest<'a> {
    /// A statement that is its own transaction, on tables without policies. Must be idempotent.
    Unscoped(PgStatement<'a>),
    /// The same for this tenant, in a function that sets who is asking.
    ForTenant(&'a str, PgStatement<'a>),
    Read(RlsScope<'a>, PgStatement<'a>),
    /// Changes, all or none.
    Write(RlsScope<'a>, &'a [PgStatement<'a>]),
}

impl<'a> PgRequest<'a> {
    /// The tenant whose share of connections is used.
    fn tenant(&self) -> Option<&'a str> {
        match self {
            Self::Unscoped(_) => None,
            Self::ForTenant(tenant, _) => Some(tenant),
            Self::Read(view, _) | Self::Write(view, _) => view.tenant(),
        }
    }
}

impl<'a> RlsScope<'a> {
    /// The tenant whose share of connections is used.
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
            StoreError::Unreachable(format!("{reason}; the outcome is unknown"))
        }
        StoreError::Broken(_) | StoreError::Full(_) => error,
    }
}

pub(super) fn answer_timeout_error() -> StoreError {
    StoreError::Unreachable("timed out waiting for an answer".to_owned())
}

impl Postgres {
    /// Wraps a pooled connection, so that it is only returned to the pool if it is clean.
    pub(super) fn guard_client(&self, client: Object, is_clean: bool) -> PooledClient {
        PooledClient { client: Some(client), is_clean, canceller: self.canceller.clone() }
    }

    /// Runs a request and returns the rows of every statement.
    pub(super) async fn run(&self, request: PgRequest<'_>) -> Result<Vec<Vec<Row>>, StoreError> {
        let mut retries = RetryState::default();
        loop {
            match self.attempt(&request).await {
                Ok(answers) => return Ok(answers),
                Err(failure) => retries.check_retry(failure, &self.pool)?,
            }
        }
    }

    /// Runs a request with a single statement.
    pub(super) async fn run_one(&self, request: PgRequest<'_>) -> Result<Vec<Row>, StoreError> {
        Ok(self.run(request).await?.pop().unwrap_or_default())
    }

    /// Runs a statement that takes effect at most once, however often it is sent, and returns `true` if it
    /// did. It is sent again if a connection breaks; if it then reports no effect, the first attempt may have
    /// had one.
    pub(super) async fn run_idempotent(&self, request: PgRequest<'_>) -> Result<bool, StoreError> {
        Ok(self.run_idempotent_with_row(request).await?.0)
    }

    /// Like [`run_idempotent`](Self::run_idempotent), and also returns its row, if known.
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

/// Reads the boolean in the only column. A statement without a row had no effect.
fn reports_success(answers: &[Vec<Row>]) -> Result<bool, StoreError> {
    answers.iter().flatten().next().map_or(Ok(false), |row| get(row, 0))
}

/// A connection in use. On drop, it returns to the pool if it is clean; otherwise its work is cancelled and
/// it is closed.
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
