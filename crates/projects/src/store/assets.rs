//! Assets and their content. Content is stored once per digest and project, for as long as an asset or a
//! version refers to it.

use std::collections::BTreeSet;

use futures_util::future::{try_join, try_join3};

use super::tables::{RowWindow, Tables};
use super::{
    ProjectStore, join_project_first, lock_project, query, read_revision, record_write, truncate_to_micros,
};
use crate::asset::{Asset, AssetPatch, Digest, NewAsset};
use crate::cursor::{ListPage, Page};
use crate::error::{EntityKind, Error, ProjectRejection};
use crate::ids::{Account, AssetId, BlockId, ProjectId};
use crate::limits::MAX_LISTED_USERS;
use crate::project::{AtRevision, ProjectUsage, ProjectWrite};

impl ProjectStore {
    /// Stores an asset with its content, validated by [`NewAsset::check`]. Replaces one with the same id,
    /// which keeps its creation time; blocks that reference it show the new content.
    pub async fn put_asset(&self, write: ProjectWrite, new: NewAsset) -> Result<AtRevision<Asset>, Error> {
        // Outside the transaction, because others wait for it.
        let judged = match new.check(truncate_to_micros(write.now)) {
            Ok(judged) => judged,
            Err(refusal) => {
                // Errors of the project are reported first.
                self.write(write, (), |tables, (write, ())| Box::pin(lock_project(tables, write))).await?;
                return Err(refusal.into());
            }
        };
        self.write(write, (judged, new.content), |tables, (write, (judged, content))| {
            Box::pin(async move {
                let old = query(tables.asset(&write.project, &judged.id));
                let (project, old) = join_project_first(lock_project(tables, write), old).await?;
                let created = old.as_ref().map_or(judged.created, |old| old.created);
                let asset = Asset { created, ..judged.clone() };
                let replaced = old.iter().map(|old| old.digest).filter(|digest| *digest != asset.digest);
                let (is_new, (), freed) = try_join3(
                    query(tables.add_bytes(&project.id, &asset.digest, content)),
                    query(tables.put_assets(&project.id, std::slice::from_ref(&asset))),
                    release_bytes(tables, &project.id, replaced.collect()),
                )
                .await?;
                let added = if is_new { asset.bytes } else { 0 };
                let usage = ProjectUsage {
                    assets: project.usage.assets + u64::from(old.is_none()),
                    asset_bytes: (project.usage.asset_bytes + added).saturating_sub(freed),
                    ..project.usage
                };
                let revision = record_write(tables, write, &project, usage).await?;
                Ok(AtRevision { revision, value: asset })
            })
        })
        .await
    }

    /// Changes the metadata of an asset by [`AssetPatch::apply`].
    pub async fn update_asset(
        &self,
        write: ProjectWrite,
        id: &AssetId,
        patch: AssetPatch,
    ) -> Result<AtRevision<Asset>, Error> {
        self.write(write, (id.clone(), patch), |tables, (write, (id, patch))| {
            Box::pin(async move {
                let old = find_asset(tables, &write.project, id);
                let (project, old) = join_project_first(lock_project(tables, write), old).await?;
                let changed = patch.apply(&old)?;
                let put = query(tables.put_assets(&project.id, std::slice::from_ref(&changed)));
                let ((), revision) =
                    try_join(put, record_write(tables, write, &project, project.usage)).await?;
                Ok(AtRevision { revision, value: changed })
            })
        })
        .await
    }

    /// An asset without its content.
    pub async fn asset(&self, account: &Account, project: &ProjectId, id: &AssetId) -> Result<Asset, Error> {
        self.read(account, (project.clone(), id.clone()), |tables, (account, (project, id))| {
            Box::pin(async move {
                Ok(join_project_first(
                    read_revision(tables, account, project),
                    find_asset(tables, project, id),
                )
                .await?
                .1)
            })
        })
        .await
    }

    /// An asset with its content, from one snapshot.
    pub async fn asset_content(
        &self,
        account: &Account,
        project: &ProjectId,
        id: &AssetId,
    ) -> Result<AtRevision<(Asset, Vec<u8>)>, Error> {
        self.read(account, (project.clone(), id.clone()), |tables, (account, (project, id))| {
            Box::pin(async move {
                let asset = find_asset(tables, project, id);
                let (revision, asset) =
                    join_project_first(read_revision(tables, account, project), asset).await?;
                let bytes = find_bytes(tables, project, &asset.digest).await?;
                Ok(AtRevision { revision, value: (asset, bytes) })
            })
        })
        .await
    }

