//! The policy of each error: its kind, its code in each dialect, its audience and its HTTP status.

use std::time::Duration;

use flow::SealError;
use flow::session::SessionError;
use protocol::mcp::codes;
use protocol::{Dialect, MessageError, Revision};
use tree::RootError;

use super::{ArgumentError, PlanRequestError, RequestError, RequestRejection, codefluss, flow_codes};

/// Who can act on an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorAudience {
    /// The model that called the tool: it can call again with other arguments.
    Model,
    /// The client program: it violated the protocol.
    Client,
}

pub(super) struct ErrorPolicy {
    /// Stable, machine-readable, the same in every dialect.
    pub(super) kind: &'static str,
    /// The JSON-RPC code, if the error is sent as a JSON-RPC error.
    pub(super) code: i64,
    /// The envelope code. Only documented codes are used.
    pub(super) envelope: &'static str,
    pub(super) audience: ErrorAudience,
}

impl ErrorPolicy {
    pub(super) fn client(kind: &'static str, code: i64) -> Self {
        Self { kind, code, envelope: "tool_error", audience: ErrorAudience::Client }
    }

    /// A request that is not allowed, or not allowed now.
    pub(super) fn request(kind: &'static str) -> Self {
        Self::client(kind, codes::INVALID_REQUEST)
    }

    /// An invalid parameter.
    pub(super) fn params(kind: &'static str) -> Self {
        Self::client(kind, codes::INVALID_PARAMS)
    }

    /// An error that a model can act on. Dialects without model-readable results send it with the given code.
    pub(super) fn model(kind: &'static str, codefluss: i64) -> Self {
        Self { audience: ErrorAudience::Model, ..Self::client(kind, codefluss) }
    }

    pub(super) fn with_envelope_code(mut self, code: &'static str) -> Self {
        self.envelope = code;
        self
    }
}

