//! A store in memory, for tests: it counts who asks, can be slow, and can be out of reach.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use jiff::Timestamp;

use crate::{
    AccessStore, Credential, Environment, KeyListing, KeyRecord, Lease, Moment, Pepper, Scope, StoreError,
    Stored, Terms,
};

/// The store.
#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) keys: Mutex<HashMap<String, (KeyRecord, Credential)>>,
    /// How often it was asked.
    pub(crate) asked: AtomicU32,
    pub(crate) is_slow: AtomicBool,
    pub(crate) is_away: AtomicBool,
    /// It has no space left to write.
    pub(crate) is_full: AtomicBool,
    buckets: Mutex<HashMap<String, (f64, Duration)>>,
}

/// A time, in milliseconds after some noon.
pub(crate) fn at(milliseconds: i64) -> Timestamp {
    let noon: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
    noon + jiff::SignedDuration::from_millis(milliseconds)
}

pub(crate) fn pepper() -> Pepper {
    Pepper::new([7; 32])
}

/// Bytes that differ with every draw, and are the same in every run.
pub(crate) fn random() -> impl Fn(&mut [u8]) {
    let state = std::cell::Cell::new(0x9E37_79B9_u64);
    move |bytes| {
        for byte in bytes {
            state.set(state.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            *byte = state.get().to_be_bytes()[0];
        }
    }
}

pub(crate) fn record() -> KeyRecord {
    KeyRecord {
        id: "key_1".to_owned(),
        tenant: "main".to_owned(),
        label: String::new(),
        environment: Environment::Live,
        scope: Scope::Write,
        project: Some("proj_abc123".to_owned()),
        created: at(0),
        expires: None,
        revoked: None,
    }
}

impl Fake {
    pub(crate) fn keep(&self, record: KeyRecord, credential: Credential) {
        self.keys.lock().unwrap().insert(credential.prefix.clone(), (record, credential));
    }

    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }

    fn reach(&self) -> Result<(), StoreError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.is_away.load(Ordering::Relaxed) {
            return Err(StoreError::Unreachable("made up".to_owned()));
        }
        Ok(())
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]
    fn take(&self, bucket: &str, terms: Terms, now: Duration) -> Lease {
        let mut buckets = self.buckets.lock().unwrap();
        let full = f64::from(terms.capacity);
        let (tokens, last) = buckets.get(bucket).copied().unwrap_or((full, now));
        let tokens = (tokens + now.saturating_sub(last).as_secs_f64() * terms.per_second).min(full);
        let taken = ((tokens + 1e-9).floor() as u32).min(terms.block);
        let rest = tokens - f64::from(taken);
        buckets.insert(bucket.to_owned(), (rest, now));
        let left = (rest + 1e-9).floor().max(0.0) as u32;
        let lacking = if left > 0 { 0.0 } else { (1.0 - rest) / terms.per_second };
        let next_in = Duration::from_micros((lacking * 1e6).ceil() as u64);
        Lease { taken, left, next_in }
    }
}

fn never<'a, T>() -> Stored<'a, T> {
    Box::pin(async { Err(StoreError::Broken("not part of this test".to_owned())) })
}

impl AccessStore for Fake {
    fn key_by_prefix<'a>(&'a self, prefix: &'a str) -> Stored<'a, Option<(KeyRecord, Credential)>> {
        let reached = self.reach();
        Box::pin(async move {
            poll_fn(|_| if self.is_slow.load(Ordering::Relaxed) { Poll::Pending } else { Poll::Ready(()) })
                .await;
            reached.map(|()| self.keys.lock().unwrap().get(prefix).cloned())
        })
    }

    fn lease<'a>(&'a self, bucket: &'a str, terms: Terms, now: Moment) -> Stored<'a, Lease> {
        Box::pin(async move {
            self.reach()?;
            if self.is_full.load(Ordering::Relaxed) {
                return Err(StoreError::Full("made up".to_owned()));
            }
            Ok(self.take(bucket, terms, now.uptime))
        })
    }

    fn has_usable_key(&self, _: Timestamp) -> Stored<'_, bool> {
        never()
    }

    fn add_key(&self, _: KeyRecord, _: Credential) -> Stored<'_, ()> {
        never()
    }

    fn keys<'a>(&'a self, _: Option<&'a str>) -> Stored<'a, Vec<KeyListing>> {
        never()
    }

    fn revoke_key<'a>(&'a self, _: &'a str, _: Timestamp) -> Stored<'a, Option<KeyRecord>> {
        never()
    }

    fn rotate_key<'a>(&'a self, _: &'a str, _: Credential, _: Timestamp) -> Stored<'a, Option<KeyRecord>> {
        never()
    }

    fn secret<'a>(&'a self, _: &'a str, _: &'a [u8]) -> Stored<'a, Vec<u8>> {
        never()
    }

    fn ready(&self) -> Stored<'_, ()> {
        never()
    }
}

/// A store with one key in it, and that key.
pub(crate) fn with_key(change: impl FnOnce(&mut KeyRecord)) -> (Arc<Fake>, String) {
    use secrecy::ExposeSecret;
    let (key, credential) = pepper().issue(Environment::Live, random());
    let (fake, mut record) = (Arc::new(Fake::default()), record());
    change(&mut record);
    fake.keep(record, credential);
    (fake, key.expose_secret().to_owned())
}
