//! Block types.

use std::collections::BTreeSet;

use ::projects::{BlockId, CustomBlockType, ProjectId};
use rusqlite::{Result, params};

use super::super::rows::{block_id, block_type, to_sql_integer, type_columns};
use super::SqliteTables;
use crate::text_encoding;

pub(crate) const ALL: &str =
    concat!("SELECT ", type_columns!(), " FROM project_block_types WHERE project = ?1 ORDER BY name");

pub(crate) const BY_NAME: &str =
    concat!("SELECT ", type_columns!(), " FROM project_block_types WHERE project = ?1 AND name = ?2");

const PUT: &str = "INSERT INTO project_block_types (project, name, description, schema, children)
    VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (project, name) DO UPDATE
    SET description = excluded.description, schema = excluded.schema, children = excluded.children";

pub(crate) const DELETE: &str = "DELETE FROM project_block_types WHERE project = ?1 AND name = ?2";

pub(crate) const BLOCKS_OF_TYPE: &str =
    "SELECT id FROM project_blocks WHERE project = ?1 AND kind = ?2 ORDER BY id LIMIT ?3";

impl SqliteTables<'_> {
    pub(super) fn select_types(
        &self,
        project: &ProjectId,
        only: Option<&BTreeSet<String>>,
    ) -> Result<Vec<CustomBlockType>> {
        let Some(names) = only else { return self.query_all(ALL, [project.as_str()], block_type) };
        let find = |name: &String| self.query_one(BY_NAME, [project.as_str(), name], block_type).transpose();
        names.iter().filter_map(find).collect()
    }

    pub(super) fn put_type(&self, project: &ProjectId, own: &CustomBlockType) -> Result<()> {
        let (schema, children) =
            (text_encoding::encode_json(&own.schema), text_encoding::encode_children(&own.children));
        let values = params![project.as_str(), own.name, own.description, schema, children];
        self.execute(PUT, values).map(drop)
    }

    pub(super) fn remove_type(&self, project: &ProjectId, name: &str) -> Result<()> {
        self.execute(DELETE, [project.as_str(), name]).map(drop)
    }

    pub(super) fn select_blocks_of_type(
        &self,
        project: &ProjectId,
        name: &str,
        most: usize,
    ) -> Result<Vec<BlockId>> {
        self.query_all(BLOCKS_OF_TYPE, params![project.as_str(), name, to_sql_integer(most as u64)], block_id)
    }
}
