//! Sessions in SQLite.

use flow::session::{Admission, Owner, Quota, Row, SessionStore, StoreError, Stored};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Params, Result, named_params};

use super::Sqlite;
use super::column::{time, unreadable};
use crate::sessions::{SWEPT, can_be, check, most_ended};

/// Counts and adds.
const BEGIN: &str = "INSERT INTO flow_sessions
    (id, tenant, subject, version, is_open, ends, forgotten, leased_until, body)
    SELECT :id, :tenant, :subject, 1, :is_open, :ends, :forgotten, :leased_until, :body
    WHERE (SELECT count(*) FROM flow_sessions
        WHERE tenant = :tenant AND subject = :subject AND is_open AND ends > :now) < :most";

/// When the first of those ends that are open.
const FIRST_END: &str = "SELECT min(ends) FROM flow_sessions
    WHERE tenant = :tenant AND subject = :subject AND is_open AND ends > :now";

/// Those that have ended, but for the latest. Rows whose ids begin otherwise are documents.
const PRUNE: &str = "DELETE FROM flow_sessions WHERE id IN (
    SELECT id FROM (
        SELECT id, ends FROM flow_sessions
            WHERE tenant = :tenant AND subject = :subject AND NOT is_open AND id GLOB 'session_*'
        UNION ALL
        SELECT id, ends FROM flow_sessions
            WHERE tenant = :tenant AND subject = :subject AND is_open AND ends <= :now AND id GLOB 'session_*')
    ORDER BY ends DESC, id DESC LIMIT -1 OFFSET :ended)";

const LOAD: &str = "SELECT version, is_open, ends, forgotten, leased_until, body FROM flow_sessions
    WHERE id = :id AND tenant = :tenant AND subject = :subject";

const SAVE: &str = "UPDATE flow_sessions SET version = version + 1, is_open = :is_open, ends = :ends,
        forgotten = :forgotten, leased_until = :leased_until, body = :body
    WHERE id = :id AND tenant = :tenant AND subject = :subject AND version = :version";

const RENEW: &str = "UPDATE flow_sessions SET leased_until = :leased_until
    WHERE id = :id AND tenant = :tenant AND subject = :subject AND version = :version";

const SPEND: &str = "INSERT INTO flow_spent (token, forgotten) VALUES (:token, :forgotten)
    ON CONFLICT (token) DO NOTHING";

const IS_SPENT: &str = "SELECT EXISTS (SELECT 1 FROM flow_spent WHERE token = :token)";

/// What is done to what can be swept at `:now`, at most `:most` rows at a time.
const SWEEPS: [&str; 3] = [
    "DELETE FROM flow_sessions WHERE rowid IN (
        SELECT rowid FROM flow_sessions WHERE due <= :now AND forgotten <= :now LIMIT :most)",
    "UPDATE flow_sessions SET is_open = 0, body = NULL WHERE rowid IN (
        SELECT rowid FROM flow_sessions WHERE due <= :now AND forgotten > :now LIMIT :most)",
    "DELETE FROM flow_spent WHERE token IN (
        SELECT token FROM flow_spent WHERE forgotten <= :now LIMIT :most)",
];

