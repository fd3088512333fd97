//! A session: where a conversation stands, and what was said in it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::{Limits, ProcessInstant};
use crate::{Answers, Field, InvalidAnswer, Journal, PendingQuestion, Progress, Prompt};

/// The states of the MCP Flow document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// It has an id and nothing else yet.
    Idle,
    /// Its first turn runs.
    Active,
    /// A question is open.
    WaitingUser,
    /// An answer is being worked on.
    Processing,
    /// It came to its end.
    Completed,
    /// Somebody ended it.
    Cancelled,
    /// It could not go on.
    Error,
}

impl SessionState {
    /// Whether it may still go on.
    pub fn is_open(self) -> bool {
        match self {
            Self::Idle | Self::Active | Self::WaitingUser | Self::Processing => true,
            Self::Completed | Self::Cancelled | Self::Error => false,
        }
    }

    /// Whether the document has a way from here to there.
    pub fn can_transition_to(self, next: Self) -> bool {
        use SessionState::{Active, Cancelled, Completed, Error, Idle, Processing, WaitingUser};
        matches!(
            (self, next),
            (Idle, Active)
                // A conversation with nothing to ask has nothing to wait for.
                | (Active, WaitingUser | Processing)
                | (WaitingUser, Processing)
                | (Processing, WaitingUser | Completed)
        ) || self.is_open() && matches!(next, Cancelled | Error)
    }
}

/// A question that was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastTurn {
    /// The name of the answer.
    pub name: String,
    /// The question, as it was written down: most turns never look at it again, and there are many of them.
    pub(super) prompt: RawPrompt,
    /// The answer, as it was understood.
    pub value: Value,
    /// What the client says about when it was given. Not to be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Value>,
    /// What the client says about it besides. Not to be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// When it came in.
    pub at: Timestamp,
}

impl PastTurn {
    /// The question.
    pub fn prompt(&self) -> Option<Prompt> {
        serde_json::from_str(self.prompt.0.get()).ok()
    }
}

/// A prompt that is copied and not read.
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

/// Why a session could not go on, or who ended it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFailure {
    /// A stable name for programs.
    pub kind: String,
    /// What happened, for people.
    pub message: String,
}

/// Where a conversation stands, and what was said in it: all that has to be kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    pub(super) tool: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) arguments: Answers,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) context: Map<String, Value>,
    pub(super) created: Timestamp,
    pub(super) active: Timestamp,
    /// When the open prompt was put. Builds that do not know `put` cannot do without it, and replicas of both run side by
    /// side while a server is brought up to date.
    pub(super) asked: Timestamp,
    /// When each process last put a prompt, by its own clock; the open one is the last of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) put: Vec<ProcessInstant>,
    pub(super) timeout: Duration,
    pub(super) state: SessionState,
    pub(super) journal: Journal,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) turns: Vec<PastTurn>,
    /// How many answers were taken, also those that were gone back from.
    #[serde(default)]
    pub(super) answered: usize,
    /// What is asked, all fields of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) open: Option<PendingQuestion>,
    /// Answers to fields of the open form, as long as others are missing.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) partial: Answers,
    /// How often the open question was answered badly.
    pub(super) attempts: u32,
    /// How often of these the conversation itself refused the answers.
    pub(super) refusals: u32,
    /// What was wrong with the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) invalid: Option<InvalidAnswer>,
    /// How many prompts were put, which gives each its own name.
    pub(super) prompts: u32,
    /// The answers that are being worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pending: Option<Answers>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failed: Option<SessionFailure>,
    /// When the responses began to be counted, and how many there were since.
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

    /// The tool that is talked to.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Where it stands.
    pub fn state(&self) -> SessionState {
        self.state
    }

    /// When it was begun.
    pub fn created(&self) -> Timestamp {
        self.created
    }

    /// When its user was last heard of.
    pub fn last_active(&self) -> Timestamp {
        self.active
    }

    /// How long its user may stay silent.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// What whoever began it said about it.
    pub fn context(&self) -> &Map<String, Value> {
        &self.context
    }

    /// What was asked and answered.
    pub fn history(&self) -> &[PastTurn] {
        &self.turns
    }

    /// The question that is open: of a form, the first that has no answer yet.
    pub fn current_field(&self) -> Option<&Field> {
        let fields = &self.open.as_ref().filter(|_| self.state == SessionState::WaitingUser)?.question.fields;
        fields.iter().find(|field| !self.partial.contains_key(&field.name))
    }

    /// A name for the prompt that is open. No other prompt of this session has it.
    pub fn prompt_id(&self) -> String {
        format!("prompt_{}", self.prompts)
    }

    /// What was wrong with the last answer to the open question, or with the argument that was to answer it.
    pub fn invalid_answer(&self) -> Option<&InvalidAnswer> {
        self.invalid.as_ref().or_else(|| {
            let (name, problems) = (&self.current_field()?.name, &self.open.as_ref()?.problems);
            problems.iter().find(|(wrong, _)| wrong == name).map(|(_, invalid)| invalid)
        })
    }

    /// What is said above a form that has several fields.
    pub fn heading(&self) -> Option<&str> {
        let question = &self.open.as_ref()?.question;
        let says_more = self.current_field().is_some_and(|field| field.prompt.message != question.message);
        says_more.then_some(question.message.as_str())
    }

    /// How far it is.
    pub fn progress(&self) -> Option<&Progress> {
        self.open.as_ref()?.progress.as_ref()
    }

    /// What came out in the end.
    pub fn result(&self) -> Option<&Value> {
        self.result.as_ref()
    }

    /// The same in a sentence, if the tool says so.
    pub fn summary(&self) -> Option<&str> {
        self.summary.as_deref()
    }

    /// Why it could not go on, or who ended it.
    pub fn failure(&self) -> Option<&SessionFailure> {
        self.failed.as_ref()
    }

    /// All answers by name: those that came with the start, and those that were given since.
    pub fn answers(&self) -> Answers {
        let given = self.turns.iter().map(|turn| (turn.name.clone(), turn.value.clone()));
        self.arguments.clone().into_iter().chain(given).collect()
    }

    /// When it ends if nobody says anything. What is over ends when nobody may read it any more.
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

/// So much later; at the end of time, if it comes to that.
pub(super) fn saturating_add(time: Timestamp, later: Duration) -> Timestamp {
    let later = SignedDuration::try_from(later).unwrap_or(SignedDuration::MAX);
    time.checked_add(later).unwrap_or(Timestamp::MAX)
}
