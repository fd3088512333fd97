//! Decodes bytes into messages, within limits.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::message::{RawMembers, type_name};
use crate::scan::scan;
use crate::{
    EnvelopeCall, EnvelopeRequest, Id, MalformedMessage, Message, MessageError, Notification, Params,
    Request, Response,
};

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes per message.
    pub bytes: usize,
    /// Levels of nesting.
    pub depth: usize,
    /// Values per message. Bounds the memory of a parsed message.
    pub values: usize,
    /// Messages per batch.
    pub batch: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 4 * 1024 * 1024, depth: 64, values: 200_000, batch: 50 }
    }
}

/// The content of one line or body.
#[derive(Debug)]
pub enum Incoming {
    One(Result<Message, MalformedMessage>),
    /// A batch. Each entry is decoded independently.
    Batch(Vec<Result<Message, MalformedMessage>>),
}

/// Decodes one line or body.
pub fn decode(bytes: &[u8], limits: &Limits) -> Incoming {
    try_decode(bytes, limits).unwrap_or_else(|problem| {
        Incoming::One(Err(MalformedMessage { id: None, error: problem, is_envelope: None }))
    })
}

fn try_decode(bytes: &[u8], limits: &Limits) -> Result<Incoming, MessageError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii();
    if bytes.len() > limits.bytes {
        return Err(MessageError::TooLarge { limit: limits.bytes });
    }
    let text = scan(bytes, limits)?;
    if !text.starts_with('[') {
        return decode_message(text).map(Incoming::One);
    }
    let entries: Vec<&RawValue> = parse_json(text)?;
    match entries.len() {
        0 => Err(MessageError::EmptyBatch),
        found if found > limits.batch => Err(MessageError::BatchTooLarge { limit: limits.batch, found }),
        _ => entries
            .iter()
            .map(|entry| decode_message(entry.get()))
            .collect::<Result<_, _>>()
            .map(Incoming::Batch),
    }
}

/// The outer error means invalid JSON, the inner one valid JSON that is not a message.
fn decode_message(text: &str) -> Result<Result<Message, MalformedMessage>, MessageError> {
    if text.starts_with('{') {
        return parse_json::<RawMembers>(text).map(decode_members);
    }
    let found = type_name(&parse_json::<Value>(text)?);
    Ok(Err(MalformedMessage { id: None, error: MessageError::NotAnObject { found }, is_envelope: None }))
}

fn parse_json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, MessageError> {
    serde_json::from_str(text).map_err(|error| {
        let before =
            text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
        let mut detail = error.to_string();
        if let Some(cut) = detail.find(" at line ") {
            detail.truncate(cut);
        }
        MessageError::Syntax { detail, position: before + error.column() }
    })
}

fn decode_members(members: RawMembers) -> Result<Message, MalformedMessage> {
    let is_envelope = members.jsonrpc.is_none()
        && (members.method.is_none() || members.kind.is_some() || members.tool.is_some());
    if is_envelope { decode_envelope(members) } else { decode_jsonrpc(members) }
}

fn decode_jsonrpc(members: RawMembers) -> Result<Message, MalformedMessage> {
    let has_id = members.id.is_some();
    let id = match read_id(members.id) {
        Ok(id) => id,
        Err(problem) => return Err(MalformedMessage { id: None, error: problem, is_envelope: Some(false) }),
    };
    let refuse = |id, problem| Err(MalformedMessage { id, error: problem, is_envelope: Some(false) });
    match members.jsonrpc {
        Some(Value::String(version)) if version == "2.0" => {}
        None => return refuse(id, MessageError::MissingField { field: "jsonrpc" }),
        Some(_) => return refuse(id, MessageError::WrongVersion),
    }
    let method = match members.method {
        Some(Value::String(method)) => method,
        Some(other) => return refuse(id, wrong_type_error("method", "a string", &other)),
        None => return decode_response(id, members.result, members.error),
    };
    let params = Params::new(members.params);
    Ok(match id {
        Some(id) => Message::Request(Request { id, method, params }),
        None if has_id => return refuse(None, null_id_error()),
        None => Message::Notification(Notification { method, params }),
    })
}

