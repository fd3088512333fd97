//! Why a conversation stopped before its end.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::InvalidAnswer;

/// Why a conversation stopped before its end. Hand it on with `?`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Halt {
    /// A question is open; the engine takes it from here.
    #[error("waiting for an answer")]
    Suspended,
    /// The tool itself says no, in its own words.
    #[error("{0}")]
    Refused(String),
    /// Something that the tool uses says no. Whoever runs the conversation may know the error, and what it means.
    #[error("{0}")]
    Failed(HaltCause),
    /// An argument was given for a question and does not answer it.
    #[error("`{name}`: {invalid}")]
    InvalidArgument {
        /// The argument.
        name: String,
        /// What is wrong with it.
        invalid: InvalidAnswer,
    },
    /// Something that an earlier answer was based on is different now.
    #[error("`{key}` is no longer what it was when the question was asked; start again")]
    DerivedValueChanged {
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
    /// A question that must not be asked, or that nobody can answer: its author got it wrong.
    #[error("{0}")]
    InvalidPrompt(String),
    /// The code of the conversation panicked.
    #[error("the tool failed from within")]
    Panicked,
    /// The conversation has become too long to keep.
    #[error("the conversation is too long; start again")]
    TooLong,
    /// Somebody else went on from the same point, and was first.
    #[error("the conversation has gone on elsewhere in the meantime")]
    Superseded,
    /// What keeps the journal cannot be reached. What was done so far may have to be looked after.
    #[error("the state of the conversation cannot be kept at the moment; try again")]
    StoreUnavailable(HaltCause),
}

/// An error of somebody else. Two are the same if they say the same.
#[derive(Clone, Debug)]
pub struct HaltCause {
    kind: &'static str,
    error: Arc<dyn Error + Send + Sync>,
}

impl HaltCause {
    /// The error itself, for logs.
    pub fn into_error(self) -> Arc<dyn Error + Send + Sync> {
        self.error
    }

    /// The error, for whoever knows its type.
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
    /// The tool says no, in words for the person who asked.
    ///
    /// ```
    /// let halt = flow::Halt::refuse("there are no seats left on that day");
    /// assert_eq!(halt.to_string(), "there are no seats left on that day");
    /// assert_eq!(halt.kind(), "refused");
    /// ```
    pub fn refuse(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }

    /// What the tool uses says no; `kind` is a stable name for programs.
    pub fn from_error(kind: &'static str, error: impl Error + Send + Sync + 'static) -> Self {
        Self::Failed(HaltCause { kind, error: Arc::new(error) })
    }

    /// What keeps the journal cannot be reached, because of this.
    pub fn store_unavailable(error: impl Error + Send + Sync + 'static) -> Self {
        Self::StoreUnavailable(HaltCause { kind: "store_unavailable", error: Arc::new(error) })
    }

    /// A stable name for programs.
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
