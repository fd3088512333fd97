//! The codes of the MCP Flow document.

use flow::session::{Problem, StoreError};
use protocol::mcp::codes;
use protocol::{Dialect, Id, Revision, encode};
use serde_json::{Value, json};

use super::{Failure, Policy, Refusal, whole_seconds};
use crate::Answer;

const LIMITED: i64 = -32000;
const SESSION_NOT_FOUND: i64 = -32001;
const SESSION_EXPIRED: i64 = -32002;
const INVALID_STATE_TRANSITION: i64 = -32003;
pub(super) const VALIDATION_FAILED: i64 = -32004;
const TIMEOUT: i64 = -32005;
const ALREADY_CANCELLED: i64 = -32006;
const NOT_INTERACTIVE: i64 = -32007;

/// Which condition, which code (contract row 20a).
pub(super) fn policy(problem: &Problem) -> Policy {
    let (kind, code) = match problem {
        Problem::NotFound => ("session_not_found", SESSION_NOT_FOUND),
        Problem::Expired => ("session_expired", SESSION_EXPIRED),
        Problem::WrongState { .. } | Problem::NoSuchPrompt { .. } => {
            ("invalid_state_transition", INVALID_STATE_TRANSITION)
        }
        Problem::TooLarge { .. } | Problem::AttemptsUsedUp { .. } => ("validation_failed", VALIDATION_FAILED),
        Problem::TimedOut { .. } => ("timeout", TIMEOUT),
        Problem::Cancelled => ("already_cancelled", ALREADY_CANCELLED),
        Problem::NotInteractive { .. } => ("not_interactive", NOT_INTERACTIVE),
        Problem::Limit { .. } => ("limit_reached", LIMITED),
        Problem::Store(error) => (refusal_for(error).kind(), codes::INTERNAL_ERROR),
    };
    Policy::client(kind, code)
}

/// What callers see of a store that failed.
pub(super) fn refusal_for(error: &StoreError) -> &'static Refusal {
    match error {
        StoreError::Full(_) => &Refusal::StoreFull,
        StoreError::Unreachable(_) | StoreError::Broken(_) => &Refusal::StoreUnavailable,
    }
}

/// The document's own words where it has some, and whatever helps besides.
pub(super) fn explain(problem: &Problem, id: Option<&str>) -> String {
    let named = |what: &str| id.map_or_else(|| what.to_owned(), |id| format!("{what}: {id}"));
    match problem {
        Problem::NotFound => named("Session not found"),
        Problem::Expired => named("Session expired"),
        Problem::Cancelled => named("Session already cancelled"),
        Problem::WrongState { .. } | Problem::NoSuchPrompt { .. } => {
            format!("Invalid state transition: {problem}")
        }
        // What a store says is for logs.
        Problem::Store(error) => refusal_for(error).to_string(),
        other => other.to_string(),
    }
}

pub(super) fn data(problem: &Problem, id: Option<&str>) -> Value {
    let mut data = match problem {
        Problem::WrongState { state } => json!({ "state": state }),
        Problem::NoSuchPrompt { open } => json!({ "promptId": open }),
        Problem::TooLarge { limit } => json!({ "limit": limit }),
        Problem::AttemptsUsedUp { attempts } => json!({ "attempts": attempts }),
        Problem::TimedOut { seconds } => json!({ "limit": seconds }),
        Problem::Limit { what, most, retry_after } => {
            let mut data = json!({ "limit": most, "of": what });
            if let Some(wait) = retry_after {
                data["retryAfter"] = whole_seconds(*wait).into();
            }
            data
        }
        Problem::NotInteractive { tool } => json!({ "toolName": tool }),
        Problem::NotFound | Problem::Expired | Problem::Cancelled | Problem::Store(_) => json!({}),
    };
    if let Some(id) = id {
        data["sessionId"] = id.into();
    }
    data
}

/// The answer to a question of MCP Flow's. Messages of 2026-07-28 may not use most of the document's numbers.
pub(super) fn render(
    failure: &Failure,
    dialect: Dialect,
    id: Option<&Id>,
    (kind, mut code, mut data): (&str, i64, Value),
) -> Answer {
    data["kind"] = kind.into();
    let is_ours = (NOT_INTERACTIVE..=LIMITED).contains(&code);
    if is_ours && dialect.revision().is_some_and(Revision::is_stateless) {
        data["flowCode"] = code.into();
        code = codes::INVALID_PARAMS;
    }
    Answer {
        message: encode::error(id, code, &failure.to_string(), Some(&data)),
        status: failure.status(dialect),
        retry_after: failure.retry_after().map(whole_seconds),
    }
}
