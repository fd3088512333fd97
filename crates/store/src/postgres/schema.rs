//! Migrates the schema.

use deadpool_postgres::{Object, Transaction};
use tokio_postgres::Error;

use super::error;
use crate::OpenError;
use crate::migrations::{POSTGRES_MIGRATIONS, latest_version, pending_migrations};

/// Advisory lock that serializes migrations by replicas that start together. The number is `FLXW`.
const MIGRATION_LOCK: &str = "SET LOCAL statement_timeout = '60s'; SELECT pg_advisory_xact_lock(1179408471)";

/// Whether our marker table exists, and how many other tables there are. Tables of extensions are not
/// counted.
const INSPECT_TABLES: &str = "SELECT count(*) FILTER (WHERE c.relname = 'fluxway_schema') > 0, count(*) > 0
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')";

const CREATE_VERSION_TABLE: &str = "CREATE TABLE fluxway_schema (version bigint NOT NULL);
    INSERT INTO fluxway_schema VALUES (0);";

/// Migrates the tables in one transaction.
pub(super) async fn migrate(place: &str, client: &mut Object) -> Result<(), OpenError> {
    let opening =
        |error: Error| OpenError::Failed { place: place.to_owned(), cause: error::store_error(&error) };
    let transaction = client.transaction().await.map_err(opening)?;
    transaction.batch_execute(MIGRATION_LOCK).await.map_err(opening)?;
    let found = current_schema(&transaction).await.map_err(opening)?;
    let schema = found.ok_or_else(|| OpenError::Foreign { place: place.to_owned() })?;
    let known = latest_version(POSTGRES_MIGRATIONS);
    let too_new = || OpenError::TooNew { place: place.to_owned(), found: schema, known };
    let steps = pending_migrations(POSTGRES_MIGRATIONS, schema).ok_or_else(too_new)?;
    if !steps.is_empty() {
        apply_migrations(&transaction, schema, steps).await.map_err(opening)?;
    }
    transaction.commit().await.map_err(opening)
}

/// The current schema version. `None` if the database belongs to another program.
async fn current_schema(transaction: &Transaction<'_>) -> Result<Option<i64>, Error> {
    let row = transaction.query_one(INSPECT_TABLES, &[]).await?;
    let (is_ours, has_tables): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    if !is_ours {
        return Ok((!has_tables).then_some(0));
    }
    let row = transaction.query_one("SELECT max(version) FROM fluxway_schema", &[]).await?;
    row.try_get(0).map(Some)
}

async fn apply_migrations(transaction: &Transaction<'_>, schema: i64, steps: &[&str]) -> Result<(), Error> {
    if schema == 0 {
        transaction.batch_execute(CREATE_VERSION_TABLE).await?;
    }
    for step in steps {
        transaction.batch_execute(step).await?;
    }
    transaction
        .execute("UPDATE fluxway_schema SET version = $1", &[&latest_version(POSTGRES_MIGRATIONS)])
        .await
        .map(drop)
}

/// Whether the current role is exempt from row-level security.
pub(super) async fn bypasses_rls(client: &Object) -> Result<bool, Error> {
    let sql = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user";
    client.query_one(sql, &[]).await?.try_get(0)
}
