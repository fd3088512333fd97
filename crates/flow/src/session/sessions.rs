//! The operations on sessions: start, respond, status, keep alive, cancel.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::persistence::{LoadedSession, SessionLocation, cancellation_marker};
use super::state::saturating_add;
use super::transitions::{ResponseOutcome, UserResponse};
use super::{
    Limits, ProcessInstant, SESSION_PREFIX, Session, SessionDocuments, SessionError, SessionOwner,
    SessionState, SessionStore, SingleUseGuard, turn_runner,
};
use crate::{Answers, DynConversation, Entropy, Env, Halt, InvalidAnswer, Journal, JournalStore, Seal};

/// The future returned by [`SessionEnv::sleep`].
pub type SleepFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The environment of the sessions of one caller.
pub trait SessionEnv: Env {
    /// The caller, who owns the sessions.
    fn owner(&self) -> SessionOwner<'_>;

    /// Reads the monotonic clock of this process.
    fn monotonic(&self) -> ProcessInstant;

    /// Completes after `duration`.
    fn sleep(&self, duration: Duration) -> SleepFuture;

    /// Returns the conversation of a tool, if it exists and the owner may use it.
    fn conversation(&self, tool: &str) -> Option<Box<dyn DynConversation>>;
}

/// The parameters of a new session.
#[derive(Clone, Debug, Default)]
pub struct StartRequest {
    /// The name of the tool.
    pub tool: String,
    /// Arguments, which answer the questions with the same names.
    pub arguments: Answers,
    /// Additional data, available to the conversation as [`Flow::context`](crate::Flow::context).
    pub context: Map<String, Value>,
    /// Idle timeout. Defaults to [`Limits::idle_timeout`].
    pub timeout: Option<Duration>,
    /// Whether the client keeps the session, in a token.
    pub is_stateless: bool,
}

/// Refers to a session.
#[derive(Clone, Copy, Debug)]
pub enum SessionRef<'a> {
    /// A stored session, by id.
    Id(&'a str),
    /// A session in a token of the client.
    Token(&'a str),
}

/// The state of a session at one point in time.
#[derive(Clone, Debug)]
pub struct SessionSnapshot {
    /// The session id.
    pub id: String,
    /// The session.
    pub session: Session,
    /// The token that contains the session, if the client keeps it.
    pub token: Option<String>,
    /// When the session expires without further activity.
    pub expires_at: Timestamp,
}

/// The result of a response.
#[derive(Clone, Debug)]
pub struct RespondReply {
    /// The session after the response.
    pub snapshot: SessionSnapshot,
    /// Why the answer was rejected. `None` if it was accepted.
    pub invalid: Option<InvalidAnswer>,
}

/// Manages the sessions of all owners.
pub struct Sessions {
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) seal: Arc<Seal>,
    pub(super) limits: Limits,
}

impl Sessions {
    /// Manages sessions in `store`, sealed with `seal`.
    pub fn new(store: Arc<dyn SessionStore>, seal: Arc<Seal>, limits: Limits) -> Self {
        Self { store, seal, limits }
    }

