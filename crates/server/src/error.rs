//! The one place where a failure gets its kind, its code in each dialect, and its audience.
//!
//! Domain crates have error enums without numbers. [`Failure::policy`] is exhaustive: a new failure does not compile
//! until somebody has decided who reads it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use flow::session::Problem as SessionProblem;
use flow::{Halt, Question, SealError};
use protocol::mcp::codes;
use protocol::{Dialect, Id, Problem, Revision, encode};
use serde_json::{Value, json};
use tree::RootError;

use crate::{Answer, Language, conversation};

mod german;
mod plan;
mod project;
mod refusal;
mod sessions;

pub(crate) use plan::PlanProblem;
pub(crate) use project::ProjectProblem;
pub use refusal::Refusal;
use refusal::whole_seconds;

/// The most bytes that one tool says, or a batch as a whole. An asset of 10 MB fits.
pub(crate) const LARGEST_ANSWER: usize = 16 << 20;

/// Everything that can come out instead of a result. The texts are for whoever [`Audience`] says.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Malformed(Problem),
    #[error("MCP {0} has no batches; send one message at a time")]
    BatchNotAllowed(Revision),
    #[error("`initialize` cannot be part of a batch; send it alone")]
    InitializeInBatch,
    #[error(
        "it was done, and there is no room for its answer in a batch of {LARGEST_ANSWER} bytes; ask alone"
    )]
    NoRoomForAnswer,
    #[error("the answer would have more than {LARGEST_ANSWER} bytes; ask for less: a limit, fields, a part")]
    AnswerTooLarge,
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
    BadArguments(ArgumentProblem),
    #[error("{}", conversation::arguments::explain(tool, question))]
    InputNeeded { tool: String, question: Question },
    #[error("Unknown prompt: {name}. There are: {}", available.join(", "))]
    UnknownPrompt { name: String, available: Vec<&'static str> },
    #[error("Resource not found: {uri}")]
    MissingResource { uri: String },
    #[error("{problem}")]
    Index { problem: String },
    #[error("the cursor is not one that this list gave; begin again without it")]
    BadCursor,
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Forbidden(#[from] access::Forbidden),
    #[error("this key is good for one project alone; use one that is good for the whole account")]
    BoundToProject,
    #[error(transparent)]
    Project(#[from] ProjectProblem),
    #[error(transparent)]
    Root(#[from] tree::RootError),
    #[error(
        "the folders that the client has open ({}) and those that this server may touch ({}) have nothing in common; open \
         one of the latter in the client, or start the server with --root for one of the former",
        listed(client),
        listed(allowed)
    )]
    ForeignRoots { client: Vec<String>, allowed: Vec<String> },
    #[error(transparent)]
    Plan(#[from] PlanProblem),
    #[error("{0}")]
    Halted(Halt),
    #[error("{0}")]
    BadState(SealError),
    #[error("the user {} the question \"{question}\"; nothing was done", if *declined { "declined" } else { "dismissed" })]
    NotAnswered { question: String, declined: bool },
    #[error("the question \"{question}\" got no usable answer after {attempts} attempts; nothing was done")]
    TooManyAttempts { question: String, attempts: usize },
    #[error("{}", sessions::explain(problem, id.as_deref()))]
    Session { id: Option<String>, problem: SessionProblem },
    #[error("{error}")]
    BadResponse { error: String },
    #[error("{}", Refusal::StoreUnavailable)]
    StoreUnavailable { source: SharedError },
    #[error("{}", Refusal::StoreFull)]
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
impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::because(failure.kind(), failure)
    }
}

/// What is wrong with the arguments of a call.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ArgumentProblem {
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
fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Who can do something about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The model that called the tool: it may call again, differently.
    Model,
    /// The client program: it broke the protocol.
    Client,
}

/// All that is decided about a failure.
struct Policy {
    /// A stable name for programs, the same in every dialect.
    kind: &'static str,
    /// The JSON-RPC code, where it comes out as an error.
    code: i64,
    /// The code of the envelope, of which there are only the documented ones.
    envelope: &'static str,
    audience: Audience,
}

