//! The one place where a failure gets its kind, its code in each dialect, and its audience.
//!
//! Domain crates have error enums without numbers. Every `match` here is exhaustive: a new failure does not compile
//! until somebody has decided who reads it.

use flow::{Halt, Question, SealError};
use protocol::mcp::codes;
use protocol::{Dialect, Id, Problem, Revision, encode};
use serde_json::{Value, json};

use crate::front;

/// Everything that can come out instead of a result. The texts are for whoever [`Audience`] says.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Malformed(Problem),
    #[error("MCP {0} has no batches; send one message at a time")]
    BatchNotAllowed(Revision),
    #[error("`initialize` cannot be part of a batch; send it alone")]
    InitializeInBatch,
    #[error("the session is not initialized; send `initialize` first")]
    NotInitialized,
    #[error("the session is still initializing; send `notifications/initialized` first")]
    Initializing,
    #[error("the session is initialized already")]
    AlreadyInitialized,
    #[error("the server is shutting down and takes no new requests")]
    ShuttingDown,
    #[error("a request with this id is still running; use another id")]
    DuplicateId,
    #[error("Method not found: {method}")]
    MethodNotFound { method: String },
    #[error("`{field}`: {error}")]
    InvalidParams { field: String, error: String },
    #[error("this server does not speak MCP {requested} without a handshake")]
    UnsupportedVersion { requested: String },
    #[error("this call goes on only with a client that can show forms (the capability `elicitation`)")]
    MissingCapability,
    #[error("Unknown tool: {name}")]
    UnknownTool { name: String, available: Vec<String>, code: &'static str },
    #[error("{0}")]
    BadArguments(ArgumentProblem),
    #[error("{}", front::arguments::explain(tool, question))]
    InputNeeded { tool: String, question: Question },
    #[error("Unknown prompt: {name}. There are: {}", available.join(", "))]
    UnknownPrompt { name: String, available: Vec<&'static str> },
    #[error("Resource not found: {uri}")]
    MissingResource { uri: String },
    #[error("the cursor is not one that this list gave; begin again without it")]
    BadCursor,
    #[error("too many subscriptions are open ({limit}); close one first")]
    TooManySubscriptions { limit: usize },
    #[error(transparent)]
    Forbidden(#[from] access::Forbidden),
    #[error("{0}")]
    Halted(Halt),
    #[error("{0}")]
    BadState(SealError),
    #[error("the user {} the question \"{question}\"; nothing was done", if *declined { "declined" } else { "dismissed" })]
    NotAnswered { question: String, declined: bool },
    #[error("the question \"{question}\" got no usable answer after {attempts} attempts; nothing was done")]
    TooManyAttempts { question: String, attempts: usize },
    #[error("Internal error")]
    Internal,
}

/// What is wrong with the arguments of a call.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ArgumentProblem {
    #[error("missing argument `{name}`")]
    Missing { name: String },
    #[error("unknown argument `{name}`; this tool takes {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    Unknown { name: String, known: Vec<String> },
    #[error("`{name}`: {error}")]
    Value { name: String, error: String },
    #[error("`{name}`: {error}")]
    Type { name: String, error: String },
}

/// Who can do something about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The model that called the tool: it may call again, differently.
    Model,
    /// The client program: it broke the protocol.
    Client,
}

impl Failure {
    pub(crate) fn params(field: impl Into<String>, error: impl Into<String>) -> Self {
        Self::InvalidParams { field: field.into(), error: error.into() }
    }

