//! The session store interface. Each method is one atomic operation.

use jiff::Timestamp;
use store_api::StoreFuture;

/// The owner of a session. Other owners cannot tell whether the session exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionOwner<'a> {
    /// The tenant of the owner.
    pub tenant: &'a str,
    /// The owner within the tenant.
    pub subject: &'a str,
}

/// A stored session. Its content is in `body`, which is sealed: the store cannot read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Whether the session has not ended. Open sessions count towards the quota of their owner.
    pub is_open: bool,
    /// After this time the content can no longer be read.
    pub expires_at: Timestamp,
    /// After this time the row can be deleted.
    pub delete_at: Timestamp,
    /// A turn is running, and must renew its lease before this time.
    pub leased_until: Option<Timestamp>,
    /// The sealed content. `None` after the session has expired and been swept.
    pub body: Option<Vec<u8>>,
}

/// Prefix of session ids. Ids of documents stored next to sessions start with their kind instead.
pub const SESSION_PREFIX: &str = "session_";

/// The session quota of one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionQuota {
    /// Maximum number of open sessions.
    pub max_open: u32,
    /// Maximum number of ended sessions that are retained.
    pub max_ended: u32,
}

impl SessionQuota {
    /// No limits.
    pub const UNLIMITED: Self = Self { max_open: u32::MAX, max_ended: u32::MAX };
}

/// The result of inserting a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Admission {
    /// The session was inserted.
    Admitted,
    /// The owner has reached the limit of open sessions.
    Full {
        /// When the first of them expires. `None` if there is none, which means that the limit is zero.
        until: Option<Timestamp>,
    },
}

impl Admission {
    /// Whether the session was inserted.
    #[must_use]
    pub fn is_admitted(self) -> bool {
        self == Self::Admitted
    }
}

/// A store for sessions. Every write names the version that it is based on and fails if that is no longer the
/// newest: of several concurrent writes, exactly one succeeds.
pub trait SessionStore: Send + Sync {
    /// Inserts a new session as version 1, unless the owner has reached the quota of sessions that are open
    /// and not expired at `now`. Ids are random and never reused.
    ///
    /// Of the owner's sessions that are closed or expired at `now`, including the new one, the store retains
    /// those that expire last, up to the quota, and deletes the others. Rows whose ids do not start with
    /// [`SESSION_PREFIX`] are not sessions and are never deleted here.
    fn insert<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
        row: SessionRow,
        quota: SessionQuota,
        now: Timestamp,
    ) -> StoreFuture<'a, Admission>;

    /// Returns the session and its version, if this owner has a session with this id.
    fn load<'a>(&'a self, owner: SessionOwner<'a>, id: &'a str)
    -> StoreFuture<'a, Option<(i64, SessionRow)>>;

    /// Replaces version `version` with `row`, which becomes the next version. `false` if it is not the newest
    /// version.
    fn save<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
        version: i64,
        row: SessionRow,
    ) -> StoreFuture<'a, bool>;

    /// Extends the lease of version `version` without changing the version. `false` if it is not the newest
    /// version.
    fn renew_lease<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        id: &'a str,
        version: i64,
        leased_until: Timestamp,
    ) -> StoreFuture<'a, bool>;

    /// Marks a single-use token as used. The mark can be deleted at `forgotten`. `false` if it was already
    /// used.
    fn mark_used<'a>(&'a self, token: &'a [u8; 32], forgotten: Timestamp) -> StoreFuture<'a, bool>;

    /// Whether [`mark_used`](Self::mark_used) has marked this token and the mark has not been deleted.
    fn is_used<'a>(&'a self, token: &'a [u8; 32]) -> StoreFuture<'a, bool>;

    /// Removes the bodies of rows that have expired at `now`, without changing their version, and deletes
    /// rows that are due for deletion. Returns the number of affected rows, at most about a thousand per
    /// call: call it again while it returns many.
    fn sweep(&self, now: Timestamp) -> StoreFuture<'_, u64>;

    /// Whether the data survives the end of the process.
    fn is_durable(&self) -> bool {
        true
    }
}