impl SessionStore for Sqlite {
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
            let named = Named::of(owner, id);
            self.change(move |connection| {
                let Named { tenant, subject, .. } = &named;
                let now = now.as_microsecond();
                let values = named_params! {
                    ":id": named.id, ":tenant": tenant, ":subject": subject, ":is_open": row.is_open, ":ends": row.ends.as_microsecond(),
                    ":forgotten": row.forgotten.as_microsecond(),
                    ":leased_until": row.leased_until.map(Timestamp::as_microsecond), ":body": row.body,
                    ":most": quota.open, ":now": now,
                };
                if !changes(connection, BEGIN, values)? {
                    let owner = named_params! { ":tenant": tenant, ":subject": subject, ":now": now };
                    let until = connection.prepare_cached(FIRST_END)?.query_row(owner, |row| time(row, 0))?;
                    return Ok(Admission::Full { until });
                }
                if let Some(ended) = most_ended(quota) {
                    let values = named_params! {
                        ":tenant": tenant, ":subject": subject, ":now": now, ":ended": ended,
                    };
                    changes(connection, PRUNE, values)?;
                }
                Ok(Admission::Begun)
            })
            .await
        })
    }

    fn load<'a>(&'a self, owner: Owner<'a>, id: &'a str) -> Stored<'a, Option<(i64, Row)>> {
        Box::pin(async move {
            if !can_be(owner, id) {
                return Ok(None);
            }
            let Named { id, tenant, subject } = Named::of(owner, id);
            let load = move |connection: &mut Connection| {
                let values = named_params! { ":id": id, ":tenant": tenant, ":subject": subject };
                connection.prepare_cached(LOAD)?.query_row(values, session).optional()
            };
            self.readers.query(load).await
        })
    }

    fn save<'a>(&'a self, owner: Owner<'a>, id: &'a str, version: i64, row: Row) -> Stored<'a, bool> {
        Box::pin(async move {
            if !can_be(owner, id) {
                return Ok(false);
            }
            let named = Named::of(owner, id);
            self.change(move |connection| {
                let values = named_params! {
                    ":id": named.id, ":tenant": named.tenant, ":subject": named.subject, ":version": version,
                    ":is_open": row.is_open, ":ends": row.ends.as_microsecond(),
                    ":forgotten": row.forgotten.as_microsecond(),
                    ":leased_until": row.leased_until.map(Timestamp::as_microsecond), ":body": row.body,
                };
                changes(connection, SAVE, values)
            })
            .await
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
            let Named { id, tenant, subject } = Named::of(owner, id);
            self.change(move |connection| {
                let values = named_params! {
                    ":id": id, ":tenant": tenant, ":subject": subject, ":version": version,
                    ":leased_until": leased_until.as_microsecond(),
                };
                changes(connection, RENEW, values)
            })
            .await
        })
    }

    fn spend<'a>(&'a self, token: &'a [u8; 32], forgotten: Timestamp) -> Stored<'a, bool> {
        let token = *token;
        Box::pin(self.change(move |connection| {
            let values = named_params! { ":token": token, ":forgotten": forgotten.as_microsecond() };
            changes(connection, SPEND, values)
        }))
    }

    fn is_spent<'a>(&'a self, token: &'a [u8; 32]) -> Stored<'a, bool> {
        let token = *token;
        Box::pin(async move {
            let look = move |connection: &mut Connection| {
                let values = named_params! { ":token": token };
                connection.prepare_cached(IS_SPENT)?.query_row(values, |row| row.get(0))
            };
            self.readers.query(look).await
        })
    }

    fn sweep(&self, now: Timestamp) -> Stored<'_, u64> {
        Box::pin(self.change(move |connection| {
            let mut swept = 0;
            for sql in SWEEPS {
                let values = named_params! { ":now": now.as_microsecond(), ":most": SWEPT };
                swept += connection.prepare_cached(sql)?.execute(values)?;
            }
            Ok(swept as u64)
        }))
    }
}

impl Sqlite {
    async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, StoreError> {
        self.writer.change(work).await
    }
}

/// Which session it is about, for another thread.
struct Named {
    id: String,
    tenant: String,
    subject: String,
}

impl Named {
    fn of(owner: Owner<'_>, id: &str) -> Self {
        Self { id: id.to_owned(), tenant: owner.tenant.to_owned(), subject: owner.subject.to_owned() }
    }
}

/// Whether the statement has changed something.
fn changes(connection: &Connection, sql: &str, values: impl Params) -> Result<bool> {
    Ok(connection.prepare_cached(sql)?.execute(values)? > 0)
}

fn session(row: &rusqlite::Row<'_>) -> Result<(i64, Row)> {
    let read = Row {
        is_open: row.get(1)?,
        ends: time(row, 2)?.ok_or_else(|| unreadable(row, 2))?,
        forgotten: time(row, 3)?.ok_or_else(|| unreadable(row, 3))?,
        leased_until: time(row, 4)?,
        body: row.get(5)?,
    };
    Ok((row.get(0)?, read))
}
