//! Design systems.
//!
//! An edit parses, validates and prints a whole document, and many edits at once may take a while. So it is
//! computed before the project is locked; the transaction that writes it only checks that the document is
//! unchanged. If it has changed, the edit is repeated on the new document.

use std::sync::Arc;

use futures_util::future::try_join;
use store_api::StoreError;

use super::{ProjectStore, join_project_first, lock_project, query, read_revision, record_write};
use crate::design::{DesignEdit, DesignEditReport};
use crate::error::{Error, ProjectRejection};
use crate::ids::{Account, ProjectId};
use crate::project::{AtRevision, ProjectWrite};
use design_tokens::TokenDocument;

/// How often an edit is repeated because the document has changed in the meantime.
const MAX_EDIT_ATTEMPTS: u32 = 32;

/// A stored document before and after an edit.
struct DesignRewrite {
    before: String,
    after: String,
    report: DesignEditReport,
}

impl ProjectStore {
    pub async fn design_system(
        &self,
        account: &Account,
        project: &ProjectId,
    ) -> Result<AtRevision<TokenDocument>, Error> {
        let AtRevision { revision, value } = self.design_text(account, project).await?;
        Ok(AtRevision { revision, value: parse_design(&value)? })
    }

    /// The design system as stored: JSON.
    pub async fn design_text(
        &self,
        account: &Account,
        project: &ProjectId,
    ) -> Result<AtRevision<String>, Error> {
        self.read(account, project.clone(), |tables, (account, project)| {
            Box::pin(async move {
                let text = query(tables.design(project));
                let (revision, value) =
                    join_project_first(read_revision(tables, account, project), text).await?;
                Ok(AtRevision { revision, value })
            })
        })
        .await
    }

    /// Edits the design system by [`DesignEdit::apply`]. It is one row. A caller that names no revision gets
    /// `Conflict` only if others changed the document many times during the edit.
    pub async fn edit_design_system(
        &self,
        write: ProjectWrite,
        edit: DesignEdit,
    ) -> Result<AtRevision<DesignEditReport>, Error> {
        let edit = Arc::new(edit);
        let mut first = None;
        for _ in 0..MAX_EDIT_ATTEMPTS {
            let read = self.design_text(&write.account, &write.project).await?;
            let revision = read.revision;
            write.check_revision(revision)?;
            first.get_or_insert(revision);
            let made = Arc::clone(&edit);
            let redesign = self.offload(move || apply_edit(&made, read.value)).await?;
            let put = self.write(write.clone(), redesign, |tables, (write, redesign)| {
                Box::pin(async move {
                    let text = query(tables.design(&write.project));
                    let (project, found) = join_project_first(lock_project(tables, write), text).await?;
                    if found != redesign.before {
                        return Ok(None);
                    }
                    let put = query(tables.put_design(&project.id, &redesign.after));
                    let ((), revision) =
                        try_join(put, record_write(tables, write, &project, project.usage)).await?;
                    Ok(Some(AtRevision { revision, value: redesign.report.clone() }))
                })
            });
            if let Some(designed) = put.await? {
                return Ok(designed);
            }
        }
        let found = self.design_text(&write.account, &write.project).await?.revision;
        Err(ProjectRejection::Conflict { expected: first.unwrap_or(found), found }.into())
    }
}

/// Parses a stored document.
pub(super) fn parse_design(text: &str) -> Result<TokenDocument, StoreError> {
    TokenDocument::parse_stored(text)
        .map_err(|error| StoreError::Broken(format!("invalid stored design system: {error}")))
}

fn apply_edit(edit: &DesignEdit, before: String) -> Result<DesignRewrite, Error> {
    let (document, designed) = edit.apply(&parse_design(&before)?)?;
    Ok(DesignRewrite { before, after: document.to_string(), report: designed })
}
