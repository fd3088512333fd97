//! Rows of projects.

use std::collections::{BTreeMap, BTreeSet};

use ::projects::{Account, BlockId, CustomType, Project, ProjectId, Usage};
use async_trait::async_trait;
use design_tokens::Document;
use jiff::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Result, params, params_from_iter};

use super::super::rows::{count, number, project, project_columns, project_id};
use super::{Done, Rows, done};
use crate::sqlite::fault;
use crate::text;
use ::projects::store::tables::{Entry, ProjectTables, Window};

/// By an index that has both: a project of somebody else is not met on the way, and costs what an absent one does.
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

pub(crate) const FROM: &str = concat!(
    "SELECT ",
    project_columns!(),
    " FROM projects WHERE account = ?1 AND id >= ?2 ORDER BY id LIMIT ?3"
);

const ACCOUNTS: &str = "SELECT account FROM project_accounts ORDER BY account";

pub(crate) const COUNTED: &str = "SELECT projects FROM project_accounts WHERE account = ?1";

pub(crate) const BY_SLUG: &str = "SELECT id FROM projects WHERE account = ?1 AND slug = ?2";

const ADD: &str = "INSERT INTO projects (id, account, slug, name, description, metadata, created, updated, revision,
        published_version, published_revision, next_version, blocks, block_bytes, types, assets, asset_bytes, versions,
        version_bytes, mentions)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
    ON CONFLICT (id) DO NOTHING";

const COUNT_IN: &str = "INSERT INTO project_accounts (account, projects) VALUES (?1, 1)
    ON CONFLICT (account) DO UPDATE SET projects = projects + 1";

/// The row of an account without projects goes first, and the other then finds none.
const COUNT_OUT: [&str; 2] = [
    "DELETE FROM project_accounts WHERE account = ?1 AND projects = 1",
    "UPDATE project_accounts SET projects = projects - 1 WHERE account = ?1",
];

/// What never changes says which one it is.
pub(crate) const PUT: &str = "UPDATE projects SET slug = ?3, name = ?4, description = ?5, metadata = ?6, updated = ?8,
        revision = ?9, published_version = ?10, published_revision = ?11, next_version = ?12, blocks = ?13,
        block_bytes = ?14, types = ?15, assets = ?16, asset_bytes = ?17, versions = ?18, version_bytes = ?19, mentions = ?20
    WHERE id = ?1 AND account = ?2 AND created = ?7";

/// Without the texts, which may be long.
pub(crate) const PUT_COUNTS: &str = "UPDATE projects SET updated = ?3, revision = ?4, published_version = ?5,
        published_revision = ?6, next_version = ?7, blocks = ?8, block_bytes = ?9, types = ?10, assets = ?11,
        asset_bytes = ?12, versions = ?13, version_bytes = ?14, mentions = ?15
    WHERE id = ?1 AND account = ?2";

/// What belongs to it goes with it.
pub(crate) const DELETE: &str = "DELETE FROM projects WHERE id = ?1";

pub(crate) const DESIGN: &str = "SELECT document FROM project_designs WHERE project = ?1";

const PUT_DESIGN: &str = "INSERT INTO project_designs (project, document) VALUES (?1, ?2)
    ON CONFLICT (project) DO UPDATE SET document = excluded.document";

