//! An in-memory session store, for tests and for programs that need no persistence.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::StoreFuture;
use super::store::{Admission, SESSION_PREFIX, SessionOwner, SessionQuota, SessionRow, SessionStore};

/// A session store that loses everything when the process exits.
#[derive(Default)]
pub struct MemorySessionStore {
    state: Mutex<MemoryState>,
}

#[derive(Default)]
struct MemoryState {
    sessions: HashMap<String, StoredSession>,
    /// Indexed by owner, so that counting the sessions of one owner does not depend on the total number.
    by_owner: HashMap<(String, String), OwnerIndex>,
    spent: HashMap<[u8; 32], Timestamp>,
}

/// The expiry of all sessions and documents of one owner.
#[derive(Default)]
struct OwnerIndex {
    open: HashMap<String, Timestamp>,
    /// Ended sessions, oldest first.
    ended: BTreeSet<(Timestamp, String)>,
}

impl OwnerIndex {
    /// Moves expired sessions from `open` to `ended`.
    fn close_ended(&mut self, now: Timestamp) {
        for (id, ends) in self.open.extract_if(|_, ends| *ends <= now) {
            if id.starts_with(SESSION_PREFIX) {
                self.ended.insert((ends, id));
            }
        }
    }
}

struct StoredSession {
    tenant: String,
    subject: String,
    version: i64,
    row: SessionRow,
}

impl StoredSession {
    fn belongs_to(&self, owner: SessionOwner<'_>) -> bool {
        self.tenant == owner.tenant && self.subject == owner.subject
    }
}

impl MemoryState {
    fn owner_index(&mut self, owner: SessionOwner<'_>) -> &mut OwnerIndex {
        self.by_owner.entry((owner.tenant.to_owned(), owner.subject.to_owned())).or_default()
    }

    /// Updates the index for a session whose state or expiry changed; `was` is its previous expiry.
    fn reindex(
        &mut self,
        owner: SessionOwner<'_>,
        id: &str,
        was: Option<Timestamp>,
        (is_open, ends): (bool, Timestamp),
    ) {
        let theirs = self.owner_index(owner);
        theirs.open.remove(id);
        if let Some(was) = was {
            theirs.ended.remove(&(was, id.to_owned()));
        }
        if is_open {
            theirs.open.insert(id.to_owned(), ends);
        } else if id.starts_with(SESSION_PREFIX) {
            theirs.ended.insert((ends, id.to_owned()));
        }
    }

    /// Returns the session if it exists, belongs to this owner and has this version.
    fn find_version(
        &mut self,
        owner: SessionOwner<'_>,
        id: &str,
        version: i64,
    ) -> Option<&mut StoredSession> {
        let session = self.sessions.get_mut(id)?;
        (session.belongs_to(owner) && session.version == version).then_some(session)
    }

    /// Deletes the oldest ended sessions of this owner beyond `most`.
    fn prune_ended(&mut self, owner: SessionOwner<'_>, most: u32) {
        let ended = &mut self.owner_index(owner).ended;
        let excess = ended.len().saturating_sub(most as usize);
        let oldest: Vec<_> = std::iter::from_fn(|| ended.pop_first()).take(excess).collect();
        for (_, id) in oldest {
            self.sessions.remove(&id);
        }
    }
}

impl MemorySessionStore {
    fn lock(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionStore for MemorySessionStore {
    fn is_durable(&self) -> bool {
        false
    }

    fn insert<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
        row: SessionRow,
        quota: SessionQuota,
        now: Timestamp,
    ) -> StoreFuture<'a, Admission> {
        Box::pin(async move {
            let mut kept = self.lock();
            let theirs = kept.owner_index(owner);
            theirs.close_ended(now);
            if theirs.open.len() >= quota.max_open as usize {
                return Ok(Admission::Full { until: theirs.open.values().min().copied() });
            }
            kept.reindex(owner, id, None, (row.is_open, row.expires_at));
            kept.owner_index(owner).close_ended(now);
            let (tenant, subject) = (owner.tenant.to_owned(), owner.subject.to_owned());
            kept.sessions.insert(id.to_owned(), StoredSession { tenant, subject, version: 1, row });
            kept.prune_ended(owner, quota.max_ended);
            Ok(Admission::Admitted)
        })
    }

    fn load<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
    ) -> StoreFuture<'a, Option<(i64, SessionRow)>> {
        Box::pin(async move {
            let kept = self.lock();
            let session = kept.sessions.get(id).filter(|session| session.belongs_to(owner));
            Ok(session.map(|session| (session.version, session.row.clone())))
        })
    }

    fn save<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
        version: i64,
        row: SessionRow,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let mut kept = self.lock();
            let Some(session) = kept.find_version(owner, id, version) else { return Ok(false) };
            let (was, is) = (session.row.expires_at, (row.is_open, row.expires_at));
            session.version += 1;
            session.row = row;
            kept.reindex(owner, id, Some(was), is);
            Ok(true)
        })
    }

    fn renew_lease<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
        version: i64,
        leased_until: Timestamp,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let mut kept = self.lock();
            let Some(session) = kept.find_version(owner, id, version) else { return Ok(false) };
            session.row.leased_until = Some(leased_until);
            Ok(true)
        })
    }

    fn mark_used<'a>(&'a self, token: &'a [u8; 32], forgotten: Timestamp) -> StoreFuture<'a, bool> {
        Box::pin(async move { Ok(self.lock().spent.insert(*token, forgotten).is_none()) })
    }

    fn is_used<'a>(&'a self, token: &'a [u8; 32]) -> StoreFuture<'a, bool> {
        Box::pin(async move { Ok(self.lock().spent.contains_key(token)) })
    }

    fn sweep(&self, now: Timestamp) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let mut kept = self.lock();
            let before = kept.sessions.len() + kept.spent.len();
            kept.spent.retain(|_, forgotten| *forgotten > now);
            kept.sessions.retain(|_, session| session.row.delete_at > now);
            let mut swept = before - kept.sessions.len() - kept.spent.len();
            for session in kept.sessions.values_mut().filter(|session| session.row.expires_at <= now) {
                swept += usize::from(session.row.body.take().is_some());
                session.row.is_open = false;
            }
            let MemoryState { sessions, by_owner: owned, .. } = &mut *kept;
            owned.retain(|_, owned| {
                owned.close_ended(now);
                owned.open.retain(|id, _| sessions.contains_key(id));
                owned.ended.retain(|(_, id)| sessions.contains_key(id));
                !owned.open.is_empty() || !owned.ended.is_empty()
            });
            Ok(swept as u64)
        })
    }
}
