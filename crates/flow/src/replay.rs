//! What a conversation's code holds in its hands: questions, effects, the clock.

use std::collections::HashMap;
use std::future::Future;

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::journal::{Act, Entry, Mark};
use crate::{Answers, Ask, Asked, Field, Form, Invalid, Journal, Kind, Question, check, seal};

/// What a conversation needs from outside. Nothing here is read from the process.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The arguments of the call. One that is named like a question answers it.
    pub arguments: &'a Map<String, Value>,
    /// The time.
    pub now: Timestamp,
    /// Where random numbers come from.
    pub entropy: &'a dyn Entropy,
    /// What keeps the journal, which decides what may be promised about effects.
    pub ledger: Ledger,
    /// Whether somebody can be asked. If not, a question that may be left open is left open.
    pub can_ask: bool,
    /// Told about progress as it is made.
    pub progress: &'a (dyn Fn(&Progress) + Sync),
}

impl<'a> World<'a> {
    /// A world that stands still, for examples and tests: the epoch, no randomness, a journal in memory.
    pub fn for_tests(arguments: &'a Map<String, Value>) -> Self {
        struct Zeros;
        impl Entropy for Zeros {
            fn fill(&self, bytes: &mut [u8]) {
                bytes.fill(0);
            }
        }
        let now = Timestamp::UNIX_EPOCH;
        World { arguments, now, entropy: &Zeros, ledger: Ledger::InProcess, can_ask: true, progress: &|_| {} }
    }
}

/// A source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills the slice.
    fn fill(&self, bytes: &mut [u8]);
}

/// What keeps the journal between turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ledger {
    /// This process keeps it, and nobody can run the same conversation from an older copy.
    InProcess,
    /// The client keeps it in a token and may send an old one again, so nothing can be promised to happen once.
    Token,
}

/// How far a conversation is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The step that is being taken.
    pub current: u32,
    /// How many there are.
    pub total: u32,
    /// What the step is about.
    pub message: String,
}

/// Why a conversation stopped before its end. Hand it on with `?`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Halt {
    /// A question is open; the engine takes it from here.
    #[error("waiting for an answer")]
    Suspended,
    /// The tool itself says no, in its own words.
    #[error("{0}")]
    Refused(String),
    /// An argument was given for a question and does not answer it.
    #[error("`{name}`: {invalid}")]
    BadArgument {
        /// The argument.
        name: String,
        /// What is wrong with it.
        invalid: Invalid,
    },
    /// Something that an earlier answer was based on is different now.
    #[error("`{key}` is no longer what it was when the question was asked; start again")]
    WorldChanged {
        /// What was derived.
        key: String,
    },
    /// A previous run began something that must not happen twice, and nobody knows whether it did.
    #[error("`{key}` was begun and its outcome is not known; check before you start again")]
    OutcomeUnknown {
        /// What was begun.
        key: String,
    },
    /// The code of the conversation is not the code that wrote the journal.
    #[error("this conversation was changed while it was under way (`{key}`); start again")]
    CodeChanged {
        /// Where the two part.
        key: String,
    },
    /// Something must happen once, and what keeps the journal cannot promise that.
    #[error("`{key}` must not happen twice, which cannot be promised on this connection")]
    NotDurable {
        /// What was to happen.
        key: String,
    },
    /// The conversation has become too long to keep.
    #[error("the conversation is too long; start again")]
    TooLong,
}

impl Halt {
    /// The tool says no, in words for the person who asked.
    pub fn refuse(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }
}

/// A conversation under way.
pub struct Flow<'a> {
    journal: &'a mut Journal,
    cursor: usize,
    seen: HashMap<(Act, String), u32>,
    input: Option<Answers>,
    asked: Option<Asked>,
    progress: Option<Progress>,
    world: &'a World<'a>,
}

impl<'a> Flow<'a> {
    pub(crate) fn new(journal: &'a mut Journal, input: Option<Answers>, world: &'a World<'a>) -> Self {
        Flow { journal, cursor: 0, seen: HashMap::new(), input, asked: None, progress: None, world }
    }

    /// What was asked, if anything; and whether the code came as far as the journal does.
    pub(crate) fn end(self) -> (Option<Asked>, Result<(), Halt>) {
        let unread = self.journal.entries.get(self.cursor);
        let end = unread.map_or(Ok(()), |entry| Err(Halt::CodeChanged { key: entry.mark.key.clone() }));
        (self.asked, end)
    }

