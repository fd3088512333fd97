//! What may happen in a session, and what it becomes. Nothing here waits or reads a clock.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::problem::whole_seconds_until;
use super::state::{Failed, PastTurn, Session, State, Written, after};
use super::{Limits, Moment, Problem};
use crate::{Answers, Asked, Halt, Invalid, Turn, check};

/// What a user says to a prompt.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// The answer.
    pub value: Value,
    /// When it came in. It answers no prompt that was put after that.
    pub received: Option<Moment>,
    /// Which prompt it answers, if the client says so.
    pub prompt_id: Option<String>,
    /// What the client says about when it was given.
    pub timestamp: Option<Value>,
    /// What the client says besides. `action` may be `back` or `skip`.
    pub metadata: Option<Map<String, Value>>,
}

/// So many processes are remembered that have put a prompt of one session.
const INSTANCES: usize = 8;

/// What a response comes to.
#[derive(Debug)]
pub(super) enum Taken {
    /// It does not answer the question, which stays open.
    Refused(Invalid),
    /// It does, and the next question of the form is open.
    NextField,
    /// It does, and these answers let the conversation go on.
    GoOn(Option<Answers>),
}

impl Session {
    /// Takes a response, as far as that goes without running the conversation. An error may have ended the session.
    pub(super) fn take(
        &mut self,
        response: Response,
        limits: &Limits,
        now: Timestamp,
        moment: Moment,
    ) -> Result<Taken, Problem> {
        self.expect_question()?;
        self.count(limits, now)?;
        let prompt_id = self.prompt_id();
        if response.received.is_some_and(|received| self.is_early(received))
            || response.prompt_id.as_ref().is_some_and(|named| *named != prompt_id)
        {
            return Err(Problem::NoSuchPrompt { open: prompt_id });
        }
        if weight(&response) > limits.response {
            return Err(Problem::TooLarge { limit: limits.response });
        }
        self.active = now;
        self.note_prompt(now, moment);
        match action(&response) {
            Some("back") => Ok(self.back()),
            Some("skip") => self.answer(Response { value: Value::Null, ..response }, limits, now),
            _ => self.answer(response, limits, now),
        }
    }

    /// Whether a response came in before the open prompt was put. A process knows that if it has put this prompt or one
    /// since: the clocks of others say nothing. What came to another process is settled by the version that is written.
    fn is_early(&self, received: Moment) -> bool {
        self.put.iter().any(|put| received.is_before(*put))
    }

    /// A prompt is put from here on.
    fn note_prompt(&mut self, now: Timestamp, moment: Moment) {
        self.asked = now;
        self.put.retain(|put| put.instance != moment.instance);
        self.put.push(moment);
        let excess = self.put.len().saturating_sub(INSTANCES);
        self.put.drain(..excess);
    }

    fn expect_question(&self) -> Result<(), Problem> {
        match self.state {
            State::WaitingUser => Ok(()),
            State::Cancelled => Err(Problem::Cancelled),
            state => Err(Problem::WrongState { state }),
        }
    }

    /// Responses are counted in windows of time.
    fn count(&mut self, limits: &Limits, now: Timestamp) -> Result<(), Problem> {
        let (most, window) = limits.rate;
        // A clock that is behind the one that began the window must not make anybody wait for longer than a window.
        let start = self.counted.0.min(now);
        let end = after(start, window);
        self.counted = if now >= end { (now, 0) } else { (start, self.counted.1) };
        if self.counted.1 >= most {
            let retry_after = Some(whole_seconds_until(end, now));
            return Err(Problem::Limit { what: "responses", most: most as usize, retry_after });
        }
        self.counted.1 += 1;
        Ok(())
    }

    fn answer(&mut self, response: Response, limits: &Limits, now: Timestamp) -> Result<Taken, Problem> {
        if self.attempts >= limits.attempts {
            self.fail("too_many_attempts", "the question got no usable answer", now);
            return Err(Problem::AttemptsUsedUp { attempts: limits.attempts });
        }
        if self.answered() >= limits.turns {
            let problem = Problem::Limit { what: "turns", most: limits.turns, retry_after: None };
            self.fail("conversation_too_long", &problem.to_string(), now);
            return Err(problem);
        }
        let Some(field) = self.current().cloned() else {
            return Err(Problem::WrongState { state: self.state });
        };
        let value = match check(&field.prompt, &response.value) {
            Ok(value) => value,
            Err(invalid) => return Ok(self.refuse(invalid)),
        };
        self.invalid = None;
        self.partial.insert(field.name.clone(), value.clone());
        let Response { timestamp, metadata, .. } = response;
        self.answered = self.answered() + 1;
        self.turns.push(PastTurn {
            name: field.name,
            prompt: Written::of(&field.prompt),
            value,
            timestamp,
            metadata,
            at: now,
        });
        if self.current().is_some() {
            self.asks_next_field();
            return Ok(Taken::NextField);
        }
        self.order_turns();
        Ok(Taken::GoOn(Some(std::mem::take(&mut self.partial))))
    }

    /// The journal has the answers to a form in the order of its fields, and so has the history: what is gone back from
    /// must be the same in both.
    fn order_turns(&mut self) {
        let fields = self.open.as_ref().map_or(&[][..], |open| &open.question.fields);
        let since = self.turns.len().saturating_sub(self.partial.len());
        self.turns[since..].sort_by_key(|turn| fields.iter().position(|field| field.name == turn.name));
    }

    /// How many answers were taken in all its life. Those that were gone back from count as well: who goes back and forth
    /// would else go on for ever, with as many attempts at every question as they like.
    fn answered(&self) -> usize {
        // Older builds kept no count.
        self.answered.max(self.turns.len())
    }

