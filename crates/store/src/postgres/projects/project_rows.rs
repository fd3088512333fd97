//! Projects, their block types and design systems.

use std::collections::BTreeSet;

use ::projects::{Account, BlockId, Cursor, CustomBlockType, Project, ProjectId, ProjectUsage};
use design_tokens::TokenDocument;
use futures_util::future::try_join;
use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use async_trait::async_trait;
use store_api::StoreError;

use super::super::transaction::PgTransaction;
use super::read::{self, get, project_columns, project_is_owned, read_rows, to_sql_integer, unreadable};
use super::row_limit;
use crate::text_encoding;
use ::projects::store::MAX_STATEMENT_BYTES;
use ::projects::store::tables::{LockedAccount, ProjectTables, RowWindow};

const BY_ID: &str = concat!("SELECT ", project_columns!(), " FROM projects WHERE id = $1 AND account = $2");

const REVISION: &str = "SELECT revision FROM projects WHERE id = $1 AND account = $2";

/// After waiting for the lock, the statement sees what the previous holders wrote.
const LOCK_BY_ID: &str =
    concat!("SELECT ", project_columns!(), " FROM projects WHERE id = $1 AND account = $2 FOR UPDATE");

const LIST: &str = concat!(
    "SELECT ",
    project_columns!(),
    " FROM projects WHERE account = $1 AND (created, id) > ($2, $3) ORDER BY created, id LIMIT $4"
);

const LIST_FROM_ID: &str = concat!(
    "SELECT ",
    project_columns!(),
    " FROM projects WHERE account = $1 AND id >= $2 ORDER BY id LIMIT $3"
);

const ACCOUNTS: &str = "SELECT account FROM project_accounts ORDER BY account";

/// Inserts the account row or locks the existing one, without changing its count.
const LOCK_ACCOUNT: &str = "INSERT INTO project_accounts AS a (account, projects) VALUES ($1, 0)
    ON CONFLICT (account) DO UPDATE SET projects = a.projects RETURNING projects";

/// Sent together with the previous statement but executed after it, so it sees what was written under the
/// lock.
const TAKEN_SLUGS: &str = "SELECT slug, id FROM projects WHERE account = $1 AND slug = ANY ($2)";

const ADD: &str = concat!(
    "WITH added AS (INSERT INTO projects (",
    project_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
        ON CONFLICT (id) DO NOTHING RETURNING account)
    UPDATE project_accounts a SET projects = a.projects + 1 FROM added WHERE a.account = added.account
    RETURNING true"
);

/// Immutable columns identify the project.
const PUT: &str = "UPDATE projects SET name = $3, slug = $4, description = $5, metadata = $6, updated = $8,
        revision = $9, published_version = $10, published_revision = $11, next_version = $12, blocks = $13,
        block_bytes = $14, types = $15, assets = $16, asset_bytes = $17, versions = $18, version_bytes = $19,
        mentions = $20
    WHERE id = $1 AND account = $2 AND created = $7 RETURNING true";

/// Excludes the text columns, which may be long and would be rewritten.
const PUT_COUNTERS: &str = "UPDATE projects SET updated = $3, revision = $4, published_version = $5,
        published_revision = $6, next_version = $7, blocks = $8, block_bytes = $9, types = $10, assets = $11,
        asset_bytes = $12, versions = $13, version_bytes = $14, mentions = $15
    WHERE id = $1 AND account = $2 RETURNING true";

/// The first versions up to a number of bytes, but at least one.
const DELETE_VERSIONS: &str =
    "WITH gone AS (DELETE FROM project_versions WHERE project = $1 AND number = ANY (ARRAY(
        SELECT number FROM (SELECT number, sum(bytes) OVER (ORDER BY number) - bytes AS before
            FROM project_versions WHERE project = $1) AS v WHERE before < $2::bigint)) RETURNING number)
    SELECT FROM gone LIMIT 1";

/// The same for asset bytes. Their length is known without reading them.
const DELETE_BYTES: &str =
    "WITH gone AS (DELETE FROM project_bytes WHERE project = $1 AND digest = ANY (ARRAY(
        SELECT digest FROM (SELECT digest, octet_length(content) AS bytes,
                sum(octet_length(content)) OVER (ORDER BY digest) AS until
            FROM project_bytes WHERE project = $1) AS b WHERE until - bytes < $2::bigint)) RETURNING digest)
    SELECT FROM gone LIMIT 1";

/// Everything else is deleted by a cascade.
const DELETE: &str = "WITH gone AS (DELETE FROM projects WHERE id = $1 AND account = $2 RETURNING account)
    UPDATE project_accounts a SET projects = a.projects - 1 FROM gone WHERE a.account = gone.account";

const DELETE_EMPTY_ACCOUNT: &str = "DELETE FROM project_accounts WHERE account = $1 AND projects = 0";

const TYPES: &str = concat!(
    "SELECT name, description, schema, children FROM project_block_types WHERE project = $1 AND",
    project_is_owned!(),
    " ORDER BY name"
);

