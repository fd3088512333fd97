//! Runs one turn of a session and holds its lease meanwhile.
//!
//! Most turns finish quickly and are saved once, at their end. A slow turn, or one that is about to perform
//! an effect, is saved as running first: from then on its answer cannot be lost, no other process works on
//! it, and it notices when the session is cancelled.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use futures_util::lock::Mutex;

use super::persistence::{LoadedSession, SessionLocation};
use super::sessions::Sessions;
use super::state::saturating_add;
use super::{Session, SessionEnv, SessionError};
use crate::{
    Answers, Durability, DynConversation, Halt, HaltCause, Journal, JournalFuture, JournalStore, Turn,
    TurnContext,
};

/// A turn that takes longer than this is saved while it runs.
const SLOW_TURN_THRESHOLD: Duration = Duration::from_millis(25);

struct TurnRunner<'a> {
    sessions: &'a Sessions,
    env: &'a dyn SessionEnv,
    id: &'a str,
    /// The session before the turn.
    session: &'a Session,
    persisted: Mutex<PersistedTurn>,
}

/// What has been saved of the running turn.
struct PersistedTurn {
    location: SessionLocation,
    is_claimed: bool,
    /// The length of the journal when it was last saved.
    journal_len: usize,
}

struct TurnOutcome {
    turn: Turn,
    journal: Journal,
    location: SessionLocation,
}

/// Runs a turn. Returns the problem if the conversation rejected the answers. The caller has to save the
/// session: it is only saved here if the turn was slow or performed an effect.
pub(super) async fn run_turn(
    sessions: &Sessions,
    env: &dyn SessionEnv,
    loaded: &mut LoadedSession,
    mut input: Option<Answers>,
) -> Result<Option<crate::InvalidAnswer>, SessionError> {
    let tool = loaded.session.tool();
    let missing = || SessionError::NotInteractive { tool: tool.to_owned() };
    let conversation = env.conversation(tool).ok_or_else(missing)?;
    let mut bad_arguments = Vec::new();
    loop {
        loaded.session.mark_running(input.clone());
        let ran = run_conversation(sessions, env, loaded, conversation.as_ref(), input.take()).await?;
        loaded.location = ran.location;
        loaded.session.journal = ran.journal;
        match &ran.turn {
            Turn::Halted(Halt::Superseded) => return Err(sessions.conflict_error(env, loaded).await),
            Turn::Halted(Halt::StoreUnavailable(cause)) => return Err(store_error_from_cause(cause)),
            Turn::Halted(halt @ Halt::InvalidArgument { name, invalid })
                if loaded.session.drop_argument(halt) =>
            {
                bad_arguments.push((name.clone(), invalid.clone()));
            }
            _ => {
                let refused = loaded.session.apply_turn(ran.turn, env.now(), env.monotonic());
                loaded.session.add_problems(bad_arguments);
                return Ok(refused);
            }
        }
    }
}

/// Converts the cause of [`Halt::StoreUnavailable`] into a session error.
pub(super) fn store_error_from_cause(cause: &HaltCause) -> SessionError {
    let unnamed = || super::StoreError::Unreachable(cause.to_string());
    cause.downcast_ref::<super::StoreError>().cloned().unwrap_or_else(unnamed).into()
}

async fn run_conversation(
    sessions: &Sessions,
    env: &dyn SessionEnv,
    loaded: &mut LoadedSession,
    conversation: &dyn DynConversation,
    input: Option<Answers>,
) -> Result<TurnOutcome, SessionError> {
    let place = loaded.location.clone();
    let spending = loaded.single_use_guard(sessions);
    let kept = Mutex::new(PersistedTurn { location: place, is_claimed: false, journal_len: 0 });
    let runner = TurnRunner { sessions, env, id: &loaded.id, session: &loaded.session, persisted: kept };
    let ledger = match &spending {
        Some(spending) => Durability::Stored(spending),
        None if loaded.location.is_stored() => Durability::Stored(&runner),
        None => Durability::InProcess,
    };
    let mut journal = loaded.session.journal.clone();
    let turn = runner.run_with_heartbeat(conversation, &mut journal, input, ledger).await;
    let mut place = runner.persisted.into_inner().location;
    if spending.is_some_and(|spending| spending.is_spent()) {
        place.count_effect();
    }
    match turn {
        Ok(turn) => Ok(TurnOutcome { turn, journal, location: place }),
        Err(problem) => {
            loaded.location = place;
            if matches!(problem, SessionError::TimedOut { .. }) {
                loaded.session.fail("timed_out", &problem.to_string(), env.now());
                sessions.save_or_end(env, loaded, None).await?;
            }
            Err(problem)
        }
    }
}

