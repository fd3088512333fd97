//! Projects that are kept: the use cases, written once for every database.
//!
//! A method of [`ProjectStore`] is a whole use case: it happens or it does not. It holds the row of the project, reads what a
//! rule of this crate wants, calls the rule, and writes the rows that it gives. It knows no SQL: [`tables`] says what a
//! database does for it, and a [`Backend`] runs it in a transaction.
//!
//! # What every method promises
//!
//! - **Tenancy.** Nothing of another account is seen or changed. A project that is not there and one of another account are
//!   the same `NotFound`, in the same words and after the same work.
//! - **Atomicity.** A write happens in one transaction, or not at all. What a rule refuses has changed nothing.
//! - **Revisions.** A write to a project adds one to its revision, whatever it touches, and only then answers. `if_revision`
//!   is compared in the transaction that writes ([`Project::check_revision`]); of any number of writers that name the same one, one
//!   succeeds and the others get `Conflict`. Missing projects are reported before conflicts, and conflicts before everything
//!   else. So writes to one project happen one after the other.
//! - **Dry runs.** With `dry_run` everything is read, judged and answered like a real write, and rolled back.
//! - **Rules.** They are the pure functions of this crate. Usage is kept in the row of the project, and never counted anew.
//! - **Order.** Lists have one order, which no write to an entry changes, and texts are compared as bytes. A cursor is a
//!   place in that order: what stands after it is found by an index, and a page costs as much at the end as at the start.
//! - **Cost.** A write touches the row of the project and those that it is about. Nothing but `find_blocks`, `publish`,
//!   `content`, `version`, `restore_version` and `duplicate_project` reads all blocks of a project, and nothing reads all projects.
//! - **Values.** Times are kept to the microsecond, JSON and design systems as text, so that they come back equal.

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

/// How many bytes a statement deletes or copies, so that it takes much less time than it may.
pub const MAX_STATEMENT_BYTES: u64 = 64 * 1024 * 1024;

/// A database that keeps projects.
pub trait Backend: Send + Sync {
    /// Runs a use case in one transaction. What it wrote is kept if it succeeds and was no dry run, and rolled back otherwise.
    /// It may be run again from the start, on another connection, as long as nothing was kept.
    fn transact<'a>(&'a self, kind: TxKind<'a>, case: Arc<dyn UseCase>) -> BoxFuture<'a, Result<(), Error>>;

    /// Runs work that takes a processor for a while, away from the threads that others wait for.
    fn offload(&self, work: Box<dyn FnOnce() + Send>) -> StoreFuture<'_, ()>;
}

/// What a transaction is for, and whose rows it sees.
#[derive(Clone, Copy, Debug)]
pub enum TxKind<'a> {
    /// Reads what an account has, all of it as of one moment.
    Read(&'a Account),
    /// Reads what every account has.
    ReadAll,
    /// Writes to what an account has.
    Write {
        /// The account.
        account: &'a Account,
        /// Writers of the same target come one after the other: a project, or the account that gets one.
        target: &'a str,
        /// Rolled back even if it succeeds.
        dry_run: bool,
    },
}

/// Something to be done in a transaction. It only borrows what it needs, so it can be done again.
pub trait UseCase: Send + Sync {
    /// Does it, and keeps the answer for the one who asked.
    fn run<'a>(&'a self, tables: &'a dyn Tables) -> BoxFuture<'a, Result<(), Error>>;
}

/// The body of a use case: its arguments are all it knows.
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
    /// The projects in this database.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self(backend)
    }

    /// Runs a use case that reads what an account has.
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

    /// Runs a use case that writes to a project.
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

    /// Computes something away from the threads that others wait for.
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
    Ok(answer.ok_or_else(|| StoreError::Broken("a use case ended without an answer".to_owned()))?)
}

/// A time as it is kept, so that what is answered is what will be read.
pub fn truncate_to_micros(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

/// The revision of a project to read from, if it is there for this account. What cannot be kept is not there.
async fn read_revision(tables: &dyn Tables, account: &Account, id: &ProjectId) -> Result<u64, Error> {
    let found = if is_valid_name(account.as_str()) { tables.revision(account, id).await? } else { None };
    Ok(found.ok_or_else(|| id.missing())?)
}

/// The project to write to: held, and at the revision that the writer knows.
async fn lock_project(tables: &dyn Tables, write: &ProjectWrite) -> Result<Project, Error> {
    let ProjectWrite { account, project: id, .. } = write;
    let found = if is_valid_name(account.as_str()) { tables.lock_project(account, id).await? } else { None };
    let project = found.ok_or_else(|| id.missing())?;
    project.check_revision(write)?;
    Ok(project)
}

/// A project, and something of it. A database far away is asked for both at once; one that answers at once is asked for
/// nothing of a project that is not there. What is wrong with the project is reported first.
async fn join_project_first<P, V, E>(
    project: impl Future<Output = Result<P, E>>,
    rest: impl Future<Output = Result<V, E>>,
) -> Result<(P, V), E> {
    match select(pin!(project), pin!(rest)).await {
        Either::Left((project, rest)) => Ok((project?, rest.await?)),
        Either::Right((rest, project)) => Ok((project.await?, rest?)),
    }
}

/// Asks for both at once. If both refuse, the first says why.
async fn try_join_ordered<A, B, E>(
    one: impl Future<Output = Result<A, E>>,
    other: impl Future<Output = Result<B, E>>,
) -> Result<(A, B), E> {
    let (one, other) = join(one, other).await;
    Ok((one?, other?))
}

/// Writes the row of a project after a write that leaves so much in it. Gives the revision. Rows that are written anyway go
/// to the database together with it.
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

/// Does what may take some tenths of a second: see [`Tables::compute`].
fn compute<T: Send>(tables: &dyn Tables, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    let (mut work, mut made) = (Some(work), None);
    tables.compute(&mut || made = work.take().map(|work| work()));
    Ok(made.ok_or_else(|| StoreError::Broken("a computation was not done".to_owned()))?)
}

/// What a database answers, as a use case asks for it.
async fn query<T>(answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, Error> {
    Ok(answer.await?)
}
