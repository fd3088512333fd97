//! Stored projects: the use cases, written once for every database.
//!
//! A method of [`ProjectStore`] is a whole use case: it happens completely or not at all. It locks the row of
//! the project, reads what a rule of this crate needs, calls the rule, and writes the resulting rows. It
//! contains no SQL: [`tables`] defines the operations that a database provides, and a [`Backend`] runs the
//! use case in a transaction.
//!
//! # Guarantees of every method
//!
//! - **Tenancy.** Nothing of another account can be read or changed. A project that does not exist and one of
//!   another account give the same `NotFound`, with the same message and after the same work.
//! - **Atomicity.** A write happens in one transaction or not at all. A rejected write changes nothing.
//! - **Revisions.** Every write to a project increments its revision before it returns. `if_revision` is
//!   compared in the transaction that writes ([`Project::check_revision`]): of any number of writers that name
//!   the same revision, one succeeds and the others get `Conflict`. Missing projects are reported before
//!   conflicts, and conflicts before everything else. So writes to one project are serialized.
//! - **Dry runs.** With `dry_run`, a write is validated and answered like a real one, then rolled back.
//! - **Rules.** Rules are the pure functions of this crate. Usage is stored in the row of the project and
//!   never recounted.
//! - **Order.** Every list has one order, which no write to an entry changes, and strings compare as bytes. A
//!   cursor is a position in that order and is found by an index, so a page costs the same at the end as at the
//!   start.
//! - **Cost.** A write touches the row of the project and the rows it changes. Only `find_blocks`, `publish`,
//!   `content`, `version`, `restore_version` and `duplicate_project` read all blocks of a project, and nothing
//!   reads all projects.
//! - **Values.** Times are stored in microseconds, JSON and design systems as text, so that they round-trip
//!   unchanged.

mod assets;
mod blocks;
mod content;
mod design;
mod positions;
mod projects;
pub mod tables;
mod types;
mod versions;

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, Either, join, select};
use jiff::Timestamp;
use store_api::{StoreError, StoreFuture, check_name, is_valid_name};

use crate::error::Error;
use crate::ids::{Account, ProjectId};
use crate::project::{Project, ProjectUsage, ProjectWrite};
use tables::Tables;

/// Bytes that one statement may delete or copy, so that it stays well below the statement timeout.
pub const MAX_STATEMENT_BYTES: u64 = 64 * 1024 * 1024;

/// A database that stores projects.
pub trait Backend: Send + Sync {
    /// Runs a use case in one transaction. Commits if it succeeds and is not a dry run, otherwise rolls back.
    /// As long as nothing was committed, it may be run again from the start, on another connection.
    fn transact<'a>(&'a self, kind: TxKind<'a>, case: Arc<dyn UseCase>) -> BoxFuture<'a, Result<(), Error>>;

    /// Runs CPU-bound work on a thread that does not serve other tasks.
    fn offload(&self, work: Box<dyn FnOnce() + Send>) -> StoreFuture<'_, ()>;
}

/// The purpose of a transaction, and the rows it can access.
#[derive(Clone, Copy, Debug)]
pub enum TxKind<'a> {
    /// Reads the data of an account, from one snapshot.
    Read(&'a Account),
    /// Reads the data of every account.
    ReadAll,
    /// Writes the data of an account.
    Write {
        account: &'a Account,
        /// Writers of the same target are serialized: a project, or the account that a project is added to.
        target: &'a str,
        /// Rolls back even on success.
        dry_run: bool,
    },
}

/// Work to do in a transaction. It only borrows its arguments, so it can be retried.
pub trait UseCase: Send + Sync {
    /// Runs the use case and stores its result.
    fn run<'a>(&'a self, tables: &'a dyn Tables) -> BoxFuture<'a, Result<(), Error>>;
}

/// The body of a use case, which depends only on its arguments.
type UseCaseFn<A, T> = for<'a> fn(&'a dyn Tables, &'a A) -> BoxFuture<'a, Result<T, Error>>;

struct BoundUseCase<A, T> {
    arguments: A,
    function: UseCaseFn<A, T>,
    result: Mutex<Option<T>>,
}

impl<A: Send + Sync, T: Send> UseCase for BoundUseCase<A, T> {
    fn run<'a>(&'a self, tables: &'a dyn Tables) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let answer = (self.function)(tables, &self.arguments).await?;
            *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
            Ok(())
        })
    }
}

/// The projects in a database. Cheap to clone.
#[derive(Clone)]
pub struct ProjectStore(Arc<dyn Backend>);

