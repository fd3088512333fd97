//! A transaction whose statements depend on earlier results.
//!
//! Nothing is sent before the first statement; `BEGIN` is sent together with it. Statements that are issued
//! together, as by `try_join`, are pipelined in the order in which they are first polled.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use deadpool_postgres::Object;
use futures_util::future::{join_all, maybe_done};
use store_api::StoreError;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

use super::error;
use super::error::PgError;
use super::request::{PgStatement, PooledClient, RlsScope, answer_timeout_error, mark_outcome_unknown};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TxMode {
    /// One idempotent statement that is its own transaction, on tables without policies or in a function that
    /// sets who is asking. It may be sent twice.
    Statement,
    /// One query. Everything is sent together, so an abandoned caller leaves no transaction open.
    Query,
    /// Reads from one snapshot.
    Read,
    /// Writes. Each statement sees earlier commits, so that after waiting for a lock it sees what was written
    /// under it.
    Write,
}

const SET_CONFIG: &str = "SELECT set_config($1, $2, true)";
const COMMIT: PgStatement<'_> = PgStatement { sql: "COMMIT", values: &[] };

pub(crate) struct PgTransaction<'a> {
    pooled: PooledClient,
    scope: RlsScope<'a>,
    mode: TxMode,
    answer_timeout: Duration,
    /// Held while sending; contains whether the transaction has begun. It is fair, so statements are sent in
    /// the order they were issued, even if one has to be prepared first.
    send_lock: Mutex<bool>,
    /// When the last answer arrived. Pipelined statements are executed one after the other.
    last_answer: std::sync::Mutex<Instant>,
    /// The first failure that was not caused by another one.
    failure: std::sync::Mutex<Option<PgError>>,
}

impl TxMode {
    /// Whether the connection stays usable even if the caller goes away.
    pub(super) const fn is_single_batch(self) -> bool {
        matches!(self, Self::Statement | Self::Query)
    }

    const fn begin_statement(self) -> PgStatement<'static> {
        let sql = match self {
            Self::Statement | Self::Query | Self::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Self::Write => "BEGIN ISOLATION LEVEL READ COMMITTED",
        };
        PgStatement { sql, values: &[] }
    }
}

impl<'a> PgTransaction<'a> {
    /// Creates a transaction. Nothing is sent yet.
    pub(super) fn new(
        pooled: PooledClient,
        scope: RlsScope<'a>,
        mode: TxMode,
        answer_timeout: Duration,
    ) -> Self {
        let last_answer = std::sync::Mutex::new(Instant::now());
        let failure = std::sync::Mutex::new(None);
        Self { pooled, scope, mode, answer_timeout, send_lock: Mutex::new(false), last_answer, failure }
    }

    /// The tenant whose rows are visible. Empty for the operator.
    pub(super) fn tenant(&self) -> &str {
        match self.scope {
            RlsScope::Tenant(tenant) => tenant,
            RlsScope::Prefix(_) | RlsScope::Operator => "",
        }
    }

    /// Returns the rows of a statement. On failure, the cause is recorded for the code that runs the
    /// transaction.
    pub(super) async fn fetch_rows(
        &self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        // Boxed: a use case has many of these futures and would otherwise be as large as all of them
        // together.
        let failure = match Box::pin(self.query(PgStatement { sql, values })).await {
            Ok(rows) => return Ok(rows),
            Err(failure) => failure,
        };
        let error = failure.clone().into_store_error();
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        Err(error)
    }

    /// Closes the connection, because it may still be executing a statement.
    pub(super) fn mark_broken(&mut self) {
        self.pooled.is_clean = false;
    }

    /// Returns the recorded failure, if any.
    pub(super) fn take_failure(&self) -> Option<PgError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn query(&self, step: PgStatement<'_>) -> Result<Vec<Row>, PgError> {
        let Some(client) = &self.pooled.client else { return Err(PgError::Final(answer_timeout_error())) };
        let error = match self.with_answer_timeout(self.send(client, step)).await {
            Some(Ok(rows)) => return Ok(rows),
            Some(Err(error)) => error,
            None => return Err(PgError::Final(answer_timeout_error())),
        };
        if error::is_in_failed_transaction(&error) {
            // The failed statement was pipelined with this one, and its answer has arrived too: let it be
            // processed first.
            tokio::task::yield_now().await;
        }
        Err(PgError::new(&error))
    }

