//! Sessions in SQLite.

use flow::session::{
    Admission, SessionOwner, SessionQuota, SessionRow, SessionStore, StoreError, StoreFuture,
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Params, Result, named_params};

use super::Sqlite;
use super::column::{optional_timestamp, unreadable};
use crate::sessions::{MAX_SWEPT_ROWS, check_session, ended_limit, is_storable};

/// Inserts the session unless the quota is reached.
const INSERT_SESSION: &str = "INSERT INTO flow_sessions
    (id, tenant, subject, version, is_open, ends, forgotten, leased_until, body)
    SELECT :id, :tenant, :subject, 1, :is_open, :ends, :forgotten, :leased_until, :body
    WHERE (SELECT count(*) FROM flow_sessions
        WHERE tenant = :tenant AND subject = :subject AND is_open AND ends > :now) < :most";

/// When the first open session expires.
const EARLIEST_EXPIRY: &str = "SELECT min(ends) FROM flow_sessions
    WHERE tenant = :tenant AND subject = :subject AND is_open AND ends > :now";

/// Ended sessions beyond the retained ones. Rows with other id prefixes are documents.
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

/// The sweep statements at `:now`, limited to `:most` rows each.
const SWEEPS: [&str; 3] = [
    "DELETE FROM flow_sessions WHERE rowid IN (
        SELECT rowid FROM flow_sessions WHERE due <= :now AND forgotten <= :now LIMIT :most)",
    "UPDATE flow_sessions SET is_open = 0, body = NULL WHERE rowid IN (
        SELECT rowid FROM flow_sessions WHERE due <= :now AND forgotten > :now LIMIT :most)",
    "DELETE FROM flow_spent WHERE token IN (
        SELECT token FROM flow_spent WHERE forgotten <= :now LIMIT :most)",
];

impl SessionStore for Sqlite {
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
            let named = OwnedSessionKey::new(owner, id);
            self.change(move |connection| {
                let OwnedSessionKey { tenant, subject, .. } = &named;
                let now = now.as_microsecond();
                let values = named_params! {
                    ":id": named.id, ":tenant": tenant, ":subject": subject, ":is_open": row.is_open, ":ends": row.expires_at.as_microsecond(),
                    ":forgotten": row.delete_at.as_microsecond(),
                    ":leased_until": row.leased_until.map(Timestamp::as_microsecond), ":body": row.body,
                    ":most": quota.max_open, ":now": now,
                };
                if !execute_changed(connection, INSERT_SESSION, values)? {
                    let owner = named_params! { ":tenant": tenant, ":subject": subject, ":now": now };
                    let until = connection.prepare_cached(EARLIEST_EXPIRY)?.query_row(owner, |row| optional_timestamp(row, 0))?;
                    return Ok(Admission::Full { until });
                }
                if let Some(ended) = ended_limit(quota) {
                    let values = named_params! {
                        ":tenant": tenant, ":subject": subject, ":now": now, ":ended": ended,
                    };
                    execute_changed(connection, PRUNE, values)?;
                }
                Ok(Admission::Admitted)
            })
            .await
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
            let OwnedSessionKey { id, tenant, subject } = OwnedSessionKey::new(owner, id);
            let load = move |connection: &mut Connection| {
                let values = named_params! { ":id": id, ":tenant": tenant, ":subject": subject };
                connection.prepare_cached(LOAD)?.query_row(values, read_session).optional()
            };
            self.readers.query(load).await
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
            let named = OwnedSessionKey::new(owner, id);
            self.change(move |connection| {
                let values = named_params! {
                    ":id": named.id, ":tenant": named.tenant, ":subject": named.subject, ":version": version,
                    ":is_open": row.is_open, ":ends": row.expires_at.as_microsecond(),
                    ":forgotten": row.delete_at.as_microsecond(),
                    ":leased_until": row.leased_until.map(Timestamp::as_microsecond), ":body": row.body,
                };
                execute_changed(connection, SAVE, values)
            })
            .await
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
            let OwnedSessionKey { id, tenant, subject } = OwnedSessionKey::new(owner, id);
            self.change(move |connection| {
                let values = named_params! {
                    ":id": id, ":tenant": tenant, ":subject": subject, ":version": version,
                    ":leased_until": leased_until.as_microsecond(),
                };
                execute_changed(connection, RENEW, values)
            })
            .await
        })
    }

    fn mark_used<'a>(&'a self, token: &'a [u8; 32], forgotten: Timestamp) -> StoreFuture<'a, bool> {
        let token = *token;
        Box::pin(self.change(move |connection| {
            let values = named_params! { ":token": token, ":forgotten": forgotten.as_microsecond() };
            execute_changed(connection, SPEND, values)
        }))
    }

    fn is_used<'a>(&'a self, token: &'a [u8; 32]) -> StoreFuture<'a, bool> {
        let token = *token;
        Box::pin(async move {
            let look = move |connection: &mut Connection| {
                let values = named_params! { ":token": token };
                connection.prepare_cached(IS_SPENT)?.query_row(values, |row| row.get(0))
            };
            self.readers.query(look).await
        })
    }

    fn sweep(&self, now: Timestamp) -> StoreFuture<'_, u64> {
        Box::pin(self.change(move |connection| {
            let mut swept = 0;
            for sql in SWEEPS {
                let values = named_params! { ":now": now.as_microsecond(), ":most": MAX_SWEPT_ROWS };
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

/// An owned session reference that can move to another thread.
struct OwnedSessionKey {
    id: String,
    tenant: String,
    subject: String,
}

impl OwnedSessionKey {
    fn new(owner: SessionOwner<'_>, id: &str) -> Self {
        Self { id: id.to_owned(), tenant: owner.tenant.to_owned(), subject: owner.subject.to_owned() }
    }
}

/// Whether the statement changed a row.
fn execute_changed(connection: &Connection, sql: &str, values: impl Params) -> Result<bool> {
    Ok(connection.prepare_cached(sql)?.execute(values)? > 0)
}

fn read_session(row: &rusqlite::Row<'_>) -> Result<(i64, SessionRow)> {
    let read = SessionRow {
        is_open: row.get(1)?,
        expires_at: optional_timestamp(row, 2)?.ok_or_else(|| unreadable(row, 2))?,
        delete_at: optional_timestamp(row, 3)?.ok_or_else(|| unreadable(row, 3))?,
        leased_until: optional_timestamp(row, 4)?,
        body: row.get(5)?,
    };
    Ok((row.get(0)?, read))
}
