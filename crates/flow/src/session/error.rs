//! Errors of session operations.

use std::time::Duration;

use jiff::Timestamp;

use super::{SessionState, StoreError};

/// Why a session operation failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SessionError {
    /// No such session, or it belongs to another owner. Indistinguishable on purpose.
    #[error("session not found; start a new one")]
    NotFound,
    /// The session existed, but has expired.
    #[error("the session has expired; start a new one")]
    Expired,
    /// The operation is not possible in this state.
    #[error("the session is {}", state_name(*state))]
    WrongState {
        /// The current state.
        state: SessionState,
    },
    /// The response answers another prompt than the open one.
    #[error("the response does not match the open prompt `{open}`")]
    PromptMismatch {
        /// The id of the open prompt.
        open: String,
    },
    /// The response exceeds the size limit.
    #[error("the response exceeds the limit of {limit} bytes")]
    ResponseTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A question was answered incorrectly too many times.
    #[error("no valid answer after {attempts} attempts; the session has ended")]
    TooManyAttempts {
        /// The number of attempts.
        attempts: u32,
    },
    /// The turn exceeded its timeout.
    #[error("the tool did not respond within {seconds} s; the session has ended")]
    TimedOut {
        /// The timeout in seconds.
        seconds: u64,
    },
    /// The session was cancelled.
    #[error("the session has been cancelled")]
    Cancelled,
    /// A limit was reached.
    #[error("limit of {most} {what} reached{}", when(*retry_after))]
    LimitReached {
        /// What is limited.
        what: &'static str,
        /// The limit.
        most: usize,
        /// When to retry, in whole seconds. `None` if waiting does not help.
        retry_after: Option<Duration>,
    },
    /// The tool does not support conversations.
    #[error("{tool} is not interactive; call it with all arguments")]
    NotInteractive {
        /// The name of the tool.
        tool: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The time until `then` in whole seconds: at least one, rounded up so that a retry is never too early.
pub(super) fn seconds_until_rounded_up(then: Timestamp, now: Timestamp) -> Duration {
    let left = Duration::try_from(then.duration_since(now)).unwrap_or_default();
    let whole = left.as_secs().saturating_add(u64::from(left.subsec_nanos() > 0));
    Duration::from_secs(whole.max(1))
}

fn when(retry_after: Option<Duration>) -> String {
    retry_after.map_or_else(String::new, |wait| format!("; try again in {} s", wait.as_secs()))
}

fn state_name(state: SessionState) -> &'static str {
    match state {
        SessionState::Idle => "idle",
        SessionState::Active => "active",
        SessionState::WaitingUser => "waiting for an answer",
        SessionState::Processing => "processing an answer",
        SessionState::Completed => "completed",
        SessionState::Cancelled => "cancelled",
        SessionState::Error => "in the error state",
    }
}