fn decode_response(
    id: Option<Id>,
    result: Option<Value>,
    error: Option<Value>,
) -> Result<Message, MalformedMessage> {
    let outcome = match (result, error) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => Err(error),
        _ => {
            let problem = MessageError::MissingField { field: "method" };
            return Err(MalformedMessage { id, error: problem, is_envelope: Some(false) });
        }
    };
    match id {
        Some(id) => Ok(Message::Response(Response { id, outcome })),
        None => Err(MalformedMessage {
            id,
            error: MessageError::MissingField { field: "id" },
            is_envelope: Some(false),
        }),
    }
}

fn decode_envelope(members: RawMembers) -> Result<Message, MalformedMessage> {
    let refuse = |id, problem| Err(MalformedMessage { id, error: problem, is_envelope: Some(true) });
    let id = match read_id(members.id) {
        Ok(id) => id,
        Err(problem) => return refuse(None, problem),
    };
    let tool = match members.tool {
        None => None,
        Some(Value::String(tool)) => Some(tool),
        Some(other) => return refuse(id, wrong_type_error("tool", "a string", &other)),
    };
    let kind = match members.kind {
        None => "request".to_owned(),
        Some(Value::String(kind)) => kind,
        Some(other) => return refuse(id, wrong_type_error("type", "a string", &other)),
    };
    let call = match (kind.as_str(), tool) {
        ("handshake", _) => EnvelopeCall::Handshake,
        ("request", Some(tool)) if tool == "handshake" => EnvelopeCall::Handshake,
        ("request", Some(name)) => match members.params {
            Some(Value::Object(arguments)) => EnvelopeCall::Tool { name, arguments },
            Some(other) => return refuse(id, wrong_type_error("params", "an object", &other)),
            None => EnvelopeCall::Tool { name, arguments: members.others },
        },
        ("request", None) => return refuse(id, MessageError::MissingField { field: "tool" }),
        (other, _) => {
            return refuse(id, MessageError::UnknownType { found: other.chars().take(64).collect() });
        }
    };
    Ok(Message::Envelope(EnvelopeRequest { id, call }))
}

/// Returns `None` for an absent id and for `null`; callers distinguish the two.
fn read_id(raw: Option<Box<RawValue>>) -> Result<Option<Id>, MessageError> {
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else { return Ok(None) };
    let found = match raw.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        _ => "a boolean",
    };
    Id::new(raw).map(Some).ok_or(MessageError::WrongType {
        field: "id",
        expected: "a string or a number",
        found,
    })
}

fn null_id_error() -> MessageError {
    MessageError::WrongType { field: "id", expected: "a string or a number", found: "null" }
}

fn wrong_type_error(field: &'static str, expected: &'static str, found: &Value) -> MessageError {
    MessageError::WrongType { field, expected, found: type_name(found) }
}

impl<'de> Deserialize<'de> for RawMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawMembersVisitor;
        impl<'de> Visitor<'de> for RawMembersVisitor {
            type Value = RawMembers;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawMembers, A::Error> {
                let mut members = RawMembers::default();
                while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                    match key.as_ref() {
                        "id" => members.id = Some(map.next_value()?),
                        "jsonrpc" => members.jsonrpc = Some(map.next_value()?),
                        "method" => members.method = Some(map.next_value()?),
                        "params" => members.params = Some(map.next_value()?),
                        "result" => members.result = Some(map.next_value()?),
                        "error" => members.error = Some(map.next_value()?),
                        "type" => members.kind = Some(map.next_value()?),
                        "tool" => members.tool = Some(map.next_value()?),
                        _ => drop(members.others.insert(key.into_owned(), map.next_value()?)),
                    }
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(RawMembersVisitor)
    }
}

#[cfg(test)]
mod tests;