impl Policy {
    /// The client's mistake.
    fn client(kind: &'static str, code: i64) -> Self {
        Self { kind, code, envelope: "tool_error", audience: Audience::Client }
    }

    /// A request that should not have been made, or not now.
    fn request(kind: &'static str) -> Self {
        Self::client(kind, codes::INVALID_REQUEST)
    }

    /// A parameter that cannot be used.
    fn params(kind: &'static str) -> Self {
        Self::client(kind, codes::INVALID_PARAMS)
    }

    /// Something that a model can act on. Where no model is spoken to, it is an error with this code.
    fn model(kind: &'static str, codefluss: i64) -> Self {
        Self { audience: Audience::Model, ..Self::client(kind, codefluss) }
    }

    fn envelope(mut self, code: &'static str) -> Self {
        self.envelope = code;
        self
    }
}

impl Failure {
    /// Something that must not happen did. Callers learn only that; the cause is logged where the request ends.
    pub(crate) fn internal(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Internal { source: Arc::from(source.into()) }
    }

    /// The store cannot be reached for now, or has no space left. The cause is logged where the request ends.
    pub(crate) fn store_unavailable(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::store_failed(Arc::from(source.into()))
    }

    pub(crate) fn store_failed(source: SharedError) -> Self {
        let is_full = matches!(source.downcast_ref(), Some(flow::session::StoreError::Full(_)))
            || matches!(source.downcast_ref(), Some(projects::StoreError::Full(_)));
        if is_full { Self::StoreFull { source } } else { Self::StoreUnavailable { source } }
    }

    /// The operating system refused to start a thread.
    pub(crate) fn no_thread(source: io::Error) -> Self {
        Self::OutOfResources { source: Arc::new(source) }
    }

