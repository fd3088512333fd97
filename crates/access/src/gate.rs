//! Who holds a key: asks the store, and remembers for a moment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use crate::{AccessStore, Credential, Environment, KeyRecord, Pepper, Principal, Refused, StoreError};

/// For how long an answer of the store counts: a revocation holds everywhere after this.
const KEEP: Duration = Duration::from_secs(2);
/// From this age on, one of those who ask looks again while the others go by what is remembered.
const RENEW: Duration = Duration::from_secs(1);
/// How many keys are remembered.
const MOST: usize = 4096;

/// Finds out who holds a key.
pub struct Gate {
    store: Arc<dyn AccessStore>,
    pepper: Pepper,
    /// Keys for trying out open it too.
    accepts_test_keys: bool,
    remembered: Mutex<HashMap<String, Remembered>>,
}

/// What the store said about a prefix: the key, or that there is none.
type Found = Option<Arc<(KeyRecord, Credential)>>;

struct Remembered {
    found: Found,
    at: Timestamp,
    is_being_renewed: bool,
}

/// What is remembered about a prefix.
enum Recall {
    /// Enough to go by.
    Fresh(Found),
    /// Enough for the others; this one should look again.
    Aging(Found),
    Nothing,
}

/// Why somebody is not let in.
#[derive(Debug)]
pub enum Denied {
    /// Because of the key.
    Key(Refused),
    /// Because nobody can say whether the key is good.
    Store(StoreError),
}

impl Gate {
    /// A gate in front of this store.
    pub fn new(store: Arc<dyn AccessStore>, pepper: Pepper) -> Self {
        Self { store, pepper, accepts_test_keys: false, remembered: Mutex::default() }
    }

    /// Keys for trying out (`cf_test_…`) open it too, or not: they are handed around more freely than others.
    #[must_use]
    pub fn accept_test_keys(mut self, accept: bool) -> Self {
        self.accepts_test_keys = accept;
        self
    }

    /// Who holds this key.
    pub async fn enter(&self, key: &str, now: Timestamp) -> Result<Principal, Denied> {
        let prefix = self.prefix(key).inspect_err(|_| self.pepper.judge_in_vain(key)).map_err(Denied::Key)?;
        let found = match self.recall(prefix, now) {
            Recall::Fresh(found) => found,
            // What is remembered still counts if the store is out of reach.
            Recall::Aging(found) => self.ask(prefix, now).await.unwrap_or(found),
            Recall::Nothing => self.ask(prefix, now).await?,
        };
        let Some(found) = found else {
            self.pepper.judge_in_vain(key);
            return Err(Denied::Key(Refused::Unknown));
        };
        self.pepper.judge(key, &found.0, &found.1, now).map_err(Denied::Key)
    }

    fn prefix<'k>(&self, key: &'k str) -> Result<&'k str, Refused> {
        let prefix = self.pepper.prefix(key).ok_or(Refused::Malformed)?;
        if Environment::from_key(key) == Some(Environment::Test) && !self.accepts_test_keys {
            return Err(Refused::TestKey);
        }
        Ok(prefix)
    }

    fn recall(&self, prefix: &str, now: Timestamp) -> Recall {
        let mut remembered = self.lock();
        let Some(entry) = remembered.get_mut(prefix) else { return Recall::Nothing };
        let age = now.duration_since(entry.at).unsigned_abs();
        if age >= KEEP {
            Recall::Nothing
        } else if age >= RENEW && !std::mem::replace(&mut entry.is_being_renewed, true) {
            Recall::Aging(entry.found.clone())
        } else {
            Recall::Fresh(entry.found.clone())
        }
    }

    async fn ask(&self, prefix: &str, now: Timestamp) -> Result<Found, Denied> {
        let found = self.store.key_by_prefix(prefix).await.map_err(Denied::Store)?.map(Arc::new);
        let mut remembered = self.lock();
        if remembered.len() >= MOST {
            remembered.retain(|_, entry| now.duration_since(entry.at).unsigned_abs() < KEEP);
        }
        if remembered.len() < MOST {
            let entry = Remembered { found: found.clone(), at: now, is_being_renewed: false };
            remembered.insert(prefix.to_owned(), entry);
        }
        Ok(found)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Remembered>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