impl ProjectStore {
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self(backend)
    }

    async fn read<A, T>(
        &self,
        account: &Account,
        arguments: A,
        body: UseCaseFn<(Account, A), T>,
    ) -> Result<T, Error>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.transact(TxKind::Read(account), (account.clone(), arguments), body).await
    }

    async fn write<A, T>(
        &self,
        write: ProjectWrite,
        arguments: A,
        body: UseCaseFn<(ProjectWrite, A), T>,
    ) -> Result<T, Error>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let write = ProjectWrite { now: truncate_to_micros(write.now), ..write };
        let ProjectWrite { account, project, dry_run, .. } = write.clone();
        let kind = TxKind::Write { account: &account, target: project.as_str(), dry_run };
        self.transact(kind, (write, arguments), body).await
    }

    /// Runs a use case that adds a project to an account.
    async fn add<A, T>(
        &self,
        account: &Account,
        dry_run: bool,
        arguments: A,
        body: UseCaseFn<(Account, A), T>,
    ) -> Result<T, Error>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        check_name("an account", account.as_str())?;
        let kind = TxKind::Write { account, target: account.as_str(), dry_run };
        self.transact(kind, (account.clone(), arguments), body).await
    }

    async fn transact<A, T>(&self, kind: TxKind<'_>, arguments: A, body: UseCaseFn<A, T>) -> Result<T, Error>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let case = Arc::new(BoundUseCase { arguments, function: body, result: Mutex::new(None) });
        self.0.transact(kind, Arc::clone(&case) as Arc<dyn UseCase>).await?;
        take_result(&case.result)
    }

    /// Computes something on a thread that does not serve other tasks.
    async fn offload<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let answer = Arc::new(Mutex::new(None));
        let made = Arc::clone(&answer);
        let work = move || *made.lock().unwrap_or_else(PoisonError::into_inner) = Some(work());
        self.0.offload(Box::new(work)).await?;
        take_result(&answer)?
    }
}

fn take_result<T>(answer: &Mutex<Option<T>>) -> Result<T, Error> {
    let answer = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok(answer.ok_or_else(|| StoreError::Broken("a use case ended without a result".to_owned()))?)
}

/// Truncates a time to the stored precision, so that results match what is read later.
pub fn truncate_to_micros(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

/// The revision of a project to read from, if the account owns it. Invalid account names own nothing.
async fn read_revision(tables: &dyn Tables, account: &Account, id: &ProjectId) -> Result<u64, Error> {
    let found = if is_valid_name(account.as_str()) { tables.revision(account, id).await? } else { None };
    Ok(found.ok_or_else(|| id.missing())?)
}

/// Locks the project to write to, and checks the expected revision.
async fn lock_project(tables: &dyn Tables, write: &ProjectWrite) -> Result<Project, Error> {
    let ProjectWrite { account, project: id, .. } = write;
    let found = if is_valid_name(account.as_str()) { tables.lock_project(account, id).await? } else { None };
    let project = found.ok_or_else(|| id.missing())?;
    project.check_revision(write)?;
    Ok(project)
}

/// Awaits a project together with other data of it. A remote database gets both queries at once; a local one
/// completes the first immediately and skips the second if the project is missing. Errors of the project are
/// reported first.
async fn join_project_first<P, V, E>(
    project: impl Future<Output = Result<P, E>>,
    rest: impl Future<Output = Result<V, E>>,
) -> Result<(P, V), E> {
    match select(pin!(project), pin!(rest)).await {
        Either::Left((project, rest)) => Ok((project?, rest.await?)),
        Either::Right((rest, project)) => Ok((project.await?, rest?)),
    }
}

/// Awaits both concurrently. If both fail, the error of the first is returned.
async fn try_join_ordered<A, B, E>(
    one: impl Future<Output = Result<A, E>>,
    other: impl Future<Output = Result<B, E>>,
) -> Result<(A, B), E> {
    let (one, other) = join(one, other).await;
    Ok((one?, other?))
}

/// Updates the row of a project after a write that results in this usage, and returns the new revision. Can
/// be sent to the database together with the other rows of the write.
async fn record_write(
    tables: &dyn Tables,
    write: &ProjectWrite,
    project: &Project,
    usage: ProjectUsage,
) -> Result<u64, Error> {
    let written = project.after_write(write.now, usage)?;
    tables.put_counters(&written).await?;
    Ok(written.revision)
}

/// Runs work that may take a few hundred milliseconds; see [`Tables::compute`].
fn compute<T: Send>(tables: &dyn Tables, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    let (mut work, mut made) = (Some(work), None);
    tables.compute(&mut || made = work.take().map(|work| work()));
    Ok(made.ok_or_else(|| StoreError::Broken("a computation was not done".to_owned()))?)
}

/// Converts the error of a database operation.
async fn query<T>(answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, Error> {
    Ok(answer.await?)
}
