//! Errors of requests. The error enums of domain crates carry no codes: `policy.rs` is the only place that
//! assigns an error its kind, its code in each dialect and its audience, and `render.rs` encodes it as a
//! message.

use std::io;
use std::sync::Arc;

use flow::session::SessionError;
use flow::{Halt, Question, SealError};
use protocol::{MessageError, Revision};
use serde_json::{Value, json};

use crate::conversation;

mod codefluss;
mod flow_codes;
mod german;
mod plan;
mod policy;
mod project;
mod rejection;
mod render;

pub(crate) use plan::PlanRequestError;
pub(crate) use policy::ErrorAudience;
pub(crate) use project::ProjectRequestError;
pub use rejection::RequestRejection;
pub(crate) use render::{ErrorFormat, render};

/// Limit on the result of one tool call, and on a whole batch response. A 10 MB asset in base64 fits.
pub(crate) const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// Every reason why a request has no result. [`ErrorAudience`] decides who reads the message.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("{0}")]
    Malformed(MessageError),
    #[error("MCP {0} does not support batches; send one message at a time")]
    BatchNotAllowed(Revision),
    #[error("`initialize` cannot be part of a batch; send it on its own")]
    InitializeInBatch,
    #[error(
        "the call succeeded, but its result exceeds the {MAX_RESPONSE_BYTES}-byte batch limit; do not repeat a write; send a read \
         again on its own"
    )]
    BatchResponseTooLarge,
    #[error(
        "the result would exceed {MAX_RESPONSE_BYTES} bytes; request less, such as fewer entries or fields"
    )]
    ResponseTooLarge,
    #[error("the session is not initialized; send `initialize` first")]
    NotInitialized,
    #[error("the session is still initializing; send `notifications/initialized` first")]
    Initializing,
    #[error("the session is already initialized")]
    AlreadyInitialized,
    #[error("the server is shutting down and accepts no new requests")]
    ShuttingDown,
    #[error("a request with this id is still running; use another id")]
    DuplicateId,
    #[error("Method not found: {method}")]
    MethodNotFound { method: String },
    #[error("`{field}`: {error}")]
    InvalidParams { field: String, error: String },
    #[error("this call requires the client capabilities {required}")]
    MissingCapability { required: Value },
    #[error("Unknown tool: {name}")]
    UnknownTool { name: String, field: &'static str, available: Vec<String>, code: &'static str },
    #[error("{0}")]
    InvalidArguments(ArgumentError),
    #[error("{}", conversation::arguments::explain(tool, question))]
    InputNeeded { tool: String, question: Question },
    #[error("Unknown prompt: {name}. Available prompts: {}", available.join(", "))]
    UnknownPrompt { name: String, available: Vec<&'static str> },
    #[error("Resource not found: {uri}")]
    MissingResource { uri: String },
    #[error("{problem}")]
    Index { problem: String },
    #[error("the cursor is not valid for this list; start again without a cursor")]
    InvalidCursor,
    #[error(transparent)]
    Rejected(#[from] RequestRejection),
    #[error(transparent)]
    Forbidden(#[from] access::Forbidden),
    #[error("this key is limited to one project; use a key for the whole account")]
    BoundToProject,
    #[error(transparent)]
    Project(#[from] ProjectRequestError),
    #[error(transparent)]
    Root(#[from] tree::RootError),
    #[error(
        "the folders open in the client ({}) and the folders allowed on this server ({}) do not overlap; open an \
         allowed folder in the client, or start the server with --root for one of the client's folders",
        join_names(client),
        join_names(allowed)
    )]
    DisjointRoots { client: Vec<String>, allowed: Vec<String> },
    #[error(transparent)]
    Plan(#[from] PlanRequestError),
    #[error("{0}")]
    Halted(Halt),
    #[error("{0}")]
    InvalidState(SealError),
    #[error("the user {} the question \"{question}\"; nothing was done", if *declined { "declined" } else { "dismissed" })]
    NotAnswered { question: String, declined: bool },
    #[error("no valid answer to the question \"{question}\" after {attempts} attempts; nothing was done")]
    TooManyAttempts { question: String, attempts: usize },
    #[error("{}", flow_codes::explain(problem, id.as_deref()))]
    Session { id: Option<String>, problem: SessionError },
    #[error("{error}")]
    InvalidResponse { error: String },
    #[error("{}", RequestRejection::StoreUnavailable)]
    StoreUnavailable { source: SharedError },
    #[error("{}", RequestRejection::StoreFull)]
    StoreFull { source: SharedError },
    #[error(
        "the server could not start a thread: {source}; it may be out of memory or at its process limit; try again, \
         or raise the limit"
    )]
    OutOfResources { source: Arc<io::Error> },
    #[error("Internal error")]
    Internal { source: SharedError },
}

/// The cause of an error that may be cloned. For logs only: callers never see it.
pub(crate) type SharedError = Arc<dyn std::error::Error + Send + Sync>;

/// An error inside a conversation ends it and keeps its kind.
impl From<RequestError> for Halt {
    fn from(failure: RequestError) -> Self {
        Self::from_error(failure.kind(), failure)
    }
}

impl From<fluxloop::UnknownPackage> for RequestError {
    fn from(unknown: fluxloop::UnknownPackage) -> Self {
        Self::invalid_argument("package", unknown.to_string())
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ArgumentError {
    #[error("{name} is required")]
    Missing { name: String, choices: Vec<String> },
    #[error("unknown argument `{name}`; this tool takes {}", if known.is_empty() { "no arguments".to_owned() } else { known.join(", ") })]
    Unknown { name: String, known: Vec<String> },
    #[error("`{name}`: {error}")]
    Value { name: String, error: String, choices: Vec<String> },
    #[error("`{name}`: {error}")]
    Type { name: String, error: String },
}

fn join_names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

impl RequestError {
    /// A bug or a broken invariant. Callers only see "Internal error"; the cause is logged when the request
    /// ends.
    pub(crate) fn internal(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Internal { source: Arc::from(source.into()) }
    }

    /// The store is unreachable or full. The cause is logged when the request ends.
    pub(crate) fn store_unavailable(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::from_store_error(Arc::from(source.into()))
    }

    pub(crate) fn from_store_error(source: SharedError) -> Self {
        let is_full = matches!(source.downcast_ref(), Some(flow::session::StoreError::Full(_)))
            || matches!(source.downcast_ref(), Some(projects::StoreError::Full(_)));
        if is_full { Self::StoreFull { source } } else { Self::StoreUnavailable { source } }
    }

    pub(crate) fn thread_spawn_failed(source: io::Error) -> Self {
        Self::OutOfResources { source: Arc::new(source) }
    }

    /// The rejection that callers see for this error, if any.
    fn rejection(&self) -> Option<&RequestRejection> {
        match self {
            Self::Rejected(rejection) => Some(rejection),
            Self::StoreUnavailable { .. } => Some(&RequestRejection::StoreUnavailable),
            Self::StoreFull { .. } => Some(&RequestRejection::StoreFull),
            Self::Session { problem: SessionError::Store(error), .. } => {
                Some(flow_codes::store_rejection(error))
            }
            _ => None,
        }
    }

    pub(crate) fn invalid_params(field: impl Into<String>, error: impl Into<String>) -> Self {
        Self::InvalidParams { field: field.into(), error: error.into() }
    }

    /// An argument that matches the schema but has an unusable value.
    pub(crate) fn invalid_argument(name: &str, error: impl Into<String>) -> Self {
        let (name, error) = (name.to_owned(), error.into());
        Self::InvalidArguments(ArgumentError::Value { name, error, choices: Vec::new() })
    }

    /// An argument that matches the schema but violates a project rule (contract row 14).
    pub(crate) fn rule_violation(pointer: &str, why: impl Into<String>) -> Self {
        projects::ProjectRejection::invalid(pointer, why).into()
    }

    /// The client would have to support form elicitation.
    pub(crate) fn missing_form_capability() -> Self {
        Self::MissingCapability { required: json!({ "elicitation": { "form": {} } }) }
    }

    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Project(problem) if problem.is_not_found())
    }
}
