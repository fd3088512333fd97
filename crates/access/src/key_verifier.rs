//! Verifies API keys against the store, with a short-lived cache.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use crate::{
    AccessStore, KeyCredential, KeyEnvironment, KeyRecord, KeyRejection, Pepper, Principal, StoreError,
};

/// How long a cached entry is valid, and so how long a revocation can take to reach every replica.
const CACHE_TTL: Duration = Duration::from_secs(2);
/// From this age on, one caller refreshes the entry while the others still use it.
const CACHE_REFRESH_AFTER: Duration = Duration::from_secs(1);
const MAX_CACHED_KEYS: usize = 4096;

/// Resolves API keys to principals.
pub struct KeyVerifier {
    store: Arc<dyn AccessStore>,
    pepper: Pepper,
    accepts_test_keys: bool,
    cache: Mutex<HashMap<String, KeyCacheEntry>>,
}

/// The result of a store lookup; `None` if no key has this prefix.
type CachedKey = Option<Arc<(KeyRecord, KeyCredential)>>;

struct KeyCacheEntry {
    key: CachedKey,
    fetched_at: Timestamp,
    is_refreshing: bool,
}

enum KeyCacheLookup {
    Fresh(CachedKey),
    /// Still valid, but this caller should refresh it.
    Stale(CachedKey),
    Miss,
}

#[derive(Debug)]
pub enum KeyVerifyError {
    Rejected(KeyRejection),
    /// The store failed, so the key could not be checked.
    Store(StoreError),
}

impl KeyVerifier {
    pub fn new(store: Arc<dyn AccessStore>, pepper: Pepper) -> Self {
        Self { store, pepper, accepts_test_keys: false, cache: Mutex::default() }
    }

    /// Whether to accept test keys (`cf_test_…`), which are shared more freely than live keys.
    #[must_use]
    pub fn accept_test_keys(mut self, accept: bool) -> Self {
        self.accepts_test_keys = accept;
        self
    }

    /// Returns the principal that holds this key.
    pub async fn verify(&self, key: &str, now: Timestamp) -> Result<Principal, KeyVerifyError> {
        let prefix = self
            .check_prefix(key)
            .inspect_err(|_| self.pepper.verify_dummy(key))
            .map_err(KeyVerifyError::Rejected)?;
        let found = match self.lookup_cached(prefix, now) {
            KeyCacheLookup::Fresh(found) => found,
            // The cached entry is still valid if the store is unavailable.
            KeyCacheLookup::Stale(found) => self.fetch_key(prefix, now).await.unwrap_or(found),
            KeyCacheLookup::Miss => self.fetch_key(prefix, now).await?,
        };
        let Some(found) = found else {
            self.pepper.verify_dummy(key);
            return Err(KeyVerifyError::Rejected(KeyRejection::Unknown));
        };
        self.pepper.verify(key, &found.0, &found.1, now).map_err(KeyVerifyError::Rejected)
    }

    fn check_prefix<'k>(&self, key: &'k str) -> Result<&'k str, KeyRejection> {
        let prefix = self.pepper.parse_prefix(key).ok_or(KeyRejection::Malformed)?;
        if KeyEnvironment::from_key(key) == Some(KeyEnvironment::Test) && !self.accepts_test_keys {
            return Err(KeyRejection::TestKey);
        }
        Ok(prefix)
    }

    fn lookup_cached(&self, prefix: &str, now: Timestamp) -> KeyCacheLookup {
        let mut remembered = self.lock();
        let Some(entry) = remembered.get_mut(prefix) else { return KeyCacheLookup::Miss };
        let age = now.duration_since(entry.fetched_at).unsigned_abs();
        if age >= CACHE_TTL {
            KeyCacheLookup::Miss
        } else if age >= CACHE_REFRESH_AFTER && !std::mem::replace(&mut entry.is_refreshing, true) {
            KeyCacheLookup::Stale(entry.key.clone())
        } else {
            KeyCacheLookup::Fresh(entry.key.clone())
        }
    }

    async fn fetch_key(&self, prefix: &str, now: Timestamp) -> Result<CachedKey, KeyVerifyError> {
        let found = self.store.key_by_prefix(prefix).await.map_err(KeyVerifyError::Store)?.map(Arc::new);
        let mut remembered = self.lock();
        if remembered.len() >= MAX_CACHED_KEYS {
            remembered.retain(|_, entry| now.duration_since(entry.fetched_at).unsigned_abs() < CACHE_TTL);
        }
        if remembered.len() < MAX_CACHED_KEYS {
            let entry = KeyCacheEntry { key: found.clone(), fetched_at: now, is_refreshing: false };
            remembered.insert(prefix.to_owned(), entry);
        }
        Ok(found)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, KeyCacheEntry>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
