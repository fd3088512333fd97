//! Rows of versions, and the digests that they name.

use std::collections::BTreeSet;

use ::projects::{Asset, Content, Digest, ProjectId, Version};
use futures_util::future::try_join;

use async_trait::async_trait;
use storage::StoreError;

use super::super::transaction::Transaction;
use super::read::{self, each, get, kept, own, strange};
use crate::text;
use ::projects::store::tables::VersionTables;
use ::projects::store::to_micros as whole;

const LIST: &str = concat!(
    "SELECT number, note, created, revision, blocks, bytes FROM project_versions
    WHERE project = $1 AND number < $2 AND",
    own!(),
    " ORDER BY number DESC LIMIT $3"
);

const CONTENT: &str =
    concat!("SELECT content FROM project_versions WHERE project = $1 AND number = $2 AND", own!());

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
impl VersionTables for Transaction<'_> {
    async fn versions(
        &self,
        project: &ProjectId,
        before: i64,
        most: i64,
    ) -> Result<Vec<Version>, StoreError> {
        let rows = self.rows(LIST, &[&project.as_str(), &before, &most]).await?;
        each(&rows, read::version)
    }

    async fn version_content(&self, project: &ProjectId, number: u32) -> Result<Option<Content>, StoreError> {
        let rows = self.rows(CONTENT, &[&project.as_str(), &i64::from(number)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let text: String = get(row, 0)?;
        let content = Content::decode(&text).map_err(|_| strange("the content of a version"))?;
        Ok(Some(content))
    }

    async fn add_version(
        &self,
        project: &ProjectId,
        version: &Version,
        text: &str,
        assets: &[Asset],
    ) -> Result<(), StoreError> {
        try_join(add(self, project, version, text), add_digests(self, project, version, assets)).await?;
        Ok(())
    }

    async fn delete_version(&self, project: &ProjectId, number: u32) -> Result<BTreeSet<Digest>, StoreError> {
        let rows = self.rows(DELETE, &[&project.as_str(), &i64::from(number)]).await?;
        read::digests(&rows)
    }

    async fn clear_draft(&self, project: &ProjectId) -> Result<(), StoreError> {
        self.rows(CLEAR_DRAFT, &[&project.as_str()]).await?;
        Ok(())
    }
}

async fn add(
    tables: &Transaction<'_>,
    project: &ProjectId,
    version: &Version,
    text: &str,
) -> Result<(), StoreError> {
    let Version { number, note, created, revision, blocks, bytes } = version;
    tables
        .rows(
            ADD,
            &[
                &project.as_str(),
                &tables.tenant(),
                &i64::from(*number),
                note,
                &whole(*created),
                &kept(*revision),
                &kept(*blocks),
                &kept(*bytes),
                &text,
            ],
        )
        .await
        .map(drop)
}

async fn add_digests(
    tables: &Transaction<'_>,
    project: &ProjectId,
    version: &Version,
    assets: &[Asset],
) -> Result<(), StoreError> {
    let digests = text::digests(assets);
    if digests.is_empty() {
        return Ok(());
    }
    let digests: Vec<&[u8]> = digests.iter().map(|digest| digest.0.as_slice()).collect();
    let number = i64::from(version.number);
    tables.rows(ADD_DIGESTS, &[&project.as_str(), &tables.tenant(), &number, &digests]).await.map(drop)
}
