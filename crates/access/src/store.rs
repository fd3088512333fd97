//! What access needs of a store. A method is a whole use case: it happens or it does not.

use std::time::Duration;

use jiff::Timestamp;
use store_api::StoreFuture;

use crate::{KeyCredential, KeyRecord};

/// A key as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyListing {
    /// The key.
    pub key: KeyRecord,
    /// The prefixes of its secrets that still open something, the newest first.
    pub prefixes: Vec<String>,
    /// When a limit was last counted for it: about the time of its last use.
    pub last_used: Option<Timestamp>,
}

/// The tokens that one subject may have: a bucket that fills steadily up to its capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BucketParams {
    /// Tokens that come in each second.
    pub refill_per_second: f64,
    /// The most that the bucket holds.
    pub capacity: u32,
    /// The most that is taken at a time.
    pub max_lease: u32,
}

/// A moment, by both clocks: the one that people set, which can jump, and the one that only goes forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The date and time.
    pub time: Timestamp,
    /// How long the machine has been up: the same for all of its processes, and never set.
    pub uptime: Duration,
}

/// A moment of clocks that were never set.
impl From<Timestamp> for ClockReading {
    fn from(time: Timestamp) -> Self {
        let uptime = Duration::from_micros(u64::try_from(time.as_microsecond()).unwrap_or(0));
        Self { time, uptime }
    }
}

/// Tokens taken out of a bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BucketLease {
    /// How many were taken: at most a block, none if the bucket holds less than one.
    pub granted: u32,
    /// How many whole tokens are left in the bucket.
    pub remaining: u32,
    /// How long until the bucket holds the next whole token, counted from now.
    pub next_token_in: Duration,
}

/// Keys, limits and the secrets of the server itself.
pub trait AccessStore: Send + Sync {
    /// The key that has a secret with this prefix, whatever its state, and that secret.
    fn key_by_prefix<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, Option<(KeyRecord, KeyCredential)>>;

    /// Whether any key could be used now.
    fn has_usable_key(&self, now: Timestamp) -> StoreFuture<'_, bool>;

    /// Keeps a new key with its first secret.
    fn add_key(&self, key: KeyRecord, credential: KeyCredential) -> StoreFuture<'_, ()>;

    /// The keys of a tenant, or all, the oldest first.
    fn list_keys<'a>(&'a self, tenant: Option<&'a str>) -> StoreFuture<'a, Vec<KeyListing>>;

    /// Ends a key. One that was ended before keeps its time. `None`: there is no such key.
    fn revoke_key<'a>(&'a self, id: &'a str, now: Timestamp) -> StoreFuture<'a, Option<KeyRecord>>;

    /// Gives a key a new secret; the old ones end at `old_until`, unless they end before. `None`: there is no such key,
    /// or it has been revoked.
    fn rotate_key<'a>(
        &'a self,
        id: &'a str,
        credential: KeyCredential,
        old_until: Timestamp,
    ) -> StoreFuture<'a, Option<KeyRecord>>;

    /// Takes tokens out of the bucket of this name, in one statement; a new bucket is full. What has come in since is told
    /// by a clock that all replicas share: that of the database, or the uptime of the machine that they run on. A jump of
    /// that clock costs what came in meanwhile, and locks no caller out.
    fn lease_tokens<'a>(
        &'a self,
        bucket: &'a str,
        params: BucketParams,
        now: ClockReading,
    ) -> StoreFuture<'a, BucketLease>;

    /// The secret of this name: what was kept first. `fresh` is kept if there is none.
    fn get_or_insert_secret<'a>(&'a self, name: &'a str, fresh: &'a [u8]) -> StoreFuture<'a, Vec<u8>>;

    /// Whether the store can be read and written.
    fn check_ready(&self) -> StoreFuture<'_, ()>;
}
