//! The use cases of sessions: start one, respond to it, ask for its status, cancel it.

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

/// A pause, sooner or later over.
pub type SleepFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The environment that sessions run in: that of one caller.
pub trait SessionEnv: Env {
    /// The caller: whose sessions they are.
    fn owner(&self) -> SessionOwner<'_>;

    /// A reading of this process's monotonic clock.
    fn monotonic(&self) -> ProcessInstant;

    /// Completes after this time.
    fn sleep(&self, duration: Duration) -> SleepFuture;

    /// The conversation of this tool, if there is one that the owner may use.
    fn conversation(&self, tool: &str) -> Option<Box<dyn DynConversation>>;
}

/// How a session begins.
#[derive(Clone, Debug, Default)]
pub struct StartRequest {
    /// The tool.
    pub tool: String,
    /// Arguments, which answer the questions of the same names.
    pub arguments: Answers,
    /// What to remember about it.
    pub context: Map<String, Value>,
    /// How long its user may stay silent, if not as long as usual.
    pub timeout: Option<Duration>,
    /// The client keeps it.
    pub is_stateless: bool,
}

/// Which session.
#[derive(Clone, Copy, Debug)]
pub enum SessionRef<'a> {
    /// The one with this id.
    Id(&'a str),
    /// The one in this token.
    Token(&'a str),
}

/// Where a session stands.
#[derive(Clone, Debug)]
pub struct SessionSnapshot {
    /// Its id.
    pub id: String,
    /// The session.
    pub session: Session,
    /// The session itself, where its client keeps it.
    pub token: Option<String>,
    /// When it ends if nobody says anything.
    pub expires_at: Timestamp,
}

/// What a response came to.
#[derive(Clone, Debug)]
pub struct RespondReply {
    /// Where the session stands now.
    pub snapshot: SessionSnapshot,
    /// What is wrong with the response. `None`: it was accepted.
    pub invalid: Option<InvalidAnswer>,
}

/// The sessions of everybody.
pub struct Sessions {
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) seal: Arc<Seal>,
    pub(super) limits: Limits,
}

impl Sessions {
    /// Kept there, sealed with that.
    pub fn new(store: Arc<dyn SessionStore>, seal: Arc<Seal>, limits: Limits) -> Self {
        Self { store, seal, limits }
    }

    /// How much of everything.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What else is kept beside the sessions for this owner.
    pub fn documents<'a>(
        &'a self,
        owner: SessionOwner<'a>,
        entropy: &'a dyn Entropy,
    ) -> SessionDocuments<'a> {
        SessionDocuments::new(self.store.as_ref(), &self.seal, owner, entropy)
    }

    /// The keys that everything here is sealed with.
    pub fn seal(&self) -> &Arc<Seal> {
        &self.seal
    }

    /// Where they are kept.
    pub fn store(&self) -> &dyn SessionStore {
        self.store.as_ref()
    }

    /// Begins a session, and runs it up to its first question.
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

    /// Takes a response, and runs the session up to its next question.
    pub async fn respond(
        &self,
        env: &dyn SessionEnv,
        session: SessionRef<'_>,
        response: UserResponse,
    ) -> Result<RespondReply, SessionError> {
        // Somebody may have said that they are still there in the meantime, which changes nothing but the version.
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
            // Most likely the answer that was being worked on, sent again: that goes on first.
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
                // What is refused was counted, or else refusals would be free. Where others write at the same time some
                // are missed, but never all of them.
                if loaded.session.counted != counted {
                    self.save_or_end(env, &mut loaded, None).await?;
                }
                return Err(problem);
            }
        };
        Ok(RespondReply { snapshot: self.save_and_snapshot(env, loaded).await?, invalid })
    }

    /// Where it stands. One that nobody works on any more is gone on with.
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

    /// Goes on with a session that nobody works on any more.
    async fn resume_abandoned(
        &self,
        env: &dyn SessionEnv,
        mut loaded: LoadedSession,
    ) -> Result<SessionSnapshot, SessionError> {
        let input = loaded.session.pending.take();
        turn_runner::run_turn(self, env, &mut loaded, input).await?;
        self.save_and_snapshot(env, loaded).await
    }

    /// The same as [`status`](Self::status), and its user counts as present.
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

    /// Whoever only asks where a session stands is told so, even if somebody else was faster to go on with it.
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

    /// Ends a session. If its conversation runs somewhere, it is stopped there.
    pub async fn cancel(
        &self,
        env: &dyn SessionEnv,
        session: SessionRef<'_>,
        reason: Option<&str>,
    ) -> Result<SessionSnapshot, SessionError> {
        // Whoever works on it may write it down in between, again and again; but not without end.
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

    /// Cancels a session that its client keeps: whatever tokens of it there are, they are refused from now on.
    async fn revoke_tokens(
        &self,
        loaded: &LoadedSession,
        spending: &SingleUseGuard<'_>,
    ) -> Result<(), SessionError> {
        if spending.is_spent_in_store().await? {
            // Something was done since: a token that was used already is like one that never was.
            return Err(SessionError::NotFound);
        }
        // Nobody has a token of it for longer: the last turn may begin when its time is all but over.
        let Limits { max_lifetime: longest, turn_timeout: turn, grace_period: grace, .. } = self.limits;
        let forgotten =
            saturating_add(loaded.session.created(), longest.saturating_add(turn).saturating_add(grace));
        if !self.store.mark_used(&cancellation_marker(&loaded.id), forgotten).await? {
            return Err(SessionError::Cancelled);
        }
        // A turn that runs somewhere does nothing any more. What it has begun to do is done, as with sessions in a store.
        match spending.claim(&Journal::default()).await {
            Err(Halt::StoreUnavailable(cause)) => Err(turn_runner::store_error_from_cause(&cause)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
