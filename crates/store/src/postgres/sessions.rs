//! Sessions in PostgreSQL.

use flow::session::{Admission, Owner, Quota, Row, SessionStore, StoreError, Stored};
use jiff::Timestamp;

use super::Postgres;
use super::column::{get, whole};
use super::work::{Step, View, Work};
use crate::sessions::{SWEPT, can_be, check, most_ended};

/// Functions of the database, which say for whom they ask and then do it: see the migration.
const BEGIN: &str = "SELECT begun, until FROM flow_admit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
const LOAD: &str = "SELECT version, is_open, ends, forgotten, leased_until, body FROM flow_load($1, $2, $3)";
const SAVE: &str = "SELECT flow_save($1, $2, $3, $4, $5, $6, $7, $8, $9)";
const RENEW: &str = "SELECT flow_renew($1, $2, $3, $4, $5)";

const SPEND: &str = "INSERT INTO flow_spent (token, forgotten) VALUES ($1, $2)
    ON CONFLICT (token) DO NOTHING RETURNING true";

const IS_SPENT: &str = "SELECT EXISTS (SELECT FROM flow_spent WHERE token = $1)";

/// What somebody else holds, be it another sweep, is left to the next one. Each array is made once and not for each row.
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
    fn begin<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        row: Row,
        quota: Quota,
        now: Timestamp,
    ) -> Stored<'a, Admission> {
        Box::pin(async move {
            check(owner, id)?;
            let Owner { tenant, subject } = owner;
            let Row { is_open, ends, forgotten, leased_until, body } = cut(row);
            let (now, most, ended) = (whole(now), i64::from(quota.open), most_ended(quota));
            let step = Step {
                sql: BEGIN,
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
            let answer = self.change_telling(Work::For(tenant, step)).await?;
            let until = |row| get(row, 1);
            match answer {
                (true, _) => Ok(Admission::Begun),
                (false, row) => Ok(Admission::Full { until: row.as_ref().map_or(Ok(None), until)? }),
            }
        })
    }

    fn load<'a>(&'a self, owner: Owner<'a>, id: &'a str) -> Stored<'a, Option<(i64, Row)>> {
        Box::pin(async move {
            if !can_be(owner, id) {
                return Ok(None);
            }
            let Owner { tenant, subject } = owner;
            let step = Step { sql: LOAD, values: &[&tenant, &subject, &id] };
            let rows = self.run_one(Work::For(tenant, step)).await?;
            rows.first().map(session).transpose()
        })
    }

    fn save<'a>(&'a self, owner: Owner<'a>, id: &'a str, version: i64, row: Row) -> Stored<'a, bool> {
        Box::pin(async move {
            if !can_be(owner, id) {
                return Ok(false);
            }
            let Owner { tenant, subject } = owner;
            let Row { is_open, ends, forgotten, leased_until, body } = cut(row);
            let step = Step {
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
            self.change(Work::For(tenant, step)).await
        })
    }

    fn renew<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        version: i64,
        leased_until: Timestamp,
    ) -> Stored<'a, bool> {
        Box::pin(async move {
            if !can_be(owner, id) {
                return Ok(false);
            }
            let Owner { tenant, subject } = owner;
            let step = Step { sql: RENEW, values: &[&tenant, &subject, &id, &version, &whole(leased_until)] };
            self.change(Work::For(tenant, step)).await
        })
    }

    fn spend<'a>(&'a self, token: &'a [u8; 32], forgotten: Timestamp) -> Stored<'a, bool> {
        Box::pin(async move {
            let step = Step { sql: SPEND, values: &[&token.as_slice(), &whole(forgotten)] };
            self.change(Work::Alone(step)).await
        })
    }

    fn is_spent<'a>(&'a self, token: &'a [u8; 32]) -> Stored<'a, bool> {
        Box::pin(async move {
            let step = Step { sql: IS_SPENT, values: &[&token.as_slice()] };
            let rows = self.run_one(Work::Alone(step)).await?;
            rows.first().map_or(Ok(false), |row| get(row, 0))
        })
    }

    fn sweep(&self, now: Timestamp) -> Stored<'_, u64> {
        Box::pin(async move {
            let step = Step { sql: SWEEP, values: &[&whole(now), &SWEPT] };
            let rows = self.run_one(Work::Write(View::Operator, &[step])).await?;
            let swept: i64 = rows.first().map_or(Ok(0), |row| get(row, 0))?;
            Ok(swept.unsigned_abs())
        })
    }
}

/// With times as they are kept.
fn cut(row: Row) -> Row {
    Row {
        ends: whole(row.ends),
        forgotten: whole(row.forgotten),
        leased_until: row.leased_until.map(whole),
        ..row
    }
}

fn session(row: &tokio_postgres::Row) -> Result<(i64, Row), StoreError> {
    let read = || {
        let session = Row {
            is_open: get(row, 1)?,
            ends: get(row, 2)?,
            forgotten: get(row, 3)?,
            leased_until: get(row, 4)?,
            body: get(row, 5)?,
        };
        Ok((get(row, 0)?, session))
    };
    read()
}
