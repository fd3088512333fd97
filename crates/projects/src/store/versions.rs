//! Published versions.

use futures_util::future::{try_join, try_join3};

use super::assets::release_bytes;
use super::content::{self, DraftRows};
use super::tables::{RowWindow, Tables, row_limit};
use super::{ProjectStore, compute, join_project_first, lock_project, query, read_revision};
use crate::content::ProjectContent;
use crate::cursor::{Cursor, ListPage, Page};
use crate::error::Error;
use crate::ids::{Account, ProjectId};
use crate::project::{AtRevision, Project, ProjectWrite};
use crate::version::{self, Version};

impl ProjectStore {
    /// Publishes the draft as a new version, by [`publish`](crate::publish()).
    pub async fn publish(&self, write: ProjectWrite, note: &str) -> Result<AtRevision<Version>, Error> {
        self.write(write, note.to_owned(), |tables, (write, note)| {
            Box::pin(async move {
                let (project, content) =
                    content::read_draft(tables, lock_project(tables, write), &write.project).await?;
                let publish = || version::publish(&project, &content, write, note);
                let (written, version, text) = compute(tables, publish)??;
                let add = tables.add_version(&project.id, &version, &text, &content.assets);
                try_join(add, tables.put_counters(&written)).await?;
                Ok(AtRevision { revision: written.revision, value: version })
            })
        })
        .await
    }

    /// Unpublishes the project by [`unpublish`](crate::unpublish). The version stays.
    pub async fn unpublish(&self, write: ProjectWrite) -> Result<Project, Error> {
        self.write(write, (), |tables, (write, ())| {
            Box::pin(async move {
                let written = version::unpublish(&lock_project(tables, write).await?, write)?;
                tables.put_counters(&written).await?;
                Ok(written)
            })
        })
        .await
    }

    /// The versions of a project, newest first; cursors are [`Version::cursor`].
    pub async fn list_versions(
        &self,
        account: &Account,
        project: &ProjectId,
        page: Page,
    ) -> Result<ListPage<Version>, Error> {
        self.read(account, (project.clone(), page), |tables, (account, (project, page))| {
            Box::pin(async move {
                let found = async {
                    let before = page.after.as_ref().map(Cursor::number).transpose()?;
                    let before = before.map_or(i64::MAX, |before| i64::try_from(before).unwrap_or(i64::MAX));
                    Ok(tables.versions(project, before, row_limit(page)).await?)
                };
                let (_, found) = join_project_first(read_revision(tables, account, project), found).await?;
                Ok(ListPage::from_rows(found, page, Version::cursor))
            })
        })
        .await
    }

    /// A version with its content.
    pub async fn version(
        &self,
        account: &Account,
        project: &ProjectId,
        number: u32,
    ) -> Result<(Version, ProjectContent), Error> {
        self.read(account, (project.clone(), number), |tables, (account, (project, number))| {
            Box::pin(async move {
                let both = try_join(
                    find_version(tables, project, *number),
                    version_content(tables, project, *number),
                );
                Ok(join_project_first(read_revision(tables, account, project), both).await?.1)
            })
        })
        .await
    }

    /// Replaces the draft by a version, by [`restore`](crate::restore): blocks, types, assets and the design
    /// system as they were, with the same ids. Later additions are removed from the draft.
    pub async fn restore_version(&self, write: ProjectWrite, number: u32) -> Result<Project, Error> {
        self.write(write, number, |tables, (write, number)| {
            Box::pin(async move {
                let id = &write.project;
                let both =
                    try_join(version_content(tables, id, *number), query(tables.assets(id, RowWindow::ALL)));
                let (project, (content, old)) = join_project_first(lock_project(tables, write), both).await?;
                let restore =
                    || version::restore(&project, *number, &content, write, project.usage.asset_bytes);
                let mut written = compute(tables, restore)??;
                let ProjectContent { types, blocks, design, assets, .. } = &content;
                // Executed in order, but sent together. The content of the assets still exists, because the
                // version refers to it.
                let ((), (), freed) = try_join3(
                    query(tables.clear_draft(id)),
                    content::write_draft(tables, id, DraftRows { types, blocks, design, assets }),
                    release_bytes(tables, id, old.iter().map(|asset| asset.digest).collect()),
                )
                .await?;
                written.usage.asset_bytes = project.usage.asset_bytes.saturating_sub(freed);
                tables.put_project(&written).await?;
                Ok(written)
            })
        })
        .await
    }

    /// Deletes a version by [`remove_version`](crate::remove_version), and asset content that nothing refers
    /// to any more.
    pub async fn delete_version(
        &self,
        write: ProjectWrite,
        number: u32,
    ) -> Result<AtRevision<Version>, Error> {
        self.write(write, number, |tables, (write, number)| {
            Box::pin(async move {
                let find = find_version(tables, &write.project, *number);
                let (project, gone) = join_project_first(lock_project(tables, write), find).await?;
                let mut written = version::remove_version(&project, &gone, write)?;
                let named = tables.delete_version(&project.id, *number).await?;
                let freed = release_bytes(tables, &project.id, named).await?;
                written.usage.asset_bytes = project.usage.asset_bytes.saturating_sub(freed);
                tables.put_counters(&written).await?;
                Ok(AtRevision { revision: written.revision, value: gone })
            })
        })
        .await
    }
}

async fn find_version(tables: &dyn Tables, project: &ProjectId, number: u32) -> Result<Version, Error> {
    let newest = tables.versions(project, i64::from(number) + 1, 1).await?.pop();
    Ok(newest.filter(|version| version.number == number).ok_or_else(|| Version::missing(number))?)
}

async fn version_content(
    tables: &dyn Tables,
    project: &ProjectId,
    number: u32,
) -> Result<ProjectContent, Error> {
    let found = tables.version_content(project, number).await?;
    Ok(found.ok_or_else(|| Version::missing(number))?)
}
