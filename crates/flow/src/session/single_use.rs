//! Tokens that can be used for an effect only once.

use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::{SessionStore, StoreError};
use crate::{Halt, Journal, JournalFuture, JournalStore};

/// Ensures that a conversation does not continue twice from the same token once it performs an effect. The
/// client keeps the journal, so this is all that the store records.
pub struct SingleUseGuard<'a> {
    store: &'a dyn SessionStore,
    token_digest: [u8; 32],
    delete_at: Timestamp,
    is_spent: AtomicBool,
}

impl<'a> SingleUseGuard<'a> {
    /// Guards the conversation `id` after `effects` effects. No valid token of it exists after `delete_at`.
    pub fn new(store: &'a dyn SessionStore, id: &str, effects: u32, delete_at: Timestamp) -> Self {
        let token_digest = Sha256::digest(format!("{id} {effects}")).into();
        Self { store, token_digest, delete_at, is_spent: AtomicBool::new(false) }
    }

    /// Whether this turn has performed an effect.
    pub fn is_spent(&self) -> bool {
        self.is_spent.load(Ordering::Acquire)
    }

    /// Whether any turn has performed an effect from this point.
    pub(super) async fn is_spent_in_store(&self) -> Result<bool, StoreError> {
        self.store.is_used(&self.token_digest).await
    }

    async fn spend(&self) -> Result<(), Halt> {
        if self.is_spent() {
            return Ok(());
        }
        match self.store.mark_used(&self.token_digest, self.delete_at).await {
            Ok(true) => {
                self.is_spent.store(true, Ordering::Release);
                Ok(())
            }
            Ok(false) => Err(Halt::Superseded),
            Err(error) => Err(Halt::store_unavailable(error)),
        }
    }
}

impl JournalStore for SingleUseGuard<'_> {
    fn claim<'b>(&'b self, _: &'b Journal) -> JournalFuture<'b> {
        Box::pin(self.spend())
    }

    fn save<'b>(&'b self, _: &'b Journal) -> JournalFuture<'b> {
        Box::pin(self.spend())
    }
}