    fn refuse(&mut self, invalid: Invalid) -> Taken {
        self.attempts += 1;
        self.say_again(invalid.clone());
        Taken::Refused(invalid)
    }

    /// The same question once more, with what was wrong.
    fn say_again(&mut self, invalid: Invalid) {
        self.prompts += 1;
        self.invalid = Some(invalid);
    }

    /// Goes back to the question before.
    fn back(&mut self) -> Taken {
        let last = self.turns.last().map(|turn| turn.name.clone());
        if let Some(name) = last.filter(|name| self.partial.contains_key(name)) {
            self.partial.remove(&name);
            self.turns.pop();
            self.asks_next_field();
            return Taken::NextField;
        }
        if !self.journal.back() {
            let invalid = Invalid::new("There is no question to go back to", "Answer this one");
            self.say_again(invalid.clone());
            return Taken::Refused(invalid);
        }
        self.turns.pop();
        Taken::GoOn(None)
    }

    fn asks_anew(&mut self) {
        self.refusals = 0;
        self.asks_next_field();
    }

    /// What was answered badly counts anew, unless all fields were right and their answers were not.
    fn asks_next_field(&mut self) {
        self.prompts += 1;
        (self.attempts, self.invalid) = (self.refusals, None);
    }

    /// The conversation begins to run.
    pub(super) fn run(&mut self, input: Option<Answers>) {
        self.state = if self.state == State::Idle { State::Active } else { State::Processing };
        self.pending = input;
    }

    /// The conversation has run: this is where it stands now. What was wrong with the answers, if they were refused.
    pub(super) fn settle(&mut self, turn: Turn, now: Timestamp, moment: Moment) -> Option<Invalid> {
        let answers = self.pending.take();
        self.open = None;
        self.active = now;
        self.note_prompt(now, moment);
        match turn {
            Turn::Ask(asked) => return self.ask(*asked, answers.unwrap_or_default()),
            Turn::Done(done) => {
                self.state = State::Completed;
                self.result = serde_json::from_str(done.reply.get()).ok();
                self.summary = done.summary;
            }
            Turn::Halted(halt) => self.fail(halt.kind(), &halt.to_string(), now),
        }
        None
    }

    fn ask(&mut self, asked: Asked, answers: Answers) -> Option<Invalid> {
        self.state = State::WaitingUser;
        let problems = asked.problems.clone();
        self.open = Some(asked);
        let Some((_, invalid)) = problems.first().cloned() else {
            self.asks_anew();
            return None;
        };
        // The conversation itself refused them. The others are kept, so that only what was wrong is asked again; what it
        // complains about may also be no field of this question, and then all of it is.
        let is_wrong = |name: &str| problems.iter().any(|(wrong, _)| wrong == name);
        let any = answers.keys().any(|name| is_wrong(name));
        self.partial = answers.clone().into_iter().filter(|(name, _)| any && !is_wrong(name)).collect();
        let since = self.turns.len().saturating_sub(answers.len());
        let mut index = 0;
        self.turns.retain(|turn| {
            index += 1;
            index <= since || self.partial.contains_key(&turn.name)
        });
        self.refusals += 1;
        self.refuse(invalid.clone());
        Some(invalid)
    }

    /// Forgets how it came to its result, so that the result can be kept. `false` if it has none.
    pub(super) fn keep_only_result(&mut self) -> bool {
        self.turns.clear();
        self.arguments.clear();
        self.context.clear();
        self.journal = crate::Journal::default();
        self.state == State::Completed
    }

    /// It cannot go on.
    pub(super) fn fail(&mut self, kind: &str, message: &str, now: Timestamp) {
        self.state = State::Error;
        self.close(kind, message, now);
    }

    /// Somebody ends it.
    pub(super) fn cancel(&mut self, reason: Option<&str>, now: Timestamp) -> Result<(), Problem> {
        match self.state {
            State::Cancelled => return Err(Problem::Cancelled),
            state if !state.is_open() => return Err(Problem::WrongState { state }),
            _ => self.state = State::Cancelled,
        }
        self.close("cancelled", reason.unwrap_or("cancelled"), now);
        Ok(())
    }

    fn close(&mut self, kind: &str, message: &str, now: Timestamp) {
        let message = message.chars().take(500).collect();
        self.failed = Some(Failed { kind: kind.to_owned(), message });
        self.active = now;
        (self.open, self.pending, self.invalid) = (None, None, None);
        self.partial.clear();
    }

    /// An argument turned out not to answer its question: it is asked instead. `false` if there is no such argument.
    pub(super) fn drop_argument(&mut self, halt: &Halt) -> bool {
        matches!(halt, Halt::BadArgument { name, .. } if self.arguments.remove(name).is_some())
    }

    /// Where these arguments are asked for, it is said what was wrong with them.
    pub(super) fn complain(&mut self, about: Vec<(String, Invalid)>) {
        if let Some(open) = &mut self.open {
            open.problems.extend(about);
        }
    }
}

fn action(response: &Response) -> Option<&str> {
    response.metadata.as_ref()?.get("action")?.as_str()
}

/// How many bytes a response takes, near enough.
fn weight(response: &Response) -> usize {
    let entry = |(key, value): (&String, &Value)| key.len() + crate::journal::weight(value);
    let metadata = response.metadata.as_ref().map_or(0, |map| map.iter().map(entry).sum());
    crate::journal::weight(&response.value)
        + metadata
        + response.timestamp.as_ref().map_or(0, crate::journal::weight)
}
