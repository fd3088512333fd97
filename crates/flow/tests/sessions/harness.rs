//! The test environment of sessions: a manual clock, timers that follow it, and replicas of the service over
//! one store. Nothing here sleeps.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use flow::session::{
    Limits, MemorySessionStore, ProcessInstant, RespondReply, SessionEnv, SessionError, SessionOwner,
    SessionRef, SessionSnapshot, SessionState, SessionStore, Sessions, SleepFuture, StartRequest,
    UserResponse,
};
use flow::{Answers, DynConversation, Entropy, Env, Seal, SealKey};
use futures_util::FutureExt;
use futures_util::task::noop_waker;
use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) const ADA: SessionOwner<'static> = SessionOwner { tenant: "t", subject: "ada" };

/// A manual clock.
#[derive(Clone)]
pub(crate) struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(1_000_000.into()))
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).unwrap()
    }

    /// The time as a reading of a monotonic clock.
    fn reading(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst).unsigned_abs())
    }

    /// An independent clock that differs from this one by an offset.
    pub(crate) fn skewed_by(&self, milliseconds: i64) -> Self {
        Self(Arc::new((self.0.load(Ordering::SeqCst) + milliseconds).into()))
    }

    pub(crate) fn advance(&self, time: Duration) {
        self.0.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// Completes once the clock has reached the time. It has to be polled again; it does not wake its task.
    fn sleep(&self, pause: Duration) -> SleepFuture {
        let (time, end) = (self.clone(), self.now() + pause);
        Box::pin(std::future::poll_fn(
            move |_| {
                if time.now() >= end { Poll::Ready(()) } else { Poll::Pending }
            },
        ))
    }
}

/// Never repeats, but is the same in every run.
pub(crate) struct SeededEntropy(AtomicU64);

impl SeededEntropy {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.into())
    }
}

impl Entropy for SeededEntropy {
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

pub(crate) type ConversationLookup = Arc<dyn Fn(&str) -> Option<Box<dyn DynConversation>> + Send + Sync>;

/// Returns the same conversation for every tool name.
pub(crate) fn single_conversation<C: DynConversation + Clone + 'static>(
    conversation: C,
) -> ConversationLookup {
    Arc::new(move |_| Some(Box::new(conversation.clone())))
}

pub(crate) fn seal() -> Arc<Seal> {
    Arc::new(Seal::new(SealKey::from_bytes([7; 32])))
}

/// One of several processes that serve the same sessions.
pub(crate) struct Replica {
    pub(crate) sessions: Sessions,
    pub(crate) time: ManualClock,
    instance: u64,
    /// Counts the readings of the monotonic clock, because each one is a little later.
    ticks: AtomicU64,
    tools: ConversationLookup,
    entropy: SeededEntropy,
}

impl Replica {
    pub(crate) fn new(
        store: Arc<dyn SessionStore>,
        clock: &ManualClock,
        tools: ConversationLookup,
        limits: Limits,
    ) -> Self {
        static SEED: AtomicU64 = AtomicU64::new(1);
        Self::with_seal(store, seal(), clock, tools, limits, SEED.fetch_add(1 << 32, Ordering::Relaxed))
    }

    pub(crate) fn with_seal(
        store: Arc<dyn SessionStore>,
        seal: Arc<Seal>,
        clock: &ManualClock,
        tools: ConversationLookup,
        limits: Limits,
        seed: u64,
    ) -> Self {
        Self {
            sessions: Sessions::new(store, seal, limits),
            time: clock.clone(),
            instance: seed,
            ticks: AtomicU64::new(0),
            tools,
            entropy: SeededEntropy::new(seed),
        }
    }

    /// A replica with its own store.
    pub(crate) fn with_own_store(tools: ConversationLookup, limits: Limits) -> Self {
        Self::new(Arc::new(MemorySessionStore::default()), &ManualClock::new(), tools, limits)
    }

    /// This process on behalf of a caller.
    pub(crate) fn env<'a>(&'a self, owner: SessionOwner<'a>) -> ReplicaEnv<'a> {
        ReplicaEnv { replica: self, owner }
    }

    /// Reads this process's monotonic clock.
    pub(crate) fn monotonic(&self) -> ProcessInstant {
        let tick = Duration::from_nanos(self.ticks.fetch_add(1, Ordering::SeqCst));
        ProcessInstant { instance: self.instance, reading: self.time.reading() + tick }
    }

    pub(crate) async fn start_with(&self, begin: StartRequest) -> Result<SessionSnapshot, SessionError> {
        self.sessions.start(&self.env(ADA), begin).await
    }

    pub(crate) async fn start(&self, arguments: Value) -> Result<SessionSnapshot, SessionError> {
        self.start_with(StartRequest {
            tool: "tool".to_owned(),
            arguments: object(arguments),
            ..StartRequest::default()
        })
        .await
    }

    pub(crate) async fn respond_with(
        &self,
        id: &str,
        response: UserResponse,
    ) -> Result<RespondReply, SessionError> {
        self.sessions.respond(&self.env(ADA), SessionRef::Id(id), response).await
    }

