//! Projects as a whole.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use storage::is_name;

use super::content::{self, Draft};
use super::tables::{Tables, Window};
use super::{ProjectStore, SLICE_BYTES, TxKind, compute, hold, to_micros};
use crate::asset::{Asset, Digest};
use crate::content::Content;
use crate::cursor::{Listed, Page};
use crate::error::{Error, Refusal};
use crate::ids::{Account, ProjectId};
use crate::import::{Import, Intake};
use crate::limits::MAX_PROJECTS;
use crate::new_project::NewProject;
use crate::project::{AtRevision, FieldsPatch, NewFields, Project, Write, slug_candidates};

impl ProjectStore {
    /// Makes a project by [`NewProject::begin`]. `TooLarge` if the account has [`MAX_PROJECTS`] already, however many begin at
    /// once; `Taken` for a slug that another project of the account has, or an id that any project has.
    pub async fn create_project(
        &self,
        account: &Account,
        new: NewProject,
        dry_run: bool,
        now: Timestamp,
    ) -> Result<Project, Error> {
        self.add(account, dry_run, (new, to_micros(now)), |tables, (account, (new, now))| {
            Box::pin(begin(tables, account, new, &[], *now))
        })
        .await
    }

    /// The project of this id.
    pub async fn project(&self, account: &Account, id: &ProjectId) -> Result<Project, Error> {
        self.read(account, id.clone(), |tables, (account, id)| Box::pin(read(tables, account, id))).await
    }

    /// The projects of an account by the time they were made and then by id; cursors are [`Project::cursor`].
    pub async fn list_projects(&self, account: &Account, page: Page) -> Result<Listed<Project>, Error> {
        self.read(account, page, |tables, (account, page)| {
            Box::pin(async move {
                let window = Window::by_time(page)?;
                let is_known = is_name(account.as_str());
                let found = if is_known { tables.projects(account, window).await? } else { Vec::new() };
                Ok(Listed::cut(found, page, Project::cursor))
            })
        })
        .await
    }

    /// The first so many projects of an account whose id begins like this, by id: to complete what a user types.
    pub async fn projects_beginning(
        &self,
        account: &Account,
        prefix: &str,
        most: u32,
    ) -> Result<Vec<Project>, Error> {
        self.read(account, (prefix.to_owned(), most), |tables, (account, (prefix, most))| {
            Box::pin(async move {
                if !is_name(account.as_str()) || !(prefix.is_empty() || is_name(prefix)) {
                    return Ok(Vec::new());
                }
                // Ids are ordered as bytes, so those with one prefix follow each other.
                let found = tables.projects_from(account, prefix, *most).await?;
                Ok(found.into_iter().take_while(|project| project.id.as_str().starts_with(prefix)).collect())
            })
        })
        .await
    }

    /// Changes what a project says of itself by [`FieldsPatch::apply`]. `Taken` if another project of the account has the
    /// slug.
    pub async fn update_project(&self, write: Write, patch: FieldsPatch) -> Result<Project, Error> {
        self.write(write, patch, |tables, (write, patch)| {
            Box::pin(async move {
                let project = hold(tables, write).await?;
                let fields = patch.apply(&project.fields)?;
                if fields.slug != project.fields.slug {
                    let entry = tables.enter(&write.account, std::slice::from_ref(&fields.slug)).await?;
                    if entry.taken.contains_key(&fields.slug) {
                        return Err(Refusal::Taken { what: "slug", value: fields.slug }.into());
                    }
                }
                let mut written = project.written(write.now, project.usage)?;
                written.fields = fields;
                tables.put_project(&written).await?;
                Ok(written)
            })
        })
        .await
    }

    /// Makes a new project with all that is in the draft of this one, assets and their bytes included, versions not.
    /// Blocks and assets keep their ids; fields that are left empty are those of the original. `write` names the original,
    /// whose revision is compared and stays. Refused as [`create_project`](Self::create_project) is.
    pub async fn duplicate_project(
        &self,
        write: Write,
        id: ProjectId,
        fields: NewFields,
    ) -> Result<Project, Error> {
        self.write(write, (id, fields), |tables, (write, (id, fields))| {
            Box::pin(async move {
                let (from, content) = content::read(tables, hold(tables, write), &write.project).await?;
                let assets = content.assets.clone();
                let new = NewProject::copy_of(content, id.clone(), fields.clone());
                let made = begin(tables, &write.account, &new, &assets, write.now).await?;
                // All of it may be a gigabyte; nothing is found out by copying it only to roll it back.
                let slices = if write.dry_run { Vec::new() } else { slices(&assets) };
                for slice in slices {
                    tables.copy_bytes(&from.id, &made.id, &slice).await?;
                }
                Ok(made)
            })
        })
        .await
    }

