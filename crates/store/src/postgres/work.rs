//! How statements get to the database and come back, and when they are sent again.
//!
//! Every transaction first tells the database who asks, because its policies show nothing otherwise. Statements that do
//! not need each other's answers travel together: a look-up costs one round trip.
//!
//! When a connection breaks, the work is done again on a new one, once, if that cannot do harm: what is only read, what
//! was not committed yet, and single statements for which twice is as good as once. A commit without an answer is an
//! error, because nobody knows whether it happened. [`Postgres::change`] is for single statements that tell by themselves.

use access::StoreError;
use deadpool_postgres::Object;
use futures_util::future::join_all;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

use super::cancel::Canceller;
use super::column::get;
use super::{Postgres, fault};

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

/// Why it was not done.
enum Failure {
    /// The connection is gone, and nothing is done that may not be done again.
    Lost(StoreError),
    /// Final.
    Failed(StoreError),
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

pub(super) const SET: &str = "SELECT set_config($1, $2, true)";
const BEGIN: Step<'_> = Step { sql: "BEGIN", values: &[] };
const BEGIN_READ: Step<'_> = Step { sql: "BEGIN READ ONLY", values: &[] };
const COMMIT: Step<'_> = Step { sql: "COMMIT", values: &[] };

impl Failure {
    fn of(error: Error) -> Self {
        if fault::is_lost(&error) { Self::Lost(fault::of(&error)) } else { Self::Failed(fault::of(&error)) }
    }

    /// What was committed may have happened, whatever the answer was.
    fn of_commit(self) -> Self {
        let (Self::Lost(error) | Self::Failed(error)) = self;
        Self::Failed(perhaps_done(error))
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
        let result = match self.attempt(&work).await {
            Err(Failure::Lost(_)) => {
                // The others in the pool have likely gone with it.
                self.pool.retain(|_, _| false);
                self.attempt(&work).await
            }
            result => result,
        };
        result.map_err(|(Failure::Lost(error) | Failure::Failed(error))| error)
    }

    /// Does what is one statement.
    pub(super) async fn run_one(&self, work: Work<'_>) -> Result<Vec<Row>, StoreError> {
        Ok(self.run(work).await?.pop().unwrap_or_default())
    }

    /// Does what happens at most once, however often it is sent, and says `true` when it has. If a connection breaks, it
    /// is sent again. What says then that it has not happened may have done so the first time, and nobody knows.
    pub(super) async fn change(&self, work: Work<'_>) -> Result<bool, StoreError> {
        Ok(self.change_telling(work).await?.0)
    }

    /// The same for what says more than that it has happened: also gives its row, if it is known.
    pub(super) async fn change_telling(&self, work: Work<'_>) -> Result<(bool, Option<Row>), StoreError> {
        match self.attempt(&work).await {
            Ok(answers) => Ok((happened(&answers)?, answers.into_iter().flatten().next())),
            Err(Failure::Failed(error)) => Err(error),
            Err(Failure::Lost(error)) => {
                self.pool.retain(|_, _| false);
                let again = self.attempt(&work).await;
                let has_happened = again.is_ok_and(|answers| matches!(happened(&answers), Ok(true)));
                if has_happened { Ok((true, None)) } else { Err(perhaps_done(error)) }
            }
        }
    }

    async fn attempt(&self, work: &Work<'_>) -> Result<Vec<Vec<Row>>, Failure> {
        let _turn = match work.tenant() {
            None => None,
            tenant => Some(self.turns.wait(tenant, None).await.map_err(Failure::Failed)?),
        };
        let client = self.pool.get().await.map_err(|error| Failure::Failed(fault::of_pool(&error)))?;
        // Whoever stops waiting for changes may leave an open transaction behind; what is only read travels whole.
        let mut lent = self.lend(client, !matches!(work, Work::Write(..)));
        let Some(client) = &lent.client else { return Err(Failure::Failed(too_late())) };
        let result = timeout(self.patience, travel(client, work)).await;
        let result = result.unwrap_or_else(|_| Err(Failure::Failed(too_late())));
        lent.is_clean = result.is_ok();
        result
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

async fn travel(client: &Object, work: &Work<'_>) -> Result<Vec<Vec<Row>>, Failure> {
    match work {
        Work::Alone(step) | Work::For(_, step) => together(client, &[step]).await,
        Work::Read(view, step) => {
            let (name, value) = view.setting();
            let set = Step { sql: SET, values: &[&name, &value] };
            let mut answers = together(client, &[&BEGIN_READ, &set, step, &COMMIT]).await?;
            Ok(vec![answers.swap_remove(2)])
        }
        Work::Write(view, steps) => {
            let (name, value) = view.setting();
            let set = Step { sql: SET, values: &[&name, &value] };
            let all: Vec<&Step<'_>> = [&BEGIN, &set].into_iter().chain(*steps).collect();
            let answers = together(client, &all).await?;
            together(client, &[&COMMIT]).await.map_err(Failure::of_commit)?;
            Ok(answers.into_iter().skip(2).collect())
        }
    }
}

/// Sends all statements at once, and waits for all answers. The first error is the one that counts.
async fn together(client: &Object, steps: &[&Step<'_>]) -> Result<Vec<Vec<Row>>, Failure> {
    let prepared = prepare(client, steps).await.map_err(Failure::of)?;
    // Each is sent when its future is first polled, and they are polled in order.
    let answers =
        join_all(prepared.iter().zip(steps).map(|(sql, step)| client.query(sql, step.values))).await;
    answers.into_iter().collect::<Result<_, _>>().map_err(Failure::of)
}

/// Makes sure that the database knows these statements. It does already, but for the first time on a connection.
pub(super) async fn prepare(client: &Object, steps: &[&Step<'_>]) -> Result<Vec<Statement>, Error> {
    let mut prepared = Vec::with_capacity(steps.len());
    for step in steps {
        prepared.push(client.prepare_cached(step.sql).await?);
    }
    Ok(prepared)
}
