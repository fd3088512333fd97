//! Why a conversation stopped before its end.

use crate::Invalid;

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
    /// A question that must not be asked, or that nobody can answer: its author got it wrong.
    #[error("{0}")]
    Unsupported(String),
    /// The code of the conversation panicked.
    #[error("the tool failed from within")]
    Crashed,
    /// The conversation has become too long to keep.
    #[error("the conversation is too long; start again")]
    TooLong,
    /// Somebody else went on from the same point, and was first.
    #[error("the conversation has gone on elsewhere in the meantime")]
    Overtaken,
    /// What keeps the journal cannot be reached. What was done so far may have to be looked after.
    #[error("the state of the conversation cannot be kept at the moment; try again")]
    NotKept,
}

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

    /// A stable name for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Suspended | Self::Crashed => "internal",
            Self::Refused(_) => "refused",
            Self::BadArgument { .. } => "invalid_argument",
            Self::WorldChanged { .. } => "world_changed",
            Self::OutcomeUnknown { .. } => "outcome_unknown",
            Self::CodeChanged { .. } => "conversation_changed",
            Self::Unsupported(_) => "prompt_unsupported",
            Self::TooLong => "conversation_too_long",
            Self::Overtaken => "conversation_overtaken",
            Self::NotKept => "store_unavailable",
        }
    }
}
