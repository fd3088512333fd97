//! Why a conversation stopped before it completed.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::InvalidAnswer;

/// Why a conversation stopped before it completed. Propagate it with `?`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Halt {
    /// A question is open. The engine handles this case.
    #[error("waiting for an answer")]
    Suspended,
    /// The tool refused, with a message for the user.
    #[error("{0}")]
    Refused(String),
    /// An operation of the tool failed. The host can downcast the error if it knows the type.
    #[error("{0}")]
    Failed(HaltCause),
    /// The argument for a question is not a valid answer.
    #[error("`{name}`: {invalid}")]
    InvalidArgument {
        /// The name of the argument.
        name: String,
        /// What is wrong with it.
        invalid: InvalidAnswer,
    },
    /// A derived value that an earlier answer relied on has changed.
    #[error("`{key}` has changed since the question was asked; start again")]
    DerivedValueChanged {
        /// The key of the derived value.
        key: String,
    },
    /// A previous run started an effect that must not be repeated, and its outcome is unknown.
    #[error(
        "the step `{key}` was started, but its outcome is unknown; check whether it took effect before you start again"
    )]
    OutcomeUnknown {
        /// The key of the effect.
        key: String,
    },
    /// The code of the conversation does not match the journal.
    #[error("the tool was changed during this conversation (at `{key}`); start again")]
    CodeChanged {
        /// The first key that differs.
        key: String,
    },
    /// The author defined a question that must not be asked or that cannot be answered.
    #[error("{0}")]
    InvalidPrompt(String),
    /// The code of the conversation panicked.
    #[error("the tool panicked")]
    Panicked,
    /// The journal exceeds its size limit.
    #[error("the conversation is too long; start again")]
    TooLong,
    /// Another turn continued from the same point first.
    #[error("another request has already continued this conversation; use its newest state, or start again")]
    Superseded,
    /// The journal store is unavailable. Effects performed in this turn may need manual cleanup.
    #[error("the conversation cannot be saved at the moment; try again")]
    StoreUnavailable(HaltCause),
}

/// The error behind a [`Halt`]. Two causes are equal if their messages are equal.
#[derive(Clone, Debug)]
pub struct HaltCause {
    kind: &'static str,
    error: Arc<dyn Error + Send + Sync>,
}

impl HaltCause {
    /// Returns the underlying error, for logging.
    pub fn into_error(self) -> Arc<dyn Error + Send + Sync> {
        self.error
    }

    /// Returns the underlying error if it is an `E`.
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        self.error.downcast_ref()
    }
}

impl fmt::Display for HaltCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl PartialEq for HaltCause {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for HaltCause {}

impl Halt {
    /// Refuses with a message for the user.
    ///
    /// ```
    /// let halt = flow::Halt::refuse("there are no seats left on that day");
    /// assert_eq!(halt.to_string(), "there are no seats left on that day");
    /// assert_eq!(halt.kind(), "refused");
    /// ```
    pub fn refuse(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }

    /// Stops because of `error`; `kind` is a stable machine-readable name.
    pub fn from_error(kind: &'static str, error: impl Error + Send + Sync + 'static) -> Self {
        Self::Failed(HaltCause { kind, error: Arc::new(error) })
    }

    /// Stops because the journal store is unavailable.
    pub fn store_unavailable(error: impl Error + Send + Sync + 'static) -> Self {
        Self::StoreUnavailable(HaltCause { kind: "store_unavailable", error: Arc::new(error) })
    }

    /// A stable machine-readable name.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Suspended | Self::Panicked => "internal",
            Self::Refused(_) => "refused",
            Self::Failed(cause) => cause.kind,
            Self::InvalidArgument { .. } => "invalid_argument",
            Self::DerivedValueChanged { .. } => "world_changed",
            Self::OutcomeUnknown { .. } => "outcome_unknown",
            Self::CodeChanged { .. } => "conversation_changed",
            Self::InvalidPrompt(_) => "prompt_unsupported",
            Self::TooLong => "conversation_too_long",
            Self::Superseded => "conversation_overtaken",
            Self::StoreUnavailable(_) => "store_unavailable",
        }
    }
}
