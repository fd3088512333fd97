//! Versions and their digests.

use std::collections::BTreeSet;

use ::projects::{Asset, Digest, ProjectContent, ProjectId, Version};
use futures_util::future::try_join;

use async_trait::async_trait;
use store_api::StoreError;

use super::super::transaction::PgTransaction;
use super::read::{self, get, project_is_owned, read_rows, to_sql_integer, unreadable};
use crate::text_encoding;
use ::projects::store::tables::VersionTables;
use ::projects::store::truncate_to_micros;

const LIST: &str = concat!(
    "SELECT number, note, created, revision, blocks, bytes FROM project_versions
    WHERE project = $1 AND number < $2 AND",
    project_is_owned!(),
    " ORDER BY number DESC LIMIT $3"
);

const CONTENT: &str = concat!(
    "SELECT content FROM project_versions WHERE project = $1 AND number = $2 AND",
    project_is_owned!()
);

const ADD: &str = "INSERT INTO project_versions
    (project, account, number, note, created, revision, blocks, bytes, content)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

const ADD_DIGESTS: &str = "INSERT INTO project_version_assets (project, account, version, digest)
    SELECT $1, $2, $3, digest FROM unnest($4::bytea[]) AS digest";

const DELETE: &str = "WITH gone AS (DELETE FROM project_versions WHERE project = $1 AND number = $2)
    DELETE FROM project_version_assets WHERE project = $1 AND version = $2 RETURNING digest";

const CLEAR_DRAFT: &str = "WITH
    types AS (DELETE FROM project_block_types WHERE project = $1),
    blocks AS (DELETE FROM project_blocks WHERE project = $1),
    named AS (DELETE FROM project_block_assets WHERE project = $1)
    DELETE FROM project_assets WHERE project = $1";

#[async_trait]
impl VersionTables for PgTransaction<'_> {
    async fn versions(
        &self,
        project: &ProjectId,
        before: i64,
        most: i64,
    ) -> Result<Vec<Version>, StoreError> {
        let rows = self.fetch_rows(LIST, &[&project.as_str(), &before, &most]).await?;
        read_rows(&rows, read::version)
    }

    async fn version_content(
        &self,
        project: &ProjectId,
        number: u32,
    ) -> Result<Option<ProjectContent>, StoreError> {
        let rows = self.fetch_rows(CONTENT, &[&project.as_str(), &i64::from(number)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let text: String = get(row, 0)?;
        let content = ProjectContent::decode(&text).map_err(|_| unreadable("the content of a version"))?;
        Ok(Some(content))
    }

    async fn add_version(
        &self,
        project: &ProjectId,
        version: &Version,
        text: &str,
        assets: &[Asset],
    ) -> Result<(), StoreError> {
        try_join(
            insert_version(self, project, version, text),
            insert_version_digests(self, project, version, assets),
        )
        .await?;
        Ok(())
    }

    async fn delete_version(&self, project: &ProjectId, number: u32) -> Result<BTreeSet<Digest>, StoreError> {
        let rows = self.fetch_rows(DELETE, &[&project.as_str(), &i64::from(number)]).await?;
        read::digests(&rows)
    }

    async fn clear_draft(&self, project: &ProjectId) -> Result<(), StoreError> {
        self.fetch_rows(CLEAR_DRAFT, &[&project.as_str()]).await?;
        Ok(())
    }
}

async fn insert_version(
    tables: &PgTransaction<'_>,
    project: &ProjectId,
    version: &Version,
    text: &str,
) -> Result<(), StoreError> {
    let Version { number, note, created, revision, blocks, bytes } = version;
    tables
        .fetch_rows(
            ADD,
            &[
                &project.as_str(),
                &tables.tenant(),
                &i64::from(*number),
                note,
                &truncate_to_micros(*created),
                &to_sql_integer(*revision),
                &to_sql_integer(*blocks),
                &to_sql_integer(*bytes),
                &text,
            ],
        )
        .await
        .map(drop)
}

async fn insert_version_digests(
    tables: &PgTransaction<'_>,
    project: &ProjectId,
    version: &Version,
    assets: &[Asset],
) -> Result<(), StoreError> {
    let digests = text_encoding::unique_digests(assets);
    if digests.is_empty() {
        return Ok(());
    }
    let digests: Vec<&[u8]> = digests.iter().map(|digest| digest.0.as_slice()).collect();
    let number = i64::from(version.number);
    tables.fetch_rows(ADD_DIGESTS, &[&project.as_str(), &tables.tenant(), &number, &digests]).await.map(drop)
}