    /// The refusal that callers see of it, if it is one.
    fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::StoreUnavailable { .. } => Some(&Refusal::StoreUnavailable),
            Self::StoreFull { .. } => Some(&Refusal::StoreFull),
            Self::Session { problem: SessionProblem::Store(error), .. } => Some(sessions::refusal_for(error)),
            _ => None,
        }
    }

    pub(crate) fn params(field: impl Into<String>, error: impl Into<String>) -> Self {
        Self::InvalidParams { field: field.into(), error: error.into() }
    }

    /// An argument that fits the schema and cannot be used all the same.
    pub(crate) fn argument(name: &str, error: impl Into<String>) -> Self {
        let (name, error) = (name.to_owned(), error.into());
        Self::BadArguments(ArgumentProblem::Value { name, error, choices: Vec::new() })
    }

    /// An argument that fits the schema, and that a rule of projects refuses (contract row 14).
    pub(crate) fn against_rule(pointer: &str, why: impl Into<String>) -> Self {
        projects::Refusal::invalid(pointer, why).into()
    }

    /// The client would have to show a form.
    pub(crate) fn forms_needed() -> Self {
        Self::MissingCapability { required: json!({ "elicitation": { "form": {} } }) }
    }

    /// The one place where all of this is decided. No `_` arm.
    fn policy(&self, dialect: Dialect) -> Policy {
        match self {
            Self::Malformed(problem) => {
                Policy::client(problem_kind(problem), problem_code(problem)).envelope("invalid_payload")
            }
            Self::BatchNotAllowed(_) => Policy::request("batch_not_allowed"),
            Self::InitializeInBatch => Policy::request("initialize_in_batch"),
            Self::NoRoomForAnswer => Policy::model("no_room_for_answer", codefluss::VALIDATION),
            Self::AnswerTooLarge => Policy::model("too_large", codefluss::VALIDATION),
            Self::NotInitialized => Policy::request("not_initialized"),
            Self::Initializing => Policy::request("initializing"),
            Self::AlreadyInitialized => Policy::request("already_initialized"),
            Self::ShuttingDown => Policy::request("shutting_down"),
            Self::DuplicateId => Policy::request("duplicate_id"),
            Self::MethodNotFound { .. } => Policy::client("method_not_found", codes::METHOD_NOT_FOUND),
            Self::InvalidParams { .. } => Policy::params("invalid_params"),
            Self::MissingCapability { .. } => {
                Policy::client("missing_capability", codes::MISSING_CLIENT_CAPABILITY)
            }
            Self::UnknownTool { code, .. } => Policy::params("tool_not_found").envelope(code),
            Self::BadArguments(problem) => problem.policy(dialect),
            Self::InputNeeded { .. } => Policy::model("input_needed", codes::INVALID_PARAMS),
            Self::UnknownPrompt { .. } => Policy::params("prompt_not_found"),
            Self::MissingResource { .. } => {
                Policy::client("resource_not_found", missing_resource(dialect)).envelope("file_not_found")
            }
            Self::Index { .. } => Policy::model("index_error", codes::INTERNAL_ERROR).envelope("index_error"),
            Self::BadCursor => Policy::params("invalid_cursor"),
            Self::Refused(refusal) => Policy::client(refusal.kind(), refusal.code(dialect)),
            Self::Forbidden(_) => Policy::model("forbidden", codefluss::FORBIDDEN),
            Self::BoundToProject => Policy::model("bound_to_project", codefluss::FORBIDDEN),
            Self::Project(problem) => problem.policy(),
            Self::Root(RootError::NoRoot { .. }) => Policy::model("no_root", codefluss::VALIDATION),
            Self::Root(RootError::NotAllowed { .. }) => {
                Policy::model("root_not_allowed", codefluss::VALIDATION)
            }
            Self::Root(RootError::Guarded { .. }) => Policy::model("root_guarded", codefluss::VALIDATION),
            Self::Root(RootError::Missing { .. }) => {
                Policy::model("root_not_found", codefluss::NOT_FOUND).envelope("file_not_found")
            }
            Self::Root(RootError::NotAFolder { .. }) => {
                Policy::model("root_not_a_folder", codefluss::VALIDATION)
            }
            Self::Root(RootError::Unreadable { .. }) => {
                Policy::model("root_unreadable", codefluss::VALIDATION)
            }
            Self::ForeignRoots { .. } => Policy::model("root_not_allowed", codefluss::VALIDATION),
            Self::Plan(problem @ PlanProblem::NotKept { .. }) => {
                Policy::model(problem.kind(), codefluss::NOT_FOUND)
            }
            Self::Plan(problem) => Policy::model(problem.kind(), codefluss::VALIDATION),
            Self::Halted(halt) => Policy::model(halt.kind(), codefluss::VALIDATION),
            Self::BadState(SealError::Invalid) => Policy::params("invalid_state"),
            Self::BadState(SealError::Expired) => Policy::params("expired_state"),
            Self::NotAnswered { declined: true, .. } => Policy::model("declined", codefluss::VALIDATION),
            Self::NotAnswered { declined: false, .. } => Policy::model("dismissed", codefluss::VALIDATION),
            Self::TooManyAttempts { .. } => Policy::model("too_many_attempts", codefluss::VALIDATION),
            Self::Session { problem, .. } => sessions::policy(problem),
            Self::BadResponse { .. } => Policy::client("validation_failed", sessions::VALIDATION_FAILED),
            Self::StoreUnavailable { .. } => {
                Policy::client(Refusal::StoreUnavailable.kind(), Refusal::StoreUnavailable.code(dialect))
            }
            Self::StoreFull { .. } => {
                Policy::client(Refusal::StoreFull.kind(), Refusal::StoreFull.code(dialect))
            }
            Self::OutOfResources { .. } => {
                Policy::model("out_of_resources", codes::INTERNAL_ERROR).envelope("internal_error")
            }
            Self::Internal { .. } => {
                Policy::client("internal", codes::INTERNAL_ERROR).envelope("internal_error")
            }
        }
    }

    /// A stable name for programs, the same in every dialect.
    pub(crate) fn kind(&self) -> &'static str {
        self.policy(Dialect::Envelope).kind
    }

    /// Whether it says that something is not there.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::Project(problem) if problem.is_absent())
    }

    /// Who should read it, in this dialect. Only MCP has results that a model reads.
    pub(crate) fn audience(&self, dialect: Dialect) -> Audience {
        match dialect {
            Dialect::Mcp(_) => self.policy(dialect).audience,
            Dialect::Envelope | Dialect::Codefluss => Audience::Client,
        }
    }

    /// The HTTP status that goes with it. On `/api/mcp` and with sessions an error is an answer like any other; without
    /// sessions the status tells a proxy what the client did wrong.
    fn status(&self, dialect: Dialect) -> u16 {
        let is_mcp = matches!(dialect, Dialect::Mcp(_));
        let is_stateless = dialect.revision().is_some_and(Revision::is_stateless);
        if let Some(refusal) = self.refusal() {
            return refusal.status(dialect);
        }
        match self {
            Self::Malformed(Problem::TooLarge { .. }) => 413,
            Self::Malformed(_) | Self::BatchNotAllowed(_) if is_mcp => 400,
            Self::ShuttingDown | Self::OutOfResources { .. } if is_mcp => 503,
            Self::Forbidden(_) | Self::BoundToProject if is_mcp => 403,
            Self::MethodNotFound { .. } if is_stateless => 404,
            Self::MissingCapability { .. } if is_stateless => 400,
            Self::InvalidParams { field, .. } if is_stateless && field.starts_with("_meta") => 400,
            _ => 200,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        if let Some(refusal) = self.refusal() {
            return refusal.retry_after();
        }
        match self {
            Self::Session { problem: SessionProblem::Limit { retry_after, .. }, .. } => *retry_after,
            Self::ShuttingDown | Self::OutOfResources { .. } => Some(Duration::from_secs(1)),
            _ => None,
        }
    }

    /// Facts for programs, beside the text.
    fn data(&self, dialect: Dialect) -> Value {
        match self {
            Self::MethodNotFound { method } => json!({ "method": method }),
            Self::InvalidParams { field, error } => json!({ "field": field, "error": error }),
            Self::MissingCapability { required } => json!({ "requiredCapabilities": required }),
            Self::UnknownTool { field, available, code, .. } => {
                let alias = if *code == "tool_not_found" { "unknown_tool" } else { "tool_not_found" };
                match dialect {
                    Dialect::Envelope => json!({ "availableTools": available, "aliases": [alias] }),
                    Dialect::Codefluss | Dialect::Mcp(_) => {
                        json!({ "field": field, "error": self.to_string(), "availableTools": available })
                    }
                }
            }
            Self::BadArguments(problem) => problem.data(dialect),
            Self::Forbidden(access::Forbidden { needed, has }) => {
                json!({ "needed": needed.as_str(), "has": has.as_str() })
            }
            Self::ForeignRoots { client, allowed } => {
                json!({ "clientRoots": client, "allowedRoots": allowed })
            }
            Self::Plan(problem) => problem.data(),
            Self::Project(problem) => problem.data(),
            Self::InputNeeded { question, .. } => conversation::arguments::data(question, dialect),
            Self::MissingResource { uri } => json!({ "uri": uri }),
            Self::NoRoomForAnswer | Self::AnswerTooLarge => json!({ "limit": LARGEST_ANSWER, "of": "bytes" }),
            Self::BoundToProject => json!({ "reason": self.to_string() }),
            Self::Refused(refusal) => refusal.data(),
            Self::OutOfResources { .. } => json!({ "retryable": true }),
            Self::Session { id, problem } => sessions::data(problem, id.as_deref()),
            Self::BadResponse { error } => json!({ "field": "response", "error": error }),
            _ => json!({}),
        }
    }
}

