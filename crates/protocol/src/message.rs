//! Decoded messages, and the errors of malformed ones.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::Id;

/// One decoded message.
#[derive(Debug)]
pub enum Message {
    /// A JSON-RPC request: it has an id and gets exactly one response.
    Request(Request),
    /// A JSON-RPC notification: it gets no response.
    Notification(Notification),
    /// The client's response to a request from the server.
    Response(Response),
    /// A message of the envelope dialect.
    Envelope(EnvelopeRequest),
}

#[derive(Debug)]
pub struct Request {
    pub id: Id,
    pub method: String,
    pub params: Params,
}

#[derive(Debug)]
pub struct Notification {
    pub method: String,
    pub params: Params,
}

/// A response from the client to a request that the server sent.
#[derive(Debug)]
pub struct Response {
    pub id: Id,
    /// The `result` member, or the `error` object.
    pub outcome: Result<Value, Value>,
}

/// The `params` member. MCP requires an object, JSON-RPC does not.
#[derive(Debug)]
pub enum Params {
    /// An object; empty if the member is absent.
    Object(Map<String, Value>),
    /// The JSON type found instead, for the error message.
    NotAnObject(&'static str),
}

impl Params {
    pub(crate) fn new(value: Option<Value>) -> Self {
        match value {
            None => Self::Object(Map::new()),
            Some(Value::Object(map)) => Self::Object(map),
            Some(other) => Self::NotAnObject(type_name(&other)),
        }
    }
}

/// A request of the envelope dialect.
#[derive(Debug)]
pub struct EnvelopeRequest {
    /// Optional in the envelope document.
    pub id: Option<Id>,
    pub call: EnvelopeCall,
}

#[derive(Debug)]
pub enum EnvelopeCall {
    /// Asks for the name and the tools of the server.
    Handshake,
    Tool {
        name: String,
        /// `params`, or in the 0.1.x dialect all members next to `tool`.
        arguments: Map<String, Value>,
    },
}

#[derive(Debug, PartialEq)]
pub struct MalformedMessage {
    /// The id, if it could be read.
    pub id: Option<Id>,
    pub error: MessageError,
    /// Whether the message uses the envelope dialect; `None` if that is unknown.
    pub is_envelope: Option<bool>,
}

/// Why a message is malformed. Programs distinguish errors by the kind of each variant, not by its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    #[error("the message is not valid UTF-8 at byte {position}")]
    NotUtf8 { position: usize },
    #[error("{detail} at position {position}")]
    Syntax { detail: String, position: usize },
    #[error("lone surrogate at position {position}")]
    LoneSurrogate { position: usize },
    #[error("the message exceeds {limit} bytes and was skipped")]
    TooLarge { limit: usize },
    #[error("the message is nested deeper than {limit} levels")]
    TooDeep { limit: usize },
    #[error("the message contains more than {limit} values")]
    TooManyValues { limit: usize },
    #[error("duplicate key `{key}` in an object")]
    DuplicateKey { key: String },
    #[error("a message must be a JSON object, not {found}")]
    NotAnObject { found: &'static str },
    #[error("a batch must contain at least one message")]
    EmptyBatch,
    #[error("a batch may contain at most {limit} messages, this one has {found}")]
    BatchTooLarge { limit: usize, found: usize },
    #[error("Missing required field: {field}")]
    MissingField { field: &'static str },
    #[error("`{field}` must be {expected}, not {found}")]
    WrongType { field: &'static str, expected: &'static str, found: &'static str },
    #[error("`jsonrpc` must be \"2.0\"")]
    WrongVersion,
    #[error("unknown message type `{found}`; send \"handshake\" or \"request\"")]
    UnknownType { found: String },
}

/// The JSON type of a value with its article, for use in a sentence.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The members of a message before they are interpreted.
#[derive(Default)]
pub(crate) struct RawMembers {
    pub(crate) id: Option<Box<RawValue>>,
    pub(crate) jsonrpc: Option<Value>,
    pub(crate) method: Option<Value>,
    pub(crate) params: Option<Value>,
    pub(crate) result: Option<Value>,
    pub(crate) error: Option<Value>,
    pub(crate) kind: Option<Value>,
    pub(crate) tool: Option<Value>,
    pub(crate) others: Map<String, Value>,
}
