//! Rows of block types.

use std::collections::BTreeSet;

use ::projects::{BlockId, CustomType, ProjectId};
use rusqlite::{Result, params};

use super::super::rows::{block_id, block_type, number, type_columns};
use super::Rows;
use crate::text;

pub(crate) const ALL: &str =
    concat!("SELECT ", type_columns!(), " FROM project_block_types WHERE project = ?1 ORDER BY name");

pub(crate) const NAMED: &str =
    concat!("SELECT ", type_columns!(), " FROM project_block_types WHERE project = ?1 AND name = ?2");

const PUT: &str = "INSERT INTO project_block_types (project, name, description, schema, children)
    VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (project, name) DO UPDATE
    SET description = excluded.description, schema = excluded.schema, children = excluded.children";

pub(crate) const DELETE: &str = "DELETE FROM project_block_types WHERE project = ?1 AND name = ?2";

pub(crate) const USERS: &str =
    "SELECT id FROM project_blocks WHERE project = ?1 AND kind = ?2 ORDER BY id LIMIT ?3";

impl Rows<'_> {
    pub(super) fn some_types(
        &self,
        project: &ProjectId,
        only: Option<&BTreeSet<String>>,
    ) -> Result<Vec<CustomType>> {
        let Some(names) = only else { return self.all(ALL, [project.as_str()], block_type) };
        let find = |name: &String| self.one(NAMED, [project.as_str(), name], block_type).transpose();
        names.iter().filter_map(find).collect()
    }

    pub(super) fn put_type(&self, project: &ProjectId, own: &CustomType) -> Result<()> {
        let (schema, children) = (text::of_json(&own.schema), text::of_children(&own.children));
        let values = params![project.as_str(), own.name, own.description, schema, children];
        self.run(PUT, values).map(drop)
    }

    pub(super) fn remove_type(&self, project: &ProjectId, name: &str) -> Result<()> {
        self.run(DELETE, [project.as_str(), name]).map(drop)
    }

    pub(super) fn of_type(&self, project: &ProjectId, name: &str, most: usize) -> Result<Vec<BlockId>> {
        self.all(USERS, params![project.as_str(), name, number(most as u64)], block_id)
    }
}
