//! Everything that can go wrong with a request. Domain crates have error enums without numbers; `policy.rs` is the one
//! place where an error gets its kind, its code in each dialect and its audience, `render.rs` writes it as a message.

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

/// The most bytes that one tool says, or a batch as a whole. An asset of 10 MB fits.
pub(crate) const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// Everything that can come out instead of a result. The texts are for whoever [`ErrorAudience`] says.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("{0}")]
    Malformed(MessageError),
    #[error("MCP {0} has no batches; send one message at a time")]
    BatchNotAllowed(Revision),
    #[error("`initialize` cannot be part of a batch; send it alone")]
    InitializeInBatch,
    #[error(
        "it was done, and there is no room for its answer in a batch of {MAX_RESPONSE_BYTES} bytes; ask alone"
    )]
    BatchResponseTooLarge,
    #[error(
        "the answer would have more than {MAX_RESPONSE_BYTES} bytes; ask for less: a limit, fields, a part"
    )]
    ResponseTooLarge,
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
    #[error("this call goes on only with a client that has the capabilities {required}")]
    MissingCapability { required: Value },
    #[error("Unknown tool: {name}")]
    UnknownTool { name: String, field: &'static str, available: Vec<String>, code: &'static str },
    #[error("{0}")]
    InvalidArguments(ArgumentError),
    #[error("{}", conversation::arguments::explain(tool, question))]
    InputNeeded { tool: String, question: Question },
    #[error("Unknown prompt: {name}. There are: {}", available.join(", "))]
    UnknownPrompt { name: String, available: Vec<&'static str> },
    #[error("Resource not found: {uri}")]
    MissingResource { uri: String },
    #[error("{problem}")]
    Index { problem: String },
    #[error("the cursor is not one that this list gave; begin again without it")]
    InvalidCursor,
    #[error(transparent)]
    Rejected(#[from] RequestRejection),
    #[error(transparent)]
    Forbidden(#[from] access::Forbidden),
    #[error("this key is good for one project alone; use one that is good for the whole account")]
    BoundToProject,
    #[error(transparent)]
    Project(#[from] ProjectRequestError),
    #[error(transparent)]
    Root(#[from] tree::RootError),
    #[error(
        "the folders that the client has open ({}) and those that this server may touch ({}) have nothing in common; open \
         one of the latter in the client, or start the server with --root for one of the former",
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
    #[error("the question \"{question}\" got no usable answer after {attempts} attempts; nothing was done")]
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
        "the server could not start a thread: {source}; it may be out of memory or at a limit on processes; try again, or \
         raise the limit"
    )]
    OutOfResources { source: Arc<io::Error> },
    #[error("Internal error")]
    Internal { source: SharedError },
}

/// A cause that several copies of a failure share. It is for logs: callers never see it.
pub(crate) type SharedError = Arc<dyn std::error::Error + Send + Sync>;

/// What a conversation could not do ends it, under its own name.
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

/// What is wrong with the arguments of a call.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ArgumentError {
    #[error("{name} is required")]
    Missing { name: String, choices: Vec<String> },
    #[error("unknown argument `{name}`; this tool takes {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    Unknown { name: String, known: Vec<String> },
    #[error("`{name}`: {error}")]
    Value { name: String, error: String, choices: Vec<String> },
    #[error("`{name}`: {error}")]
    Type { name: String, error: String },
}

/// Names in a sentence.
fn join_names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

impl RequestError {
    /// Something that must not happen did. Callers learn only that; the cause is logged where the request ends.
    pub(crate) fn internal(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Internal { source: Arc::from(source.into()) }
    }

    /// The store cannot be reached for now, or has no space left. The cause is logged where the request ends.
    pub(crate) fn store_unavailable(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::from_store_error(Arc::from(source.into()))
    }

    pub(crate) fn from_store_error(source: SharedError) -> Self {
        let is_full = matches!(source.downcast_ref(), Some(flow::session::StoreError::Full(_)))
            || matches!(source.downcast_ref(), Some(projects::StoreError::Full(_)));
        if is_full { Self::StoreFull { source } } else { Self::StoreUnavailable { source } }
    }

    /// The operating system refused to start a thread.
    pub(crate) fn thread_spawn_failed(source: io::Error) -> Self {
        Self::OutOfResources { source: Arc::new(source) }
    }

    /// The refusal that callers see of it, if it is one.
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

    /// An argument that fits the schema and cannot be used all the same.
    pub(crate) fn invalid_argument(name: &str, error: impl Into<String>) -> Self {
        let (name, error) = (name.to_owned(), error.into());
        Self::InvalidArguments(ArgumentError::Value { name, error, choices: Vec::new() })
    }

    /// An argument that fits the schema, and that a rule of projects refuses (contract row 14).
    pub(crate) fn rule_violation(pointer: &str, why: impl Into<String>) -> Self {
        projects::ProjectRejection::invalid(pointer, why).into()
    }

    /// The client would have to show a form.
    pub(crate) fn missing_form_capability() -> Self {
        Self::MissingCapability { required: json!({ "elicitation": { "form": {} } }) }
    }

    /// Whether it says that something is not there.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Project(problem) if problem.is_not_found())
    }
}
