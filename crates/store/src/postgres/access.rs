//! Keys, limits and secrets in PostgreSQL.

use std::sync::atomic::Ordering;

use access::{
    AccessStore, Credential, Environment, KeyListing, KeyRecord, Lease, Moment, Scope, StoreError, Stored,
    Terms,
};
use jiff::Timestamp;
use tokio_postgres::Row;

use super::Postgres;
use super::column::{get, unreadable, whole};
use super::work::{Step, View, Work};
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
    ", s.prefix, s.hash, s.until FROM api_key_secrets s JOIN api_keys k ON k.id = s.key_id WHERE s.prefix = $1"
);

const HAS_USABLE: &str = "SELECT EXISTS (
    SELECT FROM api_keys k JOIN api_key_secrets s ON s.key_id = k.id
    WHERE (k.revoked IS NULL OR k.revoked > $1) AND (k.expires IS NULL OR k.expires > $1)
        AND (s.until IS NULL OR s.until > $1))";

const ADD_KEY: &str = "INSERT INTO api_keys
    (id, tenant, label, environment, scope, project, created, expires, revoked)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

const ADD_FIRST_SECRET: &str = "INSERT INTO api_key_secrets (prefix, key_id, tenant, hash, until, ordinal)
    VALUES ($1, $2, $3, $4, $5, 1)";

const REVOKE: &str = concat!(
    "UPDATE api_keys k SET revoked = coalesce(k.revoked, $2) WHERE k.id = $1 RETURNING ",
    key_columns!()
);

/// The lock makes two rotations of one key follow each other: the second ends what the first has added.
const LOCK: &str =
    concat!("SELECT ", key_columns!(), " FROM api_keys k WHERE k.id = $1 AND k.revoked IS NULL FOR UPDATE");

const END_SECRETS: &str = "UPDATE api_key_secrets s SET until = $2 FROM api_keys k
    WHERE k.id = $1 AND k.revoked IS NULL AND s.key_id = k.id AND (s.until IS NULL OR s.until > $2)";

const ADD_NEXT_SECRET: &str = "INSERT INTO api_key_secrets (prefix, key_id, tenant, hash, until, ordinal)
    SELECT $2, k.id, k.tenant, $3, $4,
        coalesce((SELECT max(s.ordinal) FROM api_key_secrets s WHERE s.key_id = k.id), 0) + 1
    FROM api_keys k WHERE k.id = $1 AND k.revoked IS NULL";

/// The time of the database: the trait has none for lists.
const LIST: &str = concat!(
    "SELECT ",
    key_columns!(),
    ", b.updated, s.prefix FROM api_keys k
    LEFT JOIN api_key_secrets s ON s.key_id = k.id AND (s.until IS NULL OR s.until > now())
        AND (k.revoked IS NULL OR k.revoked > now()) AND (k.expires IS NULL OR k.expires > now())
    LEFT JOIN rate_buckets b ON b.name = 'key:' || k.id
    WHERE $1::text IS NULL OR k.tenant = $1
    ORDER BY k.created, k.id COLLATE \"C\", s.ordinal DESC"
);

/// Name, capacity, block, tokens per second, seconds to fill an empty bucket. The time is read once, in `VALUES`.
/// By the clock of the database. If that is set back by more than [`lease::JUMP`], or another machine has taken over, tokens
/// come in from there on.
const LEASE: &str = "INSERT INTO rate_buckets AS b (name, tokens, taken, updated, full_by)
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

/// A day later, so that clocks which differ do no harm. What belongs to a key stays: it tells its last use.
const SWEEP: &str =
    "DELETE FROM rate_buckets WHERE full_by < now() - interval '1 day' AND name NOT LIKE 'key:%'";

const SECRET: &str = "INSERT INTO server_secrets AS s (name, value) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET value = s.value RETURNING value";

const READY: &str = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool";

impl AccessStore for Postgres {
    fn key_by_prefix<'a>(&'a self, prefix: &'a str) -> Stored<'a, Option<(KeyRecord, Credential)>> {
        Box::pin(async move {
            if !is_name(prefix) {
                return Ok(None);
            }
            let step = Step { sql: BY_PREFIX, values: &[&prefix] };
            let rows = self.run_one(Work::Read(View::Prefix(prefix), step)).await?;
            rows.first().map(|row| Ok((key(row)?, credential(row)?))).transpose()
        })
    }

