//! Design systems.
//!
//! A change reads, judges and prints a whole document, and many changes at once may take a while. So it is computed before the
//! project is held; the transaction that writes it only sees whether the document is still the same. If it is not, the change
//! is made again to what is there.

use std::sync::Arc;

use futures_util::future::try_join;
use storage::StoreError;

use super::{ProjectStore, hold, look, note, project_and, row};
use crate::design::{DesignEdit, Designed};
use crate::error::{Error, Refusal};
use crate::ids::{Account, ProjectId};
use crate::project::{AtRevision, Write};
use design_tokens::Document;

/// How often a change is made again because the document has changed meanwhile.
const ATTEMPTS: u32 = 32;

/// A document before and after a change, as it is kept.
struct Redesign {
    before: String,
    after: String,
    designed: Designed,
}

impl ProjectStore {
    /// The design system of a project.
    pub async fn design_system(
        &self,
        account: &Account,
        project: &ProjectId,
    ) -> Result<AtRevision<Document>, Error> {
        let AtRevision { revision, value } = self.design_text(account, project).await?;
        Ok(AtRevision { revision, value: parse(&value)? })
    }

    /// The same as it is kept: JSON.
    pub async fn design_text(
        &self,
        account: &Account,
        project: &ProjectId,
    ) -> Result<AtRevision<String>, Error> {
        self.read(account, project.clone(), |tables, (account, project)| {
            Box::pin(async move {
                let text = row(tables.design(project));
                let (revision, value) = project_and(look(tables, account, project), text).await?;
                Ok(AtRevision { revision, value })
            })
        })
        .await
    }

    /// Changes the design system by [`DesignEdit::apply`]. It is one row. A caller that names no revision gets `Conflict` only
    /// if others have changed it many times while the change was being made.
    pub async fn edit_design_system(
        &self,
        write: Write,
        edit: DesignEdit,
    ) -> Result<AtRevision<Designed>, Error> {
        let edit = Arc::new(edit);
        let mut first = None;
        for _ in 0..ATTEMPTS {
            let read = self.design_text(&write.account, &write.project).await?;
            let revision = read.revision;
            write.admit(revision)?;
            first.get_or_insert(revision);
            let made = Arc::clone(&edit);
            let redesign = self.offload(move || apply(&made, read.value)).await?;
            let put = self.write(write.clone(), redesign, |tables, (write, redesign)| {
                Box::pin(async move {
                    let text = row(tables.design(&write.project));
                    let (project, found) = project_and(hold(tables, write), text).await?;
                    if found != redesign.before {
                        return Ok(None);
                    }
                    let put = row(tables.put_design(&project.id, &redesign.after));
                    let ((), revision) = try_join(put, note(tables, write, &project, project.usage)).await?;
                    Ok(Some(AtRevision { revision, value: redesign.designed.clone() }))
                })
            });
            if let Some(designed) = put.await? {
                return Ok(designed);
            }
        }
        let found = self.design_text(&write.account, &write.project).await?.revision;
        Err(Refusal::Conflict { expected: first.unwrap_or(found), found }.into())
    }
}

/// A document as a store keeps it.
pub(super) fn parse(text: &str) -> Result<Document, StoreError> {
    Document::stored(text)
        .map_err(|error| StoreError::Broken(format!("a design system cannot be read: {error}")))
}

fn apply(edit: &DesignEdit, before: String) -> Result<Redesign, Error> {
    let (document, designed) = edit.apply(&parse(&before)?)?;
    Ok(Redesign { before, after: document.to_string(), designed })
}
