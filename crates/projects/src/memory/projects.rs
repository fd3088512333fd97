//! Projects, their block types and design systems.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Held, Memory, find, soon};
use crate::asset::Asset;
use crate::blocks::Tree;
use crate::content::Content;
use crate::cursor::{Cursor, Listed, Page};
use crate::design::{DesignEdit, Designed};
use crate::error::{Error, Noun, Refusal};
use crate::ids::{Account, ProjectId};
use crate::import::{Import, Intake};
use crate::limits::{MAX_PROJECTS, MAX_USERS};
use crate::new_project::NewProject;
use crate::project::{AtRevision, FieldsPatch, NewFields, Project, Usage, Write};
use crate::store::{DesignSystems, Projects, Stored};
use crate::tokens::Document;
use crate::types::CustomType;

fn of<'a>(
    projects: &'a BTreeMap<ProjectId, Held>,
    account: &'a Account,
) -> impl Iterator<Item = &'a Project> {
    projects.values().map(|held| &held.project).filter(move |project| project.account == *account)
}

fn begin(
    projects: &BTreeMap<ProjectId, Held>,
    account: &Account,
    new: NewProject,
    assets: &[Asset],
    now: Timestamp,
) -> Result<Held, Refusal> {
    if of(projects, account).count() as u64 >= MAX_PROJECTS {
        return Err(Refusal::TooLarge { what: "projects in an account", limit: MAX_PROJECTS });
    }
    if projects.contains_key(&new.id) {
        return Err(Refusal::Taken { what: "id", value: new.id.to_string() });
    }
    let mut is_taken = |slug: &str| of(projects, account).any(|project| project.fields.slug == slug);
    let project = new.begin(account, now, assets, &mut is_taken)?;
    Ok(Held {
        project,
        types: new.types.into_iter().map(|own| (own.name.clone(), own)).collect(),
        tree: Tree::of(new.blocks),
        design: new.design,
        assets: assets.iter().map(|asset| (asset.id.clone(), asset.clone())).collect(),
        bytes: BTreeMap::new(),
        versions: BTreeMap::new(),
    })
}

impl Held {
    /// Keeps the bytes of assets that come with an import.
    fn keep_bytes(&mut self, intake: &mut Intake<'_>, assets: &[Asset]) -> Result<(), Refusal> {
        for asset in assets {
            if let Some(bytes) = intake.bytes(asset)? {
                self.bytes.insert(asset.digest, bytes.into());
            }
        }
        Ok(())
    }
}

