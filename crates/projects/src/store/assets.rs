//! Assets and their bytes. Bytes are kept once for each digest in a project, and as long as an asset or a version names it.

use std::collections::BTreeSet;

use futures_util::future::{try_join, try_join3};

use super::tables::{Tables, Window};
use super::{ProjectStore, hold, look, note, project_and, row, to_micros};
use crate::asset::{Asset, AssetPatch, Digest, NewAsset};
use crate::cursor::{Listed, Page};
use crate::error::{Error, Noun, Refusal};
use crate::ids::{Account, AssetId, BlockId, ProjectId};
use crate::limits::MAX_USERS;
use crate::project::{AtRevision, Usage, Write};

impl ProjectStore {
    /// Keeps an asset with its content, judged by [`NewAsset::check`]. One of the same id is replaced
    /// and keeps the time it was made; what names it shows the new one.
    pub async fn put_asset(&self, write: Write, new: NewAsset) -> Result<AtRevision<Asset>, Error> {
        // Before the transaction, since others wait for it.
        let judged = match new.check(to_micros(write.now)) {
            Ok(judged) => judged,
            Err(refusal) => {
                // What is wrong with the project is reported first.
                self.write(write, (), |tables, (write, ())| Box::pin(hold(tables, write))).await?;
                return Err(refusal.into());
            }
        };
        self.write(write, (judged, new.content), |tables, (write, (judged, content))| {
            Box::pin(async move {
                let old = row(tables.asset(&write.project, &judged.id));
                let (project, old) = project_and(hold(tables, write), old).await?;
                let created = old.as_ref().map_or(judged.created, |old| old.created);
                let asset = Asset { created, ..judged.clone() };
                let replaced = old.iter().map(|old| old.digest).filter(|digest| *digest != asset.digest);
                let (is_new, (), freed) = try_join3(
                    row(tables.add_bytes(&project.id, &asset.digest, content)),
                    row(tables.put_assets(&project.id, std::slice::from_ref(&asset))),
                    release(tables, &project.id, replaced.collect()),
                )
                .await?;
                let added = if is_new { asset.bytes } else { 0 };
                let usage = Usage {
                    assets: project.usage.assets + u64::from(old.is_none()),
                    asset_bytes: (project.usage.asset_bytes + added).saturating_sub(freed),
                    ..project.usage
                };
                let revision = note(tables, write, &project, usage).await?;
                Ok(AtRevision { revision, value: asset })
            })
        })
        .await
    }

    /// Changes what is said of an asset by [`AssetPatch::apply`].
    pub async fn update_asset(
        &self,
        write: Write,
        id: &AssetId,
        patch: AssetPatch,
    ) -> Result<AtRevision<Asset>, Error> {
        self.write(write, (id.clone(), patch), |tables, (write, (id, patch))| {
            Box::pin(async move {
                let old = find(tables, &write.project, id);
                let (project, old) = project_and(hold(tables, write), old).await?;
                let changed = patch.apply(&old)?;
                let put = row(tables.put_assets(&project.id, std::slice::from_ref(&changed)));
                let ((), revision) = try_join(put, note(tables, write, &project, project.usage)).await?;
                Ok(AtRevision { revision, value: changed })
            })
        })
        .await
    }

    /// An asset without its content.
    pub async fn asset(&self, account: &Account, project: &ProjectId, id: &AssetId) -> Result<Asset, Error> {
        self.read(account, (project.clone(), id.clone()), |tables, (account, (project, id))| {
            Box::pin(async move {
                Ok(project_and(look(tables, account, project), find(tables, project, id)).await?.1)
            })
        })
        .await
    }

    /// An asset with its content, as of one moment.
    pub async fn asset_content(
        &self,
        account: &Account,
        project: &ProjectId,
        id: &AssetId,
    ) -> Result<AtRevision<(Asset, Vec<u8>)>, Error> {
        self.read(account, (project.clone(), id.clone()), |tables, (account, (project, id))| {
            Box::pin(async move {
                let asset = find(tables, project, id);
                let (revision, asset) = project_and(look(tables, account, project), asset).await?;
                let bytes = bytes(tables, project, &asset.digest).await?;
                Ok(AtRevision { revision, value: (asset, bytes) })
            })
        })
        .await
    }

