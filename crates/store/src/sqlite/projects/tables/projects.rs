//! Projects.

use std::collections::{BTreeMap, BTreeSet};

use ::projects::{Account, BlockId, CustomBlockType, Project, ProjectId, ProjectUsage};
use async_trait::async_trait;
use design_tokens::TokenDocument;
use jiff::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Result, params, params_from_iter};

use super::super::rows::{count, project, project_columns, project_id, to_sql_integer};
use super::{SqliteTableResult, SqliteTables, to_store_result};
use crate::sqlite::error;
use crate::text_encoding;
use ::projects::store::tables::{LockedAccount, ProjectTables, RowWindow};

/// Uses an index on both columns, so that a project of another account costs the same as a missing one.
macro_rules! by_id {
    () => {
        " FROM projects INDEXED BY projects_by_id WHERE id = ?1 AND account = ?2"
    };
}

pub(crate) const BY_ID: &str = concat!("SELECT ", project_columns!(), by_id!());

pub(crate) const REVISION: &str = concat!("SELECT revision", by_id!());

pub(crate) const LIST: &str = concat!(
    "SELECT ",
    project_columns!(),
    " FROM projects WHERE account = ?1 AND (created, id) > (?2, ?3) ORDER BY created, id LIMIT ?4"
);

pub(crate) const LIST_FROM_ID: &str = concat!(
    "SELECT ",
    project_columns!(),
    " FROM projects WHERE account = ?1 AND id >= ?2 ORDER BY id LIMIT ?3"
);

const ACCOUNTS: &str = "SELECT account FROM project_accounts ORDER BY account";

pub(crate) const PROJECT_COUNT: &str = "SELECT projects FROM project_accounts WHERE account = ?1";

pub(crate) const BY_SLUG: &str = "SELECT id FROM projects WHERE account = ?1 AND slug = ?2";

const ADD: &str = "INSERT INTO projects (id, account, slug, name, description, metadata, created, updated, revision,
        published_version, published_revision, next_version, blocks, block_bytes, types, assets, asset_bytes, versions,
        version_bytes, mentions)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
    ON CONFLICT (id) DO NOTHING";

const INCREMENT_PROJECT_COUNT: &str = "INSERT INTO project_accounts (account, projects) VALUES (?1, 1)
    ON CONFLICT (account) DO UPDATE SET projects = projects + 1";

/// Deletes the row of an account with one project; otherwise the second statement decrements its count.
const DECREMENT_PROJECT_COUNT: [&str; 2] = [
    "DELETE FROM project_accounts WHERE account = ?1 AND projects = 1",
    "UPDATE project_accounts SET projects = projects - 1 WHERE account = ?1",
];

/// Immutable columns identify the project.
pub(crate) const PUT: &str = "UPDATE projects SET slug = ?3, name = ?4, description = ?5, metadata = ?6, updated = ?8,
        revision = ?9, published_version = ?10, published_revision = ?11, next_version = ?12, blocks = ?13,
        block_bytes = ?14, types = ?15, assets = ?16, asset_bytes = ?17, versions = ?18, version_bytes = ?19, mentions = ?20
    WHERE id = ?1 AND account = ?2 AND created = ?7";

/// Excludes the text columns, which may be long.
pub(crate) const PUT_COUNTERS: &str =
    "UPDATE projects SET updated = ?3, revision = ?4, published_version = ?5,
        published_revision = ?6, next_version = ?7, blocks = ?8, block_bytes = ?9, types = ?10, assets = ?11,
        asset_bytes = ?12, versions = ?13, version_bytes = ?14, mentions = ?15
    WHERE id = ?1 AND account = ?2";

/// Everything that belongs to the project is deleted by a cascade.
pub(crate) const DELETE: &str = "DELETE FROM projects WHERE id = ?1";

pub(crate) const DESIGN: &str = "SELECT document FROM project_designs WHERE project = ?1";

const PUT_DESIGN: &str = "INSERT INTO project_designs (project, document) VALUES (?1, ?2)
    ON CONFLICT (project) DO UPDATE SET document = excluded.document";

