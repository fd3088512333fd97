//! What a conversation needs from outside.

use std::future::Future;
use std::pin::Pin;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Halt, Journal};

/// What a conversation needs from outside. Nothing here is read from the process.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// Which conversation it is: the same on every turn, and no other has it.
    pub id: &'a str,
    /// The arguments of the call. One that is named like a question answers it, the first time it is asked.
    pub arguments: &'a Map<String, Value>,
    /// What whoever began the conversation said about it. It answers nothing.
    pub context: &'a Map<String, Value>,
    /// The time.
    pub now: Timestamp,
    /// Where random numbers come from.
    pub entropy: &'a dyn Entropy,
    /// What keeps the journal, and is told before anything happens that cannot be taken back.
    pub ledger: Ledger<'a>,
    /// Whether somebody can be asked. If not, a question that may be left open is left open, the first time it is asked.
    pub can_ask: bool,
    /// Told about progress as it is made.
    pub progress: &'a (dyn Fn(&Progress) + Sync),
}

impl<'a> World<'a> {
    /// A world that stands still, for examples and tests: the epoch, no randomness, a journal in memory.
    pub fn for_tests(arguments: &'a Map<String, Value>) -> Self {
        static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        struct Zeros;
        impl Entropy for Zeros {
            fn fill(&self, bytes: &mut [u8]) {
                bytes.fill(0);
            }
        }
        World {
            id: "test",
            arguments,
            context: &NOTHING,
            now: Timestamp::UNIX_EPOCH,
            entropy: &Zeros,
            ledger: Ledger::InProcess,
            can_ask: true,
            progress: &|_| {},
        }
    }
}

/// A source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills the slice.
    fn fill(&self, bytes: &mut [u8]);
}

/// What keeps the journal between turns.
#[derive(Clone, Copy)]
pub enum Ledger<'a> {
    /// This process alone, for as long as the conversation lasts. Nobody can go on from an older copy.
    InProcess,
    /// Somebody who outlives the process.
    Kept(&'a dyn Keeper),
}

/// What a keeper says, sooner or later.
pub type Keeping<'a> = Pin<Box<dyn Future<Output = Result<(), Halt>> + Send + 'a>>;

/// Keeps a journal beyond the process that runs the conversation, and sees to it that only one goes on from it.
pub trait Keeper: Send + Sync {
    /// From here on nobody else may go on from where this turn began. Called before something is done; calling it again
    /// changes nothing.
    fn claim<'a>(&'a self, journal: &'a Journal) -> Keeping<'a>;

    /// Writes the journal down, now. Called before and after what must not happen twice.
    fn save<'a>(&'a self, journal: &'a Journal) -> Keeping<'a>;
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
