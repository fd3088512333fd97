//! Sessions in PostgreSQL.

use flow::session::{
    Admission, SessionOwner, SessionQuota, SessionRow, SessionStore, StoreError, StoreFuture,
};
use jiff::Timestamp;

use super::Postgres;
use super::column::{get, truncate_to_micros};
use super::request::{PgRequest, PgStatement, RlsScope};
use crate::sessions::{MAX_SWEPT_ROWS, check_session, ended_limit, is_storable};

/// Database functions that set who is asking and then run the statement; see the migration.
const INSERT_SESSION: &str =
    "SELECT begun, until FROM flow_admit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
const LOAD: &str = "SELECT version, is_open, ends, forgotten, leased_until, body FROM flow_load($1, $2, $3)";
const SAVE: &str = "SELECT flow_save($1, $2, $3, $4, $5, $6, $7, $8, $9)";
const RENEW: &str = "SELECT flow_renew($1, $2, $3, $4, $5)";

const SPEND: &str = "INSERT INTO flow_spent (token, forgotten) VALUES ($1, $2)
    ON CONFLICT (token) DO NOTHING RETURNING true";

const IS_SPENT: &str = "SELECT EXISTS (SELECT FROM flow_spent WHERE token = $1)";

/// Rows locked by others, such as another sweep, are left to the next sweep. Builds each array once instead
/// of once per row.
const SWEEP: &str = "WITH
    deleted AS (
        DELETE FROM flow_sessions WHERE id = ANY (ARRAY(
            SELECT id FROM flow_sessions WHERE due <= $1 AND forgotten <= $1
            ORDER BY due LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING 1),
    emptied AS (
        UPDATE flow_sessions SET is_open = false, body = NULL WHERE id = ANY (ARRAY(
            SELECT id FROM flow_sessions
            WHERE due <= $1 AND ends <= $1 AND forgotten > $1 AND body IS NOT NULL
            ORDER BY due LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING 1),
    unlearned AS (
        DELETE FROM flow_spent WHERE token = ANY (ARRAY(
            SELECT token FROM flow_spent WHERE forgotten <= $1
            ORDER BY forgotten LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING 1)
    SELECT (SELECT count(*) FROM deleted) + (SELECT count(*) FROM emptied) + (SELECT count(*) FROM unlearned)";

impl SessionStore for Postgres {
    fn insert<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
        row: SessionRow,
        quota: SessionQuota,
        now: Timestamp,
    ) -> StoreFuture<'a, Admission> {
        Box::pin(async move {
            check_session(owner, id)?;
            let SessionOwner { tenant, subject } = owner;
            let SessionRow { is_open, expires_at: ends, delete_at: forgotten, leased_until, body } =
                truncate_times(row);
            let (now, most, ended) = (truncate_to_micros(now), i64::from(quota.max_open), ended_limit(quota));
            let step = PgStatement {
                sql: INSERT_SESSION,
                values: &[
                    &tenant,
                    &subject,
                    &id,
                    &is_open,
                    &ends,
                    &forgotten,
                    &leased_until,
                    &body,
                    &now,
                    &most,
                    &ended,
                ],
            };
            let answer = self.run_idempotent_with_row(PgRequest::ForTenant(tenant, step)).await?;
            let until = |row| get(row, 1);
            match answer {
                (true, _) => Ok(Admission::Admitted),
                (false, row) => Ok(Admission::Full { until: row.as_ref().map_or(Ok(None), until)? }),
            }
        })
    }

    fn load<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
    ) -> StoreFuture<'a, Option<(i64, SessionRow)>> {
        Box::pin(async move {
            if !is_storable(owner, id) {
                return Ok(None);
            }
            let SessionOwner { tenant, subject } = owner;
            let step = PgStatement { sql: LOAD, values: &[&tenant, &subject, &id] };
            let rows = self.run_one(PgRequest::ForTenant(tenant, step)).await?;
            rows.first().map(read_session).transpose()
        })
    }

    fn save<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
        version: i64,
        row: SessionRow,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            if !is_storable(owner, id) {
                return Ok(false);
            }
            let SessionOwner { tenant, subject } = owner;
            let SessionRow { is_open, expires_at: ends, delete_at: forgotten, leased_until, body } =
                truncate_times(row);
            let step = PgStatement {
                sql: SAVE,
                values: &[
                    &tenant,
                    &subject,
                    &id,
                    &version,
                    &is_open,
                    &ends,
                    &forgotten,
                    &leased_until,
                    &body,
                ],
            };
            self.run_idempotent(PgRequest::ForTenant(tenant, step)).await
        })
    }

    fn renew_lease<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
        version: i64,
        leased_until: Timestamp,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            if !is_storable(owner, id) {
                return Ok(false);
            }
            let SessionOwner { tenant, subject } = owner;
            let step = PgStatement {
                sql: RENEW,
                values: &[&tenant, &subject, &id, &version, &truncate_to_micros(leased_until)],
            };
            self.run_idempotent(PgRequest::ForTenant(tenant, step)).await
        })
    }

    fn mark_used<'a>(&'a self, token: &'a [u8; 32], forgotten: Timestamp) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let step =
                PgStatement { sql: SPEND, values: &[&token.as_slice(), &truncate_to_micros(forgotten)] };
            self.run_idempotent(PgRequest::Unscoped(step)).await
        })
    }

    fn is_used<'a>(&'a self, token: &'a [u8; 32]) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let step = PgStatement { sql: IS_SPENT, values: &[&token.as_slice()] };
            let rows = self.run_one(PgRequest::Unscoped(step)).await?;
            rows.first().map_or(Ok(false), |row| get(row, 0))
        })
    }

    fn sweep(&self, now: Timestamp) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let step = PgStatement { sql: SWEEP, values: &[&truncate_to_micros(now), &MAX_SWEPT_ROWS] };
            let rows = self.run_one(PgRequest::Write(RlsScope::Operator, &[step])).await?;
            let swept: i64 = rows.first().map_or(Ok(0), |row| get(row, 0))?;
            Ok(swept.unsigned_abs())
        })
    }
}

/// Truncates times to the stored precision.
fn truncate_times(row: SessionRow) -> SessionRow {
    SessionRow {
        expires_at: truncate_to_micros(row.expires_at),
        delete_at: truncate_to_micros(row.delete_at),
        leased_until: row.leased_until.map(truncate_to_micros),
        ..row
    }
}

fn read_session(row: &tokio_postgres::Row) -> Result<(i64, SessionRow), StoreError> {
    let read = || {
        let session = SessionRow {
            is_open: get(row, 1)?,
            expires_at: get(row, 2)?,
            delete_at: get(row, 3)?,
            leased_until: get(row, 4)?,
            body: get(row, 5)?,
        };
        Ok((get(row, 0)?, session))
    };
    read()
}