    /// Asks one question and waits for its answer, for days if need be.
    pub async fn ask<K: Kind>(&mut self, key: &str, ask: Ask<K>) -> Result<K::Answer, Halt> {
        let message = ask.prompt.message.clone();
        self.form(&message, (key, ask)).await
    }

    /// Asks several questions at once. Fronts that cannot show a form ask them one after the other.
    #[expect(clippy::unused_async, reason = "asking is a point of suspension in the author's eyes")]
    pub async fn form<F: Form>(&mut self, message: &str, form: F) -> Result<F::Answers, Halt> {
        if self.asked.is_some() {
            return Err(Halt::Suspended);
        }
        let fields = form.fields();
        let key = fields.first().map(|field| field.name.clone()).unwrap_or_default();
        let mut values = vec![Value::Null; fields.len()];
        let mut open = Vec::new();
        for (n, field) in fields.into_iter().enumerate() {
            match self.known(&field)? {
                Some(value) => values[n] = value,
                None => open.push((n, field)),
            }
        }
        if !open.is_empty() {
            self.take_answers(message, open, &mut values)?;
        }
        F::read(&values).ok_or(Halt::CodeChanged { key })
    }

    /// The answer that an argument or the journal has for a question.
    fn known(&mut self, field: &Field) -> Result<Option<Value>, Halt> {
        let may_stay_open = !self.world.can_ask && (!field.prompt.required || field.prompt.default.is_some());
        let nothing = may_stay_open.then_some(&Value::Null);
        if let Some(argument) = self.world.arguments.get(&field.name).or(nothing) {
            let refused = |invalid| Halt::BadArgument { name: field.name.clone(), invalid };
            return check(&field.prompt, argument).map(Some).map_err(refused);
        }
        let act = Act::Answer(field.prompt.shape.name().to_owned());
        self.recall(&act, &field.name)
    }

    /// Takes the answers that came in, all or none of them; asks for what is missing.
    fn take_answers(
        &mut self,
        message: &str,
        open: Vec<(usize, Field)>,
        values: &mut [Value],
    ) -> Result<(), Halt> {
        let mut problems = Vec::new();
        let mut accepted = Vec::new();
        let input = self.input.take();
        for (n, field) in &open {
            match input
                .as_ref()
                .map(|input| check(&field.prompt, input.get(&field.name).unwrap_or(&Value::Null)))
            {
                Some(Ok(value)) => accepted.push((*n, value)),
                Some(Err(invalid)) => problems.push((field.name.clone(), invalid)),
                None => {}
            }
        }
        if accepted.len() < open.len() {
            let fields = open.into_iter().map(|(_, field)| field).collect();
            let question = Question { message: message.to_owned(), fields };
            self.asked = Some(Asked { question, problems, progress: self.progress.clone() });
            return Err(Halt::Suspended);
        }
        for ((n, field), (_, value)) in open.into_iter().zip(accepted) {
            let act = Act::Answer(field.prompt.shape.name().to_owned());
            self.append(act, &field.name, Some(value.clone()))?;
            values[n] = value;
        }
        Ok(())
    }

    /// Computes something that later questions rest on. It is computed again on every turn; if it comes out
    /// differently, the conversation stops instead of going on with answers about another world.
    pub async fn derive<T, Fut>(&mut self, key: &str, compute: impl FnOnce() -> Fut) -> Result<T, Halt>
    where
        T: Serialize,
        Fut: Future<Output = Result<T, Halt>>,
    {
        self.not_suspended()?;
        let value = compute().await?;
        let digest =
            json!(seal::digest(&serde_json::to_vec(&value).map_err(|e| Halt::refuse(e.to_string()))?));
        match self.recall(&Act::Derived, key)? {
            Some(before) if before == digest => Ok(value),
            Some(_) => Err(Halt::WorldChanged { key: key.to_owned() }),
            None => self.append(Act::Derived, key, Some(digest)).map(|()| value),
        }
    }

    /// Does something whose result is kept. After a crash it may be done again: hand the idempotency key on.
    pub async fn step<T, Fut>(&mut self, key: &str, act: impl FnOnce(String) -> Fut) -> Result<T, Halt>
    where
        T: Serialize + DeserializeOwned,
        Fut: Future<Output = Result<T, Halt>>,
    {
        self.not_suspended()?;
        if let Some(value) = self.recall(&Act::Step, key)? {
            return read(key, value);
        }
        let value = act(self.idempotency_key(key)).await?;
        self.append(Act::Step, key, Some(written(&value)?))?;
        Ok(value)
    }

