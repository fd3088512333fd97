//! The state and history of a session.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::{Limits, ProcessInstant};
use crate::{Answers, Field, InvalidAnswer, Journal, PendingQuestion, Progress, Prompt};

/// The session states of the MCP Flow specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Created, but not yet running.
    Idle,
    /// The first turn is running.
    Active,
    /// A question is open.
    WaitingUser,
    /// An answer is being processed.
    Processing,
    /// The conversation completed.
    Completed,
    /// The session was cancelled.
    Cancelled,
    /// The session failed.
    Error,
}

impl SessionState {
    /// Whether the session has not ended.
    pub fn is_open(self) -> bool {
        match self {
            Self::Idle | Self::Active | Self::WaitingUser | Self::Processing => true,
            Self::Completed | Self::Cancelled | Self::Error => false,
        }
    }

    /// Whether the specification has a transition from this state to `next`.
    pub fn can_transition_to(self, next: Self) -> bool {
        use SessionState::{Active, Cancelled, Completed, Error, Idle, Processing, WaitingUser};
        matches!(
            (self, next),
            (Idle, Active)
                // A conversation without questions does not wait.
                | (Active, WaitingUser | Processing)
                | (WaitingUser, Processing)
                | (Processing, WaitingUser | Completed)
        ) || self.is_open() && matches!(next, Cancelled | Error)
    }
}

/// An answered question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastTurn {
    /// The name of the answer.
    pub name: String,
    /// The serialized question. Most turns never read it again, so it is not parsed on every load.
    pub(super) prompt: RawPrompt,
    /// The normalized answer.
    pub value: Value,
    /// The time of the answer according to the client. Untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Value>,
    /// Additional data from the client. Untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// When the server received the answer.
    pub at: Timestamp,
}

impl PastTurn {
    /// Parses the question.
    pub fn prompt(&self) -> Option<Prompt> {
        serde_json::from_str(self.prompt.0.get()).ok()
    }
}

/// A serialized prompt that is copied without parsing.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct RawPrompt(Box<RawValue>);

impl RawPrompt {
    pub(super) fn from_prompt(prompt: &Prompt) -> Self {
        Self(to_raw_value(prompt).unwrap_or_default())
    }
}

impl PartialEq for RawPrompt {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

/// Why a session failed or was cancelled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFailure {
    /// A stable machine-readable name.
    pub kind: String,
    /// A message for people.
    pub message: String,
}

/// The state and history of a conversation: everything that has to be stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    pub(super) tool: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) arguments: Answers,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) context: Map<String, Value>,
    pub(super) created: Timestamp,
    pub(super) active: Timestamp,
    /// When the open prompt was issued. Builds without `put` require it, and replicas of both builds run side
    /// by side during an upgrade.
    pub(super) asked: Timestamp,
    /// When each process last issued a prompt, by its own clock. The last entry belongs to the open prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) put: Vec<ProcessInstant>,
    pub(super) timeout: Duration,
    pub(super) state: SessionState,
    pub(super) journal: Journal,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) turns: Vec<PastTurn>,
    /// How many answers were accepted, including undone ones.
    #[serde(default)]
    pub(super) answered: usize,
    /// The open question with all of its fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) open: Option<PendingQuestion>,
    /// Answers to fields of the open form while others are missing.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) partial: Answers,
    /// How many answers to the open question were rejected.
    pub(super) attempts: u32,
    /// How many of these the conversation itself rejected.
    pub(super) refusals: u32,
    /// Why the last answer was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) invalid: Option<InvalidAnswer>,
    /// How many prompts were issued. Numbers the prompts.
    pub(super) prompts: u32,
    /// The answers that are being processed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pending: Option<Answers>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failed: Option<SessionFailure>,
    /// The start of the current rate-limit window, and the number of responses in it.
    pub(super) counted: (Timestamp, u32),
}

