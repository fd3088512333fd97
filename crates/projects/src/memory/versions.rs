//! What was published.

use super::{Held, Memory, soon};
use crate::blocks::Tree;
use crate::content::Content;
use crate::cursor::{Cursor, Listed, Page};
use crate::error::{Error, Refusal};
use crate::ids::{Account, ProjectId};
use crate::project::{AtRevision, Project, Write};
use crate::store::{Stored, Versions};
use crate::version::{Version, forget, publish, restore, unpublish};

impl Held {
    fn version(&self, number: u32) -> Result<&(Version, Content), Refusal> {
        self.versions.get(&number).ok_or_else(|| Version::missing(number))
    }
}

impl Versions for Memory {
    fn publish<'a>(&'a self, write: Write, note: &'a str) -> Stored<'a, AtRevision<Version>> {
        soon(move || {
            self.write(&write, |held| {
                let content = held.content();
                let (project, version, _) = publish(&held.project, &content, &write, note)?;
                held.versions.insert(version.number, (version.clone(), content));
                held.project = project;
                Ok(version)
            })
        })
    }

    fn unpublish(&self, write: Write) -> Stored<'_, Project> {
        soon(move || {
            let written = self.write(&write, |held| {
                held.project = unpublish(&held.project, &write)?;
                Ok(held.project.clone())
            })?;
            Ok(written.value)
        })
    }

    fn list_versions<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        page: Page,
    ) -> Stored<'a, Listed<Version>> {
        soon(move || {
            self.read(account, project, |held| {
                let before = page.after.as_ref().map(Cursor::number).transpose()?;
                let all = held.versions.values().rev().map(|(version, _)| version.clone());
                let is_next =
                    |version: &Version| before.is_none_or(|before| u64::from(version.number) < before);
                Ok(Listed::cut(all.filter(is_next).collect(), &page, Version::cursor))
            })
        })
    }

    fn version<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        number: u32,
    ) -> Stored<'a, (Version, Content)> {
        soon(move || self.read(account, project, |held| held.version(number).cloned()))
    }

    fn restore_version(&self, write: Write, number: u32) -> Stored<'_, Project> {
        soon(move || {
            let written = self.write(&write, |held| {
                let (_, content) = held.version(number)?.clone();
                held.types = content.types.iter().map(|own| (own.name.clone(), own.clone())).collect();
                held.tree = Tree::of(content.blocks.iter().cloned());
                held.design = content.design.clone();
                held.assets = content.assets.iter().map(|asset| (asset.id.clone(), asset.clone())).collect();
                let kept = held.sweep();
                held.project = restore(&held.project, number, &content, &write, kept)?;
                Ok(held.project.clone())
            })?;
            Ok(written.value)
        })
    }

    fn delete_version(&self, write: Write, number: u32) -> Stored<'_, AtRevision<Version>> {
        soon(move || -> Result<_, Error> {
            self.write(&write, |held| {
                let (gone, _) = held.version(number)?.clone();
                held.project = forget(&held.project, &gone, &write)?;
                held.versions.remove(&number);
                held.project.usage.asset_bytes = held.sweep();
                Ok(gone)
            })
        })
    }
}
