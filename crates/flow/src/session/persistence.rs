//! Loads and saves sessions: sealed in the store with a version and a lease, or sealed in a token that the
//! client keeps.

use jiff::Timestamp;
use serde_json::Map;
use sha2::{Digest, Sha256};

use super::error::seconds_until_rounded_up;
use super::sessions::{SessionEnv, SessionRef, SessionSnapshot, Sessions};
use super::state::saturating_add;
use super::token::{self, TokenPayload};
use super::{
    Admission, Session, SessionError, SessionOwner, SessionQuota, SessionRow, SessionState, SingleUseGuard,
};
use crate::Answers;

#[derive(Clone, Debug)]
pub(super) enum SessionLocation {
    /// A new session that will be stored.
    Unstored,
    Stored {
        version: i64,
        leased_until: Option<Timestamp>,
    },
    /// In this token of the client, after `effects` effects.
    Token {
        token: String,
        effects: u32,
    },
    /// A new session that the client will keep.
    UnissuedToken,
}

impl SessionLocation {
    pub(super) fn is_stored(&self) -> bool {
        matches!(self, Self::Unstored | Self::Stored { .. })
    }

    pub(super) fn version(&self) -> Option<i64> {
        match self {
            Self::Stored { version, .. } => Some(*version),
            Self::Unstored | Self::Token { .. } | Self::UnissuedToken => None,
        }
    }

    pub(super) fn token(&self) -> Option<&str> {
        match self {
            Self::Token { token, .. } => Some(token),
            Self::Unstored | Self::Stored { .. } | Self::UnissuedToken => None,
        }
    }

    /// Records an effect, so that the next token differs from the used one.
    pub(super) fn count_effect(&mut self) {
        if let Self::Token { effects, .. } = self {
            *effects += 1;
        }
    }
}

/// A session that is being processed.
pub(super) struct LoadedSession {
    pub(super) id: String,
    pub(super) session: Session,
    pub(super) location: SessionLocation,
}

impl LoadedSession {
    /// Whether a turn was running and its lease has expired.
    pub(super) fn is_abandoned(&self, now: Timestamp) -> bool {
        let runs = matches!(self.session.state(), SessionState::Active | SessionState::Processing);
        let leased =
            matches!(self.location, SessionLocation::Stored { leased_until: Some(until), .. } if until > now);
        runs && !leased
    }

    /// The guard against repeated effects, if the client keeps this session. It is keyed by session and not
    /// by token, because a session has many tokens, and each token has many encodings.
    pub(super) fn single_use_guard<'a>(&self, sessions: &'a Sessions) -> Option<SingleUseGuard<'a>> {
        let SessionLocation::Token { effects, .. } = &self.location else { return None };
        let forgotten = saturating_add(self.session.created(), sessions.limits.max_lifetime);
        Some(SingleUseGuard::new(sessions.store(), &self.id, *effects, forgotten))
    }
}

/// The marker that the store records when a session kept by the client is cancelled.
pub(super) fn cancellation_marker(id: &str) -> [u8; 32] {
    Sha256::digest(format!("{id} cancelled")).into()
}

impl Sessions {
    pub(super) async fn load(
        &self,
        env: &dyn SessionEnv,
        which: SessionRef<'_>,
    ) -> Result<LoadedSession, SessionError> {
        let now = env.now();
        match which {
            SessionRef::Token(token) => {
                let read = token::decode_token(&self.seal, env.owner(), token, now);
                let (id, TokenPayload { effects, session, .. }) = read.ok_or(SessionError::NotFound)?;
                // The token issued by the cancellation contains that state itself and may still be read.
                let says_so = session.state() == SessionState::Cancelled;
                if !says_so && self.store.is_used(&cancellation_marker(&id)).await? {
                    return Err(SessionError::Cancelled);
                }
                let place = SessionLocation::Token { token: token.to_owned(), effects };
                Ok(LoadedSession { id, session, location: place })
            }
            SessionRef::Id(id) => {
                let found = self.store.load(env.owner(), id).await?;
                let (version, row) = found.ok_or(SessionError::NotFound)?;
                let body = row.body.filter(|_| row.expires_at > now).ok_or(SessionError::Expired)?;
                let session = self.unseal(env.owner(), id, &body).ok_or(SessionError::NotFound)?;
                let place = SessionLocation::Stored { version, leased_until: row.leased_until };
                Ok(LoadedSession { id: id.to_owned(), session, location: place })
            }
        }
    }

    fn unseal(&self, owner: SessionOwner<'_>, id: &str, body: &[u8]) -> Option<Session> {
        serde_json::from_slice(&self.seal.decrypt(body, &token::associated_data(owner, id, "session"))?).ok()
    }

    /// Saves the session and returns a snapshot.
    pub(super) async fn save_and_snapshot(
        &self,
        env: &dyn SessionEnv,
        mut loaded: LoadedSession,
    ) -> Result<SessionSnapshot, SessionError> {
        if !self.save_or_end(env, &mut loaded, None).await? {
            return Err(self.conflict_error(env, &loaded).await);
        }
        self.snapshot_with_token(env, loaded)
    }