impl RequestError {
    /// The kind, code and audience of every error. There is no `_` arm on purpose: a new error does not
    /// compile until it has a policy. For MCP, `render.rs` replaces the CODEFLUSS codes of errors meant for a
    /// model.
    pub(super) fn policy(&self, dialect: Dialect) -> ErrorPolicy {
        match self {
            Self::Malformed(problem) => {
                ErrorPolicy::client(message_error_kind(problem), message_error_code(problem))
                    .with_envelope_code("invalid_payload")
            }
            Self::BatchNotAllowed(_) => ErrorPolicy::request("batch_not_allowed"),
            Self::InitializeInBatch => ErrorPolicy::request("initialize_in_batch"),
            Self::BatchResponseTooLarge => ErrorPolicy::model("no_room_for_answer", codefluss::VALIDATION),
            Self::ResponseTooLarge => ErrorPolicy::model("too_large", codefluss::VALIDATION),
            Self::NotInitialized => ErrorPolicy::request("not_initialized"),
            Self::Initializing => ErrorPolicy::request("initializing"),
            Self::AlreadyInitialized => ErrorPolicy::request("already_initialized"),
            Self::ShuttingDown => ErrorPolicy::request("shutting_down"),
            Self::DuplicateId => ErrorPolicy::request("duplicate_id"),
            Self::MethodNotFound { .. } => ErrorPolicy::client("method_not_found", codes::METHOD_NOT_FOUND),
            Self::InvalidParams { .. } => ErrorPolicy::params("invalid_params"),
            Self::MissingCapability { .. } => {
                ErrorPolicy::client("missing_capability", codes::MISSING_CLIENT_CAPABILITY)
            }
            Self::UnknownTool { code, .. } => ErrorPolicy::params("tool_not_found").with_envelope_code(code),
            Self::InvalidArguments(problem) => problem.policy(dialect),
            Self::InputNeeded { .. } => ErrorPolicy::model("input_needed", codes::INVALID_PARAMS),
            Self::UnknownPrompt { .. } => ErrorPolicy::params("prompt_not_found"),
            Self::MissingResource { .. } => {
                ErrorPolicy::client("resource_not_found", missing_resource_code(dialect))
                    .with_envelope_code("file_not_found")
            }
            Self::Index { .. } => {
                ErrorPolicy::model("index_error", codes::INTERNAL_ERROR).with_envelope_code("index_error")
            }
            Self::InvalidCursor => ErrorPolicy::params("invalid_cursor"),
            Self::Rejected(rejection) => ErrorPolicy::client(rejection.kind(), rejection.code(dialect)),
            Self::Forbidden(_) => ErrorPolicy::model("forbidden", codefluss::FORBIDDEN),
            Self::BoundToProject => ErrorPolicy::model("bound_to_project", codefluss::FORBIDDEN),
            Self::Project(problem) => problem.policy(),
            Self::Root(RootError::NoRoot { .. }) => ErrorPolicy::model("no_root", codefluss::VALIDATION),
            Self::Root(RootError::NotAllowed { .. }) => {
                ErrorPolicy::model("root_not_allowed", codefluss::VALIDATION)
            }
            Self::Root(RootError::Protected { .. }) => {
                ErrorPolicy::model("root_guarded", codefluss::VALIDATION)
            }
            Self::Root(RootError::Missing { .. }) => {
                ErrorPolicy::model("root_not_found", codefluss::NOT_FOUND)
                    .with_envelope_code("file_not_found")
            }
            Self::Root(RootError::NotAFolder { .. }) => {
                ErrorPolicy::model("root_not_a_folder", codefluss::VALIDATION)
            }
            Self::Root(RootError::Unreadable { .. }) => {
                ErrorPolicy::model("root_unreadable", codefluss::VALIDATION)
            }
            Self::DisjointRoots { .. } => ErrorPolicy::model("root_not_allowed", codefluss::VALIDATION),
            Self::Plan(problem @ PlanRequestError::NotFound { .. }) => {
                ErrorPolicy::model(problem.kind(), codefluss::NOT_FOUND)
            }
            Self::Plan(problem) => ErrorPolicy::model(problem.kind(), codefluss::VALIDATION),
            Self::Halted(halt) => ErrorPolicy::model(halt.kind(), codefluss::VALIDATION),
            Self::InvalidState(SealError::Invalid) => ErrorPolicy::params("invalid_state"),
            Self::InvalidState(SealError::Expired) => ErrorPolicy::params("expired_state"),
            Self::NotAnswered { declined: true, .. } => ErrorPolicy::model("declined", codefluss::VALIDATION),
            Self::NotAnswered { declined: false, .. } => {
                ErrorPolicy::model("dismissed", codefluss::VALIDATION)
            }
            Self::TooManyAttempts { .. } => ErrorPolicy::model("too_many_attempts", codefluss::VALIDATION),
            Self::Session { problem, .. } => flow_codes::policy(problem),
            Self::InvalidResponse { .. } => {
                ErrorPolicy::client("validation_failed", flow_codes::VALIDATION_FAILED)
            }
            Self::StoreUnavailable { .. } => ErrorPolicy::client(
                RequestRejection::StoreUnavailable.kind(),
                RequestRejection::StoreUnavailable.code(dialect),
            ),
            Self::StoreFull { .. } => ErrorPolicy::client(
                RequestRejection::StoreFull.kind(),
                RequestRejection::StoreFull.code(dialect),
            ),
            Self::OutOfResources { .. } => ErrorPolicy::model("out_of_resources", codes::INTERNAL_ERROR)
                .with_envelope_code("internal_error"),
            Self::Internal { .. } => {
                ErrorPolicy::client("internal", codes::INTERNAL_ERROR).with_envelope_code("internal_error")
            }
        }
    }