    /// A stable name for programs, the same in every dialect.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Malformed(problem) => problem_kind(problem),
            Self::BatchNotAllowed(_) => "batch_not_allowed",
            Self::InitializeInBatch => "initialize_in_batch",
            Self::NotInitialized => "not_initialized",
            Self::Initializing => "initializing",
            Self::AlreadyInitialized => "already_initialized",
            Self::ShuttingDown => "shutting_down",
            Self::DuplicateId => "duplicate_id",
            Self::MethodNotFound { .. } => "method_not_found",
            Self::InvalidParams { .. } => "invalid_params",
            Self::UnsupportedVersion { .. } => "unsupported_version",
            Self::MissingCapability => "missing_capability",
            Self::UnknownTool { .. } => "tool_not_found",
            Self::BadArguments(ArgumentProblem::Missing { .. }) => "missing_argument",
            Self::BadArguments(ArgumentProblem::Unknown { .. }) => "unknown_argument",
            Self::BadArguments(ArgumentProblem::Value { .. } | ArgumentProblem::Type { .. }) => {
                "invalid_argument"
            }
            Self::InputNeeded { .. } => "input_needed",
            Self::UnknownPrompt { .. } => "prompt_not_found",
            Self::MissingResource { .. } => "resource_not_found",
            Self::BadCursor => "invalid_cursor",
            Self::TooManySubscriptions { .. } => "too_many_subscriptions",
            Self::Forbidden(_) => "forbidden",
            Self::Halted(halt) => halt_kind(halt),
            Self::BadState(SealError::Invalid) => "invalid_state",
            Self::BadState(SealError::Expired) => "expired_state",
            Self::NotAnswered { declined: true, .. } => "declined",
            Self::NotAnswered { declined: false, .. } => "dismissed",
            Self::TooManyAttempts { .. } => "too_many_attempts",
            Self::Internal => "internal",
        }
    }

    /// Who should read it, in this dialect.
    pub(crate) fn audience(&self, dialect: Dialect) -> Audience {
        let Dialect::Mcp(revision) = dialect else { return Audience::Client };
        match self {
            Self::BadArguments(_) if revision.model_repairs_bad_arguments() => Audience::Model,
            Self::InputNeeded { .. }
            | Self::Forbidden(_)
            | Self::Halted(_)
            | Self::NotAnswered { .. }
            | Self::TooManyAttempts { .. } => Audience::Model,
            Self::Malformed(_)
            | Self::BatchNotAllowed(_)
            | Self::InitializeInBatch
            | Self::NotInitialized
            | Self::Initializing
            | Self::AlreadyInitialized
            | Self::ShuttingDown
            | Self::DuplicateId
            | Self::MethodNotFound { .. }
            | Self::InvalidParams { .. }
            | Self::UnsupportedVersion { .. }
            | Self::MissingCapability
            | Self::UnknownTool { .. }
            | Self::BadArguments(_)
            | Self::UnknownPrompt { .. }
            | Self::MissingResource { .. }
            | Self::BadCursor
            | Self::TooManySubscriptions { .. }
            | Self::BadState(_)
            | Self::Internal => Audience::Client,
        }
    }

    /// The JSON-RPC code.
    fn code(&self, dialect: Dialect) -> i64 {
        match self {
            Self::Malformed(problem) => problem_code(problem),
            Self::BatchNotAllowed(_)
            | Self::InitializeInBatch
            | Self::NotInitialized
            | Self::Initializing
            | Self::AlreadyInitialized
            | Self::ShuttingDown
            | Self::DuplicateId => codes::INVALID_REQUEST,
            Self::MethodNotFound { .. } => codes::METHOD_NOT_FOUND,
            Self::UnsupportedVersion { .. } => codes::UNSUPPORTED_VERSION,
            Self::MissingCapability => codes::MISSING_CLIENT_CAPABILITY,
            Self::MissingResource { .. } => match dialect {
                Dialect::Codefluss => codefluss::NOT_FOUND,
                Dialect::Mcp(revision) if revision.has_missing_resource_code() => codes::RESOURCE_NOT_FOUND,
                Dialect::Mcp(_) | Dialect::Envelope => codes::INVALID_PARAMS,
            },
            Self::Forbidden(_) if dialect == Dialect::Codefluss => codefluss::FORBIDDEN,
            Self::Halted(_) | Self::NotAnswered { .. } | Self::TooManyAttempts { .. }
                if dialect == Dialect::Codefluss =>
            {
                codefluss::VALIDATION
            }
            Self::InvalidParams { .. }
            | Self::UnknownTool { .. }
            | Self::BadArguments(_)
            | Self::InputNeeded { .. }
            | Self::UnknownPrompt { .. }
            | Self::BadCursor
            | Self::TooManySubscriptions { .. }
            | Self::Forbidden(_)
            | Self::Halted(_)
            | Self::BadState(_)
            | Self::NotAnswered { .. }
            | Self::TooManyAttempts { .. } => codes::INVALID_PARAMS,
            Self::Internal => codes::INTERNAL_ERROR,
        }
    }

    /// The code of the envelope, of which there are only the documented ones.
    fn envelope_code(&self) -> &'static str {
        match self {
            Self::UnknownTool { code, .. } => code,
            Self::Malformed(_)
            | Self::BadArguments(ArgumentProblem::Type { .. })
            | Self::BatchNotAllowed(_)
            | Self::InitializeInBatch => "invalid_payload",
            Self::MissingResource { .. } => "file_not_found",
            Self::Internal => "internal_error",
            Self::NotInitialized
            | Self::Initializing
            | Self::AlreadyInitialized
            | Self::ShuttingDown
            | Self::DuplicateId
            | Self::MethodNotFound { .. }
            | Self::InvalidParams { .. }
            | Self::UnsupportedVersion { .. }
            | Self::MissingCapability
            | Self::BadArguments(_)
            | Self::InputNeeded { .. }
            | Self::UnknownPrompt { .. }
            | Self::BadCursor
            | Self::TooManySubscriptions { .. }
            | Self::Forbidden(_)
            | Self::Halted(_)
            | Self::BadState(_)
            | Self::NotAnswered { .. }
            | Self::TooManyAttempts { .. } => "tool_error",
        }
    }

    /// Facts for programs, beside the text. Always holds `kind`.
    fn data(&self, dialect: Dialect) -> Value {
        let mut data = match self {
            Self::MethodNotFound { method } => json!({ "method": method }),
            Self::InvalidParams { field, error } => json!({ "field": field, "error": error }),
            Self::UnsupportedVersion { requested } => {
                json!({ "requested": requested, "supported": Revision::ALL })
            }
            Self::MissingCapability => json!({ "requiredCapabilities": { "elicitation": { "form": {} } } }),
            Self::UnknownTool { available, code, .. } => {
                let alias = if *code == "tool_not_found" { "unknown_tool" } else { "tool_not_found" };
                match dialect {
                    Dialect::Envelope => json!({ "availableTools": available, "aliases": [alias] }),
                    Dialect::Codefluss | Dialect::Mcp(_) => {
                        json!({ "field": "name", "error": self.to_string(), "availableTools": available })
                    }
                }
            }
            Self::BadArguments(problem) => problem.data(dialect),
            Self::InputNeeded { question, .. } => front::arguments::data(question, dialect),
            Self::MissingResource { uri } => json!({ "uri": uri }),
            Self::TooManySubscriptions { limit } => json!({ "limit": limit }),
            Self::Internal => json!({}),
            Self::Malformed(_)
            | Self::BatchNotAllowed(_)
            | Self::InitializeInBatch
            | Self::NotInitialized
            | Self::Initializing
            | Self::AlreadyInitialized
            | Self::ShuttingDown
            | Self::DuplicateId
            | Self::UnknownPrompt { .. }
            | Self::BadCursor
            | Self::Forbidden(_)
            | Self::Halted(_)
            | Self::BadState(_)
            | Self::NotAnswered { .. }
            | Self::TooManyAttempts { .. } => match dialect {
                // Elsewhere the message says it; there the message is only a name.
                Dialect::Codefluss => json!({ "detail": self.to_string() }),
                Dialect::Envelope | Dialect::Mcp(_) => json!({}),
            },
        };
        data["kind"] = self.kind().into();
        data
    }
}

