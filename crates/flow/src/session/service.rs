//! Beginning sessions, going on with them, ending them.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::machine::{Response, Taken};
use super::problem::whole_seconds_until;
use super::state::after;
use super::token::{self, Carried};
use super::{
    Admission, Documents, Limits, Moment, Owner, Problem, Quota, Row, SESSION_PREFIX, Session, SessionStore,
    Spending, State, run,
};
use crate::{Answers, Converse, Entropy, Env, Halt, Invalid, Journal, Keeper, Seal};

/// A pause, sooner or later over.
pub type Pause = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The environment that sessions run in: that of one caller.
pub trait SessionEnv: Env {
    /// The caller: whose sessions they are.
    fn owner(&self) -> Owner<'_>;

    /// A reading of this process's monotonic clock.
    fn monotonic(&self) -> Moment;

    /// Completes after this time.
    fn sleep(&self, duration: Duration) -> Pause;

    /// The conversation of this tool, if there is one that the owner may use.
    fn conversation(&self, tool: &str) -> Option<Box<dyn Converse>>;
}

/// How a session begins.
#[derive(Clone, Debug, Default)]
pub struct Begin {
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
pub enum Which<'a> {
    /// The one with this id.
    Id(&'a str),
    /// The one in this token.
    Token(&'a str),
}

/// Where a session stands.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Its id.
    pub id: String,
    /// The session.
    pub session: Session,
    /// The session itself, where its client keeps it.
    pub token: Option<String>,
    /// When it ends if nobody says anything.
    pub ends: Timestamp,
}

/// What a response came to.
#[derive(Clone, Debug)]
pub struct Responded {
    /// Where the session stands now.
    pub standing: Standing,
    /// What is wrong with the response. `None`: it was accepted.
    pub invalid: Option<Invalid>,
}

/// Where a session is kept.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// Nowhere yet; the store will.
    Unstored,
    /// In the store, in this version.
    Stored { version: i64, leased_until: Option<Timestamp> },
    /// With the client, who has this token. So often was something done in it.
    Token { token: String, effects: u32 },
    /// Nowhere yet; the client will.
    NoToken,
}

impl Place {
    pub(super) fn is_stored(&self) -> bool {
        matches!(self, Self::Unstored | Self::Stored { .. })
    }

    pub(super) fn version(&self) -> Option<i64> {
        match self {
            Self::Stored { version, .. } => Some(*version),
            Self::Unstored | Self::Token { .. } | Self::NoToken => None,
        }
    }

    fn token(&self) -> Option<&str> {
        match self {
            Self::Token { token, .. } => Some(token),
            Self::Unstored | Self::Stored { .. } | Self::NoToken => None,
        }
    }

    /// Something was done.
    pub(super) fn count_effect(&mut self) {
        if let Self::Token { effects, .. } = self {
            *effects += 1;
        }
    }
}

/// A session in the hands of somebody who works on it.
pub(super) struct Held {
    pub(super) id: String,
    pub(super) session: Session,
    pub(super) place: Place,
}

impl Held {
    /// Somebody worked on it and was not heard of since.
    fn is_abandoned(&self, now: Timestamp) -> bool {
        let runs = matches!(self.session.state(), State::Active | State::Processing);
        let leased = matches!(self.place, Place::Stored { leased_until: Some(until), .. } if until > now);
        runs && !leased
    }

    /// What sees to it that nothing is done twice, if the client keeps this session. It is about the session and not about
    /// a token: there are many of one session, and each can be written in many ways.
    pub(super) fn spending<'a>(&self, sessions: &'a Sessions) -> Option<Spending<'a>> {
        let Place::Token { effects, .. } = &self.place else { return None };
        let forgotten = after(self.session.created(), sessions.limits.longest);
        Some(Spending::new(sessions.store(), &self.id, *effects, forgotten))
    }
}

/// What is noted when a session that its client keeps is cancelled.
fn cancellation(id: &str) -> [u8; 32] {
    Sha256::digest(format!("{id} cancelled")).into()
}

