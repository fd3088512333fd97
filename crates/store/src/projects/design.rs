//! Design systems.
//!
//! A value is exchanged for another in the text that is kept, in the transaction that writes it. Any other change reads, judges
//! and prints a whole document, and many at once may take a while. So it is made before anybody holds the project, on a thread
//! of its own; the transaction that writes it only sees whether the document is still the same.

use ::projects::tokens::Document;
use ::projects::{
    Account, AtRevision, DesignEdit, Designed, Error, Project, ProjectId, Refusal, StoreError, Write,
};
use futures_util::future::try_join;
use tokio::sync::Semaphore;

use super::tables::{Answer, Tables};
use super::{hold, look, note, with};

/// The design system of a project.
pub(crate) async fn read<T: Tables>(
    tables: &T,
    account: &Account,
    id: &ProjectId,
) -> Answer<T, AtRevision<Document>> {
    let (revision, value) = with(look(tables, account, id), async { tables.design(id).await }).await?;
    Ok(AtRevision { revision, value })
}

/// The same as it is kept.
pub(crate) async fn text<T: Tables>(
    tables: &T,
    account: &Account,
    id: &ProjectId,
) -> Answer<T, AtRevision<String>> {
    let (revision, value) = with(look(tables, account, id), async { tables.design_text(id).await }).await?;
    Ok(AtRevision { revision, value })
}

/// Makes a change that only exchanges values. `None` if it does more, and then nothing is written.
pub(crate) async fn exchange<T: Tables>(
    tables: &T,
    write: &Write,
    edit: &DesignEdit,
) -> Answer<T, Option<AtRevision<Designed>>> {
    let (project, before) = held(tables, write).await?;
    match edit.exchanged(&before) {
        Some((text, designed)) => put(tables, write, &project, Made { designed, text }).await.map(Some),
        None => Ok(None),
    }
}

/// The project to write to, and its design system as it is kept.
async fn held<T: Tables>(tables: &T, write: &Write) -> Answer<T, (Project, String)> {
    with(hold(tables, write), async { tables.design_text(&write.project).await }).await
}

async fn put<T: Tables>(
    tables: &T,
    write: &Write,
    project: &Project,
    made: Made,
) -> Answer<T, AtRevision<Designed>> {
    let put = tables.put_design(&project.id, &made.text);
    let ((), revision) = try_join(put, note(tables, write, project, project.usage)).await?;
    Ok(AtRevision { revision, value: made.designed })
}

/// How many changes are made at a time, in the whole process.
static PLACES: Semaphore = Semaphore::const_new(4);

/// How many bytes may be gone through while others wait for the project, or for the database: some hundredths of a second.
const QUICK: usize = 1024 * 1024;

/// A change, and what it makes of a document.
pub(crate) struct Redesign {
    edit: DesignEdit,
    /// The revision and the document that were read, as it is kept.
    revision: u64,
    before: String,
    made: Made,
}

/// A document after a change.
#[derive(Clone)]
struct Made {
    designed: Designed,
    text: String,
}

impl Made {
    fn of((document, designed): (Document, Designed)) -> Self {
        Self { designed, text: document.to_string() }
    }
}

/// Makes a change to the design system that somebody has read. What a rule refuses now is refused as of now, for whoever
/// knows this revision or names none.
pub(crate) async fn ahead(
    write: &Write,
    read: AtRevision<String>,
    edit: DesignEdit,
) -> Result<Redesign, Error> {
    write.admit(read.revision)?;
    let ended = || StoreError::Broken("a change of a design system has ended without a word".to_owned());
    let place = PLACES.acquire().await.map_err(|_| ended())?;
    let work = move || {
        // Taken until it is done, even if nobody wants it any more: it cannot be stopped.
        let _place = place;
        make(read, edit)
    };
    tokio::task::spawn_blocking(work).await.map_err(|_| ended())?
}

fn make(read: AtRevision<String>, edit: DesignEdit) -> Result<Redesign, Error> {
    let AtRevision { revision, value: before } = read;
    let unreadable = |error| StoreError::Broken(format!("a design system cannot be read: {error}"));
    let document = Document::stored(&before).map_err(unreadable)?;
    let made = Made::of(edit.apply(&document)?);
    Ok(Redesign { edit, revision, before, made })
}

/// Writes it. Where another document has been written in between, that one is changed instead, unless it would take long.
pub(crate) async fn edit<T: Tables>(
    tables: &T,
    write: &Write,
    change: &Redesign,
) -> Answer<T, AtRevision<Designed>> {
    let (project, before) = held(tables, write).await?;
    let made = if before == change.before {
        change.made.clone()
    } else if change.edit.effort(before.len()) > QUICK {
        return Err(Refusal::Conflict { expected: change.revision, found: project.revision }.into());
    } else {
        Made::of(change.edit.apply(&tables.design(&project.id).await?)?)
    };
    put(tables, write, &project, made).await
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A change that was made to this document, before the project got its first revision.
    pub(crate) fn made_from(before: &str, edit: DesignEdit) -> Redesign {
        make(AtRevision { revision: 0, value: before.to_owned() }, edit).unwrap()
    }
}
