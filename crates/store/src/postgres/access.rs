//! Keys, rate limits and secrets in PostgreSQL.

use std::sync::atomic::Ordering;

use access::{
    AccessStore, BucketLease, BucketParams, ClockReading, KeyCredential, KeyEnvironment, KeyListing,
    KeyRecord, Scope, StoreError, StoreFuture,
};
use jiff::Timestamp;
use tokio_postgres::Row;

use super::Postgres;
use super::column::{get, truncate_to_micros, unreadable};
use super::request::{PgRequest, PgStatement, RlsScope};
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
    ", s.prefix, s.hash, s.until FROM api_key_secrets s JOIN api_keys k ON k.id = s.key_id WHERE s.prefix = $1"
);

const HAS_USABLE_KEY: &str = "SELECT EXISTS (
    SELECT FROM api_keys k JOIN api_key_secrets s ON s.key_id = k.id
    WHERE (k.revoked IS NULL OR k.revoked > $1) AND (k.expires IS NULL OR k.expires > $1)
        AND (s.until IS NULL OR s.until > $1))";

const ADD_KEY: &str = "INSERT INTO api_keys
    (id, tenant, label, environment, scope, project, created, expires, revoked)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

const ADD_FIRST_SECRET: &str = "INSERT INTO api_key_secrets (prefix, key_id, tenant, hash, until, ordinal)
    VALUES ($1, $2, $3, $4, $5, 1)";

const REVOKE_KEY: &str = concat!(
    "UPDATE api_keys k SET revoked = coalesce(k.revoked, $2) WHERE k.id = $1 RETURNING ",
    key_columns!()
);

/// The lock serializes rotations of one key: the second one expires the secret that the first one added.
const LOCK_KEY: &str =
    concat!("SELECT ", key_columns!(), " FROM api_keys k WHERE k.id = $1 AND k.revoked IS NULL FOR UPDATE");

const EXPIRE_SECRETS: &str = "UPDATE api_key_secrets s SET until = $2 FROM api_keys k
    WHERE k.id = $1 AND k.revoked IS NULL AND s.key_id = k.id AND (s.until IS NULL OR s.until > $2)";

const ADD_NEXT_SECRET: &str = "INSERT INTO api_key_secrets (prefix, key_id, tenant, hash, until, ordinal)
    SELECT $2, k.id, k.tenant, $3, $4,
        coalesce((SELECT max(s.ordinal) FROM api_key_secrets s WHERE s.key_id = k.id), 0) + 1
    FROM api_keys k WHERE k.id = $1 AND k.revoked IS NULL";

/// Uses the clock of the database, because the trait passes no time for listings.
const LIST_KEYS: &str = concat!(
    "SELECT ",
    key_columns!(),
    ", b.updated, s.prefix FROM api_keys k
    LEFT JOIN api_key_secrets s ON s.key_id = k.id AND (s.until IS NULL OR s.until > now())
        AND (k.revoked IS NULL OR k.revoked > now()) AND (k.expires IS NULL OR k.expires > now())
    LEFT JOIN rate_buckets b ON b.name = 'key:' || k.id
    WHERE $1::text IS NULL OR k.tenant = $1
    ORDER BY k.created, k.id COLLATE \"C\", s.ordinal DESC"
);

/// Parameters: name, capacity, lease size, tokens per second, seconds to fill an empty bucket. Uses the clock
/// of the database, read once in `VALUES`. If it is set back by more than
/// [`token_bucket::CLOCK_JUMP_THRESHOLD`], or another machine has taken over, the refill continues from the
/// new time.
const LEASE_TOKENS: &str = "INSERT INTO rate_buckets AS b (name, tokens, taken, updated, full_by)
    VALUES ($1, $2::float8 - least($2, $3::float8), least($2, $3), clock_timestamp(),
        clock_timestamp() + make_interval(secs => $5::float8))
    ON CONFLICT (name) DO UPDATE SET (tokens, taken, updated, full_by) = (
        SELECT greatest(0, held - granted), granted, since, since + make_interval(secs => $5) FROM (
            SELECT held, since, floor(least($3, held + 1e-9)) AS granted FROM (
                SELECT least($2, b.tokens + $4::float8
                        * greatest(0, extract(epoch FROM excluded.updated - b.updated)::float8)) AS held,
                    CASE WHEN b.updated - excluded.updated > make_interval(secs => $6::float8) THEN excluded.updated
                        ELSE greatest(b.updated, excluded.updated) END AS since) AS filled) AS shared)
    RETURNING taken, tokens";

