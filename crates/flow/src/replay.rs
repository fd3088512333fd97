//! What a conversation's code holds in its hands: questions, effects, the clock.

use std::collections::{HashMap, HashSet};
use std::future::Future;

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::journal::{Act, Entry, Mark};
use crate::usable::unusable;
use crate::{
    Answers, Ask, Asked, Conversation, Field, Form, Halt, Invalid, Journal, Kind, Ledger, Progress, Question,
    World, check, seal,
};

/// A conversation under way.
pub struct Flow<'a> {
    journal: &'a mut Journal,
    cursor: usize,
    seen: HashMap<(Act, String), u32>,
    /// The names of the questions that the code came to.
    met: HashSet<String>,
    input: Option<Answers>,
    asked: Option<Asked>,
    progress: Option<Progress>,
    summary: Option<String>,
    /// Stands before every key while a conversation within this one runs.
    prefix: String,
    world: &'a World<'a>,
}

impl<'a> Flow<'a> {
    pub(crate) fn new(journal: &'a mut Journal, input: Option<Answers>, world: &'a World<'a>) -> Self {
        Flow {
            journal,
            cursor: 0,
            seen: HashMap::new(),
            met: HashSet::new(),
            input,
            asked: None,
            progress: None,
            summary: None,
            prefix: String::new(),
            world,
        }
    }

    /// What was asked, if anything; and the summary, if the code came as far as the journal does.
    pub(crate) fn end(self) -> (Option<Asked>, Result<Option<String>, Halt>) {
        let end = match self.journal.entries.get(self.cursor) {
            None => Ok(self.summary),
            Some(unread) => Err(Halt::CodeChanged { key: unread.mark.key.clone() }),
        };
        (self.asked, end)
    }