const TYPES_BY_NAME: &str = concat!(
    "SELECT name, description, schema, children FROM project_block_types
    WHERE project = $1 AND name = ANY ($2) AND",
    project_is_owned!(),
    " ORDER BY name"
);

const PUT_TYPES: &str =
    "INSERT INTO project_block_types (project, account, name, description, schema, children)
    SELECT $1, $2, own.* FROM unnest($3::text[], $4::text[], $5::text[], $6::text[]) AS own
    ON CONFLICT (project, name) DO UPDATE
        SET description = excluded.description, schema = excluded.schema, children = excluded.children";

const DELETE_TYPE: &str = "DELETE FROM project_block_types WHERE project = $1 AND name = $2";

const BLOCKS_OF_TYPE: &str = concat!(
    "SELECT id FROM project_blocks WHERE project = $1 AND kind = $2 AND",
    project_is_owned!(),
    " ORDER BY id LIMIT $3"
);

const DESIGN: &str =
    concat!("SELECT document FROM project_designs WHERE project = $1 AND", project_is_owned!());

const PUT_DESIGN: &str = "INSERT INTO project_designs (project, account, document) VALUES ($1, $2, $3)
    ON CONFLICT (project) DO UPDATE SET document = excluded.document";

#[async_trait]
impl ProjectTables for PgTransaction<'_> {
    async fn project(&self, account: &Account, id: &ProjectId) -> Result<Option<Project>, StoreError> {
        let rows = self.fetch_rows(BY_ID, &[&id.as_str(), &account.as_str()]).await?;
        rows.first().map(read::project).transpose()
    }

    async fn lock_project(&self, account: &Account, id: &ProjectId) -> Result<Option<Project>, StoreError> {
        let rows = self.fetch_rows(LOCK_BY_ID, &[&id.as_str(), &account.as_str()]).await?;
        rows.first().map(read::project).transpose()
    }

    async fn revision(&self, account: &Account, id: &ProjectId) -> Result<Option<u64>, StoreError> {
        let rows = self.fetch_rows(REVISION, &[&id.as_str(), &account.as_str()]).await?;
        rows.first().map(|row| read::count(row, 0)).transpose()
    }

    async fn projects(
        &self,
        account: &Account,
        window: RowWindow<Timestamp>,
    ) -> Result<Vec<Project>, StoreError> {
        let (after, id) = window.after.unwrap_or((Cursor::EARLIEST, String::new()));
        let rows = self.fetch_rows(LIST, &[&account.as_str(), &after, &id, &window.limit]).await?;
        read_rows(&rows, read::project)
    }

    async fn projects_from_id(
        &self,
        account: &Account,
        first: &str,
        most: u32,
    ) -> Result<Vec<Project>, StoreError> {
        let rows = self.fetch_rows(LIST_FROM_ID, &[&account.as_str(), &first, &i64::from(most)]).await?;
        read_rows(&rows, read::project)
    }

    async fn accounts(&self) -> Result<Vec<Account>, StoreError> {
        let rows = self.fetch_rows(ACCOUNTS, &[]).await?;
        read_rows(&rows, |row| get::<String>(row, 0).map(Account::new))
    }

    async fn lock_account(&self, account: &Account, slugs: &[String]) -> Result<LockedAccount, StoreError> {
        let account = account.as_str();
        let (entered, taken) = try_join(
            self.fetch_rows(LOCK_ACCOUNT, &[&account]),
            self.fetch_rows(TAKEN_SLUGS, &[&account, &slugs]),
        )
        .await?;
        let projects = entered.first().map_or(Ok(0), |row| read::count(row, 0))?;
        let taken_slugs = read_rows(&taken, |row| Ok((get(row, 0)?, read::project_id(row, 1)?)))?;
        Ok(LockedAccount { projects, taken_slugs })
    }

    async fn add_project(&self, project: &Project) -> Result<bool, StoreError> {
        let rows = self
            .fetch_rows(
                ADD,
                &ProjectColumnValues::from_project(project)
                    .all_columns(&text_encoding::encode_map(&project.fields.metadata)),
            )
            .await?;
        Ok(!rows.is_empty())
    }

    async fn put_project(&self, project: &Project) -> Result<(), StoreError> {
        let put = self
            .fetch_rows(
                PUT,
                &ProjectColumnValues::from_project(project)
                    .all_columns(&text_encoding::encode_map(&project.fields.metadata)),
            )
            .await?;
        expect_one_row(&put)
    }

    async fn put_counters(&self, project: &Project) -> Result<(), StoreError> {
        let put = self
            .fetch_rows(PUT_COUNTERS, &ProjectColumnValues::from_project(project).counter_columns())
            .await?;
        expect_one_row(&put)
    }

    async fn delete_project(&self, project: &Project) -> Result<(), StoreError> {
        let (id, account) = (project.id.as_str(), project.account.as_str());
        for (bytes, sql) in
            [(project.usage.version_bytes, DELETE_VERSIONS), (project.usage.asset_bytes, DELETE_BYTES)]
        {
            // Small rows are deleted by the cascade.
            while bytes > MAX_STATEMENT_BYTES
                && !self.fetch_rows(sql, &[&id, &to_sql_integer(MAX_STATEMENT_BYTES)]).await?.is_empty()
            {
            }
        }
        try_join(
            self.fetch_rows(DELETE, &[&id, &account]),
            self.fetch_rows(DELETE_EMPTY_ACCOUNT, &[&account]),
        )
        .await?;
        Ok(())
    }

    async fn types(
        &self,
        project: &ProjectId,
        only: Option<&BTreeSet<String>>,
    ) -> Result<Vec<CustomBlockType>, StoreError> {
        let rows = match only {
            Some(names) => {
                let names: Vec<&String> = names.iter().collect();
                self.fetch_rows(TYPES_BY_NAME, &[&project.as_str(), &names]).await?
            }
            None => self.fetch_rows(TYPES, &[&project.as_str()]).await?,
        };
        read_rows(&rows, read::custom_type)
    }

    async fn put_types(&self, project: &ProjectId, types: &[CustomBlockType]) -> Result<(), StoreError> {
        if types.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = types.iter().map(|own| own.name.as_str()).collect();
        let descriptions: Vec<&str> = types.iter().map(|own| own.description.as_str()).collect();
        let schemas: Vec<String> = types.iter().map(|own| text_encoding::encode_json(&own.schema)).collect();
        let children: Vec<Option<String>> =
            types.iter().map(|own| text_encoding::encode_children(&own.children)).collect();
        let (project, account) = (project.as_str(), self.tenant());
        self.fetch_rows(PUT_TYPES, &[&project, &account, &names, &descriptions, &schemas, &children]).await?;
        Ok(())
    }

    async fn delete_type(&self, project: &ProjectId, name: &str) -> Result<(), StoreError> {
        self.fetch_rows(DELETE_TYPE, &[&project.as_str(), &name]).await?;
        Ok(())
    }

    async fn blocks_of_type(
        &self,
        project: &ProjectId,
        name: &str,
        count: usize,
    ) -> Result<Vec<BlockId>, StoreError> {
        let rows = self.fetch_rows(BLOCKS_OF_TYPE, &[&project.as_str(), &name, &row_limit(count)]).await?;
        read_rows(&rows, |row| read::block_id(row, 0))
    }

    async fn design(&self, project: &ProjectId) -> Result<String, StoreError> {
        let rows = self.fetch_rows(DESIGN, &[&project.as_str()]).await?;
        rows.first().map_or_else(|| Ok(TokenDocument::default().to_string()), |row| get(row, 0))
    }

    async fn put_design(&self, project: &ProjectId, text: &str) -> Result<(), StoreError> {
        self.fetch_rows(PUT_DESIGN, &[&project.as_str(), &self.tenant(), &text]).await?;
        Ok(())
    }
}