#[async_trait]
impl ProjectTables for Rows<'_> {
    async fn project(&self, account: &Account, id: &ProjectId) -> Done<Option<Project>> {
        done(self.one(BY_ID, [id.as_str(), account.as_str()], project))
    }

    async fn hold(&self, account: &Account, id: &ProjectId) -> Done<Option<Project>> {
        // Whoever writes has the database to themselves.
        self.project(account, id).await
    }

    async fn revision(&self, account: &Account, id: &ProjectId) -> Done<Option<u64>> {
        done(self.one(REVISION, [id.as_str(), account.as_str()], |row| count(row, 0)))
    }

    async fn projects(&self, account: &Account, window: Window<Timestamp>) -> Done<Vec<Project>> {
        let after = window.after.map(|(time, id)| (time.as_microsecond(), id));
        let (time, id) = after.unwrap_or((i64::MIN, String::new()));
        done(self.all(LIST, params![account.as_str(), time, id, window.limit], project))
    }

    async fn projects_from(&self, account: &Account, first: &str, most: u32) -> Done<Vec<Project>> {
        done(self.all(FROM, params![account.as_str(), first, most], project))
    }

    async fn accounts(&self) -> Done<Vec<Account>> {
        done(self.all(ACCOUNTS, [], |row| row.get::<_, String>(0).map(Account::new)))
    }

    async fn enter(&self, account: &Account, slugs: &[String]) -> Done<Entry> {
        done(self.entry(account, slugs))
    }

    async fn add_project(&self, project: &Project) -> Done<bool> {
        done(self.add(project))
    }

    async fn put_project(&self, project: &Project) -> Done<()> {
        done(self.put(PUT, values(project)))
    }

    async fn put_counts(&self, project: &Project) -> Done<()> {
        done(self.put(PUT_COUNTS, key(project).into_iter().chain(counts(project)).collect()))
    }

    async fn delete_project(&self, project: &Project) -> Done<()> {
        done(self.delete(project))
    }

    async fn types(&self, project: &ProjectId, only: Option<&BTreeSet<String>>) -> Done<Vec<CustomType>> {
        done(self.some_types(project, only))
    }

    async fn put_types(&self, project: &ProjectId, types: &[CustomType]) -> Done<()> {
        done(types.iter().try_for_each(|own| self.put_type(project, own)))
    }

    async fn delete_type(&self, project: &ProjectId, name: &str) -> Done<()> {
        done(self.remove_type(project, name))
    }

    async fn blocks_of_type(&self, project: &ProjectId, name: &str, most: usize) -> Done<Vec<BlockId>> {
        done(self.of_type(project, name, most))
    }

    async fn design(&self, project: &ProjectId) -> Done<String> {
        let read = self.one(DESIGN, [project.as_str()], |row| row.get(0));
        done(read.map(|text| text.unwrap_or_else(|| Document::default().to_string())))
    }

    async fn put_design(&self, project: &ProjectId, text: &str) -> Done<()> {
        done(self.run(PUT_DESIGN, [project.as_str(), text]).map(drop))
    }
}

impl Rows<'_> {
    fn entry(&self, account: &Account, slugs: &[String]) -> Result<Entry> {
        let projects = self.one(COUNTED, [account.as_str()], |row| count(row, 0))?.unwrap_or(0);
        let mut taken = BTreeMap::new();
        for slug in slugs {
            let owner = self.one(BY_SLUG, [account.as_str(), slug], |row| project_id(row, 0))?;
            taken.extend(owner.map(|owner| (slug.clone(), owner)));
        }
        Ok(Entry { projects, taken })
    }

    fn add(&self, project: &Project) -> Result<bool> {
        let is_new = self.run(ADD, params_from_iter(values(project)))? > 0;
        if is_new {
            self.run(COUNT_IN, [project.account.as_str()])?;
        }
        Ok(is_new)
    }

    /// Writes the row of a project that is there.
    fn put(&self, sql: &str, values: Vec<Value>) -> Result<()> {
        match self.run(sql, params_from_iter(values))? {
            1 => Ok(()),
            _ => Err(fault::own("a project that is held is not there")),
        }
    }

    fn delete(&self, project: &Project) -> Result<()> {
        self.run(DELETE, [project.id.as_str()])?;
        let [last, other] = COUNT_OUT;
        if self.run(last, [project.account.as_str()])? == 0 {
            self.run(other, [project.account.as_str()])?;
        }
        Ok(())
    }
}

/// The values of a project's row: which one it is, its texts, when it was made, and all that every write changes.
fn values(project: &Project) -> Vec<Value> {
    let fields = &project.fields;
    let texts = [fields.slug.as_str(), &fields.name, &fields.description, &text::of_map(&fields.metadata)];
    let texts = texts.map(|text| Value::from(text.to_owned()));
    let created = project.created.as_microsecond().into();
    key(project).into_iter().chain(texts).chain([created]).chain(counts(project)).collect()
}

/// Which project it is.
fn key(project: &Project) -> [Value; 2] {
    [project.id.as_str(), project.account.as_str()].map(|text| text.to_owned().into())
}

/// What every write changes.
fn counts(project: &Project) -> impl Iterator<Item = Value> {
    let Project { usage, published, .. } = project;
    let Usage { blocks, block_bytes, types, assets, asset_bytes, versions, version_bytes, mentions } = *usage;
    let state = [
        project.updated.as_microsecond().into(),
        number(project.revision).into(),
        published.map(|published| published.version).into(),
        published.map(|published| number(published.revision)).into(),
        project.next_version.into(),
    ];
    let usage = [blocks, block_bytes, types, assets, asset_bytes, versions, version_bytes, mentions];
    state.into_iter().chain(usage.map(|count| Value::from(number(count))))
}
