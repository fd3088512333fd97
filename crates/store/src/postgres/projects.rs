//! Projects in PostgreSQL: the rows that the use cases want, and the use cases in transactions.

mod asset_rows;
mod assets;
mod block_rows;
mod blocks;
mod project_rows;
mod read;
mod tree;
mod version_rows;
mod versions;

use std::sync::Arc;

use ::projects::tokens::Document;
use ::projects::{
    Account, AtRevision, Content, CustomType, DesignEdit, Designed, Error, FieldsPatch, Import, Listed,
    NewFields, NewProject, Page, Project, ProjectId, Stored, Write,
};
use jiff::Timestamp;

use super::Postgres;
use super::case::Aim;
use super::transaction::{Fault, Transaction};
use super::work::View;
use crate::names::check_name;
use crate::projects::tables::{Database, Stop};
use crate::projects::{design, import, in_projects, project, types, whole};

impl Database for Transaction<'_> {
    type Fault = Fault;
}

impl From<Fault> for Stop<Fault> {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

/// How many rows at most.
fn most(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A write at a time that can be kept.
fn timed(write: Write) -> Write {
    Write { now: whole(write.now), ..write }
}

impl Postgres {
    async fn reading<'a, T, F, D>(&self, account: &'a Account, case: F) -> Result<T, Error>
    where
        T: Send,
        F: Fn(Arc<Transaction<'a>>) -> D + Send + Sync,
        D: Future<Output = Result<T, Stop<Fault>>> + Send,
    {
        self.case(View::Tenant(account.as_str()), Aim::Read, case).await
    }

    async fn writing<'a, T, F, D>(&self, write: &'a Write, case: F) -> Result<T, Error>
    where
        T: Send,
        F: Fn(Arc<Transaction<'a>>) -> D + Send + Sync,
        D: Future<Output = Result<T, Stop<Fault>>> + Send,
    {
        let aim = Aim::to_write(write.project.as_str(), write.dry_run);
        self.case(View::Tenant(write.account.as_str()), aim, case).await
    }
}

impl ::projects::store::Projects for Postgres {
    fn create_project<'a>(
        &'a self,
        account: &'a Account,
        new: NewProject,
        dry_run: bool,
        now: Timestamp,
    ) -> Stored<'a, Project> {
        Box::pin(async move {
            check_name("an account", account.as_str()).map_err(in_projects)?;
            let (new, now) = (&new, whole(now));
            let make = |tables: Arc<_>| async move { project::create(&*tables, account, new, now).await };
            let (view, aim) = (View::Tenant(account.as_str()), Aim::to_write(account.as_str(), dry_run));
            self.case(view, aim, make).await
        })
    }

    fn project<'a>(&'a self, account: &'a Account, id: &'a ProjectId) -> Stored<'a, Project> {
        let case = move |tables: Arc<_>| async move { project::read(&*tables, account, id).await };
        Box::pin(self.reading(account, case))
    }

    fn list_projects<'a>(&'a self, account: &'a Account, page: Page) -> Stored<'a, Listed<Project>> {
        Box::pin(async move {
            let page = &page;
            self.reading(account, |tables| async move { project::list(&*tables, account, page).await }).await
        })
    }

    fn projects_beginning<'a>(
        &'a self,
        account: &'a Account,
        prefix: &'a str,
        most: u32,
    ) -> Stored<'a, Vec<Project>> {
        let case =
            move |tables: Arc<_>| async move { project::beginning(&*tables, account, prefix, most).await };
        Box::pin(self.reading(account, case))
    }

    fn update_project(&self, write: Write, patch: FieldsPatch) -> Stored<'_, Project> {
        Box::pin(async move {
            let (write, patch) = (&timed(write), &patch);
            self.writing(write, |tables| async move { project::update(&*tables, write, patch).await }).await
        })
    }

    fn duplicate_project(&self, write: Write, id: ProjectId, fields: NewFields) -> Stored<'_, Project> {
        Box::pin(async move {
            let (write, id, fields) = (&timed(write), &id, &fields);
            let case = |tables: Arc<_>| async move { project::duplicate(&*tables, write, id, fields).await };
            self.writing(write, case).await
        })
    }

    fn import_project<'a>(&'a self, account: &'a Account, import: Import) -> Stored<'a, Project> {
        Box::pin(async move {
            check_name("an account", account.as_str()).map_err(in_projects)?;
            let import = &import;
            let make = |tables: Arc<_>| async move { import::import(&*tables, account, import).await };
            let (view, aim) = (View::Tenant(account.as_str()), Aim::to_write(account.as_str(), false));
            self.case(view, aim, make).await
        })
    }

    fn delete_project(&self, write: Write) -> Stored<'_, Project> {
        Box::pin(async move {
            let write = &timed(write);
            self.writing(write, |tables| async move { project::delete(&*tables, write).await }).await
        })
    }

    fn content<'a>(&'a self, account: &'a Account, id: &'a ProjectId) -> Stored<'a, AtRevision<Content>> {
        let case = move |tables: Arc<_>| async move { project::content(&*tables, account, id).await };
        Box::pin(self.reading(account, case))
    }

    fn block_types<'a>(
        &'a self,
        account: &'a Account,
        id: &'a ProjectId,
    ) -> Stored<'a, AtRevision<Vec<CustomType>>> {
        let case = move |tables: Arc<_>| async move { types::list(&*tables, account, id).await };
        Box::pin(self.reading(account, case))
    }

    fn put_block_type(&self, write: Write, own: CustomType) -> Stored<'_, AtRevision<CustomType>> {
        Box::pin(async move {
            let (write, own) = (&timed(write), &own);
            self.writing(write, |tables| async move { types::put(&*tables, write, own).await }).await
        })
    }

    fn delete_block_type<'a>(&'a self, write: Write, name: &'a str) -> Stored<'a, AtRevision<CustomType>> {
        Box::pin(async move {
            let write = &timed(write);
            self.writing(write, |tables| async move { types::delete(&*tables, write, name).await }).await
        })
    }

    fn accounts(&self) -> Stored<'_, Vec<Account>> {
        let case = |tables: Arc<_>| async move { project::accounts(&*tables).await };
        Box::pin(self.case(View::Operator, Aim::Read, case))
    }
}

impl ::projects::store::DesignSystems for Postgres {
    fn design_system<'a>(
        &'a self,
        account: &'a Account,
        id: &'a ProjectId,
    ) -> Stored<'a, AtRevision<Document>> {
        let case = move |tables: Arc<_>| async move { design::read(&*tables, account, id).await };
        Box::pin(self.reading(account, case))
    }

    fn design_text<'a>(&'a self, account: &'a Account, id: &'a ProjectId) -> Stored<'a, AtRevision<String>> {
        let case = move |tables: Arc<_>| async move { design::text(&*tables, account, id).await };
        Box::pin(self.reading(account, case))
    }

    fn edit_design_system(&self, write: Write, edit: DesignEdit) -> Stored<'_, AtRevision<Designed>> {
        Box::pin(async move {
            let write = &timed(write);
            if edit.may_exchange() {
                let edit = &edit;
                let exchange = |tables: Arc<_>| async move { design::exchange(&*tables, write, edit).await };
                if let Some(done) = self.writing(write, exchange).await? {
                    return Ok(done);
                }
            }
            let read = self.design_text(&write.account, &write.project).await?;
            let change = &design::ahead(write, read, edit).await?;
            self.writing(write, |tables| async move { design::edit(&*tables, write, change).await }).await
        })
    }
}
