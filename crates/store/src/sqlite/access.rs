//! Keys, limits and secrets in SQLite.

use std::sync::atomic::Ordering;
use std::time::Duration;

use access::{
    AccessStore, Credential, Environment, KeyListing, KeyRecord, Lease, Moment, Scope, Stored, Terms,
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Result, Row, TransactionBehavior, params};

use super::Sqlite;
use super::column::{time, unreadable};
use crate::names::check_key;
use crate::{lease, listing};
use storage::{check_name, is_name};

/// The columns of a key, in the order that [`key`] reads them.
macro_rules! key_columns {
    () => {
        "k.id, k.tenant, k.label, k.environment, k.scope, k.project, k.created, k.expires, k.revoked"
    };
}

const BY_PREFIX: &str = concat!(
    "SELECT ",
    key_columns!(),
    ", s.prefix, s.hash, s.until FROM api_key_secrets s JOIN api_keys k ON k.id = s.key_id WHERE s.prefix = ?1"
);

const BY_ID: &str = concat!("SELECT ", key_columns!(), " FROM api_keys k WHERE k.id = ?1");

const HAS_USABLE: &str = "SELECT EXISTS (
    SELECT 1 FROM api_keys k JOIN api_key_secrets s ON s.key_id = k.id
    WHERE (k.revoked IS NULL OR k.revoked > ?1) AND (k.expires IS NULL OR k.expires > ?1)
        AND (s.until IS NULL OR s.until > ?1))";

const ADD_KEY: &str = "INSERT INTO api_keys
    (id, tenant, label, environment, scope, project, created, expires, revoked)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

const ADD_SECRET: &str = "INSERT INTO api_key_secrets (prefix, key_id, hash, until, ordinal)
    SELECT ?1, ?2, ?3, ?4, coalesce(max(ordinal), 0) + 1 FROM api_key_secrets WHERE key_id = ?2";

const END_SECRETS: &str = "UPDATE api_key_secrets SET until = ?2
    WHERE key_id = ?1 AND (until IS NULL OR until > ?2)";

const REVOKE: &str = "UPDATE api_keys SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL";

const READABLE: &str = "SELECT count(*) FROM server_secrets";

/// The time of the machine: the trait has none for lists.
const LIST: &str = concat!(
    "WITH clock (now) AS (SELECT CAST(unixepoch('subsec') * 1e6 AS INTEGER))
    SELECT ",
    key_columns!(),
    ", b.updated, s.prefix FROM api_keys k JOIN clock
    LEFT JOIN api_key_secrets s ON s.key_id = k.id AND (s.until IS NULL OR s.until > now)
        AND (k.revoked IS NULL OR k.revoked > now) AND (k.expires IS NULL OR k.expires > now)
    LEFT JOIN rate_buckets b ON b.name = 'key:' || k.id
    WHERE ?1 IS NULL OR k.tenant = ?1
    ORDER BY k.created, k.id, s.ordinal DESC"
);

/// Name, capacity, block, tokens per second, now, time to fill an empty bucket, uptime, the largest step back that is no jump.
/// Tokens come in by uptime, which no one sets. Calls that overtake each other on their way here differ by moments; more than
/// that is another machine, or this one after a restart, and tokens come in from there on.
const LEASE: &str = "INSERT INTO rate_buckets (name, tokens, taken, updated, full_by, uptime)
    VALUES (?1, ?2 - min(?2, ?3), min(?2, ?3), ?5, ?5 + ?6, ?7)
    ON CONFLICT (name) DO UPDATE SET (tokens, taken, updated, full_by, uptime) = (
        SELECT max(0.0, held - granted), granted, ?5, ?5 + ?6, since FROM (
            SELECT held, since, CAST(min(?3, held + 1e-9) AS INTEGER) AS granted FROM (
                SELECT min(?2, tokens + max(0, ?7 - uptime) * ?4 / 1e6) AS held,
                    iif(uptime - ?7 > ?8, ?7, max(uptime, ?7)) AS since)))
    RETURNING taken, tokens";