impl Session {
    pub(super) fn new(
        tool: String,
        arguments: Answers,
        context: Map<String, Value>,
        timeout: Duration,
        now: Timestamp,
    ) -> Self {
        Self {
            tool,
            arguments,
            context,
            created: now,
            active: now,
            asked: now,
            put: Vec::new(),
            timeout,
            state: SessionState::Idle,
            journal: Journal::default(),
            turns: Vec::new(),
            answered: 0,
            open: None,
            partial: Answers::new(),
            attempts: 0,
            refusals: 0,
            invalid: None,
            prompts: 0,
            pending: None,
            result: None,
            summary: None,
            failed: None,
            counted: (now, 0),
        }
    }

    /// The name of the tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The current state.
    pub fn state(&self) -> SessionState {
        self.state
    }

    /// When the session was started.
    pub fn created(&self) -> Timestamp {
        self.created
    }

    /// When the user was last active.
    pub fn last_active(&self) -> Timestamp {
        self.active
    }

    /// The idle timeout.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Additional data passed when the session was started.
    pub fn context(&self) -> &Map<String, Value> {
        &self.context
    }

    /// The answered questions.
    pub fn history(&self) -> &[PastTurn] {
        &self.turns
    }

    /// The open question; of a form, the first field without an answer.
    pub fn current_field(&self) -> Option<&Field> {
        let fields = &self.open.as_ref().filter(|_| self.state == SessionState::WaitingUser)?.question.fields;
        fields.iter().find(|field| !self.partial.contains_key(&field.name))
    }

    /// The id of the open prompt, unique within this session.
    pub fn prompt_id(&self) -> String {
        format!("prompt_{}", self.prompts)
    }

    /// Why the last answer to the open question, or the argument for it, was rejected.
    pub fn invalid_answer(&self) -> Option<&InvalidAnswer> {
        self.invalid.as_ref().or_else(|| {
            let (name, problems) = (&self.current_field()?.name, &self.open.as_ref()?.problems);
            problems.iter().find(|(wrong, _)| wrong == name).map(|(_, invalid)| invalid)
        })
    }

    /// The text above the fields of a form.
    pub fn heading(&self) -> Option<&str> {
        let question = &self.open.as_ref()?.question;
        let says_more = self.current_field().is_some_and(|field| field.prompt.message != question.message);
        says_more.then_some(question.message.as_str())
    }

    /// The progress of the conversation, if it reports any.
    pub fn progress(&self) -> Option<&Progress> {
        self.open.as_ref()?.progress.as_ref()
    }

    /// The result of a completed conversation.
    pub fn result(&self) -> Option<&Value> {
        self.result.as_ref()
    }

    /// A one-sentence summary of the result, if the tool set one.
    pub fn summary(&self) -> Option<&str> {
        self.summary.as_deref()
    }

    /// Why the session failed or was cancelled.
    pub fn failure(&self) -> Option<&SessionFailure> {
        self.failed.as_ref()
    }

    /// All answers by name: the arguments and the answers given since.
    pub fn answers(&self) -> Answers {
        let given = self.turns.iter().map(|turn| (turn.name.clone(), turn.value.clone()));
        self.arguments.clone().into_iter().chain(given).collect()
    }

    /// When the session expires without further activity. After that an ended session can no longer be read.
    pub fn expires_at(&self, limits: &Limits) -> Timestamp {
        match self.state {
            SessionState::Completed | SessionState::Cancelled | SessionState::Error => {
                saturating_add(self.active, limits.grace_period)
            }
            SessionState::Active | SessionState::Processing => {
                saturating_add(self.active, limits.turn_timeout + self.timeout)
            }
            SessionState::Idle | SessionState::WaitingUser => saturating_add(self.active, self.timeout)
                .min(saturating_add(self.created, limits.max_lifetime)),
        }
    }
}

/// Adds a duration, saturating at [`Timestamp::MAX`].
pub(super) fn saturating_add(time: Timestamp, later: Duration) -> Timestamp {
    let later = SignedDuration::try_from(later).unwrap_or(SignedDuration::MAX);
    time.checked_add(later).unwrap_or(Timestamp::MAX)
}