impl TurnRunner<'_> {
    /// Runs the conversation, renewing the lease while it runs.
    async fn run_with_heartbeat(
        &self,
        conversation: &dyn DynConversation,
        journal: &mut Journal,
        input: Option<Answers>,
        durability: Durability<'_>,
    ) -> Result<Turn, SessionError> {
        let limits = self.sessions.limits();
        let context = TurnContext {
            id: self.id,
            arguments: &self.session.arguments,
            context: &self.session.context,
            env: self.env,
            durability,
            can_ask: true,
        };
        // Catch panics, or every process that resumes this session would crash in turn.
        let mut work = AssertUnwindSafe(conversation.advance(journal, input, &context)).catch_unwind();
        let (mut waited, mut next) = (Duration::ZERO, SLOW_TURN_THRESHOLD);
        loop {
            match select(work, self.env.sleep(next)).await {
                Either::Left((turn, _)) => return Ok(turn.unwrap_or(Turn::Halted(Halt::Panicked))),
                Either::Right(((), rest)) => work = rest,
            }
            waited += next;
            next = limits.heartbeat_interval;
            if waited >= limits.turn_timeout {
                return Err(SessionError::TimedOut { seconds: limits.turn_timeout.as_secs() });
            }
            // Ignore an unreachable store: it may be back before the lease expires. Returning drops, and so
            // stops, the work.
            if let Err(halt @ (Halt::Superseded | Halt::TooLong)) = self.renew_lease().await {
                return Ok(Turn::Halted(halt));
            }
        }
    }

    async fn renew_lease(&self) -> Result<(), Halt> {
        // The lock is only held while the session is being saved, which renews the lease as well.
        let Some(mut kept) = self.persisted.try_lock() else { return Ok(()) };
        let Some(version) = kept.location.version().filter(|_| kept.is_claimed) else {
            return self.save_with_lease(&mut kept, self.session).await;
        };
        let until = saturating_add(self.env.now(), self.sessions.limits().lease_duration);
        match self.sessions.store().renew_lease(self.env.owner(), self.id, version, until).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Halt::Superseded),
            Err(error) => Err(Halt::store_unavailable(error)),
        }
    }

    /// Saves the session with a lease.
    async fn save_with_lease(&self, kept: &mut PersistedTurn, session: &Session) -> Result<(), Halt> {
        if !kept.location.is_stored() {
            return Ok(());
        }
        let until = saturating_add(self.env.now(), self.sessions.limits().lease_duration);
        let written = self.sessions.save(self.env, self.id, session, &mut kept.location, Some(until)).await;
        match written {
            Ok(true) => {
                kept.is_claimed = true;
                Ok(())
            }
            Ok(false) => Err(Halt::Superseded),
            Err(SessionError::LimitReached { .. }) => Err(Halt::TooLong),
            Err(SessionError::Store(error)) => Err(Halt::store_unavailable(error)),
            Err(problem) => Err(Halt::store_unavailable(problem)),
        }
    }

    async fn save_journal(&self, journal: &Journal, is_claim: bool) -> Result<(), Halt> {
        let mut kept = self.persisted.lock().await;
        if is_claim && kept.is_claimed && kept.journal_len == journal.len() {
            return Ok(());
        }
        // The pending answers are in the journal by now.
        let session = Session { journal: journal.clone(), pending: None, ..self.session.clone() };
        self.save_with_lease(&mut kept, &session).await?;
        kept.journal_len = journal.len();
        Ok(())
    }
}

impl JournalStore for TurnRunner<'_> {
    fn claim<'a>(&'a self, journal: &'a Journal) -> JournalFuture<'a> {
        Box::pin(self.save_journal(journal, true))
    }

    fn save<'a>(&'a self, journal: &'a Journal) -> JournalFuture<'a> {
        Box::pin(self.save_journal(journal, false))
    }
}