    /// Does something that must not happen twice. If it is not known whether it happened, the conversation stops.
    pub async fn once<T, Fut>(&mut self, key: &str, act: impl FnOnce() -> Fut) -> Result<T, Halt>
    where
        T: Serialize + DeserializeOwned,
        Fut: Future<Output = Result<T, Halt>>,
    {
        self.not_suspended()?;
        if self.recall(&Act::Started, key)?.is_some() {
            let finished = self.recall(&Act::Finished, key)?;
            return finished
                .map_or(Err(Halt::OutcomeUnknown { key: key.to_owned() }), |value| read(key, value));
        }
        if self.world.ledger == Ledger::Token {
            return Err(Halt::NotDurable { key: key.to_owned() });
        }
        self.append(Act::Started, key, None)?;
        let value = act().await?;
        self.append(Act::Finished, key, Some(written(&value)?))?;
        Ok(value)
    }

    /// The time at which this point was first reached.
    pub fn now(&mut self) -> Result<Timestamp, Halt> {
        let now = self.world.now.as_millisecond();
        let value = self.remember(Act::Now, "now", || json!(now))?;
        let millis = value.as_i64().ok_or(Halt::CodeChanged { key: "now".to_owned() })?;
        Timestamp::from_millisecond(millis).map_err(|_| Halt::CodeChanged { key: "now".to_owned() })
    }

    /// A random number, the same on every turn.
    pub fn random(&mut self) -> Result<u64, Halt> {
        let entropy = self.world.entropy;
        let draw = || {
            let mut bytes = [0; 8];
            entropy.fill(&mut bytes);
            json!(u64::from_le_bytes(bytes))
        };
        let value = self.remember(Act::Random, "random", draw)?;
        value.as_u64().ok_or(Halt::CodeChanged { key: "random".to_owned() })
    }

    /// Tells whoever waits how far the conversation is.
    pub fn progress(&mut self, current: u32, total: u32, message: impl Into<String>) {
        let progress = Progress { current, total, message: message.into() };
        if self.asked.is_none() && self.cursor == self.journal.entries.len() {
            (self.world.progress)(&progress);
        }
        self.progress = Some(progress);
    }

    fn not_suspended(&self) -> Result<(), Halt> {
        if self.asked.is_some() { Err(Halt::Suspended) } else { Ok(()) }
    }

    fn remember(&mut self, act: Act, key: &str, make: impl FnOnce() -> Value) -> Result<Value, Halt> {
        self.not_suspended()?;
        if let Some(before) = self.recall(&act, key)? {
            return Ok(before);
        }
        let value = make();
        self.append(act, key, Some(value.clone()))?;
        Ok(value)
    }

    /// What the journal says happened here, which must be what the code says happens here.
    fn recall(&mut self, act: &Act, key: &str) -> Result<Option<Value>, Halt> {
        let Some(entry) = self.journal.entries.get(self.cursor) else { return Ok(None) };
        let occurrence = self.seen.get(&(act.clone(), key.to_owned())).copied().unwrap_or(0);
        if entry.mark.act != *act || entry.mark.key != key || entry.mark.occurrence != occurrence {
            return Err(Halt::CodeChanged { key: key.to_owned() });
        }
        let value = entry.value.clone().unwrap_or_default();
        self.pass(act.clone(), key);
        Ok(Some(value))
    }

    fn append(&mut self, act: Act, key: &str, value: Option<Value>) -> Result<(), Halt> {
        if !self.journal.has_room() {
            return Err(Halt::TooLong);
        }
        let occurrence = self.seen.get(&(act.clone(), key.to_owned())).copied().unwrap_or(0);
        let mark = Mark { act: act.clone(), key: key.to_owned(), occurrence };
        self.journal.entries.push(Entry { mark, value });
        self.pass(act, key);
        Ok(())
    }

    fn pass(&mut self, act: Act, key: &str) {
        self.cursor += 1;
        *self.seen.entry((act, key.to_owned())).or_default() += 1;
    }

    /// The same for the same step of the same conversation, whoever runs it.
    fn idempotency_key(&self, key: &str) -> String {
        let so_far = serde_json::to_vec(&(&*self.journal, self.world.arguments, key)).unwrap_or_default();
        seal::digest(&so_far)
    }
}

fn written(value: &impl Serialize) -> Result<Value, Halt> {
    serde_json::to_value(value).map_err(|error| Halt::refuse(error.to_string()))
}

fn read<T: DeserializeOwned>(key: &str, value: Value) -> Result<T, Halt> {
    serde_json::from_value(value).map_err(|_| Halt::CodeChanged { key: key.to_owned() })
}
