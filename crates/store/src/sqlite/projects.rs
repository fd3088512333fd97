//! Projects in SQLite: the use cases of [`crate::projects`] on the threads that have the connections.

mod areas;
#[cfg(test)]
mod overtaken;
#[cfg(test)]
mod plans;
mod rows;
mod tables;

use ::projects::{Error, Refusal, Write};
use futures_util::FutureExt as _;
use rusqlite::Connection;

use super::shared::Made;
use super::{Sqlite, fault};
use crate::projects::tables::Stop;
use crate::projects::{in_projects, whole};
use tables::Rows;

/// What a use case gives here.
type Outcome<T> = Result<T, Stop<rusqlite::Error>>;

impl Sqlite {
    /// Reads, all of it as of one moment.
    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Rows<'_>) -> Outcome<T> + Send + 'static,
    ) -> Result<T, Error> {
        let look = move |connection: &mut Connection| {
            let transaction = connection.transaction()?;
            told(look(&Rows(&transaction)))
        };
        Ok(self.readers.run(look).await.map_err(in_projects)??)
    }

    /// Writes to a project: all of it, or nothing.
    async fn write<T: Send + 'static>(
        &self,
        write: Write,
        work: impl FnOnce(&Rows<'_>, &Write) -> Outcome<T> + Send + 'static,
    ) -> Result<T, Error> {
        let write = Write { now: whole(write.now), ..write };
        self.attempt(write.dry_run, move |rows| work(rows, &write)).await
    }

    /// Makes a change. A dry run is taken back, and so is what a rule refuses.
    async fn attempt<T: Send + 'static>(
        &self,
        dry_run: bool,
        work: impl FnOnce(&Rows<'_>) -> Outcome<T> + Send + 'static,
    ) -> Result<T, Error> {
        let work = move |connection: &Connection| {
            let told = told(work(&Rows(connection)))?;
            Ok(if dry_run || told.is_err() { Made::Undone(told) } else { Made::Kept(told) })
        };
        Ok(self.writer.attempt(work).await.map_err(in_projects)??)
    }
}

/// What a rule said is an answer and no fault.
fn told<T>(outcome: Outcome<T>) -> rusqlite::Result<Result<T, Refusal>> {
    match outcome {
        Ok(value) => Ok(Ok(value)),
        Err(Stop::Refused(refusal)) => Ok(Err(refusal)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// Does a use case. Nothing in it waits, since the tables answer when they are asked.
fn at_once<T>(use_case: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let waited = || Err(Stop::Failed(fault::own("a use case waited for something")));
    use_case.now_or_never().unwrap_or_else(waited)
}
