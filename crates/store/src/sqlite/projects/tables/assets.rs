//! Assets and their bytes.

use std::collections::BTreeSet;

use ::projects::{Asset, AssetId, BlockId, Digest, ProjectId};
use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Result, params};

use super::super::rows::{asset, asset_columns, block_id, count, to_sql_integer};
use super::{SqliteTableResult, SqliteTables, to_store_result};
use ::projects::store::tables::{AssetTables, RowWindow};

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

pub(crate) const BLOCKS_USING_ASSET: &str =
    "SELECT block FROM project_block_assets WHERE project = ?1 AND asset = ?2 ORDER BY block LIMIT ?3";

pub(crate) const BYTES: &str = "SELECT content FROM project_bytes WHERE project = ?1 AND digest = ?2";

const ADD_BYTES: &str = "INSERT INTO project_bytes (project, digest, content) VALUES (?1, ?2, ?3)
    ON CONFLICT (project, digest) DO NOTHING";

pub(crate) const COPY_BYTES: &str = "INSERT INTO project_bytes (project, digest, content)
    SELECT ?2, digest, content FROM project_bytes WHERE project = ?1 AND digest = ?3";

/// SQLite knows the length without reading the content.
pub(crate) const UNREFERENCED_BYTES: &str =
    "SELECT length(content) FROM project_bytes WHERE project = ?1 AND digest = ?2
    AND NOT EXISTS (SELECT 1 FROM project_assets WHERE project = ?1 AND digest = ?2)
    AND NOT EXISTS (SELECT 1 FROM project_version_assets WHERE project = ?1 AND digest = ?2)";

pub(crate) const DELETE_BYTES: &str = "DELETE FROM project_bytes WHERE project = ?1 AND digest = ?2";

#[async_trait]
impl AssetTables for SqliteTables<'_> {
    async fn asset(&self, project: &ProjectId, id: &AssetId) -> SqliteTableResult<Option<Asset>> {
        to_store_result(self.query_one(BY_ID, [project.as_str(), id.as_str()], asset))
    }

    async fn assets(
        &self,
        project: &ProjectId,
        window: RowWindow<Timestamp>,
    ) -> SqliteTableResult<Vec<Asset>> {
        let after = window.after.map(|(time, id)| (time.as_microsecond(), id));
        let (time, id) = after.unwrap_or((i64::MIN, String::new()));
        to_store_result(self.query_all(LIST, params![project.as_str(), time, id, window.limit], asset))
    }

    async fn existing_assets(
        &self,
        project: &ProjectId,
        ids: &BTreeSet<AssetId>,
    ) -> SqliteTableResult<BTreeSet<AssetId>> {
        let find = |id: &AssetId| {
            let found = self.query_one(BY_ID, [project.as_str(), id.as_str()], |_| Ok(id.clone()));
            found.transpose()
        };
        to_store_result(ids.iter().filter_map(find).collect())
    }

    async fn put_assets(&self, project: &ProjectId, assets: &[Asset]) -> SqliteTableResult<()> {
        to_store_result(assets.iter().try_for_each(|asset| self.put_asset(project, asset)))
    }

    async fn delete_asset(&self, project: &ProjectId, id: &AssetId) -> SqliteTableResult<()> {
        to_store_result(self.execute(DELETE, [project.as_str(), id.as_str()]).map(drop))
    }

    async fn asset_users(
        &self,
        project: &ProjectId,
        id: &AssetId,
        most: usize,
    ) -> SqliteTableResult<Vec<BlockId>> {
        to_store_result(self.query_all(
            BLOCKS_USING_ASSET,
            params![project.as_str(), id.as_str(), to_sql_integer(most as u64)],
            block_id,
        ))
    }

    async fn bytes(&self, project: &ProjectId, digest: &Digest) -> SqliteTableResult<Option<Vec<u8>>> {
        to_store_result(self.query_one(BYTES, params![project.as_str(), digest.0], |row| row.get(0)))
    }

    async fn add_bytes(
        &self,
        project: &ProjectId,
        digest: &Digest,
        content: &[u8],
    ) -> SqliteTableResult<bool> {
        let added = self.execute(ADD_BYTES, params![project.as_str(), digest.0, content]);
        to_store_result(added.map(|added| added > 0))
    }

    async fn copy_bytes(
        &self,
        from: &ProjectId,
        to: &ProjectId,
        digests: &BTreeSet<Digest>,
    ) -> SqliteTableResult<()> {
        let copy = |digest: &Digest| {
            self.execute(COPY_BYTES, params![from.as_str(), to.as_str(), digest.0]).map(drop)
        };
        to_store_result(digests.iter().try_for_each(copy))
    }

    async fn release_bytes(&self, project: &ProjectId, digests: &BTreeSet<Digest>) -> SqliteTableResult<u64> {
        to_store_result(
            digests
                .iter()
                .try_fold(0, |freed, digest| Ok(freed + self.release_unreferenced(project, digest)?)),
        )
    }
}

impl SqliteTables<'_> {
    fn put_asset(&self, project: &ProjectId, asset: &Asset) -> Result<()> {
        let values = params![
            project.as_str(),
            asset.id.as_str(),
            asset.name,
            asset.content_type.as_str(),
            to_sql_integer(asset.bytes),
            asset.digest.0,
            asset.created.as_microsecond(),
            asset.alt,
        ];
        self.execute(PUT, values).map(drop)
    }

    fn release_unreferenced(&self, project: &ProjectId, digest: &Digest) -> Result<u64> {
        let unnamed =
            self.query_one(UNREFERENCED_BYTES, params![project.as_str(), digest.0], |row| count(row, 0))?;
        if unnamed.is_some() {
            self.execute(DELETE_BYTES, params![project.as_str(), digest.0])?;
        }
        Ok(unnamed.unwrap_or(0))
    }
}
