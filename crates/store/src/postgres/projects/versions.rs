//! What was published.

use std::sync::Arc;

use ::projects::store::Versions;
use ::projects::{Account, AtRevision, Content, Listed, Page, Project, ProjectId, Stored, Version, Write};

use super::super::Postgres;
use super::timed;
use crate::projects::versions;

impl Versions for Postgres {
    fn publish<'a>(&'a self, write: Write, note: &'a str) -> Stored<'a, AtRevision<Version>> {
        Box::pin(async move {
            let write = &timed(write);
            self.writing(write, |tables| async move { versions::make(&*tables, write, note).await }).await
        })
    }

    fn unpublish(&self, write: Write) -> Stored<'_, Project> {
        Box::pin(async move {
            let write = &timed(write);
            self.writing(write, |tables| async move { versions::take_back(&*tables, write).await }).await
        })
    }

    fn list_versions<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        page: Page,
    ) -> Stored<'a, Listed<Version>> {
        Box::pin(async move {
            let page = &page;
            let case = |tables: Arc<_>| async move { versions::list(&*tables, account, project, page).await };
            self.reading(account, case).await
        })
    }

    fn version<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        number: u32,
    ) -> Stored<'a, (Version, Content)> {
        let case =
            move |tables: Arc<_>| async move { versions::read(&*tables, account, project, number).await };
        Box::pin(self.reading(account, case))
    }

    fn restore_version(&self, write: Write, number: u32) -> Stored<'_, Project> {
        Box::pin(async move {
            let write = &timed(write);
            self.writing(write, |tables| async move { versions::make_draft(&*tables, write, number).await })
                .await
        })
    }

    fn delete_version(&self, write: Write, number: u32) -> Stored<'_, AtRevision<Version>> {
        Box::pin(async move {
            let write = &timed(write);
            self.writing(write, |tables| async move { versions::delete(&*tables, write, number).await }).await
        })
    }
}