/// A day later, so that clocks which differ do no harm. What belongs to a key stays: it tells its last use.
const SWEEP: &str = "DELETE FROM rate_buckets WHERE full_by < ?1 - 86400000000 AND name NOT LIKE 'key:%'";

const SECRET: &str = "INSERT INTO server_secrets (name, value) VALUES (?1, ?2)
    ON CONFLICT (name) DO UPDATE SET value = value RETURNING value";

/// Writes something that is not the same as before.
const PROBE: &str = "INSERT INTO server_secrets (name, value) VALUES ('write_probe', x'00')
    ON CONFLICT (name) DO UPDATE SET value = iif(value = x'00', x'01', x'00')";

impl AccessStore for Sqlite {
    fn key_by_prefix<'a>(&'a self, prefix: &'a str) -> Stored<'a, Option<(KeyRecord, Credential)>> {
        Box::pin(async move {
            if !is_name(prefix) {
                return Ok(None);
            }
            let prefix = prefix.to_owned();
            self.readers
                .query(move |connection| {
                    let mut statement = connection.prepare_cached(BY_PREFIX)?;
                    statement.query_row([prefix], |row| Ok((key(row)?, credential(row)?))).optional()
                })
                .await
        })
    }

    fn has_usable_key(&self, now: Timestamp) -> Stored<'_, bool> {
        Box::pin(self.readers.query(move |connection| {
            connection.prepare_cached(HAS_USABLE)?.query_row([now.as_microsecond()], |row| row.get(0))
        }))
    }

    fn add_key(&self, key: KeyRecord, credential: Credential) -> Stored<'_, ()> {
        Box::pin(async move {
            check_key(&key, &credential)?;
            self.writer
                .change(move |connection| {
                    insert_key(connection, &key)?;
                    insert_secret(connection, &key.id, &credential)
                })
                .await
        })
    }

    fn keys<'a>(&'a self, tenant: Option<&'a str>) -> Stored<'a, Vec<KeyListing>> {
        let tenant = tenant.map(str::to_owned);
        Box::pin(self.readers.query(move |connection| {
            let mut statement = connection.prepare_cached(LIST)?;
            let rows = statement.query_map([tenant], |row| {
                Ok(listing::Row { key: key(row)?, last_used: time(row, 9)?, prefix: row.get(10)? })
            })?;
            rows.collect::<Result<Vec<_>>>().map(listing::fold)
        }))
    }

    fn revoke_key<'a>(&'a self, id: &'a str, now: Timestamp) -> Stored<'a, Option<KeyRecord>> {
        let id = id.to_owned();
        Box::pin(self.writer.change(move |connection| {
            connection.prepare_cached(REVOKE)?.execute(params![id, now.as_microsecond()])?;
            by_id(connection, &id)
        }))
    }

    fn rotate_key<'a>(
        &'a self,
        id: &'a str,
        credential: Credential,
        old_until: Timestamp,
    ) -> Stored<'a, Option<KeyRecord>> {
        Box::pin(async move {
            check_name("the prefix of a key", &credential.prefix)?;
            let id = id.to_owned();
            self.writer
                .change(move |connection| {
                    let Some(key) = by_id(connection, &id)?.filter(|key| key.revoked.is_none()) else {
                        return Ok(None);
                    };
                    connection
                        .prepare_cached(END_SECRETS)?
                        .execute(params![id, old_until.as_microsecond()])?;
                    insert_secret(connection, &id, &credential)?;
                    Ok(Some(key))
                })
                .await
        })
    }

    fn lease<'a>(&'a self, bucket: &'a str, terms: Terms, now: Moment) -> Stored<'a, Lease> {
        Box::pin(async move {
            check_name("a bucket", bucket)?;
            let bucket = bucket.to_owned();
            let sweeps = self.leases.fetch_add(1, Ordering::Relaxed).is_multiple_of(lease::SWEEP_EVERY);
            self.writer
                .query(move |connection| {
                    without_sync(connection, |connection| {
                        if sweeps {
                            connection.prepare_cached(SWEEP)?.execute([now.time.as_microsecond()])?;
                        }
                        take(connection, &bucket, terms, now)
                    })
                })
                .await
        })
    }

    fn secret<'a>(&'a self, name: &'a str, fresh: &'a [u8]) -> Stored<'a, Vec<u8>> {
        Box::pin(async move {
            check_name("a secret", name)?;
            let (name, fresh) = (name.to_owned(), fresh.to_vec());
            self.writer
                .change(move |connection| {
                    connection.prepare_cached(SECRET)?.query_row(params![name, fresh], |row| row.get(0))
                })
                .await
        })
    }

    fn ready(&self) -> Stored<'_, ()> {
        Box::pin(async move {
            self.readers.query(|connection| connection.query_row(READABLE, [], |_| Ok(()))).await?;
            if self.writer.is_full() {
                // There may be room again, and only writing something tells.
                return self.writer.change(|connection| connection.execute(PROBE, []).map(drop)).await;
            }
            // To begin is to take the lock that writers need.
            self.writer
                .query(|connection| {
                    connection.transaction_with_behavior(TransactionBehavior::Immediate)?.rollback()
                })
                .await
        })
    }
}

