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

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a session, if it is there and of this version.
    fn change(&self, owner: Owner<'_>, id: &str, version: i64, change: impl FnOnce(&mut Session)) -> bool {
        let mut kept = self.lock();
        let session = kept.sessions.get_mut(id).filter(|session| session.belongs_to(owner));
        session.filter(|session| session.version == version).map(change).is_some()
    }
}

impl SessionStore for Memory {
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
            let is_counted = |session: &&Session| {
                session.belongs_to(owner) && session.row.is_open && session.row.ends > now
            };
            if kept.sessions.values().filter(is_counted).count() >= most as usize {
                return Ok(false);
            }
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
            Ok(self.change(owner, id, version, |session| {
                session.version += 1;
                session.row = row;
            }))
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
            Ok(self.change(owner, id, version, |session| session.row.leased_until = Some(leased_until)))
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
            Ok(swept as u64)
        })
    }
}