    pub(super) fn snapshot_with_token(
        &self,
        env: &dyn SessionEnv,
        loaded: LoadedSession,
    ) -> Result<SessionSnapshot, SessionError> {
        let effects = match loaded.location {
            SessionLocation::Unstored | SessionLocation::Stored { .. } => {
                return Ok(self.snapshot(loaded.id, loaded.session, None));
            }
            SessionLocation::UnissuedToken => 0,
            SessionLocation::Token { effects, .. } => effects,
        };
        let expires = loaded.session.expires_at(&self.limits);
        let carried = TokenPayload { expires, effects, session: &loaded.session };
        let token = token::encode_token(&self.seal, env.owner(), &loaded.id, &carried, env.entropy());
        if token.len() > 2 * self.limits.max_session_bytes {
            return Err(SessionError::LimitReached {
                what: "bytes",
                most: self.limits.max_session_bytes,
                retry_after: None,
            });
        }
        Ok(self.snapshot(loaded.id, loaded.session, Some(token)))
    }

    pub(super) fn snapshot(&self, id: String, session: Session, token: Option<String>) -> SessionSnapshot {
        let ends = session.expires_at(&self.limits);
        SessionSnapshot { id, session, token, expires_at: ends }
    }

    /// Saves a session. Returns `false` if another write was first. Ends a session that has become too large.
    pub(super) async fn save_or_end(
        &self,
        env: &dyn SessionEnv,
        loaded: &mut LoadedSession,
        leased_until: Option<Timestamp>,
    ) -> Result<bool, SessionError> {
        let mut written =
            self.save(env, &loaded.id, &loaded.session, &mut loaded.location, leased_until).await;
        if matches!(written, Err(SessionError::LimitReached { what: "bytes", .. }))
            && loaded.session.keep_only_result()
        {
            written = self.save(env, &loaded.id, &loaded.session, &mut loaded.location, leased_until).await;
        }
        if let Err(SessionError::LimitReached { what: "bytes", .. }) = written {
            let now = env.now();
            let Session { tool, timeout, created, .. } = &loaded.session;
            let mut ended = Session::new(tool.clone(), Answers::new(), Map::new(), *timeout, *created);
            ended.fail("conversation_too_long", "the session exceeds its size limit", now);
            self.save(env, &loaded.id, &ended, &mut loaded.location, None).await?;
        }
        written
    }

    pub(super) async fn save(
        &self,
        env: &dyn SessionEnv,
        id: &str,
        session: &Session,
        place: &mut SessionLocation,
        leased_until: Option<Timestamp>,
    ) -> Result<bool, SessionError> {
        if !place.is_stored() {
            return Ok(true);
        }
        let plain = serde_json::to_vec(session).unwrap_or_default();
        if plain.len() > self.limits.max_session_bytes {
            return Err(SessionError::LimitReached {
                what: "bytes",
                most: self.limits.max_session_bytes,
                retry_after: None,
            });
        }
        let about = token::associated_data(env.owner(), id, "session");
        let ends = session.expires_at(&self.limits);
        let row = SessionRow {
            is_open: session.state().is_open(),
            expires_at: ends,
            delete_at: saturating_add(ends, self.limits.retention),
            leased_until,
            body: Some(self.seal.encrypt(&plain, &about, env.entropy())),
        };
        let version = match place.version() {
            None => self.insert_session(env, id, row).await?,
            Some(version) => {
                if !self.store.save(env.owner(), id, version, row).await? {
                    return Ok(false);
                }
                version + 1
            }
        };
        *place = SessionLocation::Stored { version, leased_until };
        Ok(true)
    }

    /// Inserts a new session as version 1.
    async fn insert_session(
        &self,
        env: &dyn SessionEnv,
        id: &str,
        row: SessionRow,
    ) -> Result<i64, SessionError> {
        let quota = SessionQuota {
            max_open: self.limits.max_open_sessions,
            max_ended: self.limits.max_ended_sessions,
        };
        let now = env.now();
        match self.store.insert(env.owner(), id, row, quota, now).await? {
            Admission::Admitted => Ok(1),
            Admission::Full { until } => Err(SessionError::LimitReached {
                what: "sessions",
                most: quota.max_open as usize,
                retry_after: until.map(|until| seconds_until_rounded_up(until, now)),
            }),
        }
    }

    /// Returns the error for a write that lost against another one.
    pub(super) async fn conflict_error(&self, env: &dyn SessionEnv, loaded: &LoadedSession) -> SessionError {
        if !loaded.location.is_stored() {
            // Used tokens are reported like unknown ones.
            return match self.store.is_used(&cancellation_marker(&loaded.id)).await {
                Ok(false) => SessionError::NotFound,
                Ok(true) => SessionError::Cancelled,
                Err(error) => error.into(),
            };
        }
        match self.load(env, SessionRef::Id(&loaded.id)).await {
            Ok(loaded) if loaded.session.state() == SessionState::Cancelled => SessionError::Cancelled,
            Ok(loaded) => SessionError::WrongState { state: loaded.session.state() },
            Err(problem) => problem,
        }
    }
}