impl ArgumentProblem {
    fn policy(&self, dialect: Dialect) -> Policy {
        let mut policy = match self {
            Self::Missing { .. } => Policy::params("missing_argument"),
            Self::Unknown { .. } => Policy::params("unknown_argument"),
            Self::Value { .. } => Policy::params("invalid_argument"),
            Self::Type { .. } => Policy::params("invalid_argument").envelope("invalid_payload"),
        };
        if dialect.revision().is_some_and(Revision::model_repairs_bad_arguments) {
            policy.audience = Audience::Model;
        }
        policy
    }

    fn data(&self, dialect: Dialect) -> Value {
        let mut data = match (self, dialect) {
            (Self::Missing { name, .. }, Dialect::Envelope) => json!({ "missing_param": name }),
            (Self::Missing { name, .. }, _) => json!({ "field": name, "error": "Required field missing" }),
            (Self::Unknown { name, known }, _) => {
                json!({ "field": name, "error": "Unknown field", "known": known })
            }
            (Self::Value { name, error, .. } | Self::Type { name, error }, _) => {
                json!({ "field": name, "error": error })
            }
        };
        if let Self::Missing { name, choices } | Self::Value { name, choices, .. } = self
            && !choices.is_empty()
        {
            data[format!("valid_{}", plural(name))] = json!(choices);
        }
        data
    }
}

