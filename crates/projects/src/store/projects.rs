//! Use cases on whole projects.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use store_api::is_valid_name;

use super::content::{self, DraftRows};
use super::tables::{RowWindow, Tables};
use super::{MAX_STATEMENT_BYTES, ProjectStore, TxKind, compute, lock_project, truncate_to_micros};
use crate::asset::{Asset, Digest};
use crate::content::ProjectContent;
use crate::cursor::{ListPage, Page};
use crate::error::{Error, ProjectRejection};
use crate::ids::{Account, ProjectId};
use crate::import::{ProjectImport, ProjectImporter};
use crate::limits::MAX_PROJECTS;
use crate::new_project::NewProject;
use crate::project::{
    AtRevision, NewProjectFields, Project, ProjectFieldsPatch, ProjectWrite, slug_candidates,
};

impl ProjectStore {
    /// Creates a project by [`NewProject::build`]. `TooLarge` if the account has [`MAX_PROJECTS`] already,
    /// even with concurrent calls; `Taken` for a slug of another project of the account, or for an id of any
    /// project.
    pub async fn create_project(
        &self,
        account: &Account,
        new: NewProject,
        dry_run: bool,
        now: Timestamp,
    ) -> Result<Project, Error> {
        self.add(account, dry_run, (new, truncate_to_micros(now)), |tables, (account, (new, now))| {
            Box::pin(create(tables, account, new, &[], *now))
        })
        .await
    }

    pub async fn project(&self, account: &Account, id: &ProjectId) -> Result<Project, Error> {
        self.read(account, id.clone(), |tables, (account, id)| Box::pin(find_project(tables, account, id)))
            .await
    }

    /// The projects of an account, by creation time and then id; cursors are [`Project::cursor`].
    pub async fn list_projects(&self, account: &Account, page: Page) -> Result<ListPage<Project>, Error> {
        self.read(account, page, |tables, (account, page)| {
            Box::pin(async move {
                let window = RowWindow::by_time(page)?;
                let is_known = is_valid_name(account.as_str());
                let found = if is_known { tables.projects(account, window).await? } else { Vec::new() };
                Ok(ListPage::from_rows(found, page, Project::cursor))
            })
        })
        .await
    }

    /// The first `most` projects of an account whose id starts with `prefix`, by id, for completion.
    pub async fn projects_with_id_prefix(
        &self,
        account: &Account,
        prefix: &str,
        most: u32,
    ) -> Result<Vec<Project>, Error> {
        self.read(account, (prefix.to_owned(), most), |tables, (account, (prefix, most))| {
            Box::pin(async move {
                if !is_valid_name(account.as_str()) || !(prefix.is_empty() || is_valid_name(prefix)) {
                    return Ok(Vec::new());
                }
                // Ids are ordered as bytes, so those with the same prefix are adjacent.
                let found = tables.projects_from_id(account, prefix, *most).await?;
                Ok(found.into_iter().take_while(|project| project.id.as_str().starts_with(prefix)).collect())
            })
        })
        .await
    }

    /// Changes the fields of a project by [`ProjectFieldsPatch::apply`]. `Taken` if another project of the
    /// account has the slug.
    pub async fn update_project(
        &self,
        write: ProjectWrite,
        patch: ProjectFieldsPatch,
    ) -> Result<Project, Error> {
        self.write(write, patch, |tables, (write, patch)| {
            Box::pin(async move {
                let project = lock_project(tables, write).await?;
                let fields = patch.apply(&project.fields)?;
                if fields.slug != project.fields.slug {
                    let entry =
                        tables.lock_account(&write.account, std::slice::from_ref(&fields.slug)).await?;
                    if entry.taken_slugs.contains_key(&fields.slug) {
                        return Err(ProjectRejection::Taken { what: "slug", value: fields.slug }.into());
                    }
                }
                let mut written = project.after_write(write.now, project.usage)?;
                written.fields = fields;
                tables.put_project(&written).await?;
                Ok(written)
            })
        })
        .await
    }

    /// Creates a project from the draft of another, including assets and their content, but no versions.
    /// Blocks and assets keep their ids; empty fields are taken from the original. `write` names the
    /// original, whose revision is checked but not changed. Rejected like
    /// [`create_project`](Self::create_project).
    pub async fn duplicate_project(
        &self,
        write: ProjectWrite,
        id: ProjectId,
        fields: NewProjectFields,
    ) -> Result<Project, Error> {
        self.write(write, (id, fields), |tables, (write, (id, fields))| {
            Box::pin(async move {
                let (from, content) =
                    content::read_draft(tables, lock_project(tables, write), &write.project).await?;
                let assets = content.assets.clone();
                let new = NewProject::from_content(content, id.clone(), fields.clone());
                let made = create(tables, &write.account, &new, &assets, write.now).await?;
                // Up to a gigabyte; a dry run would copy it only to roll it back.
                let slices = if write.dry_run { Vec::new() } else { batches_by_size(&assets) };
                for slice in slices {
                    tables.copy_bytes(&from.id, &made.id, &slice).await?;
                }
                Ok(made)
            })
        })
        .await
    }