/// The sessions of everybody.
pub struct Sessions {
    store: Arc<dyn SessionStore>,
    seal: Arc<Seal>,
    limits: Limits,
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
    pub fn documents<'a>(&'a self, owner: Owner<'a>, entropy: &'a dyn Entropy) -> Documents<'a> {
        Documents::new(self.store.as_ref(), &self.seal, owner, entropy)
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
    pub async fn start(&self, env: &dyn SessionEnv, begin: Begin) -> Result<Standing, Problem> {
        let mut random = [0; 24];
        env.entropy().fill(&mut random);
        let id = format!("{SESSION_PREFIX}{}", URL_SAFE_NO_PAD.encode(random));
        let Begin { tool, arguments, context, timeout, is_stateless } = begin;
        let timeout = timeout.unwrap_or(self.limits.idle).min(self.limits.longest);
        let session = Session::new(tool, arguments, context, timeout, env.now());
        let place = if is_stateless { Place::NoToken } else { Place::Unstored };
        let mut held = Held { id, session, place };
        run::turn(self, env, &mut held, None).await?;
        self.finish(env, held).await
    }

    /// Takes a response, and runs the session up to its next question.
    pub async fn respond(
        &self,
        env: &dyn SessionEnv,
        which: Which<'_>,
        response: Response,
    ) -> Result<Responded, Problem> {
        // Somebody may have said that they are still there in the meantime, which changes nothing but the version.
        for _ in 0..3 {
            let held = self.load(env, which).await?;
            let prompt = held.session.prompt_id();
            match self.take(env, held, response.clone()).await {
                Err(Problem::WrongState { state: State::WaitingUser })
                    if self.load(env, which).await?.session.prompt_id() == prompt => {}
                other => return other,
            }
        }
        Err(Problem::WrongState { state: State::WaitingUser })
    }

    async fn take(
        &self,
        env: &dyn SessionEnv,
        mut held: Held,
        response: Response,
    ) -> Result<Responded, Problem> {
        if held.is_abandoned(env.now()) {
            // Most likely the answer that was being worked on, sent again: that goes on first.
            let state = self.take_over(env, held).await?.session.state();
            return Err(Problem::WrongState { state });
        }
        let counted = held.session.counted;
        let invalid = match held.session.take(response, &self.limits, env.now(), env.monotonic()) {
            Ok(Taken::Refused(invalid)) => Some(invalid),
            Ok(Taken::NextField) => None,
            Ok(Taken::GoOn(input)) => run::turn(self, env, &mut held, input).await?,
            Err(problem) => {
                // What is refused was counted, or else refusals would be free. Where others write at the same time some
                // are missed, but never all of them.
                if held.session.counted != counted {
                    self.write(env, &mut held, None).await?;
                }
                return Err(problem);
            }
        };
        Ok(Responded { standing: self.finish(env, held).await?, invalid })
    }

    /// Where it stands. One that nobody works on any more is gone on with.
    pub async fn look(&self, env: &dyn SessionEnv, which: Which<'_>) -> Result<Standing, Problem> {
        let held = self.load(env, which).await?;
        if !held.is_abandoned(env.now()) {
            return Ok(self.seen(held));
        }
        let gone_on = self.take_over(env, held).await;
        self.or_as_it_stands(env, which, gone_on).await
    }

    /// Goes on with a session that nobody works on any more.
    async fn take_over(&self, env: &dyn SessionEnv, mut held: Held) -> Result<Standing, Problem> {
        let input = held.session.pending.take();
        run::turn(self, env, &mut held, input).await?;
        self.finish(env, held).await
    }

    /// The same as [`look`](Self::look), and its user counts as present.
    pub async fn go_on(&self, env: &dyn SessionEnv, which: Which<'_>) -> Result<Standing, Problem> {
        let mut held = self.load(env, which).await?;
        if held.session.state() != State::WaitingUser {
            return self.look(env, which).await;
        }
        held.session.active = env.now();
        let present = self.finish(env, held).await;
        self.or_as_it_stands(env, which, present).await
    }

    /// Whoever only asks where a session stands is told so, even if somebody else was faster to go on with it.
    async fn or_as_it_stands(
        &self,
        env: &dyn SessionEnv,
        which: Which<'_>,
        gone_on: Result<Standing, Problem>,
    ) -> Result<Standing, Problem> {
        match gone_on {
            Err(Problem::WrongState { .. } | Problem::Cancelled) => {
                self.load(env, which).await.map(|held| self.seen(held))
            }
            gone_on => gone_on,
        }
    }

    fn seen(&self, held: Held) -> Standing {
        let token = held.place.token().map(str::to_owned);
        self.standing(held.id, held.session, token)
    }

    /// Ends a session. If its conversation runs somewhere, it is stopped there.
    pub async fn cancel(
        &self,
        env: &dyn SessionEnv,
        which: Which<'_>,
        reason: Option<&str>,
    ) -> Result<Standing, Problem> {
        // Whoever works on it may write it down in between, again and again; but not without end.
        for _ in 0..20 {
            let mut held = self.load(env, which).await?;
            held.session.cancel(reason, env.now())?;
            if let Some(spending) = held.spending(self) {
                self.cancel_tokens(&held, &spending).await?;
            }
            if self.write(env, &mut held, None).await? {
                return self.finish_token(env, held);
            }
        }
        Err(Problem::WrongState { state: State::Processing })
    }

    /// Cancels a session that its client keeps: whatever tokens of it there are, they are refused from now on.
    async fn cancel_tokens(&self, held: &Held, spending: &Spending<'_>) -> Result<(), Problem> {
        if spending.was_spent().await? {
            // Something was done since: a token that was used already is like one that never was.
            return Err(Problem::NotFound);
        }
        // Nobody has a token of it for longer: the last turn may begin when its time is all but over.
        let Limits { longest, turn, grace, .. } = self.limits;
        let forgotten = after(held.session.created(), longest.saturating_add(turn).saturating_add(grace));
        if !self.store.spend(&cancellation(&held.id), forgotten).await? {
            return Err(Problem::Cancelled);
        }
        // A turn that runs somewhere does nothing any more. What it has begun to do is done, as with sessions in a store.
        match spending.claim(&Journal::default()).await {
            Err(Halt::NotKept(cause)) => Err(run::not_kept(&cause)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    async fn load(&self, env: &dyn SessionEnv, which: Which<'_>) -> Result<Held, Problem> {
        let now = env.now();
        match which {
            Which::Token(token) => {
                let read = token::read(&self.seal, env.owner(), token, now);
                let (id, Carried { effects, session, .. }) = read.ok_or(Problem::NotFound)?;
                // The token that came of the cancellation says so itself, and may be looked at.
                let says_so = session.state() == State::Cancelled;
                if !says_so && self.store.is_spent(&cancellation(&id)).await? {
                    return Err(Problem::Cancelled);
                }
                let place = Place::Token { token: token.to_owned(), effects };
                Ok(Held { id, session, place })
            }
            Which::Id(id) => {
                let found = self.store.load(env.owner(), id).await?;
                let (version, row) = found.ok_or(Problem::NotFound)?;
                let body = row.body.filter(|_| row.ends > now).ok_or(Problem::Expired)?;
                let session = self.unseal(env.owner(), id, &body).ok_or(Problem::NotFound)?;
                let place = Place::Stored { version, leased_until: row.leased_until };
                Ok(Held { id: id.to_owned(), session, place })
            }
        }
    }

    fn unseal(&self, owner: Owner<'_>, id: &str, body: &[u8]) -> Option<Session> {
        serde_json::from_slice(&self.seal.unlock(body, &token::about(owner, id, "session"))?).ok()
    }

    /// Writes it down, and says where it stands.
    async fn finish(&self, env: &dyn SessionEnv, mut held: Held) -> Result<Standing, Problem> {
        if !self.write(env, &mut held, None).await? {
            return Err(self.overtaken(env, &held).await);
        }
        self.finish_token(env, held)
    }

    fn finish_token(&self, env: &dyn SessionEnv, held: Held) -> Result<Standing, Problem> {
        let effects = match held.place {
            Place::Unstored | Place::Stored { .. } => return Ok(self.standing(held.id, held.session, None)),
            Place::NoToken => 0,
            Place::Token { effects, .. } => effects,
        };
        let expires = held.session.ends(&self.limits);
        let carried = Carried { expires, effects, session: &held.session };
        let token = token::write(&self.seal, env.owner(), &held.id, &carried, env.entropy());
        if token.len() > 2 * self.limits.bytes {
            return Err(Problem::Limit { what: "bytes", most: self.limits.bytes, retry_after: None });
        }
        Ok(self.standing(held.id, held.session, Some(token)))
    }

    fn standing(&self, id: String, session: Session, token: Option<String>) -> Standing {
        let ends = session.ends(&self.limits);
        Standing { id, session, token, ends }
    }

    /// Writes a session down where it is kept. `false`: somebody was faster. One that has become too large ends with that.
    pub(super) async fn write(
        &self,
        env: &dyn SessionEnv,
        held: &mut Held,
        leased_until: Option<Timestamp>,
    ) -> Result<bool, Problem> {
        let mut written = self.put(env, &held.id, &held.session, &mut held.place, leased_until).await;
        if matches!(written, Err(Problem::Limit { what: "bytes", .. })) && held.session.keep_only_result() {
            written = self.put(env, &held.id, &held.session, &mut held.place, leased_until).await;
        }
        if let Err(Problem::Limit { what: "bytes", .. }) = written {
            let now = env.now();
            let Session { tool, timeout, created, .. } = &held.session;
            let mut ended = Session::new(tool.clone(), Answers::new(), Map::new(), *timeout, *created);
            ended.fail("conversation_too_long", "the session has become too large", now);
            self.put(env, &held.id, &ended, &mut held.place, None).await?;
        }
        written
    }

    pub(super) async fn put(
        &self,
        env: &dyn SessionEnv,
        id: &str,
        session: &Session,
        place: &mut Place,
        leased_until: Option<Timestamp>,
    ) -> Result<bool, Problem> {
        if !place.is_stored() {
            return Ok(true);
        }
        let plain = serde_json::to_vec(session).unwrap_or_default();
        if plain.len() > self.limits.bytes {
            return Err(Problem::Limit { what: "bytes", most: self.limits.bytes, retry_after: None });
        }
        let about = token::about(env.owner(), id, "session");
        let ends = session.ends(&self.limits);
        let row = Row {
            is_open: session.state().is_open(),
            ends,
            forgotten: after(ends, self.limits.remembered),
            leased_until,
            body: Some(self.seal.lock(&plain, &about, env.entropy())),
        };
        let version = match place.version() {
            None => self.begin(env, id, row).await?,
            Some(version) => {
                if !self.store.save(env.owner(), id, version, row).await? {
                    return Ok(false);
                }
                version + 1
            }
        };
        *place = Place::Stored { version, leased_until };
        Ok(true)
    }

    /// Keeps a new session, in its first version.
    async fn begin(&self, env: &dyn SessionEnv, id: &str, row: Row) -> Result<i64, Problem> {
        let quota = Quota { open: self.limits.sessions, ended: self.limits.ended };
        let now = env.now();
        match self.store.begin(env.owner(), id, row, quota, now).await? {
            Admission::Begun => Ok(1),
            Admission::Full { until } => Err(Problem::Limit {
                what: "sessions",
                most: quota.open as usize,
                retry_after: until.map(|until| whole_seconds_until(until, now)),
            }),
        }
    }

    /// Why somebody else was faster.
    pub(super) async fn overtaken(&self, env: &dyn SessionEnv, held: &Held) -> Problem {
        if !held.place.is_stored() {
            // A token that was used already is like one that never was.
            return match self.store.is_spent(&cancellation(&held.id)).await {
                Ok(false) => Problem::NotFound,
                Ok(true) => Problem::Cancelled,
                Err(error) => error.into(),
            };
        }
        match self.load(env, Which::Id(&held.id)).await {
            Ok(held) if held.session.state() == State::Cancelled => Problem::Cancelled,
            Ok(held) => Problem::WrongState { state: held.session.state() },
            Err(problem) => problem,
        }
    }
}
