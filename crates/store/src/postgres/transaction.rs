//! A transaction whose statements need the answers to earlier ones.
//!
//! Nothing is sent before the first statement, and the beginning travels with it. Statements that are asked for together, as by
//! `try_join`, are sent together, in the order in which they are first polled.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use access::StoreError;
use deadpool_postgres::Object;
use futures_util::future::{join_all, maybe_done};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

use super::fault;
use super::work::{Lent, SET, Step, View, perhaps_done, prepare, too_late};

/// What a transaction may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Read, and see one moment.
    Read,
    /// Write. Each statement sees what was done before it, so that who waited for a lock sees what was done under it.
    Write,
}

/// Why a statement was not done.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The connection is gone, and with it all that was done.
    Lost(StoreError),
    /// Others were in the way. From the start it may go well.
    Conflict(StoreError),
    /// Final.
    Failed(StoreError),
}

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
}

impl Mode {
    const fn begin(self) -> Step<'static> {
        let sql = match self {
            Self::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Self::Write => "BEGIN ISOLATION LEVEL READ COMMITTED",
        };
        Step { sql, values: &[] }
    }
}

impl Fault {
    fn of(error: &Error) -> Self {
        let told = fault::of(error);
        if fault::is_lost(error) {
            Self::Lost(told)
        } else if fault::is_conflict(error) {
            Self::Conflict(told)
        } else {
            Self::Failed(told)
        }
    }

    /// What it means to whoever does not try again.
    pub(super) fn into_error(self) -> StoreError {
        let (Self::Lost(error) | Self::Conflict(error) | Self::Failed(error)) = self;
        error
    }
}

impl<'a> Transaction<'a> {
    /// Nothing is sent yet.
    pub(super) fn on(lent: Lent, view: View<'a>, mode: Mode, patience: Duration) -> Self {
        let heard = std::sync::Mutex::new(Instant::now());
        Self { lent, view, mode, patience, turn: Mutex::new(false), heard }
    }

    /// Whose rows it sees. Nobody's for the owner of the store.
    pub(super) fn tenant(&self) -> &str {
        match self.view {
            View::Tenant(tenant) => tenant,
            View::Prefix(_) | View::Operator => "",
        }
    }

    /// The rows that a statement gives.
    pub(super) async fn rows(
        &self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Fault> {
        let Some(client) = &self.lent.client else { return Err(Fault::Failed(too_late())) };
        // In a box: a use case has many of them, and would else be as large as all together.
        let asked = Box::pin(self.patiently(self.ask(client, Step { sql, values })));
        let error = match asked.await {
            Some(Ok(rows)) => return Ok(rows),
            Some(Err(error)) => error,
            None => return Err(Fault::Failed(too_late())),
        };
        if fault::is_consequence(&error) {
            // The statement that did fail was asked together with this one, and its answer is there too: let it be heard.
            tokio::task::yield_now().await;
        }
        Err(Fault::of(&error))
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

    /// Keeps what was done. If no answer comes, nobody knows whether it is kept.
    pub(super) async fn keep(mut self) -> Result<(), Fault> {
        let done = match &self.lent.client {
            Some(client) if *self.turn.get_mut() => timeout(self.patience, commit(client)).await,
            _ => Ok(Ok(())),
        };
        match done {
            Ok(Ok(())) => self.lent.is_clean = true,
            Ok(Err(error)) if fault::is_lost(&error) => {
                return Err(Fault::Failed(perhaps_done(fault::of(&error))));
            }
            Ok(Err(error)) => return Err(Fault::of(&error)),
            Err(_) => return Err(Fault::Failed(perhaps_done(too_late()))),
        }
        Ok(())
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
        let steps: &[&Step<'_>] = if *has_begun { &[&step] } else { &[&begin, &set, &step] };
        let prepared = prepare(client, steps).await?;
        let mut answers = pin!(maybe_done(all(client, &prepared, steps)));
        // They are sent now. Then it is the next one's turn, and the answers come when they come.
        poll_fn(|context| Poll::Ready(answers.as_mut().poll(context).is_ready())).await;
        *has_begun = true;
        drop(has_begun);
        answers.as_mut().await;
        answers.take_output().unwrap_or_else(|| Ok(Vec::new()))
    }
}

async fn all(client: &Object, prepared: &[Statement], steps: &[&Step<'_>]) -> Result<Vec<Row>, Error> {
    let sent = prepared.iter().zip(steps).map(|(sql, step)| client.query(sql, step.values));
    let answers: Vec<Vec<Row>> = join_all(sent).await.into_iter().collect::<Result<_, _>>()?;
    Ok(answers.into_iter().next_back().unwrap_or_default())
}

async fn commit(client: &Object) -> Result<(), Error> {
    let sql = client.prepare_cached("COMMIT").await?;
    client.execute(&sql, &[]).await.map(drop)
}

/// Whether it is on its way.
async fn send_rollback(client: &Object) -> bool {
    let Ok(sql) = client.prepare_cached("ROLLBACK").await else { return false };
    let mut answer = pin!(client.execute(&sql, &[]));
    poll_fn(|context| Poll::Ready(!matches!(answer.as_mut().poll(context), Poll::Ready(Err(_))))).await
}
