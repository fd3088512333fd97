//! Keys, rate limits and secrets in SQLite.

use std::sync::atomic::Ordering;
use std::time::Duration;

use access::{
    AccessStore, BucketLease, BucketParams, ClockReading, KeyCredential, KeyEnvironment, KeyListing,
    KeyRecord, Scope, StoreFuture,
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Result, Row, TransactionBehavior, params};

use super::Sqlite;
use super::column::{optional_timestamp, unreadable};
use crate::key_check::check_key;
use crate::{key_listing, token_bucket};
use store_api::{check_name, is_valid_name};

/// The columns of a key, in the order that [`read_key`] expects.
macro_rules! key_columns {
    () => {
        "k.id, k.tenant, k.label, k.environment, k.scope, k.project, k.created, k.expires, k.revoked"
    };
}

const KEY_BY_PREFIX: &str = concat!(
    "SELECT ",
    key_columns!(),
    ", s.prefix, s.hash, s.until FROM api_key_secrets s JOIN api_keys k ON k.id = s.key_id WHERE s.prefix = ?1"
);

const KEY_BY_ID: &str = concat!("SELECT ", key_columns!(), " FROM api_keys k WHERE k.id = ?1");

const HAS_USABLE_KEY: &str = "SELECT EXISTS (
    SELECT 1 FROM api_keys k JOIN api_key_secrets s ON s.key_id = k.id
    WHERE (k.revoked IS NULL OR k.revoked > ?1) AND (k.expires IS NULL OR k.expires > ?1)
        AND (s.until IS NULL OR s.until > ?1))";

const ADD_KEY: &str = "INSERT INTO api_keys
    (id, tenant, label, environment, scope, project, created, expires, revoked)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

const ADD_SECRET: &str = "INSERT INTO api_key_secrets (prefix, key_id, hash, until, ordinal)
    SELECT ?1, ?2, ?3, ?4, coalesce(max(ordinal), 0) + 1 FROM api_key_secrets WHERE key_id = ?2";

const EXPIRE_SECRETS: &str = "UPDATE api_key_secrets SET until = ?2
    WHERE key_id = ?1 AND (until IS NULL OR until > ?2)";

const REVOKE_KEY: &str = "UPDATE api_keys SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL";

const PROBE_READ: &str = "SELECT count(*) FROM server_secrets";

/// Uses the clock of the machine, because the trait passes no time for listings.
const LIST_KEYS: &str = concat!(
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

/// Parameters: name, capacity, lease size, tokens per second, now, time to fill an empty bucket, uptime,
/// clock jump threshold. Tokens refill by uptime, which is never adjusted. Calls that overtake each other
/// differ only slightly; a larger step back means another machine or a restart, and the refill continues from
/// the new uptime.
const LEASE_TOKENS: &str = "INSERT INTO rate_buckets (name, tokens, taken, updated, full_by, uptime)
    VALUES (?1, ?2 - min(?2, ?3), min(?2, ?3), ?5, ?5 + ?6, ?7)
    ON CONFLICT (name) DO UPDATE SET (tokens, taken, updated, full_by, uptime) = (
        SELECT max(0.0, held - granted), granted, ?5, ?5 + ?6, since FROM (
            SELECT held, since, CAST(min(?3, held + 1e-9) AS INTEGER) AS granted FROM (
                SELECT min(?2, tokens + max(0, ?7 - uptime) * ?4 / 1e6) AS held,
                    iif(uptime - ?7 > ?8, ?7, max(uptime, ?7)) AS since)))
    RETURNING taken, tokens";

/// Waits an extra day to tolerate differing clocks. Buckets of keys stay, because they record the last use.
const SWEEP_BUCKETS: &str =
    "DELETE FROM rate_buckets WHERE full_by < ?1 - 86400000000 AND name NOT LIKE 'key:%'";

const GET_OR_INSERT_SECRET: &str = "INSERT INTO server_secrets (name, value) VALUES (?1, ?2)
    ON CONFLICT (name) DO UPDATE SET value = value RETURNING value";

/// Writes a value that differs from the previous one.
const PROBE_WRITE: &str = "INSERT INTO server_secrets (name, value) VALUES ('write_probe', x'00')
    ON CONFLICT (name) DO UPDATE SET value = iif(value = x'00', x'01', x'00')";

impl AccessStore for Sqlite {
    fn key_by_prefix<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, Option<(KeyRecord, KeyCredential)>> {
        Box::pin(async move {
            if !is_valid_name(prefix) {
                return Ok(None);
            }
            let prefix = prefix.to_owned();
            self.readers
                .query(move |connection| {
                    let mut statement = connection.prepare_cached(KEY_BY_PREFIX)?;
                    statement
                        .query_row([prefix], |row| Ok((read_key(row)?, read_credential(row)?)))
                        .optional()
                })
                .await
        })
    }

    fn has_usable_key(&self, now: Timestamp) -> StoreFuture<'_, bool> {
        Box::pin(self.readers.query(move |connection| {
            connection.prepare_cached(HAS_USABLE_KEY)?.query_row([now.as_microsecond()], |row| row.get(0))
        }))
    }

    fn add_key(&self, key: KeyRecord, credential: KeyCredential) -> StoreFuture<'_, ()> {
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

    fn list_keys<'a>(&'a self, tenant: Option<&'a str>) -> StoreFuture<'a, Vec<KeyListing>> {
        let tenant = tenant.map(str::to_owned);
        Box::pin(self.readers.query(move |connection| {
            let mut statement = connection.prepare_cached(LIST_KEYS)?;
            let rows = statement.query_map([tenant], |row| {
                Ok(key_listing::KeyRow {
                    key: read_key(row)?,
                    last_used: optional_timestamp(row, 9)?,
                    prefix: row.get(10)?,
                })
            })?;
            rows.collect::<Result<Vec<_>>>().map(key_listing::group_by_key)
        }))
    }

    fn revoke_key<'a>(&'a self, id: &'a str, now: Timestamp) -> StoreFuture<'a, Option<KeyRecord>> {
        let id = id.to_owned();
        Box::pin(self.writer.change(move |connection| {
            connection.prepare_cached(REVOKE_KEY)?.execute(params![id, now.as_microsecond()])?;
            find_key(connection, &id)
        }))
    }

    fn rotate_key<'a>(
        &'a self,
        id: &'a str,
        credential: KeyCredential,
        old_until: Timestamp,
    ) -> StoreFuture<'a, Option<KeyRecord>> {
        Box::pin(async move {
            check_name("the prefix of a key", &credential.prefix)?;
            let id = id.to_owned();
            self.writer
                .change(move |connection| {
                    let Some(key) = find_key(connection, &id)?.filter(|key| key.revoked.is_none()) else {
                        return Ok(None);
                    };
                    connection
                        .prepare_cached(EXPIRE_SECRETS)?
                        .execute(params![id, old_until.as_microsecond()])?;
                    insert_secret(connection, &id, &credential)?;
                    Ok(Some(key))
                })
                .await
        })
    }

    fn lease_tokens<'a>(
        &'a self,
        bucket: &'a str,
        params: BucketParams,
        now: ClockReading,
    ) -> StoreFuture<'a, BucketLease> {
        Box::pin(async move {
            check_name("a bucket", bucket)?;
            let bucket = bucket.to_owned();
            let sweeps = self
                .lease_count
                .fetch_add(1, Ordering::Relaxed)
                .is_multiple_of(token_bucket::LEASES_PER_SWEEP);
            self.writer
                .query(move |connection| {
                    without_sync(connection, |connection| {
                        if sweeps {
                            connection.prepare_cached(SWEEP_BUCKETS)?.execute([now.time.as_microsecond()])?;
                        }
                        take_lease(connection, &bucket, params, now)
                    })
                })
                .await
        })
    }

    fn get_or_insert_secret<'a>(&'a self, name: &'a str, fresh: &'a [u8]) -> StoreFuture<'a, Vec<u8>> {
        Box::pin(async move {
            check_name("a secret", name)?;
            let (name, fresh) = (name.to_owned(), fresh.to_vec());
            self.writer
                .change(move |connection| {
                    connection
                        .prepare_cached(GET_OR_INSERT_SECRET)?
                        .query_row(params![name, fresh], |row| row.get(0))
                })
                .await
        })
    }

    fn check_ready(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.readers.query(|connection| connection.query_row(PROBE_READ, [], |_| Ok(()))).await?;
            if self.writer.is_full() {
                // There may be space again, and only a write can tell.
                return self.writer.change(|connection| connection.execute(PROBE_WRITE, []).map(drop)).await;
            }
            // Beginning the transaction takes the write lock.
            self.writer
                .query(|connection| {
                    connection.transaction_with_behavior(TransactionBehavior::Immediate)?.rollback()
                })
                .await
        })
    }
}

