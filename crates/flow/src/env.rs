//! What the host gives a conversation: time, randomness, a place for its journal.

use std::future::Future;
use std::pin::Pin;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Halt, Journal};

/// The environment that a conversation runs in. This crate reads no clock and draws no random numbers itself: the host
/// implements this trait once and passes it to every turn.
///
/// Hosts that keep [sessions](crate::session) implement [`SessionEnv`](crate::session::SessionEnv) as well.
pub trait Env: Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// Where random numbers come from.
    fn entropy(&self) -> &dyn Entropy;

    /// Called whenever the conversation reports progress.
    fn progress(&self, _progress: &Progress) {}
}

/// The call that a turn belongs to.
#[derive(Clone, Copy)]
pub struct TurnContext<'a> {
    /// Identifies the conversation: the same on every turn, and no other has it.
    pub id: &'a str,
    /// The arguments of the call. One that is named like a question answers it, the first time it is asked.
    pub arguments: &'a Map<String, Value>,
    /// What the client said about the conversation when it started it. It answers no question.
    pub context: &'a Map<String, Value>,
    /// Time, randomness and progress.
    pub env: &'a dyn Env,
    /// Who keeps the journal, and is asked before anything happens that cannot be undone.
    pub durability: Durability<'a>,
    /// Whether the user can be asked. If not, an optional question is left open the first time it is asked.
    pub can_ask: bool,
}

impl<'a> TurnContext<'a> {
    /// A context for examples and tests: the clock shows the epoch, nothing is random, the journal is in memory.
    pub fn for_tests(arguments: &'a Map<String, Value>) -> Self {
        static NO_CONTEXT: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        TurnContext {
            id: "test",
            arguments,
            context: &NO_CONTEXT,
            env: &TestEnv,
            durability: Durability::InProcess,
            can_ask: true,
        }
    }
}

struct TestEnv;

impl Env for TestEnv {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn entropy(&self) -> &dyn Entropy {
        self
    }
}

impl Entropy for TestEnv {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

/// A source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills the slice.
    fn fill(&self, bytes: &mut [u8]);
}

/// What keeps the journal between turns.
#[derive(Clone, Copy)]
pub enum Durability<'a> {
    /// This process alone, for as long as the conversation lasts. Nobody can go on from an older copy.
    InProcess,
    /// Somebody who outlives the process.
    Stored(&'a dyn JournalStore),
}

/// What a keeper says, sooner or later.
pub type JournalFuture<'a> = Pin<Box<dyn Future<Output = Result<(), Halt>> + Send + 'a>>;

/// Keeps a journal beyond the process that runs the conversation, and sees to it that only one goes on from it.
pub trait JournalStore: Send + Sync {
    /// From here on nobody else may go on from where this turn began. Called before something is done; calling it again
    /// changes nothing.
    fn claim<'a>(&'a self, journal: &'a Journal) -> JournalFuture<'a>;

    /// Writes the journal down, now. Called before and after what must not happen twice.
    fn save<'a>(&'a self, journal: &'a Journal) -> JournalFuture<'a>;
}

/// How far a conversation is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The step that is being taken.
    pub current: u32,
    /// How many there are.
    pub total: u32,
    /// What the step is about.
    pub message: String,
}