    /// What whoever began the conversation said about it. It may be anything: check before you rely on it.
    pub fn context(&self) -> &'a Map<String, Value> {
        self.world.context
    }

    /// Asks one question and waits for its answer, for days if need be.
    pub async fn ask<K: Kind>(&mut self, key: &str, ask: Ask<K>) -> Result<K::Answer, Halt> {
        self.ask_until(key, ask, |_| Ok(())).await
    }

    /// Asks one question until its answer passes a test of your own. `accept` must come to the same verdict about the
    /// same answer every time.
    pub async fn ask_until<K: Kind>(
        &mut self,
        key: &str,
        ask: Ask<K>,
        accept: impl Fn(&K::Answer) -> Result<(), Invalid>,
    ) -> Result<K::Answer, Halt> {
        let message = ask.prompt.message.clone();
        let accept = |answer: &K::Answer| accept(answer).map_err(|invalid| (key.to_owned(), invalid));
        self.form_until(&message, (key, ask), accept).await
    }

    /// Asks several questions at once. Fronts that cannot show a form ask them one after the other.
    pub async fn form<F: Form>(&mut self, message: &str, form: F) -> Result<F::Answers, Halt> {
        self.form_until(message, form, |_| Ok(())).await
    }

    /// Asks several questions until their answers pass a test of your own, which names the field that is wrong.
    #[expect(clippy::unused_async, reason = "asking is a point of suspension in the author's eyes")]
    pub async fn form_until<F: Form>(
        &mut self,
        message: &str,
        form: F,
        accept: impl Fn(&F::Answers) -> Result<(), (String, Invalid)>,
    ) -> Result<F::Answers, Halt> {
        self.not_suspended()?;
        let mut fields = form.fields();
        for field in &mut fields {
            field.name.insert_str(0, &self.prefix);
        }
        let key = fields.first().map(|field| field.name.clone()).unwrap_or_default();
        let mut values = vec![Value::Null; fields.len()];
        let mut open = Vec::new();
        for (n, field) in fields.into_iter().enumerate() {
            match self.known(&field)? {
                Some(value) => values[n] = value,
                None => open.push((n, field)),
            }
        }
        let read = |values: &[Value]| F::read(values).ok_or_else(|| Halt::CodeChanged { key: key.clone() });
        let judge = |values: &[Value]| {
            let verdict = accept(&read(values)?);
            Ok(verdict.map_err(|(field, invalid)| (format!("{}{field}", self.prefix), invalid)).err())
        };
        if open.is_empty() {
            let problem = judge(&values)?;
            return problem
                .map_or_else(|| read(&values), |(name, invalid)| Err(Halt::BadArgument { name, invalid }));
        }
        if let Some(why) = unusable(&open.iter().map(|(_, field)| field).collect::<Vec<_>>()) {
            return Err(Halt::refuse(why));
        }
        let input = self.input.take();
        let (accepted, mut problems) = judge_fields(&open, input.as_ref());
        if accepted.len() == open.len() {
            for ((n, _), value) in open.iter().zip(&accepted) {
                values[*n] = value.clone();
            }
            problems.extend(judge(&values)?);
        }
        if accepted.len() < open.len() || !problems.is_empty() {
            let fields = open.into_iter().map(|(_, field)| field).collect();
            let question = Question { message: message.to_owned(), fields };
            self.asked = Some(Asked { question, problems, progress: self.progress.clone() });
            return Err(Halt::Suspended);
        }
        for ((_, field), value) in open.into_iter().zip(accepted) {
            let act = Act::Answer(field.prompt.shape.name().to_owned());
            self.append(act, &field.name, Some(value))?;
        }
        read(&values)
    }

    /// The answer that an argument or the journal has for a question.
    fn known(&mut self, field: &Field) -> Result<Option<Value>, Halt> {
        let may_stay_open = !self.world.can_ask && (!field.prompt.required || field.prompt.default.is_some());
        let nothing = may_stay_open.then_some(&Value::Null);
        let given = self.world.arguments.get(&field.name).or(nothing);
        // The first time only: code that asks until it likes the answer would never stop otherwise.
        if let Some(argument) = given.filter(|_| self.met.insert(field.name.clone())) {
            let refused = |invalid| Halt::BadArgument { name: field.name.clone(), invalid };
            return check(&field.prompt, argument).map(Some).map_err(refused);
        }
        let act = Act::Answer(field.prompt.shape.name().to_owned());
        self.recall(&act, &field.name)
    }

    /// Has another conversation within this one. Its questions are called `name.question`, and so are the arguments
    /// that answer them.
    pub async fn sub<C: Conversation>(
        &mut self,
        name: &str,
        conversation: &C,
        args: C::Args,
    ) -> Result<C::Reply, Halt> {
        let outer = self.prefix.len();
        self.prefix.push_str(name);
        self.prefix.push('.');
        let reply = conversation.run(self, args).await;
        self.prefix.truncate(outer);
        reply
    }

    /// Computes something that later questions rest on. It is computed again on every turn; if it comes out
    /// differently, the conversation stops instead of going on with answers about another world.
    pub async fn derive<T, Fut>(&mut self, key: &str, compute: impl FnOnce() -> Fut) -> Result<T, Halt>
    where
        T: Serialize,
        Fut: Future<Output = Result<T, Halt>>,
    {
        self.not_suspended()?;
        let key = &self.full(key);
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
        let key = &self.full(key);
        if let Some(value) = self.recall(&Act::Step, key)? {
            return read(key, value);
        }
        if let Ledger::Kept(keeper) = self.world.ledger {
            keeper.claim(self.journal).await?;
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
        let key = &self.full(key);
        if self.recall(&Act::Started, key)?.is_some() {
            let finished = self.recall(&Act::Finished, key)?;
            return finished
                .map_or(Err(Halt::OutcomeUnknown { key: key.to_owned() }), |value| read(key, value));
        }
        self.append(Act::Started, key, None)?;
        self.save().await?;
        let value = act().await?;
        self.append(Act::Finished, key, Some(written(&value)?))?;
        self.save().await?;
        Ok(value)
    }

    async fn save(&self) -> Result<(), Halt> {
        match self.world.ledger {
            Ledger::InProcess => Ok(()),
            Ledger::Kept(keeper) => keeper.save(self.journal).await,
        }
    }

    fn full(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
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

    /// Says in a sentence what came of it, for people; the reply is for programs.
    pub fn summary(&mut self, text: impl Into<String>) {
        self.summary = Some(text.into());
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

/// The answers that are right, in the order of their questions; and what is wrong with the others.
fn judge_fields(open: &[(usize, Field)], input: Option<&Answers>) -> (Vec<Value>, Vec<(String, Invalid)>) {
    let (mut accepted, mut problems) = (Vec::new(), Vec::new());
    for (_, field) in input.is_some().then_some(open).into_iter().flatten() {
        let answer = input.and_then(|input| input.get(&field.name)).unwrap_or(&Value::Null);
        match check(&field.prompt, answer) {
            Ok(value) => accepted.push(value),
            Err(invalid) => problems.push((field.name.clone(), invalid)),
        }
    }
    (accepted, problems)
}

fn written(value: &impl Serialize) -> Result<Value, Halt> {
    serde_json::to_value(value).map_err(|error| Halt::refuse(error.to_string()))
}

fn read<T: DeserializeOwned>(key: &str, value: Value) -> Result<T, Halt> {
    serde_json::from_value(value).map_err(|_| Halt::CodeChanged { key: key.to_owned() })
}