/// Tokens come back by themselves, so nobody waits for the disk to have them: a power cut may give some back early.
fn without_sync<T>(connection: &Connection, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let result = work(connection);
    connection.pragma_update(None, "synchronous", "FULL")?;
    result
}

fn take(connection: &Connection, bucket: &str, terms: Terms, now: Moment) -> Result<Lease> {
    let (capacity, block) = (f64::from(terms.capacity), f64::from(terms.block));
    let microseconds = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    let (fill_time, uptime) = (microseconds(lease::fill_time(terms)), microseconds(now.uptime));
    let (time, jump) = (now.time.as_microsecond(), microseconds(lease::JUMP));
    let values = params![bucket, capacity, block, lease::rate(terms), time, fill_time, uptime, jump];
    let (taken, tokens) =
        connection.prepare_cached(LEASE)?.query_row(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(lease::answer(terms, taken, tokens))
}

fn by_id(connection: &Connection, id: &str) -> Result<Option<KeyRecord>> {
    connection.prepare_cached(BY_ID)?.query_row([id], key).optional()
}

fn insert_key(connection: &Connection, key: &KeyRecord) -> Result<()> {
    let values = params![
        key.id,
        key.tenant,
        key.label,
        key.environment.as_str(),
        key.scope.as_str(),
        key.project,
        key.created.as_microsecond(),
        key.expires.map(Timestamp::as_microsecond),
        key.revoked.map(Timestamp::as_microsecond),
    ];
    connection.prepare_cached(ADD_KEY)?.execute(values).map(drop)
}

fn insert_secret(connection: &Connection, key_id: &str, credential: &Credential) -> Result<()> {
    let Credential { prefix, hash, until } = credential;
    let values = params![prefix, key_id, hash, until.map(Timestamp::as_microsecond)];
    connection.prepare_cached(ADD_SECRET)?.execute(values).map(drop)
}

fn key(row: &Row<'_>) -> Result<KeyRecord> {
    Ok(KeyRecord {
        id: row.get(0)?,
        tenant: row.get(1)?,
        label: row.get(2)?,
        environment: word(row, 3, Environment::parse)?,
        scope: word(row, 4, |name| name.parse::<Scope>().ok())?,
        project: row.get(5)?,
        created: time(row, 6)?.ok_or_else(|| unreadable(row, 6))?,
        expires: time(row, 7)?,
        revoked: time(row, 8)?,
    })
}

fn credential(row: &Row<'_>) -> Result<Credential> {
    Ok(Credential { prefix: row.get(9)?, hash: row.get(10)?, until: time(row, 11)? })
}

fn word<T>(row: &Row<'_>, column: usize, parse: impl Fn(&str) -> Option<T>) -> Result<T> {
    let name: String = row.get(column)?;
    parse(&name).ok_or_else(|| unreadable(row, column))
}
