//! Rows of assets, and their bytes.

use std::collections::BTreeSet;

use ::projects::{Asset, AssetId, BlockId, Digest, ProjectId};
use jiff::Timestamp;

use super::{Answer, Database, Window};

/// Assets, who names them, and what their digests stand for.
pub(crate) trait AssetTables: Database {
    /// The asset of this id.
    fn asset(
        &self,
        project: &ProjectId,
        id: &AssetId,
    ) -> impl Future<Output = Answer<Self, Option<Asset>>> + Send;

    /// The assets by the time they were put there and then by id.
    fn assets(
        &self,
        project: &ProjectId,
        window: Window<Timestamp>,
    ) -> impl Future<Output = Answer<Self, Vec<Asset>>> + Send;

    /// Which of these assets are there.
    fn present_assets(
        &self,
        project: &ProjectId,
        ids: &BTreeSet<AssetId>,
    ) -> impl Future<Output = Answer<Self, BTreeSet<AssetId>>> + Send;

    /// Adds assets, or replaces those of their ids.
    fn put_assets(
        &self,
        project: &ProjectId,
        assets: &[Asset],
    ) -> impl Future<Output = Answer<Self, ()>> + Send;

    /// Deletes an asset.
    fn delete_asset(
        &self,
        project: &ProjectId,
        id: &AssetId,
    ) -> impl Future<Output = Answer<Self, ()>> + Send;

    /// The first so many blocks that name an asset, there or not, by id.
    fn asset_users(
        &self,
        project: &ProjectId,
        id: &AssetId,
        most: usize,
    ) -> impl Future<Output = Answer<Self, Vec<BlockId>>> + Send;

    /// The bytes of a digest.
    fn bytes(
        &self,
        project: &ProjectId,
        digest: &Digest,
    ) -> impl Future<Output = Answer<Self, Option<Vec<u8>>>> + Send;

    /// Keeps bytes under their digest. `false`: they are there already.
    fn add_bytes(
        &self,
        project: &ProjectId,
        digest: &Digest,
        content: &[u8],
    ) -> impl Future<Output = Answer<Self, bool>> + Send;

    /// Keeps in one project the bytes of these digests that another project has.
    fn copy_bytes(
        &self,
        from: &ProjectId,
        to: &ProjectId,
        digests: &BTreeSet<Digest>,
    ) -> impl Future<Output = Answer<Self, ()>> + Send;

    /// Drops the bytes of those digests that no asset and no version of the project names any more. Gives how many bytes
    /// that were.
    fn release_bytes(
        &self,
        project: &ProjectId,
        digests: &BTreeSet<Digest>,
    ) -> impl Future<Output = Answer<Self, u64>> + Send;
}
