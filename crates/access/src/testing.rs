//! An in-memory store for tests that counts queries and can be slow, full or unreachable.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use jiff::Timestamp;

use crate::{
    AccessStore, BucketLease, BucketParams, ClockReading, KeyCredential, KeyEnvironment, KeyListing,
    KeyRecord, Pepper, Scope, StoreError, StoreFuture,
};

#[derive(Default)]
pub(crate) struct FakeAccessStore {
    pub(crate) keys: Mutex<HashMap<String, (KeyRecord, KeyCredential)>>,
    pub(crate) query_count: AtomicU32,
    pub(crate) is_slow: AtomicBool,
    pub(crate) is_unreachable: AtomicBool,
    pub(crate) is_full: AtomicBool,
    buckets: Mutex<HashMap<String, (f64, Duration)>>,
}

/// A timestamp some milliseconds after a fixed noon.
pub(crate) fn time_at_ms(milliseconds: i64) -> Timestamp {
    let noon: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
    noon + jiff::SignedDuration::from_millis(milliseconds)
}

pub(crate) fn pepper() -> Pepper {
    Pepper::new([7; 32])
}

/// Bytes that differ on every call, but are the same in every run.
pub(crate) fn deterministic_random() -> impl Fn(&mut [u8]) {
    let state = std::cell::Cell::new(0x9E37_79B9_u64);
    move |bytes| {
        for byte in bytes {
            state.set(state.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            *byte = state.get().to_be_bytes()[0];
        }
    }
}

pub(crate) fn key_record() -> KeyRecord {
    KeyRecord {
        id: "key_1".to_owned(),
        tenant: "main".to_owned(),
        label: String::new(),
        environment: KeyEnvironment::Live,
        scope: Scope::Write,
        project: Some("proj_abc123".to_owned()),
        created: time_at_ms(0),
        expires: None,
        revoked: None,
    }
}

impl FakeAccessStore {
    pub(crate) fn insert_key(&self, record: KeyRecord, credential: KeyCredential) {
        self.keys.lock().unwrap().insert(credential.prefix.clone(), (record, credential));
    }

    pub(crate) fn query_count(&self) -> u32 {
        self.query_count.load(Ordering::Relaxed)
    }

    fn check_reachable(&self) -> Result<(), StoreError> {
        self.query_count.fetch_add(1, Ordering::Relaxed);
        if self.is_unreachable.load(Ordering::Relaxed) {
            return Err(StoreError::Unreachable("made up".to_owned()));
        }
        Ok(())
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]
    fn take_tokens(&self, bucket: &str, params: BucketParams, now: Duration) -> BucketLease {
        let mut buckets = self.buckets.lock().unwrap();
        let full = f64::from(params.capacity);
        let (tokens, last) = buckets.get(bucket).copied().unwrap_or((full, now));
        let tokens = (tokens + now.saturating_sub(last).as_secs_f64() * params.refill_per_second).min(full);
        let taken = ((tokens + 1e-9).floor() as u32).min(params.max_lease);
        let rest = tokens - f64::from(taken);
        buckets.insert(bucket.to_owned(), (rest, now));
        let left = (rest + 1e-9).floor().max(0.0) as u32;
        let lacking = if left > 0 { 0.0 } else { (1.0 - rest) / params.refill_per_second };
        let next_in = Duration::from_micros((lacking * 1e6).ceil() as u64);
        BucketLease { granted: taken, remaining: left, next_token_in: next_in }
    }
}

fn unsupported<'a, T>() -> StoreFuture<'a, T> {
    Box::pin(async { Err(StoreError::Broken("not part of this test".to_owned())) })
}

impl AccessStore for FakeAccessStore {
    fn key_by_prefix<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, Option<(KeyRecord, KeyCredential)>> {
        let reached = self.check_reachable();
        Box::pin(async move {
            poll_fn(|_| if self.is_slow.load(Ordering::Relaxed) { Poll::Pending } else { Poll::Ready(()) })
                .await;
            reached.map(|()| self.keys.lock().unwrap().get(prefix).cloned())
        })
    }

    fn lease_tokens<'a>(
        &'a self,
        bucket: &'a str,
        params: BucketParams,
        now: ClockReading,
    ) -> StoreFuture<'a, BucketLease> {
        Box::pin(async move {
            self.check_reachable()?;
            if self.is_full.load(Ordering::Relaxed) {
                return Err(StoreError::Full("made up".to_owned()));
            }
            Ok(self.take_tokens(bucket, params, now.uptime))
        })
    }

    fn has_usable_key(&self, _: Timestamp) -> StoreFuture<'_, bool> {
        unsupported()
    }

    fn add_key(&self, _: KeyRecord, _: KeyCredential) -> StoreFuture<'_, ()> {
        unsupported()
    }

    fn list_keys<'a>(&'a self, _: Option<&'a str>) -> StoreFuture<'a, Vec<KeyListing>> {
        unsupported()
    }

    fn revoke_key<'a>(&'a self, _: &'a str, _: Timestamp) -> StoreFuture<'a, Option<KeyRecord>> {
        unsupported()
    }

    fn rotate_key<'a>(
        &'a self,
        _: &'a str,
        _: KeyCredential,
        _: Timestamp,
    ) -> StoreFuture<'a, Option<KeyRecord>> {
        unsupported()
    }

    fn get_or_insert_secret<'a>(&'a self, _: &'a str, _: &'a [u8]) -> StoreFuture<'a, Vec<u8>> {
        unsupported()
    }

    fn check_ready(&self) -> StoreFuture<'_, ()> {
        unsupported()
    }
}

/// A store that contains one key, and that key.
pub(crate) fn store_with_key(change: impl FnOnce(&mut KeyRecord)) -> (Arc<FakeAccessStore>, String) {
    use secrecy::ExposeSecret;
    let (key, credential) = pepper().issue(KeyEnvironment::Live, deterministic_random());
    let (fake, mut record) = (Arc::new(FakeAccessStore::default()), key_record());
    change(&mut record);
    fake.insert_key(record, credential);
    (fake, key.expose_secret().to_owned())
}