/// Column values of a project that need conversion.
struct ProjectColumnValues<'a> {
    project: &'a Project,
    id: &'a str,
    account: &'a str,
    published: [Option<i64>; 2],
    next_version: i64,
    revision: i64,
    usage: [i64; 8],
}

impl<'a> ProjectColumnValues<'a> {
    fn from_project(project: &'a Project) -> Self {
        let ProjectUsage {
            blocks,
            block_bytes,
            types,
            assets,
            asset_bytes,
            versions,
            version_bytes,
            asset_mentions: mentions,
        } = project.usage;
        let published = project.published;
        Self {
            project,
            id: project.id.as_str(),
            account: project.account.as_str(),
            published: [
                published.map(|published| i64::from(published.version)),
                published.map(|published| to_sql_integer(published.revision)),
            ],
            next_version: i64::from(project.next_version),
            revision: to_sql_integer(project.revision),
            usage: [blocks, block_bytes, types, assets, asset_bytes, versions, version_bytes, mentions]
                .map(to_sql_integer),
        }
    }

    /// All columns, in the order of [`project_columns`].
    fn all_columns<'v>(&'v self, metadata: &'v String) -> Vec<&'v (dyn ToSql + Sync)> {
        let Project { fields, created, .. } = self.project;
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&self.id, &self.account, &fields.name, &fields.slug];
        values.extend([&fields.description as &(dyn ToSql + Sync), metadata, created]);
        values.extend(self.mutable_columns());
        values
    }

    /// Excludes the columns that only dedicated tools change.
    fn counter_columns(&self) -> Vec<&(dyn ToSql + Sync)> {
        let key: [&(dyn ToSql + Sync); 2] = [&self.id, &self.account];
        key.into_iter().chain(self.mutable_columns()).collect()
    }

    /// The columns that every write changes.
    fn mutable_columns(&self) -> impl Iterator<Item = &(dyn ToSql + Sync)> {
        let [version, at] = &self.published;
        let state: [&(dyn ToSql + Sync); 5] =
            [&self.project.updated, &self.revision, version, at, &self.next_version];
        state.into_iter().chain(self.usage.iter().map(|count| count as &(dyn ToSql + Sync)))
    }
}

/// Requires that the row of a locked project was written. Anything else is a bug.
fn expect_one_row(written: &[Row]) -> Result<(), StoreError> {
    if written.len() == 1 { Ok(()) } else { Err(unreadable("a locked project")) }
}