    /// The bytes of a digest that an asset or a version of the project names. `NotFound` for an asset called by the digest.
    pub async fn asset_bytes(
        &self,
        account: &Account,
        project: &ProjectId,
        digest: &Digest,
    ) -> Result<Vec<u8>, Error> {
        self.read(account, (project.clone(), *digest), |tables, (account, (project, digest))| {
            Box::pin(async move {
                Ok(project_and(look(tables, account, project), bytes(tables, project, digest)).await?.1)
            })
        })
        .await
    }

    /// The assets of a project by the time they were made and then by id; cursors are [`Asset::cursor`].
    pub async fn list_assets(
        &self,
        account: &Account,
        project: &ProjectId,
        page: Page,
    ) -> Result<AtRevision<Listed<Asset>>, Error> {
        self.read(account, (project.clone(), page), |tables, (account, (project, page))| {
            Box::pin(async move {
                let found = async { Ok(tables.assets(project, Window::by_time(page)?).await?) };
                let (revision, found) = project_and(look(tables, account, project), found).await?;
                Ok(AtRevision { revision, value: Listed::cut(found, page, Asset::cursor) })
            })
        })
        .await
    }

    /// The first [`MAX_USERS`] blocks that name an asset ([`Block::assets`](crate::Block::assets)), by id: by an index, which
    /// every write to blocks keeps.
    pub async fn asset_users(
        &self,
        account: &Account,
        project: &ProjectId,
        id: &AssetId,
    ) -> Result<Vec<BlockId>, Error> {
        self.read(account, (project.clone(), id.clone()), |tables, (account, (project, id))| {
            Box::pin(async move {
                let used = used(tables, project, id);
                let (_, (_, users)) = project_and(look(tables, account, project), used).await?;
                Ok(users)
            })
        })
        .await
    }

    /// Deletes an asset. `InUse` while blocks name it, unless forced; then they go on naming what is not there.
    pub async fn delete_asset(
        &self,
        write: Write,
        id: &AssetId,
        force: bool,
    ) -> Result<AtRevision<Asset>, Error> {
        self.write(write, (id.clone(), force), |tables, (write, (id, force))| {
            Box::pin(async move {
                let used = used(tables, &write.project, id);
                let (project, (gone, users)) = project_and(hold(tables, write), used).await?;
                if !users.is_empty() && !force {
                    let by = users.iter().map(ToString::to_string).collect();
                    return Err(Refusal::InUse { what: Noun::Asset, id: id.to_string(), by }.into());
                }
                let release = release(tables, &project.id, BTreeSet::from([gone.digest]));
                let ((), freed) = try_join(row(tables.delete_asset(&project.id, id)), release).await?;
                let usage = Usage {
                    assets: project.usage.assets.saturating_sub(1),
                    asset_bytes: project.usage.asset_bytes.saturating_sub(freed),
                    ..project.usage
                };
                let revision = note(tables, write, &project, usage).await?;
                Ok(AtRevision { revision, value: gone })
            })
        })
        .await
    }
}

async fn find(tables: &dyn Tables, project: &ProjectId, id: &AssetId) -> Result<Asset, Error> {
    Ok(tables.asset(project, id).await?.ok_or_else(|| id.missing())?)
}

async fn bytes(tables: &dyn Tables, project: &ProjectId, digest: &Digest) -> Result<Vec<u8>, Error> {
    let missing = || Refusal::not_found(Noun::Asset, digest.to_string());
    Ok(tables.bytes(project, digest).await?.ok_or_else(missing)?)
}

/// An asset, and the first blocks that name it.
async fn used(
    tables: &dyn Tables,
    project: &ProjectId,
    id: &AssetId,
) -> Result<(Asset, Vec<BlockId>), Error> {
    try_join(find(tables, project, id), row(tables.asset_users(project, id, MAX_USERS))).await
}

/// Drops bytes that nothing names any more. Gives how many.
pub(super) async fn release(
    tables: &dyn Tables,
    project: &ProjectId,
    digests: BTreeSet<Digest>,
) -> Result<u64, Error> {
    if digests.is_empty() { Ok(0) } else { Ok(tables.release_bytes(project, &digests).await?) }
}
