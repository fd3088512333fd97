//! Rows of assets, and their bytes.

use std::collections::BTreeSet;

use ::projects::{Asset, AssetId, BlockId, Digest, ProjectId};
use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Result, params};

use super::super::rows::{asset, asset_columns, block_id, count, number};
use super::{Done, Rows, done};
use ::projects::store::tables::{AssetTables, Window};

pub(crate) const BY_ID: &str =
    concat!("SELECT ", asset_columns!(), " FROM project_assets WHERE project = ?1 AND id = ?2");

pub(crate) const LIST: &str = concat!(
    "SELECT ",
    asset_columns!(),
    " FROM project_assets WHERE project = ?1 AND (created, id) > (?2, ?3) ORDER BY created, id LIMIT ?4"
);

const PUT: &str = "INSERT INTO project_assets (project, id, name, content_type, bytes, digest, created, alt)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT (project, id) DO UPDATE SET name = excluded.name, content_type = excluded.content_type,
        bytes = excluded.bytes, digest = excluded.digest, created = excluded.created, alt = excluded.alt";

pub(crate) const DELETE: &str = "DELETE FROM project_assets WHERE project = ?1 AND id = ?2";

pub(crate) const USERS: &str =
    "SELECT block FROM project_block_assets WHERE project = ?1 AND asset = ?2 ORDER BY block LIMIT ?3";

pub(crate) const BYTES: &str = "SELECT content FROM project_bytes WHERE project = ?1 AND digest = ?2";

const ADD_BYTES: &str = "INSERT INTO project_bytes (project, digest, content) VALUES (?1, ?2, ?3)
    ON CONFLICT (project, digest) DO NOTHING";

pub(crate) const COPY_BYTES: &str = "INSERT INTO project_bytes (project, digest, content)
    SELECT ?2, digest, content FROM project_bytes WHERE project = ?1 AND digest = ?3";

/// The length of a content is known without reading it.
pub(crate) const UNNAMED: &str =
    "SELECT length(content) FROM project_bytes WHERE project = ?1 AND digest = ?2
    AND NOT EXISTS (SELECT 1 FROM project_assets WHERE project = ?1 AND digest = ?2)
    AND NOT EXISTS (SELECT 1 FROM project_version_assets WHERE project = ?1 AND digest = ?2)";

pub(crate) const DELETE_BYTES: &str = "DELETE FROM project_bytes WHERE project = ?1 AND digest = ?2";

#[async_trait]
impl AssetTables for Rows<'_> {
    async fn asset(&self, project: &ProjectId, id: &AssetId) -> Done<Option<Asset>> {
        done(self.one(BY_ID, [project.as_str(), id.as_str()], asset))
    }

    async fn assets(&self, project: &ProjectId, window: Window<Timestamp>) -> Done<Vec<Asset>> {
        let after = window.after.map(|(time, id)| (time.as_microsecond(), id));
        let (time, id) = after.unwrap_or((i64::MIN, String::new()));
        done(self.all(LIST, params![project.as_str(), time, id, window.limit], asset))
    }

    async fn present_assets(&self, project: &ProjectId, ids: &BTreeSet<AssetId>) -> Done<BTreeSet<AssetId>> {
        let find = |id: &AssetId| {
            let found = self.one(BY_ID, [project.as_str(), id.as_str()], |_| Ok(id.clone()));
            found.transpose()
        };
        done(ids.iter().filter_map(find).collect())
    }

    async fn put_assets(&self, project: &ProjectId, assets: &[Asset]) -> Done<()> {
        done(assets.iter().try_for_each(|asset| self.put_asset(project, asset)))
    }

    async fn delete_asset(&self, project: &ProjectId, id: &AssetId) -> Done<()> {
        done(self.run(DELETE, [project.as_str(), id.as_str()]).map(drop))
    }

    async fn asset_users(&self, project: &ProjectId, id: &AssetId, most: usize) -> Done<Vec<BlockId>> {
        done(self.all(USERS, params![project.as_str(), id.as_str(), number(most as u64)], block_id))
    }

    async fn bytes(&self, project: &ProjectId, digest: &Digest) -> Done<Option<Vec<u8>>> {
        done(self.one(BYTES, params![project.as_str(), digest.0], |row| row.get(0)))
    }

    async fn add_bytes(&self, project: &ProjectId, digest: &Digest, content: &[u8]) -> Done<bool> {
        let added = self.run(ADD_BYTES, params![project.as_str(), digest.0, content]);
        done(added.map(|added| added > 0))
    }

    async fn copy_bytes(&self, from: &ProjectId, to: &ProjectId, digests: &BTreeSet<Digest>) -> Done<()> {
        let copy =
            |digest: &Digest| self.run(COPY_BYTES, params![from.as_str(), to.as_str(), digest.0]).map(drop);
        done(digests.iter().try_for_each(copy))
    }

    async fn release_bytes(&self, project: &ProjectId, digests: &BTreeSet<Digest>) -> Done<u64> {
        done(digests.iter().try_fold(0, |freed, digest| Ok(freed + self.release(project, digest)?)))
    }
}

impl Rows<'_> {
    fn put_asset(&self, project: &ProjectId, asset: &Asset) -> Result<()> {
        let values = params![
            project.as_str(),
            asset.id.as_str(),
            asset.name,
            asset.content_type.as_str(),
            number(asset.bytes),
            asset.digest.0,
            asset.created.as_microsecond(),
            asset.alt,
        ];
        self.run(PUT, values).map(drop)
    }

    fn release(&self, project: &ProjectId, digest: &Digest) -> Result<u64> {
        let unnamed = self.one(UNNAMED, params![project.as_str(), digest.0], |row| count(row, 0))?;
        if unnamed.is_some() {
            self.run(DELETE_BYTES, params![project.as_str(), digest.0])?;
        }
        Ok(unnamed.unwrap_or(0))
    }
}