fn plural(name: &str) -> String {
    name.strip_suffix('y').map_or_else(|| format!("{name}s"), |stem| format!("{stem}ies"))
}

/// Codes of the CODEFLUSS document.
mod codefluss {
    pub(super) const LIMITED: i64 = -32000;
    pub(super) const UNAUTHENTICATED: i64 = -32001;
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
            LIMITED => "Rate limit exceeded",
            UNAUTHENTICATED => "Authentication failed",
            FORBIDDEN => "Authorization failed",
            NOT_FOUND => "Resource not found",
            VALIDATION => "Validation error",
            _ => "Internal error",
        }
    }
}

/// How to tell of a failure.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    /// The dialect of the question.
    pub(crate) dialect: Dialect,
    /// The language of explanations.
    pub(crate) language: Language,
    /// The question was one of MCP Flow's, whose document has a table of codes of its own.
    pub(crate) is_flow: bool,
}

/// The answer that tells of a failure, in the dialect of the question.
pub(crate) fn render(failure: &Failure, manner: Manner, id: Option<&Id>) -> Answer {
    let Manner { dialect, language, is_flow } = manner;
    let Policy { kind, mut code, envelope, audience } = failure.policy(dialect);
    let is_server_at_fault = matches!(failure, Failure::OutOfResources { .. });
    if audience == Audience::Model && !is_server_at_fault && (is_flow || matches!(dialect, Dialect::Mcp(_))) {
        // Meant for a model and asked for where no model reads: the codes of CODEFLUSS have no place in MCP.
        code = codes::INVALID_PARAMS;
    }
    let mut data = failure.data(dialect);
    if is_flow {
        return sessions::render(failure, dialect, id, (kind, code, data));
    }
    let says_something = ["detail", "error", "reason", "method", "uri", "retryAfter"]
        .iter()
        .any(|name| !data[*name].is_null());
    if dialect == Dialect::Codefluss && !says_something && !matches!(failure, Failure::Internal { .. }) {
        // Elsewhere the message says it; there, the message is only a name.
        data["detail"] = failure.to_string().into();
    }
    data["kind"] = kind.into();
    if dialect == Dialect::Codefluss && language == Language::German {
        german::translate(failure, code, &mut data);
    }
    let message = match dialect {
        Dialect::Envelope => encode::envelope_error(id, envelope, &failure.to_string(), &data),
        Dialect::Codefluss => encode::error(id, code, codefluss::name(code), Some(&data)),
        Dialect::Mcp(_) => encode::error(id, code, &failure.to_string(), Some(&data)),
    };
    Answer { message, status: failure.status(dialect), retry_after: failure.retry_after().map(whole_seconds) }
}

fn missing_resource(dialect: Dialect) -> i64 {
    match dialect {
        Dialect::Codefluss => codefluss::NOT_FOUND,
        Dialect::Mcp(revision) if revision.has_missing_resource_code() => codes::RESOURCE_NOT_FOUND,
        Dialect::Mcp(_) | Dialect::Envelope => codes::INVALID_PARAMS,
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
