//! What sessions need of a store. A method is a whole use case: it happens or it does not.

use jiff::Timestamp;
use store_api::StoreFuture;

/// Whose session it is. Nobody else can tell whether it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionOwner<'a> {
    /// The tenant that the owner belongs to.
    pub tenant: &'a str,
    /// The owner.
    pub subject: &'a str,
}

/// A session as a store keeps it. What was said in it is in `body`, which the store cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// It may still go on: it counts towards the most that an owner may have.
    pub is_open: bool,
    /// From then on nobody is shown what is in it.
    pub expires_at: Timestamp,
    /// From then on nobody remembers that there was one.
    pub delete_at: Timestamp,
    /// Somebody works on it, and has to be heard of again until then.
    pub leased_until: Option<Timestamp>,
    /// What is in it, sealed. `None` once it has ended and been swept.
    pub body: Option<Vec<u8>>,
}

/// What the ids of sessions begin with. Those of documents that are kept beside them begin with their kind.
pub const SESSION_PREFIX: &str = "session_";

/// How many sessions one owner may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionQuota {
    /// Open at once.
    pub max_open: u32,
    /// Ended, and remembered.
    pub max_ended: u32,
}

impl SessionQuota {
    /// As many as there are.
    pub const UNLIMITED: Self = Self { max_open: u32::MAX, max_ended: u32::MAX };
}

/// What came of beginning a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Admission {
    /// It is kept.
    Admitted,
    /// The owner has as many open sessions as they may have.
    Full {
        /// When the first of them ends by itself. `None`: there is none, so they may have none.
        until: Option<Timestamp>,
    },
}

impl Admission {
    /// Whether it is kept.
    #[must_use]
    pub fn is_admitted(self) -> bool {
        self == Self::Admitted
    }
}

/// Where sessions are kept. Every change names the version that it was made from, and does not happen if another change
/// was faster: of many that happen at once, one succeeds.
pub trait SessionStore: Send + Sync {
    /// Keeps a new session as version 1, unless the owner has as many sessions as the quota allows that are open and have
    /// not ended by `now`. Ids are drawn at random and never come twice.
    ///
    /// Of the owner's sessions that are closed or have ended by then, the new one included, those that end latest are kept,
    /// as many as the quota says; the others are deleted. Rows whose ids do not begin with [`SESSION_PREFIX`] are no
    /// sessions, and stay.
    fn insert<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
        row: SessionRow,
        quota: SessionQuota,
        now: Timestamp,
    ) -> StoreFuture<'a, Admission>;

    /// The session and its version, if there is one of this id and owner.
    fn load<'a>(&'a self, owner: SessionOwner<'a>, id: &'a str)
    -> StoreFuture<'a, Option<(i64, SessionRow)>>;

    /// Replaces version `version` by `row`, which becomes the next one. `false`: it is not the newest version.
    fn save<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
        version: i64,
        row: SessionRow,
    ) -> StoreFuture<'a, bool>;

    /// Extends the lease of version `version`, which stays the version that it is. `false`: it is not the newest.
    fn renew_lease<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
        version: i64,
        leased_until: Timestamp,
    ) -> StoreFuture<'a, bool>;

    /// Notes that something was used that may be used once; it can be forgotten at `forgotten`. `false`: it was used
    /// before.
    fn mark_used<'a>(&'a self, token: &'a [u8; 32], forgotten: Timestamp) -> StoreFuture<'a, bool>;

    /// Whether it was noted, by [`spend`](Self::spend), that this was used, and is not forgotten yet.
    fn is_used<'a>(&'a self, token: &'a [u8; 32]) -> StoreFuture<'a, bool>;

    /// Takes the bodies out of what has ended by `now`, which changes no version, and deletes what can be forgotten by then. Returns how many rows
    /// that concerned, at most about a thousand at a time: call it again while it finds many.
    fn sweep(&self, now: Timestamp) -> StoreFuture<'_, u64>;

    /// Whether what it keeps is there after the process has ended.
    fn is_durable(&self) -> bool {
        true
    }
}