impl Projects for Memory {
    fn create_project<'a>(
        &'a self,
        account: &'a Account,
        new: NewProject,
        dry_run: bool,
        now: Timestamp,
    ) -> Stored<'a, Project> {
        soon(move || {
            let mut projects = self.lock();
            let held = begin(&projects, account, new, &[], now)?;
            let project = held.project.clone();
            if !dry_run {
                projects.insert(project.id.clone(), held);
            }
            Ok(project)
        })
    }

    fn project<'a>(&'a self, account: &'a Account, id: &'a ProjectId) -> Stored<'a, Project> {
        soon(move || self.read(account, id, |held| Ok(held.project.clone())))
    }

    fn list_projects<'a>(&'a self, account: &'a Account, page: Page) -> Stored<'a, Listed<Project>> {
        soon(move || {
            page.after.as_ref().map(Cursor::time).transpose()?;
            let mut found: Vec<Project> = of(&self.lock(), account).cloned().collect();
            found.sort_by_key(Project::cursor);
            found.retain(|project| page.after.as_ref().is_none_or(|after| project.cursor() > *after));
            Ok(Listed::cut(found, &page, Project::cursor))
        })
    }

    fn projects_beginning<'a>(
        &'a self,
        account: &'a Account,
        prefix: &'a str,
        most: u32,
    ) -> Stored<'a, Vec<Project>> {
        soon(move || {
            let projects = self.lock();
            let found = of(&projects, account).filter(|project| project.id.as_str().starts_with(prefix));
            Ok(found.take(most as usize).cloned().collect())
        })
    }

    fn update_project(&self, write: Write, patch: FieldsPatch) -> Stored<'_, Project> {
        soon(move || {
            let written = self.write_beside(&write, |held, projects| {
                let fields = patch.apply(&held.project.fields)?;
                let other =
                    |project: &Project| project.id != write.project && project.fields.slug == fields.slug;
                if of(projects, &write.account).any(other) {
                    return Err(Refusal::Taken { what: "slug", value: fields.slug });
                }
                held.note(&write, held.project.usage)?;
                held.project.fields = fields;
                Ok(held.project.clone())
            })?;
            Ok(written.value)
        })
    }

    fn duplicate_project(&self, write: Write, id: ProjectId, fields: NewFields) -> Stored<'_, Project> {
        soon(move || {
            let mut projects = self.lock();
            let from = find(&projects, &write.account, &write.project)?;
            from.project.admit(&write)?;
            let new = NewProject::copy_of(from.content(), id, fields);
            let assets: Vec<Asset> = from.assets.values().cloned().collect();
            let mut held = begin(&projects, &write.account, new, &assets, write.now)?;
            held.bytes.clone_from(&from.bytes);
            held.sweep();
            let project = held.project.clone();
            if !write.dry_run {
                projects.insert(project.id.clone(), held);
            }
            Ok(project)
        })
    }

    fn import_project<'a>(&'a self, account: &'a Account, import: Import) -> Stored<'a, Project> {
        soon(move || {
            let mut projects = self.lock();
            let (new, assets) = import.draft()?;
            let mut held = begin(&projects, account, new, assets, import.past.created)?;
            let mut intake = Intake::of(&import);
            held.keep_bytes(&mut intake, assets)?;
            for number in &import.past.versions {
                let (version, content, _) = intake.version(*number)?;
                held.keep_bytes(&mut intake, &content.assets)?;
                held.versions.insert(*number, (version, content));
            }
            held.project = intake.end(&held.project)?;
            let project = held.project.clone();
            projects.insert(project.id.clone(), held);
            Ok(project)
        })
    }

    fn delete_project(&self, write: Write) -> Stored<'_, Project> {
        soon(move || {
            let mut projects = self.lock();
            let project = find(&projects, &write.account, &write.project)?.project.clone();
            project.admit(&write)?;
            if !write.dry_run {
                projects.remove(&write.project);
            }
            Ok(project)
        })
    }

    fn content<'a>(&'a self, account: &'a Account, id: &'a ProjectId) -> Stored<'a, AtRevision<Content>> {
        soon(move || self.read(account, id, |held| Ok(at(held, held.content()))))
    }

    fn block_types<'a>(
        &'a self,
        account: &'a Account,
        id: &'a ProjectId,
    ) -> Stored<'a, AtRevision<Vec<CustomType>>> {
        soon(move || self.read(account, id, |held| Ok(at(held, held.types.values().cloned().collect()))))
    }

    fn put_block_type(&self, write: Write, own: CustomType) -> Stored<'_, AtRevision<CustomType>> {
        soon(move || {
            self.write(&write, |held| {
                Refusal::if_any(own.problems())?;
                held.types.insert(own.name.clone(), own.clone());
                held.note(&write, Usage { types: held.types.len() as u64, ..held.project.usage })?;
                Ok(own)
            })
        })
    }

    fn delete_block_type<'a>(&'a self, write: Write, name: &'a str) -> Stored<'a, AtRevision<CustomType>> {
        soon(move || {
            self.write(&write, |held| {
                let gone =
                    held.types.remove(name).ok_or_else(|| Refusal::not_found(Noun::BlockType, name))?;
                let users = held.tree.iter().filter(|block| block.kind == name).take(MAX_USERS);
                let by: Vec<String> = users.map(|block| block.id.to_string()).collect();
                if !by.is_empty() {
                    return Err(Refusal::InUse { what: Noun::BlockType, id: name.to_owned(), by });
                }
                held.note(&write, Usage { types: held.types.len() as u64, ..held.project.usage })?;
                Ok(gone)
            })
        })
    }

    fn accounts(&self) -> Stored<'_, Vec<Account>> {
        soon(move || {
            let mut accounts: Vec<_> =
                self.lock().values().map(|held| held.project.account.clone()).collect();
            accounts.sort();
            accounts.dedup();
            Ok(accounts)
        })
    }
}

pub(super) fn at<T>(held: &Held, value: T) -> AtRevision<T> {
    AtRevision { revision: held.project.revision, value }
}

impl DesignSystems for Memory {
    fn design_system<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
    ) -> Stored<'a, AtRevision<Document>> {
        soon(move || self.read(account, project, |held| Ok(at(held, held.design.clone()))))
    }

    fn edit_design_system(&self, write: Write, edit: DesignEdit) -> Stored<'_, AtRevision<Designed>> {
        soon(move || -> Result<_, Error> {
            self.write(&write, |held| {
                let (document, designed) = edit.apply(&held.design)?;
                held.design = document;
                held.note(&write, held.project.usage)?;
                Ok(designed)
            })
        })
    }
}