impl ArgumentProblem {
    fn data(&self, dialect: Dialect) -> Value {
        match (self, dialect) {
            (Self::Missing { name }, Dialect::Envelope) => json!({ "missing_param": name }),
            (Self::Missing { name }, _) => json!({ "field": name, "error": "Required field missing" }),
            (Self::Unknown { name, known }, _) => {
                json!({ "field": name, "error": "Unknown field", "known": known })
            }
            (Self::Value { name, error } | Self::Type { name, error }, _) => {
                json!({ "field": name, "error": error })
            }
        }
    }
}

/// Codes of the CODEFLUSS document.
mod codefluss {
    pub(super) const FORBIDDEN: i64 = -32002;
    pub(super) const NOT_FOUND: i64 = -32003;
    pub(super) const VALIDATION: i64 = -32004;

    /// The document's name for a code: its `message`, while the explanation stands in `data`.
    pub(super) fn name(code: i64) -> &'static str {
        match code {
            -32700 => "Parse error",
            -32600 => "Invalid Request",
            -32601 => "Method not found",
            -32602 => "Invalid params",
            FORBIDDEN => "Authorization failed",
            NOT_FOUND => "Resource not found",
            VALIDATION => "Validation error",
            _ => "Internal error",
        }
    }
}

/// The error message that tells of a failure, in the dialect of the question.
pub(crate) fn render(failure: &Failure, dialect: Dialect, id: Option<&Id>) -> Vec<u8> {
    let data = failure.data(dialect);
    let code = failure.code(dialect);
    match dialect {
        Dialect::Envelope => encode::envelope_error(id, failure.envelope_code(), &failure.to_string(), &data),
        Dialect::Codefluss => encode::error(id, code, codefluss::name(code), Some(&data)),
        Dialect::Mcp(_) => encode::error(id, code, &failure.to_string(), Some(&data)),
    }
}

