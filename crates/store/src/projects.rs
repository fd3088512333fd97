//! Projects: the use cases, written once for both databases.
//!
//! A use case holds the row of the project, reads what a rule of the crate `projects` wants, calls the rule, and writes
//! the rows that it gives. It knows no SQL: [`tables`] says what a database does for it. Whoever calls a use case has begun
//! a transaction, keeps it if the answer is good and the write is in earnest, and takes it back otherwise. What a use case
//! gets it only borrows, so that it can be done again on another connection.
//!
//! In SQLite nothing waits: a use case is done when it is polled once. So it runs on the thread that has the connection.

pub(crate) mod assets;
pub(crate) mod blocks;
mod content;
pub(crate) mod design;
pub(crate) mod edits;
pub(crate) mod import;
pub(crate) mod project;
mod spots;
pub(crate) mod tables;
pub(crate) mod text;
pub(crate) mod types;
pub(crate) mod versions;

use std::pin::pin;

use ::projects::{Account, Error, Project, ProjectId, StoreError, Usage, Write};
use access::StoreError as Fault;
use futures_util::future::{Either, join, select};
use jiff::Timestamp;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use crate::names::is_name;
use tables::{Answer, Tables};

/// How many bytes a statement deletes or copies, so that it takes much less time than it may.
pub(crate) const SLICE: u64 = 64 * 1024 * 1024;

/// The same error in the words of `projects`, which does not know `access`.
pub(crate) fn in_projects(error: Fault) -> Error {
    Error::Store(match error {
        Fault::Unreachable(reason) => StoreError::Unreachable(reason),
        Fault::Broken(reason) => StoreError::Broken(reason),
        Fault::Full(reason) => StoreError::Full(reason),
    })
}

/// A time as it is kept, so that what is answered is what will be read.
pub(crate) fn whole(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

/// The revision of a project to read from, if it is there for this account. What cannot be kept is not there.
async fn look<T: Tables>(tables: &T, account: &Account, id: &ProjectId) -> Answer<T, u64> {
    let found = if is_name(account.as_str()) { tables.revision(account, id).await? } else { None };
    found.ok_or_else(|| id.missing().into())
}

/// The project to write to: held, and at the revision that the writer knows.
async fn hold<T: Tables>(tables: &T, write: &Write) -> Answer<T, Project> {
    let Write { account, project: id, .. } = write;
    let found = if is_name(account.as_str()) { tables.hold(account, id).await? } else { None };
    let project = found.ok_or_else(|| id.missing())?;
    project.admit(write)?;
    Ok(project)
}

/// Refuses a write to a project that is not there, or at another revision.
pub(crate) async fn admit<T: Tables>(tables: &T, write: &Write) -> Answer<T, ()> {
    hold(tables, write).await.map(drop)
}

/// A project, and something of it. A database far away is asked for both at once; one that answers at once is asked for
/// nothing of a project that is not there. Whatever is wrong with the project is told first.
async fn with<P, V, E>(
    project: impl Future<Output = Result<P, E>>,
    rest: impl Future<Output = Result<V, E>>,
) -> Result<(P, V), E> {
    match select(pin!(project), pin!(rest)).await {
        Either::Left((project, rest)) => Ok((project?, rest.await?)),
        Either::Right((rest, project)) => Ok((project.await?, rest?)),
    }
}

/// Writes the row of a project after a write that leaves so much in it. Gives the revision. Rows that are written anyway go
/// to the database together with it.
async fn note<T: Tables>(tables: &T, write: &Write, project: &Project, usage: Usage) -> Answer<T, u64> {
    let written = project.written(write.now, usage)?;
    tables.put_counts(&written).await?;
    Ok(written.revision)
}

/// Does what may take some tenths of a second, as judging by somebody's schemas, without keeping others waiting who have the
/// same thread: it hands them to another one. Where no thread has others, it is only done.
fn apart<T>(work: impl FnOnce() -> T) -> T {
    let has_others = |handle: Handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread;
    if Handle::try_current().is_ok_and(has_others) { block_in_place(work) } else { work() }
}

/// Asks for both at once. If both refuse, it is the first that says why.
async fn both<A, B, E>(
    one: impl Future<Output = Result<A, E>>,
    other: impl Future<Output = Result<B, E>>,
) -> Result<(A, B), E> {
    let (one, other) = join(one, other).await;
    Ok((one?, other?))
}
