//! Sessions in memory, for tests and for programs that may forget.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::Stored;
use super::store::{Admission, Owner, Quota, Row, SESSION_PREFIX, SessionStore};

/// A store that ends with the process.
#[derive(Default)]
pub struct Memory {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    sessions: HashMap<String, Session>,
    /// By owner: counting theirs must not take longer the more there are of others.
    owned: HashMap<(String, String), Owned>,
    spent: HashMap<[u8; 32], Timestamp>,
}

/// When the sessions of one owner end, and what is kept beside them.
#[derive(Default)]
struct Owned {
    /// Those that may still go on.
    open: HashMap<String, Timestamp>,
    /// Sessions that may not, the oldest first.
    ended: BTreeSet<(Timestamp, String)>,
}

impl Owned {
    /// What was open and has ended is so no longer.
    fn close_ended(&mut self, now: Timestamp) {
        for (id, ends) in self.open.extract_if(|_, ends| *ends <= now) {
            if id.starts_with(SESSION_PREFIX) {
                self.ended.insert((ends, id));
            }
        }
    }
}

struct Session {
    tenant: String,
    subject: String,
    version: i64,
    row: Row,
}

impl Session {
    fn belongs_to(&self, owner: Owner<'_>) -> bool {
        self.tenant == owner.tenant && self.subject == owner.subject
    }
}

impl Kept {
    fn owned(&mut self, owner: Owner<'_>) -> &mut Owned {
        self.owned.entry((owner.tenant.to_owned(), owner.subject.to_owned())).or_default()
    }

    /// Counts it as open or not, and no longer as it was when it was to end at another time.
    fn count(
        &mut self,
        owner: Owner<'_>,
        id: &str,
        was: Option<Timestamp>,
        (is_open, ends): (bool, Timestamp),
    ) {
        let theirs = self.owned(owner);
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

    /// A session, if it is there and of this version.
    fn version(&mut self, owner: Owner<'_>, id: &str, version: i64) -> Option<&mut Session> {
        let session = self.sessions.get_mut(id)?;
        (session.belongs_to(owner) && session.version == version).then_some(session)
    }

    /// Forgets those of this owner that have ended, but for so many.
    fn prune(&mut self, owner: Owner<'_>, most: u32) {
        let ended = &mut self.owned(owner).ended;
        let excess = ended.len().saturating_sub(most as usize);
        let oldest: Vec<_> = std::iter::from_fn(|| ended.pop_first()).take(excess).collect();
        for (_, id) in oldest {
            self.sessions.remove(&id);
        }
    }
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionStore for Memory {
    fn is_lasting(&self) -> bool {
        false
    }

    fn begin<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        row: Row,
        quota: Quota,
        now: Timestamp,
    ) -> Stored<'a, Admission> {
        Box::pin(async move {
            let mut kept = self.lock();
            let theirs = kept.owned(owner);
            theirs.close_ended(now);
            if theirs.open.len() >= quota.open as usize {
                return Ok(Admission::Full { until: theirs.open.values().min().copied() });
            }
            kept.count(owner, id, None, (row.is_open, row.ends));
            kept.owned(owner).close_ended(now);
            let (tenant, subject) = (owner.tenant.to_owned(), owner.subject.to_owned());
            kept.sessions.insert(id.to_owned(), Session { tenant, subject, version: 1, row });
            kept.prune(owner, quota.ended);
            Ok(Admission::Begun)
        })
    }

    fn load<'a>(&'a self, owner: Owner<'a>, id: &'a str) -> Stored<'a, Option<(i64, Row)>> {
        Box::pin(async move {
            let kept = self.lock();
            let session = kept.sessions.get(id).filter(|session| session.belongs_to(owner));
            Ok(session.map(|session| (session.version, session.row.clone())))
        })
    }

    fn save<'a>(&'a self, owner: Owner<'a>, id: &'a str, version: i64, row: Row) -> Stored<'a, bool> {
        Box::pin(async move {
            let mut kept = self.lock();
            let Some(session) = kept.version(owner, id, version) else { return Ok(false) };
            let (was, is) = (session.row.ends, (row.is_open, row.ends));
            session.version += 1;
            session.row = row;
            kept.count(owner, id, Some(was), is);
            Ok(true)
        })
    }

    fn renew<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        version: i64,
        leased_until: Timestamp,
    ) -> Stored<'a, bool> {
        Box::pin(async move {
            let mut kept = self.lock();
            let Some(session) = kept.version(owner, id, version) else { return Ok(false) };
            session.row.leased_until = Some(leased_until);
            Ok(true)
        })
    }

    fn spend<'a>(&'a self, token: &'a [u8; 32], forgotten: Timestamp) -> Stored<'a, bool> {
        Box::pin(async move { Ok(self.lock().spent.insert(*token, forgotten).is_none()) })
    }

    fn is_spent<'a>(&'a self, token: &'a [u8; 32]) -> Stored<'a, bool> {
        Box::pin(async move { Ok(self.lock().spent.contains_key(token)) })
    }

    fn sweep(&self, now: Timestamp) -> Stored<'_, u64> {
        Box::pin(async move {
            let mut kept = self.lock();
            let before = kept.sessions.len() + kept.spent.len();
            kept.spent.retain(|_, forgotten| *forgotten > now);
            kept.sessions.retain(|_, session| session.row.forgotten > now);
            let mut swept = before - kept.sessions.len() - kept.spent.len();
            for session in kept.sessions.values_mut().filter(|session| session.row.ends <= now) {
                swept += usize::from(session.row.body.take().is_some());
                session.row.is_open = false;
            }
            let Kept { sessions, owned, .. } = &mut *kept;
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