    fn has_usable_key(&self, now: Timestamp) -> Stored<'_, bool> {
        Box::pin(async move {
            let step = Step { sql: HAS_USABLE, values: &[&whole(now)] };
            let rows = self.run_one(Work::Read(View::Operator, step)).await?;
            rows.first().map_or(Ok(false), |row| get(row, 0))
        })
    }

    fn add_key(&self, key: KeyRecord, credential: Credential) -> Stored<'_, ()> {
        Box::pin(async move {
            check_key(&key, &credential)?;
            let KeyRecord { id, tenant, label, project, .. } = &key;
            let (environment, scope) = (key.environment.as_str(), key.scope.as_str());
            let (created, expires, revoked) =
                (whole(key.created), key.expires.map(whole), key.revoked.map(whole));
            let Credential { prefix, hash, until } = &credential;
            let steps = [
                Step {
                    sql: ADD_KEY,
                    values: &[id, tenant, label, &environment, &scope, project, &created, &expires, &revoked],
                },
                Step {
                    sql: ADD_FIRST_SECRET,
                    values: &[prefix, id, tenant, &hash.as_slice(), &until.map(whole)],
                },
            ];
            self.run(Work::Write(View::Tenant(tenant), &steps)).await.map(drop)
        })
    }

    fn keys<'a>(&'a self, tenant: Option<&'a str>) -> Stored<'a, Vec<KeyListing>> {
        Box::pin(async move {
            if tenant.is_some_and(|tenant| !is_name(tenant)) {
                return Ok(Vec::new());
            }
            let step = Step { sql: LIST, values: &[&tenant] };
            let rows = self.run_one(Work::Read(tenant.map_or(View::Operator, View::Tenant), step)).await?;
            let read = rows.iter().map(|row| {
                Ok(listing::Row { key: key(row)?, last_used: get(row, 9)?, prefix: get(row, 10)? })
            });
            read.collect::<Result<Vec<_>, _>>().map(listing::fold)
        })
    }

    fn revoke_key<'a>(&'a self, id: &'a str, now: Timestamp) -> Stored<'a, Option<KeyRecord>> {
        Box::pin(async move {
            if !is_name(id) {
                return Ok(None);
            }
            let step = Step { sql: REVOKE, values: &[&id, &whole(now)] };
            let rows = self.run_one(Work::Write(View::Operator, &[step])).await?;
            rows.first().map(key).transpose()
        })
    }

    fn rotate_key<'a>(
        &'a self,
        id: &'a str,
        credential: Credential,
        old_until: Timestamp,
    ) -> Stored<'a, Option<KeyRecord>> {
        Box::pin(async move {
            check_name("the prefix of a key", &credential.prefix)?;
            if !is_name(id) {
                return Ok(None);
            }
            let Credential { prefix, hash, until } = &credential;
            let steps = [
                Step { sql: LOCK, values: &[&id] },
                Step { sql: END_SECRETS, values: &[&id, &whole(old_until)] },
                Step { sql: ADD_NEXT_SECRET, values: &[&id, prefix, &hash.as_slice(), &until.map(whole)] },
            ];
            let answers = self.run(Work::Write(View::Operator, &steps)).await?;
            answers.first().and_then(|rows| rows.first()).map(key).transpose()
        })
    }

    fn lease<'a>(&'a self, bucket: &'a str, terms: Terms, _now: Moment) -> Stored<'a, Lease> {
        Box::pin(async move {
            check_name("a bucket", bucket)?;
            if self.leases.fetch_add(1, Ordering::Relaxed).is_multiple_of(lease::SWEEP_EVERY) {
                self.run(Work::Alone(Step { sql: SWEEP, values: &[] })).await?;
            }
            let (capacity, block) = (f64::from(terms.capacity), f64::from(terms.block));
            let (rate, fill_time) = (lease::rate(terms), lease::fill_time(terms).as_secs_f64());
            // Sent twice it takes twice: the caller gets less than they may have, never more.
            let jump = lease::JUMP.as_secs_f64();
            let step = Step { sql: LEASE, values: &[&bucket, &capacity, &block, &rate, &fill_time, &jump] };
            let rows = self.run_one(Work::Alone(step)).await?;
            let row = rows.first().ok_or_else(|| unreadable("a lease"))?;
            Ok(lease::answer(terms, get(row, 0)?, get(row, 1)?))
        })
    }

    fn secret<'a>(&'a self, name: &'a str, fresh: &'a [u8]) -> Stored<'a, Vec<u8>> {
        Box::pin(async move {
            check_name("a secret", name)?;
            let rows = self.run_one(Work::Alone(Step { sql: SECRET, values: &[&name, &fresh] })).await?;
            rows.first().map_or_else(|| Err(unreadable("a secret")), |row| get(row, 0))
        })
    }

    fn ready(&self) -> Stored<'_, ()> {
        Box::pin(async move {
            let rows = self.run_one(Work::Alone(Step { sql: READY, values: &[] })).await?;
            let only_reads = rows.first().map_or(Ok(true), |row| get(row, 0))?;
            if only_reads {
                return Err(StoreError::Unreachable(
                    "the database can only be read at the moment".to_owned(),
                ));
            }
            Ok(())
        })
    }
}

fn key(row: &Row) -> Result<KeyRecord, StoreError> {
    Ok(KeyRecord {
        id: get(row, 0)?,
        tenant: get(row, 1)?,
        label: get(row, 2)?,
        environment: Environment::parse(&get::<String>(row, 3)?)
            .ok_or_else(|| unreadable("an environment"))?,
        scope: get::<String>(row, 4)?.parse::<Scope>().map_err(|_| unreadable("a scope"))?,
        project: get(row, 5)?,
        created: get(row, 6)?,
        expires: get(row, 7)?,
        revoked: get(row, 8)?,
    })
}

fn credential(row: &Row) -> Result<Credential, StoreError> {
    let hash: Vec<u8> = get(row, 10)?;
    let hash = hash.try_into().map_err(|_| unreadable("the hash of a key"))?;
    Ok(Credential { prefix: get(row, 9)?, hash, until: get(row, 11)? })
}
