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
use storage::StoreError;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

use super::fault;
use super::fault::Failure;
use super::work::{Lent, Step, View, perhaps_done, too_late};

/// What a transaction may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
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

const SET: &str = "SELECT set_config($1, $2, true)";
const COMMIT: Step<'_> = Step { sql: "COMMIT", values: &[] };

/// A transaction on a connection of its own.
pub(crate) struct Transaction<'a> {
    lent: Lent,
    view: View<'a>,
    mode: Mode,
    patience: Duration,
    /// Whoever has it sends next; it says whether the transaction has begun. Who asked first sends first, even if their
    /// statement has to be prepared.
    turn: Mutex<bool>,
    /// When an answer was last heard. Statements that were sent together are done one after the other.
    heard: std::sync::Mutex<Instant>,
    /// Why the first statement failed that did not fail because of another.
    failure: std::sync::Mutex<Option<Failure>>,
}

impl Mode {
    /// Whether the connection can be used by others whatever happens to the caller.
    pub(super) const fn is_whole(self) -> bool {
        matches!(self, Self::Statement | Self::Query)
    }

    const fn begin(self) -> Step<'static> {
        let sql = match self {
            Self::Statement | Self::Query | Self::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Self::Write => "BEGIN ISOLATION LEVEL READ COMMITTED",
        };
        Step { sql, values: &[] }
    }
}

impl<'a> Transaction<'a> {
    /// Nothing is sent yet.
    pub(super) fn on(lent: Lent, view: View<'a>, mode: Mode, patience: Duration) -> Self {
        let heard = std::sync::Mutex::new(Instant::now());
        let failure = std::sync::Mutex::new(None);
        Self { lent, view, mode, patience, turn: Mutex::new(false), heard, failure }
    }

    /// Whose rows it sees. Nobody's for the owner of the store.
    pub(super) fn tenant(&self) -> &str {
        match self.view {
            View::Tenant(tenant) => tenant,
            View::Prefix(_) | View::Operator => "",
        }
    }

    /// The rows that a statement gives. Why it failed is kept for the one who runs the transaction.
    pub(super) async fn rows(
        &self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        // In a box: a use case has many of them, and would else be as large as all together.
        let failure = match Box::pin(self.query(Step { sql, values })).await {
            Ok(rows) => return Ok(rows),
            Err(failure) => failure,
        };
        let error = failure.clone().into_error();
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        Err(error)
    }

    /// Has the connection closed, since it may still be at work.
    pub(super) fn close(&mut self) {
        self.lent.is_clean = false;
    }

    /// Why a statement failed, if one has.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn query(&self, step: Step<'_>) -> Result<Vec<Row>, Failure> {
        let Some(client) = &self.lent.client else { return Err(Failure::Final(too_late())) };
        let error = match self.patiently(self.ask(client, step)).await {
            Some(Ok(rows)) => return Ok(rows),
            Some(Err(error)) => error,
            None => return Err(Failure::Final(too_late())),
        };
        if fault::is_consequence(&error) {
            // The statement that did fail was asked together with this one, and its answer is there too: let it be heard.
            tokio::task::yield_now().await;
        }
        Err(Failure::new(&error))
    }

    /// Waits for an answer, as long as a statement may take since it was asked or the one before it was answered.
    async fn patiently<T>(&self, answer: impl Future<Output = T>) -> Option<T> {
        let (asked, mut answer) = (Instant::now(), pin!(answer));
        loop {
            let until = asked.max(*self.heard()) + self.patience;
            if let Ok(answer) = timeout_at(until, &mut answer).await {
                *self.heard() = Instant::now();
                return Some(answer);
            }
            if *self.heard() + self.patience <= until {
                return None;
            }
        }
    }

    fn heard(&self) -> MutexGuard<'_, Instant> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what was done. If no answer comes, it may have been kept.
    pub(super) async fn keep(mut self) -> Result<(), Failure> {
        let done = match &self.lent.client {
            Some(client) if *self.turn.get_mut() => timeout(self.patience, commit(client)).await,
            _ => Ok(Ok(())),
        };
        match done {
            Ok(Ok(())) => {
                self.lent.is_clean = true;
                Ok(())
            }
            Ok(Err(error)) if fault::is_lost(&error) => Err(Failure::Final(perhaps_done(fault::of(&error)))),
            Ok(Err(error)) => Err(Failure::new(&error)),
            Err(_) => Err(Failure::Final(perhaps_done(too_late()))),
        }
    }

    /// Undoes what was done, or ends what has only read. Nobody waits for the answer: whatever is sent on the connection
    /// next comes after it. Without, the connection is closed, which is the same and costs more.
    pub(super) async fn undo(mut self) {
        self.lent.is_clean = match &self.lent.client {
            Some(client) if *self.turn.get_mut() => {
                timeout(self.patience, send_rollback(client)).await.unwrap_or(false)
            }
            _ => true,
        };
    }

    async fn ask(&self, client: &Object, step: Step<'_>) -> Result<Vec<Row>, Error> {
        let mut has_begun = self.turn.lock().await;
        let (name, value) = self.view.setting();
        let (begin, set) = (self.mode.begin(), Step { sql: SET, values: &[&name, &value] });
        let (steps, answer): (&[&Step<'_>], usize) = match self.mode {
            Mode::Statement => (&[&step], 0),
            Mode::Query => (&[&begin, &set, &step, &COMMIT], 2),
            Mode::Read | Mode::Write if *has_begun => (&[&step], 0),
            Mode::Read | Mode::Write => (&[&begin, &set, &step], 2),
        };
        let prepared = prepare(client, steps).await?;
        let mut answers = pin!(maybe_done(all(client, &prepared, steps, answer)));
        // They are sent now. Then it is the next one's turn, and the answers come when they come.
        poll_fn(|context| Poll::Ready(answers.as_mut().poll(context).is_ready())).await;
        *has_begun = !self.mode.is_whole();
        drop(has_begun);
        answers.as_mut().await;
        answers.take_output().unwrap_or_else(|| Ok(Vec::new()))
    }
}

/// Sends all statements at once, and waits for all answers. The first error is the one that counts. Gives the rows of one.
async fn all(
    client: &Object,
    prepared: &[Statement],
    steps: &[&Step<'_>],
    answer: usize,
) -> Result<Vec<Row>, Error> {
    let sent = prepared.iter().zip(steps).map(|(sql, step)| client.query(sql, step.values));
    let mut answers: Vec<Vec<Row>> = join_all(sent).await.into_iter().collect::<Result<_, _>>()?;
    Ok(if answer < answers.len() { answers.swap_remove(answer) } else { Vec::new() })
}

/// Makes sure that the database knows these statements. It does already, but for the first time on a connection.
async fn prepare(client: &Object, steps: &[&Step<'_>]) -> Result<Vec<Statement>, Error> {
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