    /// Brings in a project from another store, with its past: draft, assets, versions, times and revisions, by [`Import`].
    /// It is there as a whole or not at all, also for those who look meanwhile. Not all of it is held in memory at once.
    /// Refused as [`create_project`](Self::create_project) is. For the owner of the store, never for a caller.
    pub async fn import_project(&self, account: &Account, import: Import) -> Result<Project, Error> {
        self.add(account, false, import, |tables, (account, import)| {
            Box::pin(async move {
                let (new, assets) = import.draft()?;
                let begun = begin(tables, account, &new, assets, to_micros(import.past.created)).await?;
                let mut intake = Intake::of(import);
                keep_bytes(tables, &begun.id, &mut intake, assets).await?;
                // One after the other: together they may be more than fits into memory.
                for number in &import.past.versions {
                    let (version, content, text) = intake.version(*number)?;
                    keep_bytes(tables, &begun.id, &mut intake, &content.assets).await?;
                    tables.add_version(&begun.id, &version, &text, &content.assets).await?;
                }
                let ended = intake.end(&begun)?;
                let ended = Project { updated: to_micros(ended.updated), ..ended };
                tables.put_project(&ended).await?;
                Ok(ended)
            })
        })
        .await
    }

    /// Deletes a project and everything of it. Gives what it was.
    pub async fn delete_project(&self, write: Write) -> Result<Project, Error> {
        self.write(write, (), |tables, (write, ())| {
            Box::pin(async move {
                let project = hold(tables, write).await?;
                tables.delete_project(&project).await?;
                Ok(project)
            })
        })
        .await
    }

    /// Everything in the draft of a project, as of one moment.
    pub async fn content(&self, account: &Account, id: &ProjectId) -> Result<AtRevision<Content>, Error> {
        self.read(account, id.clone(), |tables, (account, id)| {
            Box::pin(async move {
                let (project, value) = content::read(tables, read(tables, account, id), id).await?;
                Ok(AtRevision { revision: project.revision, value })
            })
        })
        .await
    }

    /// Every account that has a project, in order. For the owner of the store, never for a caller.
    pub async fn accounts(&self) -> Result<Vec<Account>, Error> {
        self.transact(TxKind::ReadAll, (), |tables, ()| Box::pin(super::row(tables.accounts()))).await
    }
}

/// A new project with these assets, whose bytes are still to come.
async fn begin(
    tables: &dyn Tables,
    account: &Account,
    new: &NewProject,
    assets: &[Asset],
    now: Timestamp,
) -> Result<Project, Error> {
    let wanted = match &new.fields.slug {
        Some(slug) => vec![slug.clone()],
        None => slug_candidates(&new.fields.name, &new.id).to_vec(),
    };
    let slugs: Vec<String> = wanted.into_iter().filter(|slug| is_name(slug)).collect();
    let entry = tables.enter(account, &slugs).await?;
    if entry.projects >= MAX_PROJECTS {
        return Err(Refusal::TooLarge { what: "projects in an account", limit: MAX_PROJECTS }.into());
    }
    let is_taken = &mut |slug: &str| entry.taken.contains_key(slug);
    let project = compute(tables, || new.begin(account, now, assets, is_taken))??;
    if !tables.add_project(&project).await? {
        return Err(Refusal::Taken { what: "id", value: project.id.to_string() }.into());
    }
    let draft = Draft { types: &new.types, blocks: &new.blocks, design: &new.design, assets };
    content::add(tables, &project.id, draft).await?;
    Ok(project)
}

async fn read(tables: &dyn Tables, account: &Account, id: &ProjectId) -> Result<Project, Error> {
    let found = if is_name(account.as_str()) { tables.project(account, id).await? } else { None };
    Ok(found.ok_or_else(|| id.missing())?)
}

/// The contents of assets, each once, in slices that are copied in less time than a statement may take.
fn slices(assets: &[Asset]) -> Vec<BTreeSet<Digest>> {
    let contents: BTreeMap<Digest, u64> = assets.iter().map(|asset| (asset.digest, asset.bytes)).collect();
    let mut slices: Vec<BTreeSet<Digest>> = Vec::new();
    let mut room = 0;
    for (digest, bytes) in contents {
        if slices.is_empty() || bytes > room {
            slices.push(BTreeSet::new());
            room = SLICE_BYTES;
        }
        room = room.saturating_sub(bytes);
        slices.last_mut().map(|slice| slice.insert(digest));
    }
    slices
}

async fn keep_bytes(
    tables: &dyn Tables,
    project: &ProjectId,
    intake: &mut Intake<'_>,
    assets: &[Asset],
) -> Result<(), Error> {
    for asset in assets {
        if let Some(bytes) = intake.bytes(asset)? {
            tables.add_bytes(project, &asset.digest, &bytes).await?;
        }
    }
    Ok(())
}