    /// Stable, machine-readable, the same in every dialect.
    pub(crate) fn kind(&self) -> &'static str {
        self.policy(Dialect::Envelope).kind
    }

    /// The audience in this dialect. Only MCP has tool results that a model reads.
    pub(crate) fn audience(&self, dialect: Dialect) -> ErrorAudience {
        match dialect {
            Dialect::Mcp(_) => self.policy(dialect).audience,
            Dialect::Envelope | Dialect::Codefluss => ErrorAudience::Client,
        }
    }

    /// The HTTP status. On `/api/mcp` and in sessions most errors are sent with 200; in stateless requests
    /// the status tells proxies what the client did wrong.
    pub(super) fn status(&self, dialect: Dialect) -> u16 {
        let is_mcp = matches!(dialect, Dialect::Mcp(_));
        let is_stateless = dialect.revision().is_some_and(Revision::is_stateless);
        if let Some(rejection) = self.rejection() {
            return rejection.status(dialect);
        }
        match self {
            Self::Malformed(MessageError::TooLarge { .. }) => 413,
            Self::Malformed(_) | Self::BatchNotAllowed(_) if is_mcp => 400,
            Self::ShuttingDown | Self::OutOfResources { .. } if is_mcp => 503,
            Self::Forbidden(_) | Self::BoundToProject if is_mcp => 403,
            Self::MethodNotFound { .. } if is_stateless => 404,
            Self::MissingCapability { .. } if is_stateless => 400,
            Self::InvalidParams { field, .. } if is_stateless && field.starts_with("_meta") => 400,
            _ => 200,
        }
    }

    pub(super) fn retry_after(&self) -> Option<Duration> {
        if let Some(rejection) = self.rejection() {
            return rejection.retry_after();
        }
        match self {
            Self::Session { problem: SessionError::LimitReached { retry_after, .. }, .. } => *retry_after,
            Self::ShuttingDown | Self::OutOfResources { .. } => Some(Duration::from_secs(1)),
            _ => None,
        }
    }
}

impl ArgumentError {
    fn policy(&self, dialect: Dialect) -> ErrorPolicy {
        let mut policy = match self {
            Self::Missing { .. } => ErrorPolicy::params("missing_argument"),
            Self::Unknown { .. } => ErrorPolicy::params("unknown_argument"),
            Self::Value { .. } => ErrorPolicy::params("invalid_argument"),
            Self::Type { .. } => {
                ErrorPolicy::params("invalid_argument").with_envelope_code("invalid_payload")
            }
        };
        if dialect.revision().is_some_and(Revision::model_repairs_bad_arguments) {
            policy.audience = ErrorAudience::Model;
        }
        policy
    }
}

fn missing_resource_code(dialect: Dialect) -> i64 {
    match dialect {
        Dialect::Codefluss => codefluss::NOT_FOUND,
        Dialect::Mcp(revision) if revision.has_missing_resource_code() => codes::RESOURCE_NOT_FOUND,
        Dialect::Mcp(_) | Dialect::Envelope => codes::INVALID_PARAMS,
    }
}

fn message_error_kind(problem: &MessageError) -> &'static str {
    match problem {
        MessageError::NotUtf8 { .. } => "not_utf8",
        MessageError::Syntax { .. } => "parse_error",
        MessageError::LoneSurrogate { .. } => "lone_surrogate",
        MessageError::TooLarge { .. } => "message_too_large",
        MessageError::TooDeep { .. } => "nested_too_deep",
        MessageError::TooManyValues { .. } => "too_many_values",
        MessageError::DuplicateKey { .. } => "duplicate_key",
        MessageError::EmptyBatch => "empty_batch",
        MessageError::BatchTooLarge { .. } => "batch_too_large",
        MessageError::NotAnObject { .. }
        | MessageError::MissingField { .. }
        | MessageError::WrongType { .. }
        | MessageError::WrongVersion
        | MessageError::UnknownType { .. } => "invalid_request",
    }
}

fn message_error_code(problem: &MessageError) -> i64 {
    match problem {
        MessageError::NotUtf8 { .. }
        | MessageError::Syntax { .. }
        | MessageError::LoneSurrogate { .. }
        | MessageError::TooDeep { .. } => codes::PARSE_ERROR,
        MessageError::TooLarge { .. }
        | MessageError::TooManyValues { .. }
        | MessageError::DuplicateKey { .. }
        | MessageError::NotAnObject { .. }
        | MessageError::EmptyBatch
        | MessageError::BatchTooLarge { .. }
        | MessageError::MissingField { .. }
        | MessageError::WrongType { .. }
        | MessageError::WrongVersion
        | MessageError::UnknownType { .. } => codes::INVALID_REQUEST,
    }
}
