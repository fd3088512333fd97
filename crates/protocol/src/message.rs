//! What a decoded message can be, and what can be wrong with one.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::Id;

/// One decoded message.
#[derive(Debug)]
pub enum Message {
    /// A JSON-RPC request: it has an id and gets exactly one answer.
    Request(Request),
    /// A JSON-RPC notification: it gets none.
    Notification(Notification),
    /// The client's answer to a request of ours.
    Response(Response),
    /// A message of the envelope dialect.
    Envelope(EnvelopeRequest),
}

/// A JSON-RPC request.
#[derive(Debug)]
pub struct Request {
    /// The id to answer with.
    pub id: Id,
    /// The method asked for.
    pub method: String,
    /// Its parameters.
    pub params: Params,
}

/// A JSON-RPC notification.
#[derive(Debug)]
pub struct Notification {
    /// What it is about.
    pub method: String,
    /// Its parameters.
    pub params: Params,
}

/// An answer from the client to a request that the server sent.
#[derive(Debug)]
pub struct Response {
    /// The id of our request.
    pub id: Id,
    /// The result, or the error object.
    pub outcome: Result<Value, Value>,
}

/// The `params` member, which MCP wants to be an object and JSON-RPC does not.
#[derive(Debug)]
pub enum Params {
    /// An object; empty where the member was absent.
    Object(Map<String, Value>),
    /// Something else, named for the error message.
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
    /// The id to answer with; the document allows none.
    pub id: Option<Id>,
    /// What is asked.
    pub call: EnvelopeCall,
}

/// What an envelope asks for.
#[derive(Debug)]
pub enum EnvelopeCall {
    /// Who are you, and which tools have you?
    Handshake,
    /// Run this tool.
    Tool {
        /// The tool's name.
        name: String,
        /// Its arguments: `params`, or in the 0.1.x dialect the members beside `tool`.
        arguments: Map<String, Value>,
    },
}

/// A message that cannot be taken as one.
#[derive(Debug, PartialEq)]
pub struct MalformedMessage {
    /// The id, where one could be read.
    pub id: Option<Id>,
    /// What is wrong.
    pub error: MessageError,
    /// Whether the message showed that it speaks the envelope. `None`: it could not be told.
    pub is_envelope: Option<bool>,
}

/// What is wrong with a message. The texts are for people; each variant is a kind of its own for programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum MessageError {
    #[error("the message is not valid UTF-8 at byte {position}")]
    NotUtf8 { position: usize },
    #[error("{detail} at position {position}")]
    Syntax { detail: String, position: usize },
    #[error("half a surrogate pair at position {position}")]
    LoneSurrogate { position: usize },
    #[error("the message is longer than {limit} bytes; it was skipped")]
    TooLarge { limit: usize },
    #[error("the message nests deeper than {limit} levels")]
    TooDeep { limit: usize },
    #[error("the message holds more than {limit} values")]
    TooManyValues { limit: usize },
    #[error("the key `{key}` stands twice in one object")]
    DuplicateKey { key: String },
    #[error("a message is a JSON object, not {found}")]
    NotAnObject { found: &'static str },
    #[error("a batch needs at least one message")]
    EmptyBatch,
    #[error("a batch takes at most {limit} messages, this one has {found}")]
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

/// The JSON type of a value, in words for a sentence.
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

/// The members of a message before anybody asked what they mean.
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