    pub(crate) async fn respond(&self, id: &str, value: Value) -> Result<RespondReply, SessionError> {
        self.respond_with(id, UserResponse { value, ..UserResponse::default() }).await
    }

    pub(crate) async fn status(&self, id: &str) -> Result<SessionSnapshot, SessionError> {
        self.sessions.status(&self.env(ADA), SessionRef::Id(id)).await
    }

    pub(crate) async fn keep_alive(&self, id: &str) -> Result<SessionSnapshot, SessionError> {
        self.sessions.keep_alive(&self.env(ADA), SessionRef::Id(id)).await
    }

    pub(crate) async fn cancel(&self, id: &str) -> Result<SessionSnapshot, SessionError> {
        self.sessions.cancel(&self.env(ADA), SessionRef::Id(id), Some("enough")).await
    }
}

/// A replica on behalf of one caller.
pub(crate) struct ReplicaEnv<'a> {
    replica: &'a Replica,
    owner: SessionOwner<'a>,
}

impl Env for ReplicaEnv<'_> {
    fn now(&self) -> Timestamp {
        self.replica.time.now()
    }

    fn entropy(&self) -> &dyn Entropy {
        &self.replica.entropy
    }
}

impl SessionEnv for ReplicaEnv<'_> {
    fn owner(&self) -> SessionOwner<'_> {
        self.owner
    }

    fn monotonic(&self) -> ProcessInstant {
        self.replica.monotonic()
    }

    fn sleep(&self, duration: Duration) -> SleepFuture {
        self.replica.time.sleep(duration)
    }

    fn conversation(&self, tool: &str) -> Option<Box<dyn DynConversation>> {
        (self.replica.tools)(tool)
    }
}

pub(crate) fn object(value: Value) -> Answers {
    value.as_object().cloned().unwrap()
}

/// A response that is an action.
pub(crate) fn action_response(action: &str) -> UserResponse {
    UserResponse { metadata: Some(object(json!({ "action": action }))), ..UserResponse::default() }
}

/// The result of a future that completes without waiting.
#[track_caller]
pub(crate) fn expect_ready<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("nothing here waits")
}

/// A running operation that advances when polled and stops when dropped, like a process that can be killed.
pub(crate) struct PolledFuture<'a, T>(Pin<Box<dyn Future<Output = T> + 'a>>);

impl<'a, T> PolledFuture<'a, T> {
    pub(crate) fn new(future: impl Future<Output = T> + 'a) -> Self {
        Self(Box::pin(future))
    }

    /// Advances as far as possible.
    pub(crate) fn poll_once(&mut self) -> Option<T> {
        match self.0.as_mut().poll(&mut Context::from_waker(&noop_waker())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }
}

/// Describes a session in one line.
pub(crate) fn snapshot_to_text(snapshot: &SessionSnapshot) -> String {
    let session = &snapshot.session;
    match session.state() {
        SessionState::WaitingUser => {
            let name = &session.current_field().expect("a question is open").name;
            let invalid = session.invalid_answer().map(|invalid| format!(" !{}", invalid.error));
            format!("ask {name}{}", invalid.unwrap_or_default())
        }
        SessionState::Completed => format!("done {}", session.result().unwrap()),
        SessionState::Error => format!("error {}", session.failure().unwrap().kind),
        state => serde_json::to_value(state).unwrap().as_str().unwrap().to_owned(),
    }
}

/// Describes a result in one line.
pub(crate) fn result_to_text(result: Result<SessionSnapshot, SessionError>) -> String {
    result.map_or_else(|problem| error_code(&problem).to_string(), |snapshot| snapshot_to_text(&snapshot))
}

pub(crate) fn reply_to_text(result: Result<RespondReply, SessionError>) -> String {
    match result {
        Ok(RespondReply { snapshot, invalid: None }) => snapshot_to_text(&snapshot),
        Ok(RespondReply { snapshot, invalid: Some(_) }) => {
            format!("refused, {}", snapshot_to_text(&snapshot))
        }
        Err(problem) => error_code(&problem).to_string(),
    }
}

/// The error code in the contract (row 20a).
pub(crate) fn error_code(problem: &SessionError) -> i32 {
    match problem {
        SessionError::NotFound => -32001,
        SessionError::Expired => -32002,
        SessionError::WrongState { .. } | SessionError::PromptMismatch { .. } => -32003,
        SessionError::ResponseTooLarge { .. } | SessionError::TooManyAttempts { .. } => -32004,
        SessionError::TimedOut { .. } => -32005,
        SessionError::Cancelled => -32006,
        SessionError::NotInteractive { .. } => -32007,
        SessionError::LimitReached { .. } => -32000,
        SessionError::Store(_) => -32603,
    }
}

/// The whole history, for comparison.
pub(crate) fn snapshot_json(snapshot: &SessionSnapshot) -> Value {
    serde_json::to_value(&snapshot.session).unwrap()
}

/// The question and answer of every turn.
pub(crate) fn answer_history(snapshot: &SessionSnapshot) -> Vec<(String, Value)> {
    snapshot.session.history().iter().map(|turn| (turn.name.clone(), turn.value.clone())).collect()
}