fn problem_kind(problem: &Problem) -> &'static str {
    match problem {
        Problem::NotUtf8 { .. } => "not_utf8",
        Problem::Syntax { .. } => "parse_error",
        Problem::LoneSurrogate { .. } => "lone_surrogate",
        Problem::TooLarge { .. } => "message_too_large",
        Problem::TooDeep { .. } => "nested_too_deep",
        Problem::TooManyValues { .. } => "too_many_values",
        Problem::DuplicateKey { .. } => "duplicate_key",
        Problem::EmptyBatch => "empty_batch",
        Problem::BatchTooLarge { .. } => "batch_too_large",
        Problem::NotAnObject { .. }
        | Problem::MissingField { .. }
        | Problem::WrongType { .. }
        | Problem::WrongVersion
        | Problem::UnknownType { .. } => "invalid_request",
    }
}

fn problem_code(problem: &Problem) -> i64 {
    match problem {
        Problem::NotUtf8 { .. }
        | Problem::Syntax { .. }
        | Problem::LoneSurrogate { .. }
        | Problem::TooDeep { .. } => codes::PARSE_ERROR,
        Problem::TooLarge { .. }
        | Problem::TooManyValues { .. }
        | Problem::DuplicateKey { .. }
        | Problem::NotAnObject { .. }
        | Problem::EmptyBatch
        | Problem::BatchTooLarge { .. }
        | Problem::MissingField { .. }
        | Problem::WrongType { .. }
        | Problem::WrongVersion
        | Problem::UnknownType { .. } => codes::INVALID_REQUEST,
    }
}

fn halt_kind(halt: &Halt) -> &'static str {
    match halt {
        Halt::Suspended => "internal",
        Halt::Refused(_) => "refused",
        Halt::BadArgument { .. } => "invalid_argument",
        Halt::WorldChanged { .. } => "world_changed",
        Halt::OutcomeUnknown { .. } => "outcome_unknown",
        Halt::CodeChanged { .. } => "conversation_changed",
        Halt::NotDurable { .. } => "not_durable",
        Halt::TooLong => "conversation_too_long",
    }
}
