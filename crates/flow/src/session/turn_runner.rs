//! Running one turn of a session, and holding on to it meanwhile.
//!
//! Most turns are over before anybody could notice them, and are written down once, at their end. A turn that takes longer,
//! or is about to do something, first writes down that it runs: from then on its answer is not lost, nobody else works on
//! it, and it is told when the session is cancelled.

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

/// A turn that takes longer than this is written down.
const SLOW_TURN_THRESHOLD: Duration = Duration::from_millis(25);

/// Somebody who runs a turn.
struct TurnRunner<'a> {
    sessions: &'a Sessions,
    env: &'a dyn SessionEnv,
    id: &'a str,
    /// As it was before the turn.
    session: &'a Session,
    persisted: Mutex<PersistedTurn>,
}

/// What of it is written down.
struct PersistedTurn {
    location: SessionLocation,
    is_claimed: bool,
    /// How long the journal was when it was last written down.
    journal_len: usize,
}

/// What a turn came to.
struct TurnOutcome {
    turn: Turn,
    journal: Journal,
    location: SessionLocation,
}

/// Runs a turn, and says what was wrong with the answers if the conversation refused them. The session is not written
/// down yet, unless it had to be.
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

/// What keeps a conversation from being written down, as a problem of its session.
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
    /// Runs the conversation, and is heard of while it takes long.
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
        // Whoever goes on with a session that crashed must not crash as well.
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
            // Out of reach is not overtaken: the store may be back before the lease is over. What is dropped is stopped.
            if let Err(halt @ (Halt::Superseded | Halt::TooLong)) = self.renew_lease().await {
                return Ok(Turn::Halted(halt));
            }
        }
    }

    async fn renew_lease(&self) -> Result<(), Halt> {
        // Whoever has it is writing the session down this very moment, which says as much.
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

    /// Writes the session down with a lease.
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
        // What was answered is in the journal by now.
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
