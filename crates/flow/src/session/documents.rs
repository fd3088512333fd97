//! Documents stored next to sessions: sealed, bound to their owner, expiring, and visible to all replicas.
//!
//! They are rows of the same store that are never open, so they do not count towards an owner's sessions.

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::token::associated_data;
use super::{SessionOwner, SessionQuota, SessionRow, SessionStore, StoreError};
use crate::{Entropy, Seal};

/// How many times a write is attempted that keeps losing against others.
const MAX_UPDATE_ATTEMPTS: usize = 8;

/// The documents of one owner.
pub struct SessionDocuments<'a> {
    store: &'a dyn SessionStore,
    seal: &'a Seal,
    owner: SessionOwner<'a>,
    entropy: &'a dyn Entropy,
}

impl<'a> SessionDocuments<'a> {
    pub(super) fn new(
        store: &'a dyn SessionStore,
        seal: &'a Seal,
        owner: SessionOwner<'a>,
        entropy: &'a dyn Entropy,
    ) -> Self {
        Self { store, seal, owner, entropy }
    }

    /// Returns the document of this kind and name, unless it has expired.
    pub async fn get(&self, kind: &str, name: &str, now: Timestamp) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.load(kind, name, now).await?.1)
    }

    /// Stores a document until `expires`, replacing any document with this kind and name.
    pub async fn put(
        &self,
        kind: &str,
        name: &str,
        bytes: &[u8],
        now: Timestamp,
        expires: Timestamp,
    ) -> Result<(), StoreError> {
        self.update(kind, name, now, |_| Some((bytes.to_vec(), expires))).await
    }

    /// Replaces a document with the result of `change`; `None` deletes it. `change` runs again if another
    /// write was first.
    pub async fn update(
        &self,
        kind: &str,
        name: &str,
        now: Timestamp,
        change: impl Fn(Option<Vec<u8>>) -> Option<(Vec<u8>, Timestamp)>,
    ) -> Result<(), StoreError> {
        for _ in 0..MAX_UPDATE_ATTEMPTS {
            let (version, found) = self.load(kind, name, now).await?;
            let id = self.row_id(kind, name);
            let row = match change(found) {
                Some((bytes, expires)) => {
                    let body =
                        self.seal.encrypt(&bytes, &associated_data(self.owner, &id, kind), self.entropy);
                    SessionRow {
                        is_open: false,
                        expires_at: expires,
                        delete_at: expires,
                        leased_until: None,
                        body: Some(body),
                    }
                }
                None if version.is_none() => return Ok(()),
                None => SessionRow {
                    is_open: false,
                    expires_at: now,
                    delete_at: now,
                    leased_until: None,
                    body: None,
                },
            };
            let is_kept = match version {
                Some(version) => self.store.save(self.owner, &id, version, row).await?,
                None => match self.store.insert(self.owner, &id, row, SessionQuota::UNLIMITED, now).await {
                    Ok(admission) => admission.is_admitted(),
                    // On concurrent inserts, one of them finds the row of the other.
                    Err(error) => match self.store.load(self.owner, &id).await? {
                        Some(_) => false,
                        None => return Err(error),
                    },
                },
            };
            if is_kept {
                return Ok(());
            }
        }
        Err(StoreError::Unreachable("too many concurrent writes to one document".to_owned()))
    }

    async fn load(
        &self,
        kind: &str,
        name: &str,
        now: Timestamp,
    ) -> Result<(Option<i64>, Option<Vec<u8>>), StoreError> {
        let id = self.row_id(kind, name);
        let Some((version, row)) = self.store.load(self.owner, &id).await? else { return Ok((None, None)) };
        let body = row.body.filter(|_| row.expires_at > now);
        let bytes = body.and_then(|body| self.seal.decrypt(&body, &associated_data(self.owner, &id, kind)));
        Ok((Some(version), bytes))
    }

    /// All owners share one id space, so the owner is hashed into the id.
    fn row_id(&self, kind: &str, name: &str) -> String {
        let digest = Sha256::digest(associated_data(self.owner, name, kind));
        digest.iter().take(24).fold(format!("{kind}_"), |id, byte| format!("{id}{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;
    use jiff::SignedDuration;

    use super::*;
    use crate::session::{Limits, MemorySessionStore, Sessions};
    use crate::{SealKey, TurnContext};

    fn timestamp(second: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second)
    }

    #[test]
    fn document_is_readable_only_by_its_owner_until_it_expires() {
        let arguments = serde_json::Map::new();
        let entropy = TurnContext::for_tests(&arguments).env.entropy();
        let store = Arc::new(MemorySessionStore::default());
        let sessions = |key: u8| {
            Sessions::new(
                store.clone(),
                Arc::new(Seal::new(SealKey::from_bytes([key; 32]))),
                Limits::default(),
            )
        };
        let (ours, rekeyed) = (sessions(1), sessions(2));
        let owner = SessionOwner { tenant: "acme", subject: "key:1" };
        let mine = ours.documents(owner, entropy);
        async {
            mine.put("plan", "p", b"one", timestamp(0), timestamp(10)).await.unwrap();
            assert_eq!(mine.get("plan", "p", timestamp(9)).await.unwrap().as_deref(), Some(&b"one"[..]));
            assert_eq!(mine.get("plan", "p", timestamp(10)).await.unwrap(), None);
            assert_eq!(mine.get("other", "p", timestamp(1)).await.unwrap(), None);
            for other in
                [SessionOwner { tenant: "evil", ..owner }, SessionOwner { subject: "key:2", ..owner }]
            {
                let other = ours.documents(other, entropy);
                assert_eq!(other.get("plan", "p", timestamp(1)).await.unwrap(), None);
                other.put("plan", "p", b"theirs", timestamp(1), timestamp(10)).await.unwrap();
            }
            assert_eq!(rekeyed.documents(owner, entropy).get("plan", "p", timestamp(1)).await.unwrap(), None);
            mine.update("plan", "p", timestamp(1), |old| {
                Some(([old.unwrap(), b"!".to_vec()].concat(), timestamp(20)))
            })
            .await
            .unwrap();
            assert_eq!(mine.get("plan", "p", timestamp(15)).await.unwrap().as_deref(), Some(&b"one!"[..]));
            mine.update("plan", "p", timestamp(15), |_| None).await.unwrap();
            assert_eq!(mine.get("plan", "p", timestamp(15)).await.unwrap(), None);
            mine.put("plan", "p", b"again", timestamp(16), timestamp(20)).await.unwrap();
            assert_eq!(mine.get("plan", "p", timestamp(17)).await.unwrap().as_deref(), Some(&b"again"[..]));
        }
        .now_or_never()
        .unwrap();
    }
}
