//! Rows of versions.

use std::collections::BTreeSet;

use ::projects::{Asset, Content, Digest, ProjectId, Version};
use async_trait::async_trait;
use rusqlite::{Result, params};

use super::super::rows::{document, number, version, version_columns};
use super::{Done, Rows, done};
use crate::text::digests;
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

const NAME_DIGEST: &str = "INSERT INTO project_version_assets (project, digest, version) VALUES (?1, ?2, ?3)";

pub(crate) const NAMED: &str =
    "SELECT digest FROM project_version_assets WHERE project = ?1 AND version = ?2";

/// What digests it names goes with it.
pub(crate) const DELETE: &str = "DELETE FROM project_versions WHERE project = ?1 AND number = ?2";

pub(crate) const CLEAR: [&str; 4] = [
    "DELETE FROM project_block_assets WHERE project = ?1",
    "DELETE FROM project_blocks WHERE project = ?1",
    "DELETE FROM project_block_types WHERE project = ?1",
    "DELETE FROM project_assets WHERE project = ?1",
];

#[async_trait]
impl VersionTables for Rows<'_> {
    async fn versions(&self, project: &ProjectId, before: i64, most: i64) -> Done<Vec<Version>> {
        done(self.all(LIST, params![project.as_str(), before, most], version))
    }

    async fn version_content(&self, project: &ProjectId, number: u32) -> Done<Option<Content>> {
        let read = self.one(CONTENT, params![project.as_str(), number], |row| {
            document(row, |text| Content::decode(text).ok())
        });
        done(read)
    }

    async fn add_version(
        &self,
        project: &ProjectId,
        version: &Version,
        text: &str,
        assets: &[Asset],
    ) -> Done<()> {
        done(self.add_whole_version(project, version, text, assets))
    }

    async fn delete_version(&self, project: &ProjectId, number: u32) -> Done<BTreeSet<Digest>> {
        let values = params![project.as_str(), number];
        let named = self.all(NAMED, values, |row| row.get(0).map(Digest));
        done(named.and_then(|named| {
            self.run(DELETE, values)?;
            Ok(named.into_iter().collect())
        }))
    }

    async fn clear_draft(&self, project: &ProjectId) -> Done<()> {
        done(CLEAR.iter().try_for_each(|sql| self.run(sql, [project.as_str()]).map(drop)))
    }
}

impl Rows<'_> {
    fn add_whole_version(
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
            number(version.revision),
            number(version.blocks),
            number(version.bytes),
            text,
        ];
        self.run(ADD, values)?;
        for digest in digests(assets) {
            self.run(NAME_DIGEST, params![project.as_str(), digest.0, version.number])?;
        }
        Ok(())
    }
}
