//! The transitions of a session. Pure functions: nothing here waits or reads a clock.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::error::seconds_until_rounded_up;
use super::state::{PastTurn, RawPrompt, Session, SessionFailure, SessionState, saturating_add};
use super::{Limits, ProcessInstant, SessionError};
use crate::{Answers, Halt, InvalidAnswer, PendingQuestion, Turn, validate_answer};

/// A user's response to a prompt.
#[derive(Clone, Debug, Default)]
pub struct UserResponse {
    /// The answer.
    pub value: Value,
    /// When the response arrived. It cannot answer a prompt that was issued later.
    pub received_at: Option<ProcessInstant>,
    /// The prompt that it answers, if the client names one.
    pub prompt_id: Option<String>,
    /// The time of the response according to the client.
    pub timestamp: Option<Value>,
    /// Additional data from the client. `action` may be `back` or `skip`.
    pub metadata: Option<Map<String, Value>>,
}

/// How many processes that issued a prompt are remembered per session.
const MAX_PROMPT_INSTANCES: usize = 8;

/// The outcome of a response.
#[derive(Debug)]
pub(super) enum ResponseOutcome {
    /// The answer is invalid; the question stays open.
    Rejected(InvalidAnswer),
    /// The answer is valid, and the next field of the form is open.
    NextField,
    /// The answer is valid and the form is complete: the conversation continues with these answers.
    Continue(Option<Answers>),
}

impl Session {
    /// Applies a response without running the conversation. The session may have ended even if this returns
    /// an error.
    pub(super) fn accept_response(
        &mut self,
        response: UserResponse,
        limits: &Limits,
        now: Timestamp,
        moment: ProcessInstant,
    ) -> Result<ResponseOutcome, SessionError> {
        self.ensure_waiting_for_user()?;
        self.count_response(limits, now)?;
        let prompt_id = self.prompt_id();
        if response.received_at.is_some_and(|received| self.predates_open_prompt(received))
            || response.prompt_id.as_ref().is_some_and(|named| *named != prompt_id)
        {
            return Err(SessionError::PromptMismatch { open: prompt_id });
        }
        if approximate_response_bytes(&response) > limits.max_response_bytes {
            return Err(SessionError::ResponseTooLarge { limit: limits.max_response_bytes });
        }
        self.active = now;
        self.record_prompt(now, moment);
        match action(&response) {
            Some("back") => Ok(self.undo_last_answer()),
            Some("skip") => self.accept_answer(UserResponse { value: Value::Null, ..response }, limits, now),
            _ => self.accept_answer(response, limits, now),
        }
    }

    /// Whether a response arrived before the open prompt was issued. A process can only tell if it issued
    /// this prompt or a later one itself, because clocks of different processes are not comparable. Responses
    /// that arrived at other processes are caught by the version check on write.
    fn predates_open_prompt(&self, received: ProcessInstant) -> bool {
        self.put.iter().any(|put| received.is_before(*put))
    }

    /// Records that a prompt is issued now.
    fn record_prompt(&mut self, now: Timestamp, moment: ProcessInstant) {
        self.asked = now;
        self.put.retain(|put| put.instance != moment.instance);
        self.put.push(moment);
        let excess = self.put.len().saturating_sub(MAX_PROMPT_INSTANCES);
        self.put.drain(..excess);
    }

    fn ensure_waiting_for_user(&self) -> Result<(), SessionError> {
        match self.state {
            SessionState::WaitingUser => Ok(()),
            SessionState::Cancelled => Err(SessionError::Cancelled),
            state => Err(SessionError::WrongState { state }),
        }
    }

    /// Counts responses in fixed time windows.
    fn count_response(&mut self, limits: &Limits, now: Timestamp) -> Result<(), SessionError> {
        let (most, window) = limits.response_rate;
        // If this clock is behind the one that started the window, clients must still not wait longer than
        // one window.
        let start = self.counted.0.min(now);
        let end = saturating_add(start, window);
        self.counted = if now >= end { (now, 0) } else { (start, self.counted.1) };
        if self.counted.1 >= most {
            let retry_after = Some(seconds_until_rounded_up(end, now));
            return Err(SessionError::LimitReached { what: "responses", most: most as usize, retry_after });
        }
        self.counted.1 += 1;
        Ok(())
    }

