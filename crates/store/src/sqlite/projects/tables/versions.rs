//! Versions.

use std::collections::BTreeSet;

use ::projects::{Asset, Digest, ProjectContent, ProjectId, Version};
use async_trait::async_trait;
use rusqlite::{Result, params};

use super::super::rows::{parse_first_column, to_sql_integer, version, version_columns};
use super::{SqliteTableResult, SqliteTables, to_store_result};
use crate::text_encoding::unique_digests;
use ::projects::store::tables::VersionTables;

pub(crate) const LIST: &str = concat!(
    "SELECT ",
    version_columns!(),
    " FROM project_versions WHERE project = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3"
);

pub(crate) const CONTENT: &str = "SELECT content FROM project_versions WHERE project = ?1 AND number = ?2";

const ADD: &str =
    "INSERT INTO project_versions (project, number, note, created, revision, blocks, bytes, content)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

const ADD_DIGEST: &str = "INSERT INTO project_version_assets (project, digest, version) VALUES (?1, ?2, ?3)";

pub(crate) const DIGESTS_OF_VERSION: &str =
    "SELECT digest FROM project_version_assets WHERE project = ?1 AND version = ?2";

/// Its digests are deleted by a cascade.
pub(crate) const DELETE: &str = "DELETE FROM project_versions WHERE project = ?1 AND number = ?2";

pub(crate) const CLEAR_DRAFT: [&str; 4] = [
    "DELETE FROM project_block_assets WHERE project = ?1",
    "DELETE FROM project_blocks WHERE project = ?1",
    "DELETE FROM project_block_types WHERE project = ?1",
    "DELETE FROM project_assets WHERE project = ?1",
];

#[async_trait]
impl VersionTables for SqliteTables<'_> {
    async fn versions(&self, project: &ProjectId, before: i64, most: i64) -> SqliteTableResult<Vec<Version>> {
        to_store_result(self.query_all(LIST, params![project.as_str(), before, most], version))
    }

    async fn version_content(
        &self,
        project: &ProjectId,
        number: u32,
    ) -> SqliteTableResult<Option<ProjectContent>> {
        let read = self.query_one(CONTENT, params![project.as_str(), number], |row| {
            parse_first_column(row, |text| ProjectContent::decode(text).ok())
        });
        to_store_result(read)
    }

    async fn add_version(
        &self,
        project: &ProjectId,
        version: &Version,
        text: &str,
        assets: &[Asset],
    ) -> SqliteTableResult<()> {
        to_store_result(self.insert_version(project, version, text, assets))
    }

    async fn delete_version(&self, project: &ProjectId, number: u32) -> SqliteTableResult<BTreeSet<Digest>> {
        let values = params![project.as_str(), number];
        let named = self.query_all(DIGESTS_OF_VERSION, values, |row| row.get(0).map(Digest));
        to_store_result(named.and_then(|named| {
            self.execute(DELETE, values)?;
            Ok(named.into_iter().collect())
        }))
    }

    async fn clear_draft(&self, project: &ProjectId) -> SqliteTableResult<()> {
        to_store_result(
            CLEAR_DRAFT.iter().try_for_each(|sql| self.execute(sql, [project.as_str()]).map(drop)),
        )
    }
}

impl SqliteTables<'_> {
    fn insert_version(
        &self,
        project: &ProjectId,
        version: &Version,
        text: &str,
        assets: &[Asset],
    ) -> Result<()> {
        let values = params![
            project.as_str(),
            version.number,
            version.note,
            version.created.as_microsecond(),
            to_sql_integer(version.revision),
            to_sql_integer(version.blocks),
            to_sql_integer(version.bytes),
            text,
        ];
        self.execute(ADD, values)?;
        for digest in unique_digests(assets) {
            self.execute(ADD_DIGEST, params![project.as_str(), digest.0, version.number])?;
        }
        Ok(())
    }
}
