//! Assets and their bytes.

use std::collections::BTreeSet;

use ::projects::{Asset, AssetId, BlockId, Cursor, Digest, ProjectId};
use jiff::Timestamp;
use tokio_postgres::types::ToSql;

use async_trait::async_trait;
use store_api::StoreError;

use super::super::transaction::PgTransaction;
use super::read::{self, get, project_is_owned, read_rows, to_sql_integer};
use super::row_limit;
use ::projects::store::tables::{AssetTables, RowWindow};
use ::projects::store::truncate_to_micros;

const BY_ID: &str = concat!(
    "SELECT id, name, content_type, bytes, digest, created, alt FROM project_assets
    WHERE project = $1 AND id = $2 AND",
    project_is_owned!()
);

const LIST: &str = concat!(
    "SELECT id, name, content_type, bytes, digest, created, alt FROM project_assets
    WHERE project = $1 AND (created, id) > ($2, $3) AND",
    project_is_owned!(),
    " ORDER BY created, id LIMIT $4"
);

const EXISTING: &str =
    concat!("SELECT id FROM project_assets WHERE project = $1 AND id = ANY ($2) AND", project_is_owned!());

const PUT: &str = "INSERT INTO project_assets
        (project, account, id, name, content_type, bytes, digest, created, alt)
    SELECT $1, $2, new.* FROM unnest(
        $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bytea[], $8::timestamptz[], $9::text[]) AS new
    ON CONFLICT (project, id) DO UPDATE SET name = excluded.name, content_type = excluded.content_type,
        bytes = excluded.bytes, digest = excluded.digest, created = excluded.created, alt = excluded.alt";

const DELETE: &str = "DELETE FROM project_assets WHERE project = $1 AND id = $2";

const BLOCKS_USING_ASSET: &str = concat!(
    "SELECT block FROM project_block_assets WHERE project = $1 AND asset = $2 AND",
    project_is_owned!(),
    " ORDER BY block LIMIT $3"
);

const BYTES: &str =
    concat!("SELECT content FROM project_bytes WHERE project = $1 AND digest = $2 AND", project_is_owned!());

const ADD_BYTES: &str =
    "INSERT INTO project_bytes (project, account, digest, content) VALUES ($1, $2, $3, $4)
    ON CONFLICT (project, digest) DO NOTHING RETURNING true";

const COPY_BYTES: &str = "INSERT INTO project_bytes (project, account, digest, content)
    SELECT $2, $3, digest, content FROM project_bytes WHERE project = $1 AND digest = ANY ($4)";

const RELEASE_BYTES: &str = "WITH gone AS (
        DELETE FROM project_bytes b WHERE b.project = $1 AND b.digest = ANY ($2)
            AND NOT EXISTS (SELECT FROM project_assets a WHERE a.project = $1 AND a.digest = b.digest)
            AND NOT EXISTS (SELECT FROM project_version_assets v WHERE v.project = $1 AND v.digest = b.digest)
        RETURNING octet_length(b.content) AS bytes)
    SELECT coalesce(sum(bytes), 0)::bigint FROM gone";

#[async_trait]
impl AssetTables for PgTransaction<'_> {
    async fn asset(&self, project: &ProjectId, id: &AssetId) -> Result<Option<Asset>, StoreError> {
        let rows = self.fetch_rows(BY_ID, &[&project.as_str(), &id.as_str()]).await?;
        rows.first().map(read::asset).transpose()
    }

    async fn assets(
        &self,
        project: &ProjectId,
        window: RowWindow<Timestamp>,
    ) -> Result<Vec<Asset>, StoreError> {
        let (after, id) = window.after.unwrap_or((Cursor::EARLIEST, String::new()));
        let rows = self.fetch_rows(LIST, &[&project.as_str(), &after, &id, &window.limit]).await?;
        read_rows(&rows, read::asset)
    }

    async fn existing_assets(
        &self,
        project: &ProjectId,
        ids: &BTreeSet<AssetId>,
    ) -> Result<BTreeSet<AssetId>, StoreError> {
        let ids: Vec<&str> = ids.iter().map(AssetId::as_str).collect();
        let rows = self.fetch_rows(EXISTING, &[&project.as_str(), &ids]).await?;
        read_rows(&rows, |row| read::asset_id(row, 0))
    }

    async fn put_assets(&self, project: &ProjectId, assets: &[Asset]) -> Result<(), StoreError> {
        if assets.is_empty() {
            return Ok(());
        }
        let ids: Vec<&str> = assets.iter().map(|asset| asset.id.as_str()).collect();
        let names: Vec<&str> = assets.iter().map(|asset| asset.name.as_str()).collect();
        let types: Vec<String> = assets.iter().map(|asset| asset.content_type.to_string()).collect();
        let bytes: Vec<i64> = assets.iter().map(|asset| to_sql_integer(asset.bytes)).collect();
        let digests: Vec<&[u8]> = assets.iter().map(|asset| asset.digest.0.as_slice()).collect();
        let created: Vec<Timestamp> = assets.iter().map(|asset| truncate_to_micros(asset.created)).collect();
        let alts: Vec<&str> = assets.iter().map(|asset| asset.alt.as_str()).collect();
        let (project, account) = (project.as_str(), self.tenant());
        let values: [&(dyn ToSql + Sync); 9] =
            [&project, &account, &ids, &names, &types, &bytes, &digests, &created, &alts];
        self.fetch_rows(PUT, &values).await?;
        Ok(())
    }

    async fn delete_asset(&self, project: &ProjectId, id: &AssetId) -> Result<(), StoreError> {
        self.fetch_rows(DELETE, &[&project.as_str(), &id.as_str()]).await?;
        Ok(())
    }

    async fn asset_users(
        &self,
        project: &ProjectId,
        id: &AssetId,
        count: usize,
    ) -> Result<Vec<BlockId>, StoreError> {
        let rows = self
            .fetch_rows(BLOCKS_USING_ASSET, &[&project.as_str(), &id.as_str(), &row_limit(count)])
            .await?;
        read_rows(&rows, |row| read::block_id(row, 0))
    }

    async fn bytes(&self, project: &ProjectId, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let rows = self.fetch_rows(BYTES, &[&project.as_str(), &digest.0.as_slice()]).await?;
        rows.first().map(|row| get(row, 0)).transpose()
    }

    async fn add_bytes(
        &self,
        project: &ProjectId,
        digest: &Digest,
        content: &[u8],
    ) -> Result<bool, StoreError> {
        let (project, account) = (project.as_str(), self.tenant());
        let rows = self.fetch_rows(ADD_BYTES, &[&project, &account, &digest.0.as_slice(), &content]).await?;
        Ok(!rows.is_empty())
    }

    async fn copy_bytes(
        &self,
        from: &ProjectId,
        to: &ProjectId,
        digests: &BTreeSet<Digest>,
    ) -> Result<(), StoreError> {
        let digests: Vec<&[u8]> = digests.iter().map(|digest| digest.0.as_slice()).collect();
        self.fetch_rows(COPY_BYTES, &[&from.as_str(), &to.as_str(), &self.tenant(), &digests]).await?;
        Ok(())
    }

    async fn release_bytes(
        &self,
        project: &ProjectId,
        digests: &BTreeSet<Digest>,
    ) -> Result<u64, StoreError> {
        let digests: Vec<&[u8]> = digests.iter().map(|digest| digest.0.as_slice()).collect();
        let rows = self.fetch_rows(RELEASE_BYTES, &[&project.as_str(), &digests]).await?;
        rows.first().map_or(Ok(0), |row| read::count(row, 0))
    }
}