#[async_trait]
impl ProjectTables for SqliteTables<'_> {
    async fn project(&self, account: &Account, id: &ProjectId) -> SqliteTableResult<Option<Project>> {
        to_store_result(self.query_one(BY_ID, [id.as_str(), account.as_str()], project))
    }

    async fn lock_project(&self, account: &Account, id: &ProjectId) -> SqliteTableResult<Option<Project>> {
        // A write transaction has exclusive access to the database.
        self.project(account, id).await
    }

    async fn revision(&self, account: &Account, id: &ProjectId) -> SqliteTableResult<Option<u64>> {
        to_store_result(self.query_one(REVISION, [id.as_str(), account.as_str()], |row| count(row, 0)))
    }

    async fn projects(
        &self,
        account: &Account,
        window: RowWindow<Timestamp>,
    ) -> SqliteTableResult<Vec<Project>> {
        let after = window.after.map(|(time, id)| (time.as_microsecond(), id));
        let (time, id) = after.unwrap_or((i64::MIN, String::new()));
        to_store_result(self.query_all(LIST, params![account.as_str(), time, id, window.limit], project))
    }

    async fn projects_from_id(
        &self,
        account: &Account,
        first: &str,
        most: u32,
    ) -> SqliteTableResult<Vec<Project>> {
        to_store_result(self.query_all(LIST_FROM_ID, params![account.as_str(), first, most], project))
    }

    async fn accounts(&self) -> SqliteTableResult<Vec<Account>> {
        to_store_result(self.query_all(ACCOUNTS, [], |row| row.get::<_, String>(0).map(Account::new)))
    }

    async fn lock_account(&self, account: &Account, slugs: &[String]) -> SqliteTableResult<LockedAccount> {
        to_store_result(self.read_account(account, slugs))
    }

    async fn add_project(&self, project: &Project) -> SqliteTableResult<bool> {
        to_store_result(self.insert_project(project))
    }

    async fn put_project(&self, project: &Project) -> SqliteTableResult<()> {
        to_store_result(self.update_project_row(PUT, all_columns(project)))
    }

    async fn put_counters(&self, project: &Project) -> SqliteTableResult<()> {
        to_store_result(self.update_project_row(
            PUT_COUNTERS,
            key_columns(project).into_iter().chain(mutable_columns(project)).collect(),
        ))
    }

    async fn delete_project(&self, project: &Project) -> SqliteTableResult<()> {
        to_store_result(self.delete_project_row(project))
    }

    async fn types(
        &self,
        project: &ProjectId,
        only: Option<&BTreeSet<String>>,
    ) -> SqliteTableResult<Vec<CustomBlockType>> {
        to_store_result(self.select_types(project, only))
    }

    async fn put_types(&self, project: &ProjectId, types: &[CustomBlockType]) -> SqliteTableResult<()> {
        to_store_result(types.iter().try_for_each(|own| self.put_type(project, own)))
    }

    async fn delete_type(&self, project: &ProjectId, name: &str) -> SqliteTableResult<()> {
        to_store_result(self.remove_type(project, name))
    }

    async fn blocks_of_type(
        &self,
        project: &ProjectId,
        name: &str,
        most: usize,
    ) -> SqliteTableResult<Vec<BlockId>> {
        to_store_result(self.select_blocks_of_type(project, name, most))
    }

    async fn design(&self, project: &ProjectId) -> SqliteTableResult<String> {
        let read = self.query_one(DESIGN, [project.as_str()], |row| row.get(0));
        to_store_result(read.map(|text| text.unwrap_or_else(|| TokenDocument::default().to_string())))
    }

    async fn put_design(&self, project: &ProjectId, text: &str) -> SqliteTableResult<()> {
        to_store_result(self.execute(PUT_DESIGN, [project.as_str(), text]).map(drop))
    }
}

impl SqliteTables<'_> {
    fn read_account(&self, account: &Account, slugs: &[String]) -> Result<LockedAccount> {
        let projects = self.query_one(PROJECT_COUNT, [account.as_str()], |row| count(row, 0))?.unwrap_or(0);
        let mut taken = BTreeMap::new();
        for slug in slugs {
            let owner = self.query_one(BY_SLUG, [account.as_str(), slug], |row| project_id(row, 0))?;
            taken.extend(owner.map(|owner| (slug.clone(), owner)));
        }
        Ok(LockedAccount { projects, taken_slugs: taken })
    }

    fn insert_project(&self, project: &Project) -> Result<bool> {
        let is_new = self.execute(ADD, params_from_iter(all_columns(project)))? > 0;
        if is_new {
            self.execute(INCREMENT_PROJECT_COUNT, [project.account.as_str()])?;
        }
        Ok(is_new)
    }

    /// Updates the row of an existing project.
    fn update_project_row(&self, sql: &str, values: Vec<Value>) -> Result<()> {
        match self.execute(sql, params_from_iter(values))? {
            1 => Ok(()),
            _ => Err(error::misuse_error("a locked project is missing")),
        }
    }

    fn delete_project_row(&self, project: &Project) -> Result<()> {
        self.execute(DELETE, [project.id.as_str()])?;
        let [last, other] = DECREMENT_PROJECT_COUNT;
        if self.execute(last, [project.account.as_str()])? == 0 {
            self.execute(other, [project.account.as_str()])?;
        }
        Ok(())
    }
}

/// All columns of a project: its key, texts, creation time and mutable columns.
fn all_columns(project: &Project) -> Vec<Value> {
    let fields = &project.fields;
    let texts = [
        fields.slug.as_str(),
        &fields.name,
        &fields.description,
        &text_encoding::encode_map(&fields.metadata),
    ];
    let texts = texts.map(|text| Value::from(text.to_owned()));
    let created = project.created.as_microsecond().into();
    key_columns(project).into_iter().chain(texts).chain([created]).chain(mutable_columns(project)).collect()
}

fn key_columns(project: &Project) -> [Value; 2] {
    [project.id.as_str(), project.account.as_str()].map(|text| text.to_owned().into())
}

/// The columns that every write changes.
fn mutable_columns(project: &Project) -> impl Iterator<Item = Value> {
    let Project { usage, published, .. } = project;
    let ProjectUsage {
        blocks,
        block_bytes,
        types,
        assets,
        asset_bytes,
        versions,
        version_bytes,
        asset_mentions: mentions,
    } = *usage;
    let state = [
        project.updated.as_microsecond().into(),
        to_sql_integer(project.revision).into(),
        published.map(|published| published.version).into(),
        published.map(|published| to_sql_integer(published.revision)).into(),
        project.next_version.into(),
    ];
    let usage = [blocks, block_bytes, types, assets, asset_bytes, versions, version_bytes, mentions];
    state.into_iter().chain(usage.map(|count| Value::from(to_sql_integer(count))))
}
