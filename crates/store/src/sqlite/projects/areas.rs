//! The traits that projects need: each method is a use case with what it needs, sent to another thread.

mod assets;
mod blocks;
mod versions;

use ::projects::store::{DesignSystems, Projects, Stored};
use ::projects::tokens::Document;
use ::projects::{
    Account, AtRevision, Content, CustomType, DesignEdit, Designed, FieldsPatch, Import, Listed, NewFields,
    NewProject, Page, Project, ProjectId, Write,
};
use jiff::Timestamp;

use super::{Rows, Sqlite, at_once};
use crate::names::check_name;
use crate::projects::{design, import, in_projects, project, types, whole};

impl Projects for Sqlite {
    fn create_project<'a>(
        &'a self,
        account: &'a Account,
        new: NewProject,
        dry_run: bool,
        now: Timestamp,
    ) -> Stored<'a, Project> {
        Box::pin(async move {
            check_name("an account", account.as_str()).map_err(in_projects)?;
            let (account, now) = (account.clone(), whole(now));
            self.attempt(dry_run, move |rows| at_once(project::create(rows, &account, &new, now))).await
        })
    }

    fn project<'a>(&'a self, account: &'a Account, id: &'a ProjectId) -> Stored<'a, Project> {
        let (account, id) = (account.clone(), id.clone());
        Box::pin(self.look(move |rows| at_once(project::read(rows, &account, &id))))
    }

    fn list_projects<'a>(&'a self, account: &'a Account, page: Page) -> Stored<'a, Listed<Project>> {
        let account = account.clone();
        Box::pin(self.look(move |rows| at_once(project::list(rows, &account, &page))))
    }

    fn projects_beginning<'a>(
        &'a self,
        account: &'a Account,
        prefix: &'a str,
        most: u32,
    ) -> Stored<'a, Vec<Project>> {
        let (account, prefix) = (account.clone(), prefix.to_owned());
        Box::pin(self.look(move |rows| at_once(project::beginning(rows, &account, &prefix, most))))
    }

    fn update_project(&self, write: Write, patch: FieldsPatch) -> Stored<'_, Project> {
        Box::pin(self.write(write, move |rows, write| at_once(project::update(rows, write, &patch))))
    }

    fn duplicate_project(&self, write: Write, id: ProjectId, fields: NewFields) -> Stored<'_, Project> {
        Box::pin(self.write(write, move |rows, write| at_once(project::duplicate(rows, write, &id, &fields))))
    }

    fn import_project<'a>(&'a self, account: &'a Account, import: Import) -> Stored<'a, Project> {
        Box::pin(async move {
            check_name("an account", account.as_str()).map_err(in_projects)?;
            let account = account.clone();
            self.attempt(false, move |rows| at_once(import::import(rows, &account, &import))).await
        })
    }

    fn delete_project(&self, write: Write) -> Stored<'_, Project> {
        Box::pin(self.write(write, |rows, write| at_once(project::delete(rows, write))))
    }

    fn content<'a>(&'a self, account: &'a Account, id: &'a ProjectId) -> Stored<'a, AtRevision<Content>> {
        let (account, id) = (account.clone(), id.clone());
        Box::pin(self.look(move |rows| at_once(project::content(rows, &account, &id))))
    }

    fn block_types<'a>(
        &'a self,
        account: &'a Account,
        id: &'a ProjectId,
    ) -> Stored<'a, AtRevision<Vec<CustomType>>> {
        let (account, id) = (account.clone(), id.clone());
        Box::pin(self.look(move |rows| at_once(types::list(rows, &account, &id))))
    }

    fn put_block_type(&self, write: Write, own: CustomType) -> Stored<'_, AtRevision<CustomType>> {
        Box::pin(self.write(write, move |rows, write| at_once(types::put(rows, write, &own))))
    }

    fn delete_block_type<'a>(&'a self, write: Write, name: &'a str) -> Stored<'a, AtRevision<CustomType>> {
        let name = name.to_owned();
        Box::pin(self.write(write, move |rows, write| at_once(types::delete(rows, write, &name))))
    }

    fn accounts(&self) -> Stored<'_, Vec<Account>> {
        Box::pin(self.look(|rows| at_once(project::accounts(rows))))
    }
}

impl DesignSystems for Sqlite {
    fn design_system<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
    ) -> Stored<'a, AtRevision<Document>> {
        let (account, project) = (account.clone(), project.clone());
        Box::pin(self.look(move |rows| at_once(design::read(rows, &account, &project))))
    }

    fn design_text<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
    ) -> Stored<'a, AtRevision<String>> {
        let (account, project) = (account.clone(), project.clone());
        Box::pin(self.look(move |rows| at_once(design::text(rows, &account, &project))))
    }

    fn edit_design_system(&self, write: Write, edit: DesignEdit) -> Stored<'_, AtRevision<Designed>> {
        Box::pin(async move {
            if edit.may_exchange() {
                let edit = edit.clone();
                let exchange =
                    move |rows: &Rows<'_>, write: &Write| at_once(design::exchange(rows, write, &edit));
                if let Some(done) = self.write(write.clone(), exchange).await? {
                    return Ok(done);
                }
            }
            let read = self.design_text(&write.account, &write.project).await?;
            let change = design::ahead(&write, read, edit).await?;
            self.write(write, move |rows, write| at_once(design::edit(rows, write, &change))).await
        })
    }
}
