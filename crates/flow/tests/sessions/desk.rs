//! What the tests need around sessions: a clock that is set, pauses that end when the clock says so, replicas of the
//! service over one store. Nothing here sleeps.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use flow::session::{
    Begin, Limits, Memory, Moment, Owner, Pause, Problem, Responded, Response, SessionEnv, SessionStore,
    Sessions, Standing, State, Which,
};
use flow::{Answers, Converse, Entropy, Env, Seal, SealKey};
use futures_util::FutureExt;
use futures_util::task::noop_waker;
use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) const ADA: Owner<'static> = Owner { tenant: "t", subject: "ada" };

/// A clock that stands still until it is set.
#[derive(Clone)]
pub(crate) struct Time(Arc<AtomicI64>);

impl Time {
    pub(crate) fn new() -> Self {
        Self(Arc::new(1_000_000.into()))
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).unwrap()
    }

    /// The same as a reading of a monotonic clock.
    fn reading(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst).unsigned_abs())
    }

    /// A clock of its own, which differs from this one by so much.
    pub(crate) fn off_by(&self, milliseconds: i64) -> Self {
        Self(Arc::new((self.0.load(Ordering::SeqCst) + milliseconds).into()))
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.0.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// Over when the clock says so; somebody has to ask again, nobody is woken.
    fn pause(&self, pause: Duration) -> Pause {
        let (time, end) = (self.clone(), self.now() + pause);
        Box::pin(std::future::poll_fn(
            move |_| {
                if time.now() >= end { Poll::Ready(()) } else { Poll::Pending }
            },
        ))
    }
}

/// Never the same twice, and the same in every run.
pub(crate) struct Dice(AtomicU64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.into())
    }
}

impl Entropy for Dice {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            // SplitMix64.
            let mut z = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            chunk.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }
}

pub(crate) type Tools = Arc<dyn Fn(&str) -> Option<Box<dyn Converse>> + Send + Sync>;

/// One conversation for every name.
pub(crate) fn only<C: Converse + Clone + 'static>(conversation: C) -> Tools {
    Arc::new(move |_| Some(Box::new(conversation.clone())))
}

pub(crate) fn seal() -> Arc<Seal> {
    Arc::new(Seal::new(SealKey::of([7; 32])))
}

/// One process of several that serve the same sessions.
pub(crate) struct Replica {
    pub(crate) sessions: Sessions,
    pub(crate) time: Time,
    instance: u64,
    /// How often the monotonic clock was read: each reading is a little later.
    ticks: AtomicU64,
    tools: Tools,
    dice: Dice,
}

impl Replica {
    pub(crate) fn new(store: Arc<dyn SessionStore>, time: &Time, tools: Tools, limits: Limits) -> Self {
        static SEED: AtomicU64 = AtomicU64::new(1);
        Self::sealed(store, seal(), time, tools, limits, SEED.fetch_add(1 << 32, Ordering::Relaxed))
    }

    pub(crate) fn sealed(
        store: Arc<dyn SessionStore>,
        seal: Arc<Seal>,
        time: &Time,
        tools: Tools,
        limits: Limits,
        seed: u64,
    ) -> Self {
        Self {
            sessions: Sessions::new(store, seal, limits),
            time: time.clone(),
            instance: seed,
            ticks: AtomicU64::new(0),
            tools,
            dice: Dice::new(seed),
        }
    }

    /// One over a store of its own.
    pub(crate) fn alone(tools: Tools, limits: Limits) -> Self {
        Self::new(Arc::new(Memory::default()), &Time::new(), tools, limits)
    }

    /// This process, as this caller has it.
    pub(crate) fn env<'a>(&'a self, owner: Owner<'a>) -> ReplicaEnv<'a> {
        ReplicaEnv { replica: self, owner }
    }

    /// A reading of this process's monotonic clock.
    pub(crate) fn monotonic(&self) -> Moment {
        let tick = Duration::from_nanos(self.ticks.fetch_add(1, Ordering::SeqCst));
        Moment { instance: self.instance, reading: self.time.reading() + tick }
    }

    pub(crate) async fn begin(&self, begin: Begin) -> Result<Standing, Problem> {
        self.sessions.start(&self.env(ADA), begin).await
    }

    pub(crate) async fn start(&self, arguments: Value) -> Result<Standing, Problem> {
        self.begin(Begin { tool: "tool".to_owned(), arguments: object(arguments), ..Begin::default() }).await
    }

    pub(crate) async fn send(&self, id: &str, response: Response) -> Result<Responded, Problem> {
        self.sessions.respond(&self.env(ADA), Which::Id(id), response).await
    }

