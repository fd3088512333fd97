//! A transaction whose statements need the answers to earlier ones.
//!
//! Nothing is sent before the first statement, and the beginning travels with it. Statements that are asked for together, as by
//! `try_join`, are sent together, in the order in which they are first polled.

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

/// What a transaction may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TxMode {
    /// One statement that is a transaction by itself, on tables without policies, or in a function that tells the policies
    /// who asks. It may be sent again, so twice must be as good as once.
    Statement,
    /// One question. All of it travels together, so a caller that goes away leaves nothing open.
    Query,
    /// Read, and see one moment.
    Read,
    /// Write. Each statement sees what was done before it, so that who waited for a lock sees what was done under it.
    Write,
}

const SET_CONFIG: &str = "SELECT set_config($1, $2, true)";
const COMMIT: PgStatement<'_> = PgStatement { sql: "COMMIT", values: &[] };

/// A transaction on a connection of its own.
pub(crate) struct PgTransaction<'a> {
    pooled: PooledClient,
    scope: RlsScope<'a>,
    mode: TxMode,
    answer_timeout: Duration,
    /// Whoever has it sends next; it says whether the transaction has begun. Who asked first sends first, even if their
    /// statement has to be prepared.
    send_lock: Mutex<bool>,
    /// When an answer was last heard. Statements that were sent together are done one after the other.
    last_answer: std::sync::Mutex<Instant>,
    /// Why the first statement failed that did not fail because of another.
    failure: std::sync::Mutex<Option<PgError>>,
}

impl TxMode {
    /// Whether the connection can be used by others whatever happens to the caller.
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
    /// Nothing is sent yet.
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

    /// Whose rows it sees. Nobody's for the owner of the store.
    pub(super) fn tenant(&self) -> &str {
        match self.scope {
            RlsScope::Tenant(tenant) => tenant,
            RlsScope::Prefix(_) | RlsScope::Operator => "",
        }
    }

    /// The rows that a statement gives. Why it failed is kept for the one who runs the transaction.
    pub(super) async fn fetch_rows(
        &self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        // In a box: a use case has many of them, and would else be as large as all together.
        let failure = match Box::pin(self.query(PgStatement { sql, values })).await {
            Ok(rows) => return Ok(rows),
            Err(failure) => failure,
        };
        let error = failure.clone().into_store_error();
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        Err(error)
    }

    /// Has the connection closed, since it may still be at work.
    pub(super) fn mark_broken(&mut self) {
        self.pooled.is_clean = false;
    }

    /// Why a statement failed, if one has.
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
            // The statement that did fail was asked together with this one, and its answer is there too: let it be heard.
            tokio::task::yield_now().await;
        }
        Err(PgError::new(&error))
    }

    /// Waits for an answer, as long as a statement may take since it was asked or the one before it was answered.
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

    /// Keeps what was done. If no answer comes, it may have been kept.
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

    /// Undoes what was done, or ends what has only read. Nobody waits for the answer: whatever is sent on the connection
    /// next comes after it. Without, the connection is closed, which is the same and costs more.
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
        // They are sent now. Then it is the next one's turn, and the answers come when they come.
        poll_fn(|context| Poll::Ready(answers.as_mut().poll(context).is_ready())).await;
        *has_begun = !self.mode.is_single_batch();
        drop(has_begun);
        answers.as_mut().await;
        answers.take_output().unwrap_or_else(|| Ok(Vec::new()))
    }
}

/// Sends all statements at once, and waits for all answers. The first error is the one that counts. Gives the rows of one.
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

/// Makes sure that the database knows these statements. It does already, but for the first time on a connection.
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

/// Whether it is on its way.
async fn send_rollback(client: &Object) -> bool {
    let Ok(sql) = client.prepare_cached("ROLLBACK").await else { return false };
    let mut answer = pin!(client.execute(&sql, &[]));
    poll_fn(|context| Poll::Ready(!matches!(answer.as_mut().poll(context), Poll::Ready(Err(_))))).await
}