    /// Imports a project from another store, with its history: draft, assets, versions, times and revisions;
    /// see [`ProjectImport`]. It becomes visible completely or not at all, and is never held in memory as a
    /// whole. Rejected like [`create_project`](Self::create_project). For operators of the store, never for
    /// callers.
    pub async fn import_project(&self, account: &Account, import: ProjectImport) -> Result<Project, Error> {
        self.add(account, false, import, |tables, (account, import)| {
            Box::pin(async move {
                let (new, assets) = import.to_new_project()?;
                let begun =
                    create(tables, account, &new, assets, truncate_to_micros(import.history.created)).await?;
                let mut intake = ProjectImporter::new(import);
                store_new_bytes(tables, &begun.id, &mut intake, assets).await?;
                // One at a time: together they may not fit into memory.
                for number in &import.history.versions {
                    let (version, content, text) = intake.load_version(*number)?;
                    store_new_bytes(tables, &begun.id, &mut intake, &content.assets).await?;
                    tables.add_version(&begun.id, &version, &text, &content.assets).await?;
                }
                let ended = intake.finish(&begun)?;
                let ended = Project { updated: truncate_to_micros(ended.updated), ..ended };
                tables.put_project(&ended).await?;
                Ok(ended)
            })
        })
        .await
    }

    /// Deletes a project with everything in it, and returns it.
    pub async fn delete_project(&self, write: ProjectWrite) -> Result<Project, Error> {
        self.write(write, (), |tables, (write, ())| {
            Box::pin(async move {
                let project = lock_project(tables, write).await?;
                tables.delete_project(&project).await?;
                Ok(project)
            })
        })
        .await
    }

    /// The whole draft of a project, from one snapshot.
    pub async fn content(
        &self,
        account: &Account,
        id: &ProjectId,
    ) -> Result<AtRevision<ProjectContent>, Error> {
        self.read(account, id.clone(), |tables, (account, id)| {
            Box::pin(async move {
                let (project, value) =
                    content::read_draft(tables, find_project(tables, account, id), id).await?;
                Ok(AtRevision { revision: project.revision, value })
            })
        })
        .await
    }

    /// Every account that has a project, in order. For operators of the store, never for callers.
    pub async fn accounts(&self) -> Result<Vec<Account>, Error> {
        self.transact(TxKind::ReadAll, (), |tables, ()| Box::pin(super::query(tables.accounts()))).await
    }
}

/// Creates a project with these assets, but without their content.
async fn create(
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
    let slugs: Vec<String> = wanted.into_iter().filter(|slug| is_valid_name(slug)).collect();
    let entry = tables.lock_account(account, &slugs).await?;
    if entry.projects >= MAX_PROJECTS {
        return Err(ProjectRejection::TooLarge { what: "projects in an account", limit: MAX_PROJECTS }.into());
    }
    let is_taken = &mut |slug: &str| entry.taken_slugs.contains_key(slug);
    let project = compute(tables, || new.build(account, now, assets, is_taken))??;
    if !tables.add_project(&project).await? {
        return Err(ProjectRejection::Taken { what: "id", value: project.id.to_string() }.into());
    }
    let draft = DraftRows { types: &new.types, blocks: &new.blocks, design: &new.design, assets };
    content::write_draft(tables, &project.id, draft).await?;
    Ok(project)
}

async fn find_project(tables: &dyn Tables, account: &Account, id: &ProjectId) -> Result<Project, Error> {
    let found = if is_valid_name(account.as_str()) { tables.project(account, id).await? } else { None };
    Ok(found.ok_or_else(|| id.missing())?)
}

/// Digests of the assets' content, in batches that one statement can copy in time.
fn batches_by_size(assets: &[Asset]) -> Vec<BTreeSet<Digest>> {
    let contents: BTreeMap<Digest, u64> = assets.iter().map(|asset| (asset.digest, asset.bytes)).collect();
    let mut slices: Vec<BTreeSet<Digest>> = Vec::new();
    let mut room = 0;
    for (digest, bytes) in contents {
        if slices.is_empty() || bytes > room {
            slices.push(BTreeSet::new());
            room = MAX_STATEMENT_BYTES;
        }
        room = room.saturating_sub(bytes);
        slices.last_mut().map(|slice| slice.insert(digest));
    }
    slices
}

async fn store_new_bytes(
    tables: &dyn Tables,
    project: &ProjectId,
    intake: &mut ProjectImporter<'_>,
    assets: &[Asset],
) -> Result<(), Error> {
    for asset in assets {
        if let Some(bytes) = intake.new_asset_bytes(asset)? {
            tables.add_bytes(project, &asset.digest, &bytes).await?;
        }
    }
    Ok(())
}