    /// Content by digest, if an asset or a version of the project refers to it. Otherwise `NotFound`, with
    /// the digest as the id of the asset.
    pub async fn asset_bytes(
        &self,
        account: &Account,
        project: &ProjectId,
        digest: &Digest,
    ) -> Result<Vec<u8>, Error> {
        self.read(account, (project.clone(), *digest), |tables, (account, (project, digest))| {
            Box::pin(async move {
                Ok(join_project_first(
                    read_revision(tables, account, project),
                    find_bytes(tables, project, digest),
                )
                .await?
                .1)
            })
        })
        .await
    }

    /// The assets of a project, by creation time and then id; cursors are [`Asset::cursor`].
    pub async fn list_assets(
        &self,
        account: &Account,
        project: &ProjectId,
        page: Page,
    ) -> Result<AtRevision<ListPage<Asset>>, Error> {
        self.read(account, (project.clone(), page), |tables, (account, (project, page))| {
            Box::pin(async move {
                let found = async { Ok(tables.assets(project, RowWindow::by_time(page)?).await?) };
                let (revision, found) =
                    join_project_first(read_revision(tables, account, project), found).await?;
                Ok(AtRevision { revision, value: ListPage::from_rows(found, page, Asset::cursor) })
            })
        })
        .await
    }

    /// The first [`MAX_LISTED_USERS`] blocks that reference an asset
    /// ([`Block::mentioned_assets`](crate::Block::mentioned_assets)), by id. Uses an index that every write
    /// to blocks maintains.
    pub async fn asset_users(
        &self,
        account: &Account,
        project: &ProjectId,
        id: &AssetId,
    ) -> Result<Vec<BlockId>, Error> {
        self.read(account, (project.clone(), id.clone()), |tables, (account, (project, id))| {
            Box::pin(async move {
                let used = asset_with_users(tables, project, id);
                let (_, (_, users)) =
                    join_project_first(read_revision(tables, account, project), used).await?;
                Ok(users)
            })
        })
        .await
    }

    /// Deletes an asset. `InUse` while blocks reference it, unless forced; then their references dangle.
    pub async fn delete_asset(
        &self,
        write: ProjectWrite,
        id: &AssetId,
        force: bool,
    ) -> Result<AtRevision<Asset>, Error> {
        self.write(write, (id.clone(), force), |tables, (write, (id, force))| {
            Box::pin(async move {
                let used = asset_with_users(tables, &write.project, id);
                let (project, (gone, users)) = join_project_first(lock_project(tables, write), used).await?;
                if !users.is_empty() && !force {
                    let by = users.iter().map(ToString::to_string).collect();
                    return Err(
                        ProjectRejection::InUse { what: EntityKind::Asset, id: id.to_string(), by }.into()
                    );
                }
                let release = release_bytes(tables, &project.id, BTreeSet::from([gone.digest]));
                let ((), freed) = try_join(query(tables.delete_asset(&project.id, id)), release).await?;
                let usage = ProjectUsage {
                    assets: project.usage.assets.saturating_sub(1),
                    asset_bytes: project.usage.asset_bytes.saturating_sub(freed),
                    ..project.usage
                };
                let revision = record_write(tables, write, &project, usage).await?;
                Ok(AtRevision { revision, value: gone })
            })
        })
        .await
    }
}

async fn find_asset(tables: &dyn Tables, project: &ProjectId, id: &AssetId) -> Result<Asset, Error> {
    Ok(tables.asset(project, id).await?.ok_or_else(|| id.missing())?)
}

async fn find_bytes(tables: &dyn Tables, project: &ProjectId, digest: &Digest) -> Result<Vec<u8>, Error> {
    let missing = || ProjectRejection::not_found(EntityKind::Asset, digest.to_string());
    Ok(tables.bytes(project, digest).await?.ok_or_else(missing)?)
}

/// An asset and the first blocks that reference it.
async fn asset_with_users(
    tables: &dyn Tables,
    project: &ProjectId,
    id: &AssetId,
) -> Result<(Asset, Vec<BlockId>), Error> {
    try_join(find_asset(tables, project, id), query(tables.asset_users(project, id, MAX_LISTED_USERS))).await
}

/// Deletes content that nothing refers to any more, and returns the number of bytes freed.
pub(super) async fn release_bytes(
    tables: &dyn Tables,
    project: &ProjectId,
    digests: BTreeSet<Digest>,
) -> Result<u64, Error> {
    if digests.is_empty() { Ok(0) } else { Ok(tables.release_bytes(project, &digests).await?) }
}
