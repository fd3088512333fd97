//! The access store interface. Each method is one atomic operation.

use std::time::Duration;

use jiff::Timestamp;
use store_api::StoreFuture;

use crate::{KeyCredential, KeyRecord};

/// A key as shown in listings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyListing {
    pub key: KeyRecord,
    /// The prefixes of its valid secrets, newest first.
    pub prefixes: Vec<String>,
    /// When its rate limit was last counted, which approximates its last use.
    pub last_used: Option<Timestamp>,
}

/// The token bucket of one subject, which refills steadily up to its capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BucketParams {
    pub refill_per_second: f64,
    pub capacity: u32,
    /// Maximum number of tokens per lease.
    pub max_lease: u32,
}

/// The current time on two clocks: the wall clock, which can jump, and the uptime, which is monotonic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    pub time: Timestamp,
    /// The uptime of the machine: shared by all of its processes and never adjusted.
    pub uptime: Duration,
}

/// For tests: derives an uptime that agrees with the wall clock.
impl From<Timestamp> for ClockReading {
    fn from(time: Timestamp) -> Self {
        let uptime = Duration::from_micros(u64::try_from(time.as_microsecond()).unwrap_or(0));
        Self { time, uptime }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BucketLease {
    /// Tokens taken: at most `max_lease`, and zero if the bucket contains less than one.
    pub granted: u32,
    /// Whole tokens left in the bucket.
    pub remaining: u32,
    /// Time until the bucket contains the next whole token.
    pub next_token_in: Duration,
}

/// A store for keys, rate limits and server secrets.
pub trait AccessStore: Send + Sync {
    /// Returns the key that has a secret with this prefix, in any state, and that secret.
    fn key_by_prefix<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, Option<(KeyRecord, KeyCredential)>>;

    /// Whether at least one key is valid at `now`.
    fn has_usable_key(&self, now: Timestamp) -> StoreFuture<'_, bool>;

    /// Stores a new key with its first secret.
    fn add_key(&self, key: KeyRecord, credential: KeyCredential) -> StoreFuture<'_, ()>;

    /// Lists the keys of a tenant, or all keys, oldest first.
    fn list_keys<'a>(&'a self, tenant: Option<&'a str>) -> StoreFuture<'a, Vec<KeyListing>>;

    /// Revokes a key. A key that is already revoked keeps its original time. `None` if there is no such key.
    fn revoke_key<'a>(&'a self, id: &'a str, now: Timestamp) -> StoreFuture<'a, Option<KeyRecord>>;

    /// Adds a new secret to a key; the old secrets expire at `old_until`, unless they expire earlier. `None`
    /// if there is no such key or it has been revoked.
    fn rotate_key<'a>(
        &'a self,
        id: &'a str,
        credential: KeyCredential,
        old_until: Timestamp,
    ) -> StoreFuture<'a, Option<KeyRecord>>;

    /// Takes tokens from a bucket in one statement; a new bucket is full. The refill is computed with a clock
    /// that all replicas share: that of the database, or the uptime of their machine. If that clock jumps,
    /// tokens refilled in the meantime are lost, but no caller is locked out.
    fn lease_tokens<'a>(
        &'a self,
        bucket: &'a str,
        params: BucketParams,
        now: ClockReading,
    ) -> StoreFuture<'a, BucketLease>;

    /// Returns the secret with this name, storing `fresh` if there is none. The first stored value wins.
    fn get_or_insert_secret<'a>(&'a self, name: &'a str, fresh: &'a [u8]) -> StoreFuture<'a, Vec<u8>>;

    /// Checks that the store can be read and written.
    fn check_ready(&self) -> StoreFuture<'_, ()>;
}
