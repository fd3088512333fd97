//! What the host supplies to a conversation: time, randomness and a store for its journal.

use std::future::Future;
use std::pin::Pin;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Halt, Journal};

/// The environment of a conversation. This crate reads no clock and generates no random numbers itself: the
/// host implements this trait once and passes it to every turn.
///
/// Hosts that support [sessions](crate::session) also implement [`SessionEnv`](crate::session::SessionEnv).
pub trait Env: Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// The source of randomness.
    fn entropy(&self) -> &dyn Entropy;

    /// Called whenever the conversation reports progress.
    fn progress(&self, _progress: &Progress) {}
}

/// The call that a turn belongs to.
#[derive(Clone, Copy)]
pub struct TurnContext<'a> {
    /// Identifies the conversation: unique, and the same on every turn.
    pub id: &'a str,
    /// The arguments of the call. An argument with the name of a question answers it the first time it is
    /// asked.
    pub arguments: &'a Map<String, Value>,
    /// Additional data that the client passed when it started the conversation. It answers no questions.
    pub context: &'a Map<String, Value>,
    /// Time, randomness and progress.
    pub env: &'a dyn Env,
    /// Where the journal is stored. Consulted before any effect that cannot be undone.
    pub durability: Durability<'a>,
    /// Whether the user can be asked. If not, an optional question stays unanswered the first time it is
    /// asked.
    pub can_ask: bool,
}

impl<'a> TurnContext<'a> {
    /// A context for examples and tests: the clock shows the epoch, nothing is random, the journal is in
    /// memory.
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

/// Where the journal is stored between turns.
#[derive(Clone, Copy)]
pub enum Durability<'a> {
    /// Only in this process, for as long as the conversation lasts. There is no older copy to continue from.
    InProcess,
    /// In a store that outlives the process.
    Stored(&'a dyn JournalStore),
}

/// The future returned by a [`JournalStore`].
pub type JournalFuture<'a> = Pin<Box<dyn Future<Output = Result<(), Halt>> + Send + 'a>>;

/// Stores a journal beyond the lifetime of the process that runs the conversation, and ensures that only one
/// turn continues from it.
pub trait JournalStore: Send + Sync {
    /// Claims the point where this turn started, so that no other turn can continue from it. Called before an
    /// effect; calling it again has no effect.
    fn claim<'a>(&'a self, journal: &'a Journal) -> JournalFuture<'a>;

    /// Saves the journal immediately. Called before and after an effect that must not be repeated.
    fn save<'a>(&'a self, journal: &'a Journal) -> JournalFuture<'a>;
}

/// The progress of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The current step, starting at 1.
    pub current: u32,
    /// The number of steps.
    pub total: u32,
    /// A title for the current step.
    pub message: String,
}