    /// Waits for an answer. The timeout starts when the statement is sent or the previous answer arrives.
    async fn with_answer_timeout<T>(&self, answer: impl Future<Output = T>) -> Option<T> {
        let (asked, mut answer) = (Instant::now(), pin!(answer));
        loop {
            let until = asked.max(*self.lock_last_answer()) + self.answer_timeout;
            if let Ok(answer) = timeout_at(until, &mut answer).await {
                *self.lock_last_answer() = Instant::now();
                return Some(answer);
            }
            if *self.lock_last_answer() + self.answer_timeout <= until {
                return None;
            }
        }
    }

    fn lock_last_answer(&self) -> MutexGuard<'_, Instant> {
        self.last_answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits. Without an answer, the outcome is unknown.
    pub(super) async fn commit(mut self) -> Result<(), PgError> {
        let done = match &self.pooled.client {
            Some(client) if *self.send_lock.get_mut() => timeout(self.answer_timeout, commit(client)).await,
            _ => Ok(Ok(())),
        };
        match done {
            Ok(Ok(())) => {
                self.pooled.is_clean = true;
                Ok(())
            }
            Ok(Err(error)) if error::is_connection_lost(&error) => {
                Err(PgError::Final(mark_outcome_unknown(error::store_error(&error))))
            }
            Ok(Err(error)) => Err(PgError::new(&error)),
            Err(_) => Err(PgError::Final(mark_outcome_unknown(answer_timeout_error()))),
        }
    }

    /// Rolls back without waiting for the answer: later statements on the connection run after it. Without
    /// this, the connection would be closed, which has the same effect but costs more.
    pub(super) async fn rollback(mut self) {
        self.pooled.is_clean = match &self.pooled.client {
            Some(client) if *self.send_lock.get_mut() => {
                timeout(self.answer_timeout, send_rollback(client)).await.unwrap_or(false)
            }
            _ => true,
        };
    }

    async fn send(&self, client: &Object, step: PgStatement<'_>) -> Result<Vec<Row>, Error> {
        let mut has_begun = self.send_lock.lock().await;
        let (name, value) = self.scope.setting();
        let (begin, set) =
            (self.mode.begin_statement(), PgStatement { sql: SET_CONFIG, values: &[&name, &value] });
        let (steps, answer): (&[&PgStatement<'_>], usize) = match self.mode {
            TxMode::Statement => (&[&step], 0),
            TxMode::Query => (&[&begin, &set, &step, &COMMIT], 2),
            TxMode::Read | TxMode::Write if *has_begun => (&[&step], 0),
            TxMode::Read | TxMode::Write => (&[&begin, &set, &step], 2),
        };
        let prepared = prepare(client, steps).await?;
        let mut answers = pin!(maybe_done(query_all(client, &prepared, steps, answer)));
        // The statements are sent now, so let the next caller send while the answers arrive.
        poll_fn(|context| Poll::Ready(answers.as_mut().poll(context).is_ready())).await;
        *has_begun = !self.mode.is_single_batch();
        drop(has_begun);
        answers.as_mut().await;
        answers.take_output().unwrap_or_else(|| Ok(Vec::new()))
    }
}

/// Pipelines all statements and waits for all answers. Returns the first error, or the rows of one statement.
async fn query_all(
    client: &Object,
    prepared: &[Statement],
    steps: &[&PgStatement<'_>],
    answer: usize,
) -> Result<Vec<Row>, Error> {
    let sent = prepared.iter().zip(steps).map(|(sql, step)| client.query(sql, step.values));
    let mut answers: Vec<Vec<Row>> = join_all(sent).await.into_iter().collect::<Result<_, _>>()?;
    Ok(if answer < answers.len() { answers.swap_remove(answer) } else { Vec::new() })
}

/// Prepares the statements. They are cached per connection.
async fn prepare(client: &Object, steps: &[&PgStatement<'_>]) -> Result<Vec<Statement>, Error> {
    let mut prepared = Vec::with_capacity(steps.len());
    for step in steps {
        prepared.push(client.prepare_cached(step.sql).await?);
    }
    Ok(prepared)
}

async fn commit(client: &Object) -> Result<(), Error> {
    let sql = client.prepare_cached(COMMIT.sql).await?;
    client.execute(&sql, &[]).await.map(drop)
}

/// Returns whether the rollback was sent.
async fn send_rollback(client: &Object) -> bool {
    let Ok(sql) = client.prepare_cached("ROLLBACK").await else { return false };
    let mut answer = pin!(client.execute(&sql, &[]));
    poll_fn(|context| Poll::Ready(!matches!(answer.as_mut().poll(context), Poll::Ready(Err(_))))).await
}
