//! Encodes messages as bytes. Every function returns one message without a newline.

use serde::Serialize;
use serde_json::Value;

use crate::Id;

/// Sent if a message cannot be serialized. This cannot happen for the types in use (no maps with non-string
/// keys, no fallible `Serialize`), and a panic would do more harm than this response.
const FALLBACK_ERROR_MESSAGE: &[u8] =
    br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Internal error"}}"#;

/// A JSON-RPC result.
pub fn result(id: &Id, result: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct ResultMessage<'a, R> {
        jsonrpc: &'static str,
        id: &'a Id,
        result: &'a R,
    }
    serialize_message(&ResultMessage { jsonrpc: "2.0", id, result })
}

/// A JSON-RPC error. `id` is `None` if the id of the request could not be read.
pub fn error(id: Option<&Id>, code: i64, message: &str, data: Option<&Value>) -> Vec<u8> {
    #[derive(Serialize)]
    struct ErrorResponseMessage<'a> {
        jsonrpc: &'static str,
        id: Option<&'a Id>,
        error: ErrorObject<'a>,
    }
    #[derive(Serialize)]
    struct ErrorObject<'a> {
        code: i64,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<&'a Value>,
    }
    serialize_message(&ErrorResponseMessage {
        jsonrpc: "2.0",
        id,
        error: ErrorObject { code, message, data },
    })
}

/// A JSON-RPC notification.
pub fn notification(method: &str, params: Option<&impl Serialize>) -> Vec<u8> {
    #[derive(Serialize)]
    struct NotificationMessage<'a, P> {
        jsonrpc: &'static str,
        method: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<&'a P>,
    }
    serialize_message(&NotificationMessage { jsonrpc: "2.0", method, params })
}

/// A JSON-RPC request from the server to the client.
pub fn request(id: &Id, method: &str, params: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct RequestMessage<'a, P> {
        jsonrpc: &'static str,
        id: &'a Id,
        method: &'a str,
        params: &'a P,
    }
    serialize_message(&RequestMessage { jsonrpc: "2.0", id, method, params })
}

/// A successful response in the envelope dialect.
pub fn envelope_response(id: Option<&Id>, result: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct EnvelopeResponseMessage<'a, R> {
        r#type: &'static str,
        id: Option<&'a Id>,
        result: &'a R,
    }
    serialize_message(&EnvelopeResponseMessage { r#type: "response", id, result })
}

/// An error response in the envelope dialect.
pub fn envelope_error(id: Option<&Id>, code: &str, message: &str, details: &Value) -> Vec<u8> {
    #[derive(Serialize)]
    struct EnvelopeErrorMessage<'a> {
        r#type: &'static str,
        id: Option<&'a Id>,
        error: EnvelopeErrorObject<'a>,
    }
    #[derive(Serialize)]
    struct EnvelopeErrorObject<'a> {
        code: &'a str,
        message: &'a str,
        details: &'a Value,
    }
    serialize_message(&EnvelopeErrorMessage {
        r#type: "error",
        id,
        error: EnvelopeErrorObject { code, message, details },
    })
}

/// Joins encoded responses into a batch.
pub fn batch<'a>(answers: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut bytes = vec![b'['];
    for answer in answers {
        if bytes.len() > 1 {
            bytes.push(b',');
        }
        bytes.extend_from_slice(answer);
    }
    bytes.push(b']');
    bytes
}

fn serialize_message(message: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    match serde_json::to_writer(&mut bytes, message) {
        Ok(()) => bytes,
        Err(_) => FALLBACK_ERROR_MESSAGE.to_vec(),
    }
}
