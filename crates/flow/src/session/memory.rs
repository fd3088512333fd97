//! Sessions in memory, for tests and for programs that may forget.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::store::{Owner, Row, SessionStore, Stored};

/// A store that ends with the process.
#[derive(Default)]
pub struct Memory {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    sessions: HashMap<String, Session>,
    /// When those end that may still go on, by owner and id: counting them must not take longer the more there are of
    /// others.
    open: HashMap<(String, String), HashMap<String, Timestamp>>,
    spent: HashMap<[u8; 32], Timestamp>,
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
    /// Counts it as open until then, or no longer.
    fn count(&mut self, owner: Owner<'_>, id: &str, until: Option<Timestamp>) {
        let open = self.open.entry((owner.tenant.to_owned(), owner.subject.to_owned())).or_default();
        match until {
            Some(until) => drop(open.insert(id.to_owned(), until)),
            None => drop(open.remove(id)),
        }
    }

    /// A session, if it is there and of this version.
    fn version(&mut self, owner: Owner<'_>, id: &str, version: i64) -> Option<&mut Session> {
        let session = self.sessions.get_mut(id)?;
        (session.belongs_to(owner) && session.version == version).then_some(session)
    }

    /// How many of them may still go on. Those that have ended are not counted again.
    fn counted(&mut self, owner: Owner<'_>, now: Timestamp) -> usize {
        let open = self.open.get_mut(&(owner.tenant.to_owned(), owner.subject.to_owned()));
        open.map_or(0, |open| {
            open.retain(|_, ends| *ends > now);
            open.len()
        })
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
        most: u32,
        now: Timestamp,
    ) -> Stored<'a, bool> {
        Box::pin(async move {
            let mut kept = self.lock();
            if kept.counted(owner, now) >= most as usize {
                return Ok(false);
            }
            kept.count(owner, id, row.is_open.then_some(row.ends));
            let (tenant, subject) = (owner.tenant.to_owned(), owner.subject.to_owned());
            kept.sessions.insert(id.to_owned(), Session { tenant, subject, version: 1, row });
            Ok(true)
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
            let until = row.is_open.then_some(row.ends);
            session.version += 1;
            session.row = row;
            kept.count(owner, id, until);
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
            let Kept { sessions, open, .. } = &mut *kept;
            open.retain(|_, open| {
                open.retain(|id, ends| *ends > now && sessions.contains_key(id));
                !open.is_empty()
            });
            Ok(swept as u64)
        })
    }
}
