//! Error codes of the MCP Flow document.

use flow::session::{SessionError, StoreError};
use protocol::mcp::codes;
use protocol::{Dialect, Id, Revision, encode};
use serde_json::{Value, json};

use super::policy::ErrorPolicy;
use super::rejection::ceil_seconds;
use super::{RequestError, RequestRejection};
use crate::EncodedResponse;

const LIMIT_REACHED: i64 = -32000;
const SESSION_NOT_FOUND: i64 = -32001;
const SESSION_EXPIRED: i64 = -32002;
const INVALID_STATE_TRANSITION: i64 = -32003;
pub(super) const VALIDATION_FAILED: i64 = -32004;
const TIMEOUT: i64 = -32005;
const ALREADY_CANCELLED: i64 = -32006;
const NOT_INTERACTIVE: i64 = -32007;

/// The kind and code of each session error (contract row 20a).
pub(super) fn policy(problem: &SessionError) -> ErrorPolicy {
    let (kind, code) = match problem {
        SessionError::NotFound => ("session_not_found", SESSION_NOT_FOUND),
        SessionError::Expired => ("session_expired", SESSION_EXPIRED),
        SessionError::WrongState { .. } | SessionError::PromptMismatch { .. } => {
            ("invalid_state_transition", INVALID_STATE_TRANSITION)
        }
        SessionError::ResponseTooLarge { .. } | SessionError::TooManyAttempts { .. } => {
            ("validation_failed", VALIDATION_FAILED)
        }
        SessionError::TimedOut { .. } => ("timeout", TIMEOUT),
        SessionError::Cancelled => ("already_cancelled", ALREADY_CANCELLED),
        SessionError::NotInteractive { .. } => ("not_interactive", NOT_INTERACTIVE),
        SessionError::LimitReached { .. } => ("limit_reached", LIMIT_REACHED),
        SessionError::Store(error) => (store_rejection(error).kind(), codes::INTERNAL_ERROR),
    };
    ErrorPolicy::client(kind, code)
}

/// What callers see when the store fails.
pub(super) fn store_rejection(error: &StoreError) -> &'static RequestRejection {
    match error {
        StoreError::Full(_) => &RequestRejection::StoreFull,
        StoreError::Unreachable(_) | StoreError::Broken(_) => &RequestRejection::StoreUnavailable,
    }
}

/// The document's wording where it defines one, plus details that help the caller.
pub(super) fn explain(problem: &SessionError, id: Option<&str>) -> String {
    let named = |what: &str| id.map_or_else(|| what.to_owned(), |id| format!("{what}: {id}"));
    match problem {
        SessionError::NotFound => named("Session not found"),
        SessionError::Expired => named("Session expired"),
        SessionError::Cancelled => named("Session already cancelled"),
        SessionError::WrongState { .. } | SessionError::PromptMismatch { .. } => {
            format!("Invalid state transition: {problem}")
        }
        // Store messages are for logs only.
        SessionError::Store(error) => store_rejection(error).to_string(),
        other => other.to_string(),
    }
}

pub(super) fn data(problem: &SessionError, id: Option<&str>) -> Value {
    let mut data = match problem {
        SessionError::WrongState { state } => json!({ "state": state }),
        SessionError::PromptMismatch { open } => json!({ "promptId": open }),
        SessionError::ResponseTooLarge { limit } => json!({ "limit": limit }),
        SessionError::TooManyAttempts { attempts } => json!({ "attempts": attempts }),
        SessionError::TimedOut { seconds } => json!({ "limit": seconds }),
        SessionError::LimitReached { what, most, retry_after } => {
            let mut data = json!({ "limit": most, "of": what });
            if let Some(wait) = retry_after {
                data["retryAfter"] = ceil_seconds(*wait).into();
            }
            data
        }
        SessionError::NotInteractive { tool } => json!({ "toolName": tool }),
        SessionError::NotFound | SessionError::Expired | SessionError::Cancelled | SessionError::Store(_) => {
            json!({})
        }
    };
    if let Some(id) = id {
        data["sessionId"] = id.into();
    }
    data
}

/// Renders the error response to an `interaction.*` request. MCP 2026-07-28 reserves most of the document's
/// codes, so there the code moves to `flowCode`.
pub(super) fn render(
    failure: &RequestError,
    dialect: Dialect,
    id: Option<&Id>,
    (kind, mut code, mut data): (&str, i64, Value),
) -> EncodedResponse {
    data["kind"] = kind.into();
    let is_ours = (NOT_INTERACTIVE..=LIMIT_REACHED).contains(&code);
    if is_ours && dialect.revision().is_some_and(Revision::is_stateless) {
        data["flowCode"] = code.into();
        code = codes::INVALID_PARAMS;
    }
    EncodedResponse {
        message: encode::error(id, code, &failure.to_string(), Some(&data)),
        status: failure.status(dialect),
        retry_after: failure.retry_after().map(ceil_seconds),
    }
}
