//! Versions.

use ::projects::store::{Stored, Versions};
use ::projects::{Account, AtRevision, Content, Listed, Page, Project, ProjectId, Version, Write};

use super::super::{Sqlite, at_once};
use crate::projects::versions;

impl Versions for Sqlite {
    fn publish<'a>(&'a self, write: Write, note: &'a str) -> Stored<'a, AtRevision<Version>> {
        let note = note.to_owned();
        Box::pin(self.write(write, move |rows, write| at_once(versions::make(rows, write, &note))))
    }

    fn unpublish(&self, write: Write) -> Stored<'_, Project> {
        Box::pin(self.write(write, |rows, write| at_once(versions::take_back(rows, write))))
    }

    fn list_versions<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        page: Page,
    ) -> Stored<'a, Listed<Version>> {
        let (account, project) = (account.clone(), project.clone());
        Box::pin(self.look(move |rows| at_once(versions::list(rows, &account, &project, &page))))
    }

    fn version<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        number: u32,
    ) -> Stored<'a, (Version, Content)> {
        let (account, project) = (account.clone(), project.clone());
        Box::pin(self.look(move |rows| at_once(versions::read(rows, &account, &project, number))))
    }

    fn restore_version(&self, write: Write, number: u32) -> Stored<'_, Project> {
        Box::pin(self.write(write, move |rows, write| at_once(versions::make_draft(rows, write, number))))
    }

    fn delete_version(&self, write: Write, number: u32) -> Stored<'_, AtRevision<Version>> {
        Box::pin(self.write(write, move |rows, write| at_once(versions::delete(rows, write, number))))
    }
}