    fn accept_answer(
        &mut self,
        response: UserResponse,
        limits: &Limits,
        now: Timestamp,
    ) -> Result<ResponseOutcome, SessionError> {
        if self.attempts >= limits.max_attempts {
            self.fail("too_many_attempts", "no valid answer was given", now);
            return Err(SessionError::TooManyAttempts { attempts: limits.max_attempts });
        }
        if self.answer_count() >= limits.max_turns {
            let problem =
                SessionError::LimitReached { what: "turns", most: limits.max_turns, retry_after: None };
            self.fail("conversation_too_long", &problem.to_string(), now);
            return Err(problem);
        }
        let Some(field) = self.current_field().cloned() else {
            return Err(SessionError::WrongState { state: self.state });
        };
        let value = match validate_answer(&field.prompt, &response.value) {
            Ok(value) => value,
            Err(invalid) => return Ok(self.reject_answer(invalid)),
        };
        self.invalid = None;
        self.partial.insert(field.name.clone(), value.clone());
        let UserResponse { timestamp, metadata, .. } = response;
        self.answered = self.answer_count() + 1;
        self.turns.push(PastTurn {
            name: field.name,
            prompt: RawPrompt::from_prompt(&field.prompt),
            value,
            timestamp,
            metadata,
            at: now,
        });
        if self.current_field().is_some() {
            self.begin_field();
            return Ok(ResponseOutcome::NextField);
        }
        self.sort_turns_by_field();
        Ok(ResponseOutcome::Continue(Some(std::mem::take(&mut self.partial))))
    }

    /// Sorts the history of a form by field, like the journal, so that going back undoes the same answer in
    /// both.
    fn sort_turns_by_field(&mut self) {
        let fields = self.open.as_ref().map_or(&[][..], |open| &open.question.fields);
        let since = self.turns.len().saturating_sub(self.partial.len());
        self.turns[since..].sort_by_key(|turn| fields.iter().position(|field| field.name == turn.name));
    }

    /// How many answers this session has accepted. Undone answers count as well: otherwise a client could go
    /// back and forth forever and get unlimited attempts at every question.
    fn answer_count(&self) -> usize {
        // Older builds did not store the count.
        self.answered.max(self.turns.len())
    }

    fn reject_answer(&mut self, invalid: InvalidAnswer) -> ResponseOutcome {
        self.attempts += 1;
        self.repeat_prompt(invalid.clone());
        ResponseOutcome::Rejected(invalid)
    }

    /// Asks the same question again, with the problem of the last answer.
    fn repeat_prompt(&mut self, invalid: InvalidAnswer) {
        self.prompts += 1;
        self.invalid = Some(invalid);
    }

    /// Returns to the previous question.
    fn undo_last_answer(&mut self) -> ResponseOutcome {
        let last = self.turns.last().map(|turn| turn.name.clone());
        if let Some(name) = last.filter(|name| self.partial.contains_key(name)) {
            self.partial.remove(&name);
            self.turns.pop();
            self.begin_field();
            return ResponseOutcome::NextField;
        }
        if !self.journal.undo_last_answer() {
            let invalid = InvalidAnswer::new("There is no question to go back to", "Answer this one");
            self.repeat_prompt(invalid.clone());
            return ResponseOutcome::Rejected(invalid);
        }
        self.turns.pop();
        ResponseOutcome::Continue(None)
    }

    fn begin_question(&mut self) {
        self.refusals = 0;
        self.begin_field();
    }

    /// Resets the attempts, except for those in which the fields were valid and the conversation rejected the
    /// form.
    fn begin_field(&mut self) {
        self.prompts += 1;
        (self.attempts, self.invalid) = (self.refusals, None);
    }

