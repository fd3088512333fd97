//! Renders errors as messages of each dialect, with machine-readable data next to the message.

use protocol::mcp::codes;
use protocol::{Dialect, Id, encode};
use serde_json::{Value, json};

use super::policy::{ErrorAudience, ErrorPolicy};
use super::rejection::ceil_seconds;
use super::{ArgumentError, MAX_RESPONSE_BYTES, RequestError, codefluss, flow_codes, german};
use crate::{EncodedResponse, Locale, conversation};

#[derive(Clone, Copy)]
pub(crate) struct ErrorFormat {
    pub(crate) dialect: Dialect,
    pub(crate) language: Locale,
    /// The request was an `interaction.*` request: the MCP Flow document defines its own codes.
    pub(crate) is_flow: bool,
}

/// Renders the error response in the dialect of the request.
pub(crate) fn render(failure: &RequestError, format: ErrorFormat, id: Option<&Id>) -> EncodedResponse {
    let ErrorFormat { dialect, language, is_flow } = format;
    let ErrorPolicy { kind, mut code, envelope, audience } = failure.policy(dialect);
    let is_server_at_fault = matches!(failure, RequestError::OutOfResources { .. });
    if audience == ErrorAudience::Model
        && !is_server_at_fault
        && (is_flow || matches!(dialect, Dialect::Mcp(_)))
    {
        // Meant for a model but sent as a protocol error: CODEFLUSS codes must not appear in MCP.
        code = codes::INVALID_PARAMS;
    }
    let mut data = failure.data(dialect);
    if is_flow {
        return flow_codes::render(failure, dialect, id, (kind, code, data));
    }
    let says_something = ["detail", "error", "reason", "method", "uri", "retryAfter"]
        .iter()
        .any(|name| !data[*name].is_null());
    if dialect == Dialect::Codefluss && !says_something && !matches!(failure, RequestError::Internal { .. }) {
        // In CODEFLUSS the message is only the name of the code, so the explanation goes here.
        data["detail"] = failure.to_string().into();
    }
    data["kind"] = kind.into();
    if dialect == Dialect::Codefluss && language == Locale::German {
        german::translate(failure, code, &mut data);
    }
    let message = match dialect {
        Dialect::Envelope => encode::envelope_error(id, envelope, &failure.to_string(), &data),
        Dialect::Codefluss => encode::error(id, code, codefluss::code_name(code), Some(&data)),
        Dialect::Mcp(_) => encode::error(id, code, &failure.to_string(), Some(&data)),
    };
    EncodedResponse {
        message,
        status: failure.status(dialect),
        retry_after: failure.retry_after().map(ceil_seconds),
    }
}

impl RequestError {
    /// Machine-readable details.
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
            Self::InvalidArguments(problem) => problem.data(dialect),
            Self::Forbidden(access::Forbidden { needed, has }) => {
                json!({ "needed": needed.as_str(), "has": has.as_str() })
            }
            Self::DisjointRoots { client, allowed } => {
                json!({ "clientRoots": client, "allowedRoots": allowed })
            }
            Self::Plan(problem) => problem.data(),
            Self::Project(problem) => problem.data(),
            Self::InputNeeded { question, .. } => {
                conversation::arguments::missing_input_data(question, dialect)
            }
            Self::MissingResource { uri } => json!({ "uri": uri }),
            Self::BatchResponseTooLarge | Self::ResponseTooLarge => {
                json!({ "limit": MAX_RESPONSE_BYTES, "of": "bytes" })
            }
            Self::BoundToProject => json!({ "reason": self.to_string() }),
            Self::Rejected(rejection) => rejection.data(),
            Self::OutOfResources { .. } => json!({ "retryable": true }),
            Self::Session { id, problem } => flow_codes::data(problem, id.as_deref()),
            Self::InvalidResponse { error } => json!({ "field": "response", "error": error }),
            _ => json!({}),
        }
    }
}

impl ArgumentError {
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
            data[format!("valid_{}", pluralize(name))] = json!(choices);
        }
        data
    }
}

fn pluralize(name: &str) -> String {
    name.strip_suffix('y').map_or_else(|| format!("{name}s"), |stem| format!("{stem}ies"))
}
