//! Assets and their bytes.

use std::collections::BTreeSet;

use ::projects::limits::MAX_USERS;
use ::projects::{
    Account, Asset, AssetId, AssetPatch, AtRevision, BlockId, Digest, Listed, Noun, Page, ProjectId, Refusal,
    Usage, Write,
};
use futures_util::future::{try_join, try_join3};

use super::tables::{Answer, Tables, Window};
use super::{hold, look, note, with};

/// Keeps an asset with its content, which was judged before: that takes time, and nobody should wait for it.
pub(crate) async fn put<T: Tables>(
    tables: &T,
    write: &Write,
    judged: &Asset,
    content: &[u8],
) -> Answer<T, AtRevision<Asset>> {
    let old = async { tables.asset(&write.project, &judged.id).await };
    let (project, old) = with(hold(tables, write), old).await?;
    let created = old.as_ref().map_or(judged.created, |old| old.created);
    let asset = Asset { created, ..judged.clone() };
    let replaced = old.iter().map(|old| old.digest).filter(|digest| *digest != asset.digest);
    let (is_new, (), freed) = try_join3(
        tables.add_bytes(&project.id, &asset.digest, content),
        tables.put_assets(&project.id, std::slice::from_ref(&asset)),
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
}

/// Changes what is said of an asset.
pub(crate) async fn update<T: Tables>(
    tables: &T,
    write: &Write,
    id: &AssetId,
    patch: &AssetPatch,
) -> Answer<T, AtRevision<Asset>> {
    let (project, old) = with(hold(tables, write), find(tables, &write.project, id)).await?;
    let changed = patch.apply(&old)?;
    let put = tables.put_assets(&project.id, std::slice::from_ref(&changed));
    let ((), revision) = try_join(put, note(tables, write, &project, project.usage)).await?;
    Ok(AtRevision { revision, value: changed })
}

/// An asset.
pub(crate) async fn read<T: Tables>(
    tables: &T,
    account: &Account,
    project: &ProjectId,
    id: &AssetId,
) -> Answer<T, Asset> {
    Ok(with(look(tables, account, project), find(tables, project, id)).await?.1)
}

/// An asset with its content.
pub(crate) async fn content<T: Tables>(
    tables: &T,
    account: &Account,
    project: &ProjectId,
    id: &AssetId,
) -> Answer<T, AtRevision<(Asset, Vec<u8>)>> {
    let (revision, asset) = with(look(tables, account, project), find(tables, project, id)).await?;
    let bytes = kept(tables, project, &asset.digest).await?;
    Ok(AtRevision { revision, value: (asset, bytes) })
}

/// The bytes of a digest.
pub(crate) async fn bytes<T: Tables>(
    tables: &T,
    account: &Account,
    project: &ProjectId,
    digest: &Digest,
) -> Answer<T, Vec<u8>> {
    Ok(with(look(tables, account, project), kept(tables, project, digest)).await?.1)
}

/// The assets of a project.
pub(crate) async fn list<T: Tables>(
    tables: &T,
    account: &Account,
    project: &ProjectId,
    page: &Page,
) -> Answer<T, AtRevision<Listed<Asset>>> {
    let found = async { tables.assets(project, Window::by_time(page)?).await };
    let (revision, found) = with(look(tables, account, project), found).await?;
    Ok(AtRevision { revision, value: Listed::cut(found, page, Asset::cursor) })
}

/// The first blocks that name an asset.
pub(crate) async fn users<T: Tables>(
    tables: &T,
    account: &Account,
    project: &ProjectId,
    id: &AssetId,
) -> Answer<T, Vec<BlockId>> {
    let (_, (_, users)) = with(look(tables, account, project), used(tables, project, id)).await?;
    Ok(users)
}

/// Deletes an asset that no block names, or by force.
pub(crate) async fn delete<T: Tables>(
    tables: &T,
    write: &Write,
    id: &AssetId,
    force: bool,
) -> Answer<T, AtRevision<Asset>> {
    let (project, (gone, users)) = with(hold(tables, write), used(tables, &write.project, id)).await?;
    if !users.is_empty() && !force {
        let by = users.iter().map(ToString::to_string).collect();
        return Err(Refusal::InUse { what: Noun::Asset, id: id.to_string(), by }.into());
    }
    let release = release(tables, &project.id, BTreeSet::from([gone.digest]));
    let ((), freed) = try_join(tables.delete_asset(&project.id, id), release).await?;
    let usage = Usage {
        assets: project.usage.assets.saturating_sub(1),
        asset_bytes: project.usage.asset_bytes.saturating_sub(freed),
        ..project.usage
    };
    let revision = note(tables, write, &project, usage).await?;
    Ok(AtRevision { revision, value: gone })
}

async fn find<T: Tables>(tables: &T, project: &ProjectId, id: &AssetId) -> Answer<T, Asset> {
    tables.asset(project, id).await?.ok_or_else(|| id.missing().into())
}

async fn kept<T: Tables>(tables: &T, project: &ProjectId, digest: &Digest) -> Answer<T, Vec<u8>> {
    let missing = || Refusal::not_found(Noun::Asset, digest.to_string()).into();
    tables.bytes(project, digest).await?.ok_or_else(missing)
}

/// An asset, and the first blocks that name it.
async fn used<T: Tables>(tables: &T, project: &ProjectId, id: &AssetId) -> Answer<T, (Asset, Vec<BlockId>)> {
    try_join(find(tables, project, id), tables.asset_users(project, id, MAX_USERS)).await
}

/// Drops bytes that nothing names any more. Gives how many.
pub(super) async fn release<T: Tables>(
    tables: &T,
    project: &ProjectId,
    digests: BTreeSet<Digest>,
) -> Answer<T, u64> {
    if digests.is_empty() { Ok(0) } else { tables.release_bytes(project, &digests).await }
}