    /// Marks the conversation as running.
    pub(super) fn mark_running(&mut self, input: Option<Answers>) {
        self.state =
            if self.state == SessionState::Idle { SessionState::Active } else { SessionState::Processing };
        self.pending = input;
    }

    /// Applies the result of a turn. Returns the problem if the conversation rejected the answers.
    pub(super) fn apply_turn(
        &mut self,
        turn: Turn,
        now: Timestamp,
        moment: ProcessInstant,
    ) -> Option<InvalidAnswer> {
        let answers = self.pending.take();
        self.open = None;
        self.active = now;
        self.record_prompt(now, moment);
        match turn {
            Turn::Ask(asked) => return self.apply_question(*asked, answers.unwrap_or_default()),
            Turn::Done(done) => {
                self.state = SessionState::Completed;
                self.result = serde_json::from_str(done.reply.get()).ok();
                self.summary = done.summary;
            }
            Turn::Halted(halt) => self.fail(halt.kind(), &halt.to_string(), now),
        }
        None
    }

    fn apply_question(&mut self, question: PendingQuestion, answers: Answers) -> Option<InvalidAnswer> {
        self.state = SessionState::WaitingUser;
        let problems = question.problems.clone();
        self.open = Some(question);
        let Some((_, invalid)) = problems.first().cloned() else {
            self.begin_question();
            return None;
        };
        // The conversation rejected the answers. Keep the valid ones and ask only for the rejected ones
        // again. If the problem names no field of this question, ask for all of them.
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
        self.reject_answer(invalid.clone());
        Some(invalid)
    }

    /// Drops everything but the result, so that an oversized session can still be saved. `false` if it has no
    /// result.
    pub(super) fn keep_only_result(&mut self) -> bool {
        self.turns.clear();
        self.arguments.clear();
        self.context.clear();
        self.journal = crate::Journal::default();
        self.state == SessionState::Completed
    }

    /// Ends the session with an error.
    pub(super) fn fail(&mut self, kind: &str, message: &str, now: Timestamp) {
        self.state = SessionState::Error;
        self.close(kind, message, now);
    }

    /// Ends the session on request.
    pub(super) fn cancel(&mut self, reason: Option<&str>, now: Timestamp) -> Result<(), SessionError> {
        match self.state {
            SessionState::Cancelled => return Err(SessionError::Cancelled),
            state if !state.is_open() => return Err(SessionError::WrongState { state }),
            _ => self.state = SessionState::Cancelled,
        }
        self.close("cancelled", reason.unwrap_or("cancelled"), now);
        Ok(())
    }

    fn close(&mut self, kind: &str, message: &str, now: Timestamp) {
        let message = message.chars().take(500).collect();
        self.failed = Some(SessionFailure { kind: kind.to_owned(), message });
        self.active = now;
        (self.open, self.pending, self.invalid) = (None, None, None);
        self.partial.clear();
    }

    /// Drops an argument that is not a valid answer, so that its question is asked. `false` if there is no
    /// such argument.
    pub(super) fn drop_argument(&mut self, halt: &Halt) -> bool {
        matches!(halt, Halt::InvalidArgument { name, .. } if self.arguments.remove(name).is_some())
    }

    /// Adds the problems of dropped arguments to the open question.
    pub(super) fn add_problems(&mut self, about: Vec<(String, InvalidAnswer)>) {
        if let Some(open) = &mut self.open {
            open.problems.extend(about);
        }
    }
}

fn action(response: &UserResponse) -> Option<&str> {
    response.metadata.as_ref()?.get("action")?.as_str()
}

/// The approximate size of a response in bytes.
fn approximate_response_bytes(response: &UserResponse) -> usize {
    let entry = |(key, value): (&String, &Value)| key.len() + crate::journal::approximate_json_bytes(value);
    let metadata = response.metadata.as_ref().map_or(0, |map| map.iter().map(entry).sum());
    crate::journal::approximate_json_bytes(&response.value)
        + metadata
        + response.timestamp.as_ref().map_or(0, crate::journal::approximate_json_bytes)
}