/// Leases are not synced to disk, because tokens refill anyway: a power cut may only return some of them
/// early.
fn without_sync<T>(connection: &Connection, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let result = work(connection);
    connection.pragma_update(None, "synchronous", "FULL")?;
    result
}

fn take_lease(
    connection: &Connection,
    bucket: &str,
    params: BucketParams,
    now: ClockReading,
) -> Result<BucketLease> {
    let (capacity, block) = (f64::from(params.capacity), f64::from(params.max_lease));
    let microseconds = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    let (fill_time, uptime) = (microseconds(token_bucket::fill_time(params)), microseconds(now.uptime));
    let (time, jump) = (now.time.as_microsecond(), microseconds(token_bucket::CLOCK_JUMP_THRESHOLD));
    let values =
        params![bucket, capacity, block, token_bucket::clamped_rate(params), time, fill_time, uptime, jump];
    let (taken, tokens) =
        connection.prepare_cached(LEASE_TOKENS)?.query_row(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(token_bucket::lease_from_bucket(params, taken, tokens))
}

fn find_key(connection: &Connection, id: &str) -> Result<Option<KeyRecord>> {
    connection.prepare_cached(KEY_BY_ID)?.query_row([id], read_key).optional()
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

fn insert_secret(connection: &Connection, key_id: &str, credential: &KeyCredential) -> Result<()> {
    let KeyCredential { prefix, hash, valid_until: until } = credential;
    let values = params![prefix, key_id, hash, until.map(Timestamp::as_microsecond)];
    connection.prepare_cached(ADD_SECRET)?.execute(values).map(drop)
}

fn read_key(row: &Row<'_>) -> Result<KeyRecord> {
    Ok(KeyRecord {
        id: row.get(0)?,
        tenant: row.get(1)?,
        label: row.get(2)?,
        environment: parse_column(row, 3, KeyEnvironment::parse)?,
        scope: parse_column(row, 4, |name| name.parse::<Scope>().ok())?,
        project: row.get(5)?,
        created: optional_timestamp(row, 6)?.ok_or_else(|| unreadable(row, 6))?,
        expires: optional_timestamp(row, 7)?,
        revoked: optional_timestamp(row, 8)?,
    })
}

fn read_credential(row: &Row<'_>) -> Result<KeyCredential> {
    Ok(KeyCredential { prefix: row.get(9)?, hash: row.get(10)?, valid_until: optional_timestamp(row, 11)? })
}

fn parse_column<T>(row: &Row<'_>, column: usize, parse: impl Fn(&str) -> Option<T>) -> Result<T> {
    let name: String = row.get(column)?;
    parse(&name).ok_or_else(|| unreadable(row, column))
}