/// Waits an extra day to tolerate differing clocks. Buckets of keys stay, because they record the last use.
const SWEEP_BUCKETS: &str =
    "DELETE FROM rate_buckets WHERE full_by < now() - interval '1 day' AND name NOT LIKE 'key:%'";

const GET_OR_INSERT_SECRET: &str = "INSERT INTO server_secrets AS s (name, value) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET value = s.value RETURNING value";

const IS_READ_ONLY: &str = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool";

impl AccessStore for Postgres {
    fn key_by_prefix<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, Option<(KeyRecord, KeyCredential)>> {
        Box::pin(async move {
            if !is_valid_name(prefix) {
                return Ok(None);
            }
            let step = PgStatement { sql: KEY_BY_PREFIX, values: &[&prefix] };
            let rows = self.run_one(PgRequest::Read(RlsScope::Prefix(prefix), step)).await?;
            rows.first().map(|row| Ok((read_key(row)?, read_credential(row)?))).transpose()
        })
    }

    fn has_usable_key(&self, now: Timestamp) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let step = PgStatement { sql: HAS_USABLE_KEY, values: &[&truncate_to_micros(now)] };
            let rows = self.run_one(PgRequest::Read(RlsScope::Operator, step)).await?;
            rows.first().map_or(Ok(false), |row| get(row, 0))
        })
    }

    fn add_key(&self, key: KeyRecord, credential: KeyCredential) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            check_key(&key, &credential)?;
            let KeyRecord { id, tenant, label, project, .. } = &key;
            let (environment, scope) = (key.environment.as_str(), key.scope.as_str());
            let (created, expires, revoked) = (
                truncate_to_micros(key.created),
                key.expires.map(truncate_to_micros),
                key.revoked.map(truncate_to_micros),
            );
            let KeyCredential { prefix, hash, valid_until: until } = &credential;
            let steps = [
                PgStatement {
                    sql: ADD_KEY,
                    values: &[id, tenant, label, &environment, &scope, project, &created, &expires, &revoked],
                },
                PgStatement {
                    sql: ADD_FIRST_SECRET,
                    values: &[prefix, id, tenant, &hash.as_slice(), &until.map(truncate_to_micros)],
                },
            ];
            self.run(PgRequest::Write(RlsScope::Tenant(tenant), &steps)).await.map(drop)
        })
    }

    fn list_keys<'a>(&'a self, tenant: Option<&'a str>) -> StoreFuture<'a, Vec<KeyListing>> {
        Box::pin(async move {
            if tenant.is_some_and(|tenant| !is_valid_name(tenant)) {
                return Ok(Vec::new());
            }
            let step = PgStatement { sql: LIST_KEYS, values: &[&tenant] };
            let rows = self
                .run_one(PgRequest::Read(tenant.map_or(RlsScope::Operator, RlsScope::Tenant), step))
                .await?;
            let read = rows.iter().map(|row| {
                Ok(key_listing::KeyRow {
                    key: read_key(row)?,
                    last_used: get(row, 9)?,
                    prefix: get(row, 10)?,
                })
            });
            read.collect::<Result<Vec<_>, _>>().map(key_listing::group_by_key)
        })
    }

    fn revoke_key<'a>(&'a self, id: &'a str, now: Timestamp) -> StoreFuture<'a, Option<KeyRecord>> {
        Box::pin(async move {
            if !is_valid_name(id) {
                return Ok(None);
            }
            let step = PgStatement { sql: REVOKE_KEY, values: &[&id, &truncate_to_micros(now)] };
            let rows = self.run_one(PgRequest::Write(RlsScope::Operator, &[step])).await?;
            rows.first().map(read_key).transpose()
        })
    }

    fn rotate_key<'a>(
        &'a self,
        id: &'a str,
        credential: KeyCredential,
        old_until: Timestamp,
    ) -> StoreFuture<'a, Option<KeyRecord>> {
        Box::pin(async move {
            check_name("the prefix of a key", &credential.prefix)?;
            if !is_valid_name(id) {
                return Ok(None);
            }
            let KeyCredential { prefix, hash, valid_until: until } = &credential;
            let steps = [
                PgStatement { sql: LOCK_KEY, values: &[&id] },
                PgStatement { sql: EXPIRE_SECRETS, values: &[&id, &truncate_to_micros(old_until)] },
                PgStatement {
                    sql: ADD_NEXT_SECRET,
                    values: &[&id, prefix, &hash.as_slice(), &until.map(truncate_to_micros)],
                },
            ];
            let answers = self.run(PgRequest::Write(RlsScope::Operator, &steps)).await?;
            answers.first().and_then(|rows| rows.first()).map(read_key).transpose()
        })
    }

    fn lease_tokens<'a>(
        &'a self,
        bucket: &'a str,
        params: BucketParams,
        _now: ClockReading,
    ) -> StoreFuture<'a, BucketLease> {
        Box::pin(async move {
            check_name("a bucket", bucket)?;
            if self.lease_count.fetch_add(1, Ordering::Relaxed).is_multiple_of(token_bucket::LEASES_PER_SWEEP)
            {
                self.run(PgRequest::Unscoped(PgStatement { sql: SWEEP_BUCKETS, values: &[] })).await?;
            }
            let (capacity, block) = (f64::from(params.capacity), f64::from(params.max_lease));
            let (rate, fill_time) =
                (token_bucket::clamped_rate(params), token_bucket::fill_time(params).as_secs_f64());
            // If the statement is sent twice, it takes twice: the caller gets fewer tokens than allowed,
            // never more.
            let jump = token_bucket::CLOCK_JUMP_THRESHOLD.as_secs_f64();
            let step = PgStatement {
                sql: LEASE_TOKENS,
                values: &[&bucket, &capacity, &block, &rate, &fill_time, &jump],
            };
            let rows = self.run_one(PgRequest::Unscoped(step)).await?;
            let row = rows.first().ok_or_else(|| unreadable("a lease"))?;
            Ok(token_bucket::lease_from_bucket(params, get(row, 0)?, get(row, 1)?))
        })
    }

    fn get_or_insert_secret<'a>(&'a self, name: &'a str, fresh: &'a [u8]) -> StoreFuture<'a, Vec<u8>> {
        Box::pin(async move {
            check_name("a secret", name)?;
            let rows = self
                .run_one(PgRequest::Unscoped(PgStatement {
                    sql: GET_OR_INSERT_SECRET,
                    values: &[&name, &fresh],
                }))
                .await?;
            rows.first().map_or_else(|| Err(unreadable("a secret")), |row| get(row, 0))
        })
    }

    fn check_ready(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let rows =
                self.run_one(PgRequest::Unscoped(PgStatement { sql: IS_READ_ONLY, values: &[] })).await?;
            let only_reads = rows.first().map_or(Ok(true), |row| get(row, 0))?;
            if only_reads {
                return Err(StoreError::Unreachable("the database is currently read-only".to_owned()));
            }
            Ok(())
        })
    }
}

fn read_key(row: &Row) -> Result<KeyRecord, StoreError> {
    Ok(KeyRecord {
        id: get(row, 0)?,
        tenant: get(row, 1)?,
        label: get(row, 2)?,
        environment: KeyEnvironment::parse(&get::<String>(row, 3)?)
            .ok_or_else(|| unreadable("an environment"))?,
        scope: get::<String>(row, 4)?.parse::<Scope>().map_err(|_| unreadable("a scope"))?,
        project: get(row, 5)?,
        created: get(row, 6)?,
        expires: get(row, 7)?,
        revoked: get(row, 8)?,
    })
}

fn read_credential(row: &Row) -> Result<KeyCredential, StoreError> {
    let hash: Vec<u8> = get(row, 10)?;
    let hash = hash.try_into().map_err(|_| unreadable("the hash of a key"))?;
    Ok(KeyCredential { prefix: get(row, 9)?, hash, valid_until: get(row, 11)? })
}
