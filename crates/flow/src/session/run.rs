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

use super::service::{Held, Place, Sessions};
use super::state::after;
use super::{Problem, Session, SessionEnv};
use crate::{Answers, Cause, Converse, Halt, Journal, Keeper, Keeping, Ledger, Turn, TurnContext};

/// A turn that takes longer than this is written down.
const NOTICEABLE: Duration = Duration::from_millis(25);

/// Somebody who runs a turn.
struct Runner<'a> {
    sessions: &'a Sessions,
    env: &'a dyn SessionEnv,
    id: &'a str,
    /// As it was before the turn.
    session: &'a Session,
    kept: Mutex<Kept>,
}

/// What of it is written down.
struct Kept {
    place: Place,
    is_claimed: bool,
    /// How long the journal was when it was last written down.
    entries: usize,
}

/// What a turn came to.
struct Ran {
    turn: Turn,
    journal: Journal,
    place: Place,
}

/// Runs a turn, and says what was wrong with the answers if the conversation refused them. The session is not written
/// down yet, unless it had to be.
pub(super) async fn turn(
    sessions: &Sessions,
    env: &dyn SessionEnv,
    held: &mut Held,
    mut input: Option<Answers>,
) -> Result<Option<crate::Invalid>, Problem> {
    let tool = held.session.tool();
    let missing = || Problem::NotInteractive { tool: tool.to_owned() };
    let conversation = env.conversation(tool).ok_or_else(missing)?;
    let mut bad_arguments = Vec::new();
    loop {
        held.session.run(input.clone());
        let ran = run(sessions, env, held, conversation.as_ref(), input.take()).await?;
        held.place = ran.place;
        held.session.journal = ran.journal;
        match &ran.turn {
            Turn::Halted(Halt::Overtaken) => return Err(sessions.overtaken(env, held).await),
            Turn::Halted(Halt::NotKept(cause)) => return Err(not_kept(cause)),
            Turn::Halted(halt @ Halt::BadArgument { name, invalid }) if held.session.drop_argument(halt) => {
                bad_arguments.push((name.clone(), invalid.clone()));
            }
            _ => {
                let refused = held.session.settle(ran.turn, env.now(), env.monotonic());
                held.session.complain(bad_arguments);
                return Ok(refused);
            }
        }
    }
}

/// What keeps a conversation from being written down, as a problem of its session.
pub(super) fn not_kept(cause: &Cause) -> Problem {
    let unnamed = || super::StoreError::Unreachable(cause.to_string());
    cause.error::<super::StoreError>().cloned().unwrap_or_else(unnamed).into()
}

async fn run(
    sessions: &Sessions,
    env: &dyn SessionEnv,
    held: &mut Held,
    conversation: &dyn Converse,
    input: Option<Answers>,
) -> Result<Ran, Problem> {
    let place = held.place.clone();
    let spending = held.spending(sessions);
    let kept = Mutex::new(Kept { place, is_claimed: false, entries: 0 });
    let runner = Runner { sessions, env, id: &held.id, session: &held.session, kept };
    let ledger = match &spending {
        Some(spending) => Ledger::Kept(spending),
        None if held.place.is_stored() => Ledger::Kept(&runner),
        None => Ledger::InProcess,
    };
    let mut journal = held.session.journal.clone();
    let turn = runner.watch(conversation, &mut journal, input, ledger).await;
    let mut place = runner.kept.into_inner().place;
    if spending.is_some_and(|spending| spending.is_spent()) {
        place.count_effect();
    }
    match turn {
        Ok(turn) => Ok(Ran { turn, journal, place }),
        Err(problem) => {
            held.place = place;
            if matches!(problem, Problem::TimedOut { .. }) {
                held.session.fail("timed_out", &problem.to_string(), env.now());
                sessions.write(env, held, None).await?;
            }
            Err(problem)
        }
    }
}

impl Runner<'_> {
    /// Runs the conversation, and is heard of while it takes long.
    async fn watch(
        &self,
        conversation: &dyn Converse,
        journal: &mut Journal,
        input: Option<Answers>,
        ledger: Ledger<'_>,
    ) -> Result<Turn, Problem> {
        let limits = self.sessions.limits();
        let context = TurnContext {
            id: self.id,
            arguments: &self.session.arguments,
            context: &self.session.context,
            env: self.env,
            ledger,
            can_ask: true,
        };
        // Whoever goes on with a session that crashed must not crash as well.
        let mut work = AssertUnwindSafe(conversation.advance(journal, input, &context)).catch_unwind();
        let (mut waited, mut next) = (Duration::ZERO, NOTICEABLE);
        loop {
            match select(work, self.env.sleep(next)).await {
                Either::Left((turn, _)) => return Ok(turn.unwrap_or(Turn::Halted(Halt::Crashed))),
                Either::Right(((), rest)) => work = rest,
            }
            waited += next;
            next = limits.heartbeat;
            if waited >= limits.turn {
                return Err(Problem::TimedOut { seconds: limits.turn.as_secs() });
            }
            // Out of reach is not overtaken: the store may be back before the lease is over. What is dropped is stopped.
            if let Err(halt @ (Halt::Overtaken | Halt::TooLong)) = self.be_heard_of().await {
                return Ok(Turn::Halted(halt));
            }
        }
    }

    async fn be_heard_of(&self) -> Result<(), Halt> {
        // Whoever has it is writing the session down this very moment, which says as much.
        let Some(mut kept) = self.kept.try_lock() else { return Ok(()) };
        let Some(version) = kept.place.version().filter(|_| kept.is_claimed) else {
            return self.write(&mut kept, self.session).await;
        };
        let until = after(self.env.now(), self.sessions.limits().lease);
        match self.sessions.store().renew(self.env.owner(), self.id, version, until).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Halt::Overtaken),
            Err(error) => Err(Halt::not_kept(error)),
        }
    }

    /// Writes the session down with a lease.
    async fn write(&self, kept: &mut Kept, session: &Session) -> Result<(), Halt> {
        if !kept.place.is_stored() {
            return Ok(());
        }
        let until = after(self.env.now(), self.sessions.limits().lease);
        let written = self.sessions.put(self.env, self.id, session, &mut kept.place, Some(until)).await;
        match written {
            Ok(true) => {
                kept.is_claimed = true;
                Ok(())
            }
            Ok(false) => Err(Halt::Overtaken),
            Err(Problem::Limit { .. }) => Err(Halt::TooLong),
            Err(Problem::Store(error)) => Err(Halt::not_kept(error)),
            Err(problem) => Err(Halt::not_kept(problem)),
        }
    }

    async fn write_journal(&self, journal: &Journal, is_claim: bool) -> Result<(), Halt> {
        let mut kept = self.kept.lock().await;
        if is_claim && kept.is_claimed && kept.entries == journal.len() {
            return Ok(());
        }
        // What was answered is in the journal by now.
        let session = Session { journal: journal.clone(), pending: None, ..self.session.clone() };
        self.write(&mut kept, &session).await?;
        kept.entries = journal.len();
        Ok(())
    }
}

impl Keeper for Runner<'_> {
    fn claim<'a>(&'a self, journal: &'a Journal) -> Keeping<'a> {
        Box::pin(self.write_journal(journal, true))
    }

    fn save<'a>(&'a self, journal: &'a Journal) -> Keeping<'a> {
        Box::pin(self.write_journal(journal, false))
    }
}