    pub(crate) async fn say(&self, id: &str, value: Value) -> Result<Responded, Problem> {
        self.send(id, Response { value, ..Response::default() }).await
    }

    pub(crate) async fn look(&self, id: &str) -> Result<Standing, Problem> {
        self.sessions.look(&self.env(ADA), Which::Id(id)).await
    }

    pub(crate) async fn go_on(&self, id: &str) -> Result<Standing, Problem> {
        self.sessions.go_on(&self.env(ADA), Which::Id(id)).await
    }

    pub(crate) async fn cancel(&self, id: &str) -> Result<Standing, Problem> {
        self.sessions.cancel(&self.env(ADA), Which::Id(id), Some("enough")).await
    }
}

/// A replica on behalf of one caller.
pub(crate) struct ReplicaEnv<'a> {
    replica: &'a Replica,
    owner: Owner<'a>,
}

impl Env for ReplicaEnv<'_> {
    fn now(&self) -> Timestamp {
        self.replica.time.now()
    }

    fn entropy(&self) -> &dyn Entropy {
        &self.replica.dice
    }
}

impl SessionEnv for ReplicaEnv<'_> {
    fn owner(&self) -> Owner<'_> {
        self.owner
    }

    fn monotonic(&self) -> Moment {
        self.replica.monotonic()
    }

    fn sleep(&self, duration: Duration) -> Pause {
        self.replica.time.pause(duration)
    }

    fn conversation(&self, tool: &str) -> Option<Box<dyn Converse>> {
        (self.replica.tools)(tool)
    }
}

pub(crate) fn object(value: Value) -> Answers {
    value.as_object().cloned().unwrap()
}

/// A response that is an action.
pub(crate) fn action(action: &str) -> Response {
    Response { metadata: Some(object(json!({ "action": action }))), ..Response::default() }
}

/// What comes at once.
#[track_caller]
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("nothing here waits")
}

/// Something under way, which goes on when it is polled and ends when it is dropped: a process that can be killed.
pub(crate) struct Running<'a, T>(Pin<Box<dyn Future<Output = T> + 'a>>);

impl<'a, T> Running<'a, T> {
    pub(crate) fn new(future: impl Future<Output = T> + 'a) -> Self {
        Self(Box::pin(future))
    }

    /// Goes on as far as it can.
    pub(crate) fn go(&mut self) -> Option<T> {
        match self.0.as_mut().poll(&mut Context::from_waker(&noop_waker())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }
}

/// Where a session stands, in one line.
pub(crate) fn show(standing: &Standing) -> String {
    let session = &standing.session;
    match session.state() {
        State::WaitingUser => {
            let name = &session.current().expect("a question is open").name;
            let invalid = session.invalid().map(|invalid| format!(" !{}", invalid.error));
            format!("ask {name}{}", invalid.unwrap_or_default())
        }
        State::Completed => format!("done {}", session.result().unwrap()),
        State::Error => format!("error {}", session.failed().unwrap().kind),
        state => serde_json::to_value(state).unwrap().as_str().unwrap().to_owned(),
    }
}

/// What anything came to, in one line.
pub(crate) fn line(result: Result<Standing, Problem>) -> String {
    result.map_or_else(|problem| code(&problem).to_string(), |standing| show(&standing))
}

pub(crate) fn answer(result: Result<Responded, Problem>) -> String {
    match result {
        Ok(Responded { standing, invalid: None }) => show(&standing),
        Ok(Responded { standing, invalid: Some(_) }) => format!("refused, {}", show(&standing)),
        Err(problem) => code(&problem).to_string(),
    }
}

/// The code that the contract (row 20a) has for a problem.
pub(crate) fn code(problem: &Problem) -> i32 {
    match problem {
        Problem::NotFound => -32001,
        Problem::Expired => -32002,
        Problem::WrongState { .. } | Problem::NoSuchPrompt { .. } => -32003,
        Problem::TooLarge { .. } | Problem::AttemptsUsedUp { .. } => -32004,
        Problem::TimedOut { .. } => -32005,
        Problem::Cancelled => -32006,
        Problem::NotInteractive { .. } => -32007,
        Problem::Limit { .. } => -32000,
        Problem::Store(_) => -32603,
    }
}

/// Everything that was said and is kept, to be compared.
pub(crate) fn everything(standing: &Standing) -> Value {
    serde_json::to_value(&standing.session).unwrap()
}

/// Question and answer of every turn.
pub(crate) fn history(standing: &Standing) -> Vec<(String, Value)> {
    standing.session.history().iter().map(|turn| (turn.name.clone(), turn.value.clone())).collect()
}