    /// The limits in effect.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The documents stored next to the sessions of this owner.
    pub fn documents<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        entropy: &'a dyn Entropy,
    ) -> SessionDocuments<'a> {
        SessionDocuments::new(self.store.as_ref(), &self.seal, owner, entropy)
    }

    /// The keys that sessions are sealed with.
    pub fn seal(&self) -> &Arc<Seal> {
        &self.seal
    }

    /// The session store.
    pub fn store(&self) -> &dyn SessionStore {
        self.store.as_ref()
    }

    /// Starts a session and runs it up to its first question.
    pub async fn start(
        &self,
        env: &dyn SessionEnv,
        begin: StartRequest,
    ) -> Result<SessionSnapshot, SessionError> {
        let mut random = [0; 24];
        env.entropy().fill(&mut random);
        let id = format!("{SESSION_PREFIX}{}", URL_SAFE_NO_PAD.encode(random));
        let StartRequest { tool, arguments, context, timeout, is_stateless } = begin;
        let timeout = timeout.unwrap_or(self.limits.idle_timeout).min(self.limits.max_lifetime);
        let session = Session::new(tool, arguments, context, timeout, env.now());
        let place = if is_stateless { SessionLocation::UnissuedToken } else { SessionLocation::Unstored };
        let mut loaded = LoadedSession { id, session, location: place };
        turn_runner::run_turn(self, env, &mut loaded, None).await?;
        self.save_and_snapshot(env, loaded).await
    }

    /// Applies a response and runs the session up to its next question.
    pub async fn respond(
        &self,
        env: &dyn SessionEnv,
        session: SessionRef<'_>,
        response: UserResponse,
    ) -> Result<RespondReply, SessionError> {
        // A concurrent keep-alive changes nothing but the version, so retry.
        for _ in 0..3 {
            let loaded = self.load(env, session).await?;
            let prompt = loaded.session.prompt_id();
            match self.accept_response(env, loaded, response.clone()).await {
                Err(SessionError::WrongState { state: SessionState::WaitingUser })
                    if self.load(env, session).await?.session.prompt_id() == prompt => {}
                other => return other,
            }
        }
        Err(SessionError::WrongState { state: SessionState::WaitingUser })
    }

    async fn accept_response(
        &self,
        env: &dyn SessionEnv,
        mut loaded: LoadedSession,
        response: UserResponse,
    ) -> Result<RespondReply, SessionError> {
        if loaded.is_abandoned(env.now()) {
            // This is most likely a retry of the answer that was being processed, so resume that turn first.
            let state = self.resume_abandoned(env, loaded).await?.session.state();
            return Err(SessionError::WrongState { state });
        }
        let counted = loaded.session.counted;
        let invalid = match loaded.session.accept_response(response, &self.limits, env.now(), env.monotonic())
        {
            Ok(ResponseOutcome::Rejected(invalid)) => Some(invalid),
            Ok(ResponseOutcome::NextField) => None,
            Ok(ResponseOutcome::Continue(input)) => {
                turn_runner::run_turn(self, env, &mut loaded, input).await?
            }
            Err(problem) => {
                // Save the count, or rejected responses would not be rate-limited. Concurrent writes can lose
                // some counts, but never all of them.
                if loaded.session.counted != counted {
                    self.save_or_end(env, &mut loaded, None).await?;
                }
                return Err(problem);
            }
        };
        Ok(RespondReply { snapshot: self.save_and_snapshot(env, loaded).await?, invalid })
    }

    /// Returns the state of a session, and resumes it if its turn was abandoned.
    pub async fn status(
        &self,
        env: &dyn SessionEnv,
        session: SessionRef<'_>,
    ) -> Result<SessionSnapshot, SessionError> {
        let loaded = self.load(env, session).await?;
        if !loaded.is_abandoned(env.now()) {
            return Ok(self.snapshot_loaded(loaded));
        }
        let gone_on = self.resume_abandoned(env, loaded).await;
        self.or_current_snapshot(env, session, gone_on).await
    }

    /// Resumes a session whose turn was abandoned.
    async fn resume_abandoned(
        &self,
        env: &dyn SessionEnv,
        mut loaded: LoadedSession,
    ) -> Result<SessionSnapshot, SessionError> {
        let input = loaded.session.pending.take();
        turn_runner::run_turn(self, env, &mut loaded, input).await?;
        self.save_and_snapshot(env, loaded).await
    }

    /// Like [`status`](Self::status), and resets the idle timeout.
    pub async fn keep_alive(
        &self,
        env: &dyn SessionEnv,
        session: SessionRef<'_>,
    ) -> Result<SessionSnapshot, SessionError> {
        let mut loaded = self.load(env, session).await?;
        if loaded.session.state() != SessionState::WaitingUser {
            return self.status(env, session).await;
        }
        loaded.session.active = env.now();
        let present = self.save_and_snapshot(env, loaded).await;
        self.or_current_snapshot(env, session, present).await
    }

    /// A status request succeeds even if another request resumed the session first.
    async fn or_current_snapshot(
        &self,
        env: &dyn SessionEnv,
        session: SessionRef<'_>,
        gone_on: Result<SessionSnapshot, SessionError>,
    ) -> Result<SessionSnapshot, SessionError> {
        match gone_on {
            Err(SessionError::WrongState { .. } | SessionError::Cancelled) => {
                self.load(env, session).await.map(|loaded| self.snapshot_loaded(loaded))
            }
            gone_on => gone_on,
        }
    }

    fn snapshot_loaded(&self, loaded: LoadedSession) -> SessionSnapshot {
        let token = loaded.location.token().map(str::to_owned);
        self.snapshot(loaded.id, loaded.session, token)
    }

    /// Cancels a session. If its conversation is running in any process, it is stopped.
    pub async fn cancel(
        &self,
        env: &dyn SessionEnv,
        session: SessionRef<'_>,
        reason: Option<&str>,
    ) -> Result<SessionSnapshot, SessionError> {
        // A running turn may save the session in between, so retry, but not forever.
        for _ in 0..20 {
            let mut loaded = self.load(env, session).await?;
            loaded.session.cancel(reason, env.now())?;
            if let Some(spending) = loaded.single_use_guard(self) {
                self.revoke_tokens(&loaded, &spending).await?;
            }
            if self.save_or_end(env, &mut loaded, None).await? {
                return self.snapshot_with_token(env, loaded);
            }
        }
        Err(SessionError::WrongState { state: SessionState::Processing })
    }

    /// Cancels a session that the client keeps: all of its tokens are rejected from now on.
    async fn revoke_tokens(
        &self,
        loaded: &LoadedSession,
        spending: &SingleUseGuard<'_>,
    ) -> Result<(), SessionError> {
        if spending.is_spent_in_store().await? {
            // The token has been used for an effect, and used tokens are reported like unknown ones.
            return Err(SessionError::NotFound);
        }
        // No token outlives this: the last turn may start just before the session reaches its maximum
        // lifetime.
        let Limits { max_lifetime: longest, turn_timeout: turn, grace_period: grace, .. } = self.limits;
        let forgotten =
            saturating_add(loaded.session.created(), longest.saturating_add(turn).saturating_add(grace));
        if !self.store.mark_used(&cancellation_marker(&loaded.id), forgotten).await? {
            return Err(SessionError::Cancelled);
        }
        // Stops a running turn from performing effects. Effects already started complete, as with stored
        // sessions.
        match spending.claim(&Journal::default()).await {
            Err(Halt::StoreUnavailable(cause)) => Err(turn_runner::store_error_from_cause(&cause)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
