//! Why something cannot be done with a session.

use std::time::Duration;

use jiff::Timestamp;

use super::{SessionState, StoreError};

/// Why something cannot be done with a session.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SessionError {
    /// There is none, or it is somebody else's: the two cannot be told apart.
    #[error("there is no such session; start again")]
    NotFound,
    /// There was one.
    #[error("the session has ended; start again")]
    Expired,
    /// It stands where this cannot be done.
    #[error("the session is {}", state_name(*state))]
    WrongState {
        /// Where it stands.
        state: SessionState,
    },
    /// The response is to another prompt than the one that is open.
    #[error("another prompt is open ({open})")]
    PromptMismatch {
        /// The one that is.
        open: String,
    },
    /// The response is larger than any may be.
    #[error("the response is larger than {limit} bytes")]
    ResponseTooLarge {
        /// The most that is taken.
        limit: usize,
    },
    /// A question was answered badly once too often.
    #[error("the question got no usable answer after {attempts} attempts; the session has ended")]
    TooManyAttempts {
        /// How often it was.
        attempts: u32,
    },
    /// The conversation worked on an answer for too long.
    #[error("the tool took longer than {seconds} s for one step; the session has ended")]
    TimedOut {
        /// How long it may.
        seconds: u64,
    },
    /// It was cancelled.
    #[error("the session has been cancelled")]
    Cancelled,
    /// There is a limit, and it is reached.
    #[error("{most} {what} are the most there may be{}", when(*retry_after))]
    LimitReached {
        /// What there are too many of.
        what: &'static str,
        /// How many there may be.
        most: usize,
        /// After so many whole seconds there is room again. `None`: waiting does not help.
        retry_after: Option<Duration>,
    },
    /// Nobody can be asked questions by this tool.
    #[error("{tool} is not interactive; call it with all arguments")]
    NotInteractive {
        /// The tool.
        tool: String,
    },
    /// The store did not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How long to wait for a time: whole seconds, at least one, and never too few.
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
        SessionState::Processing => "working on an answer",
        SessionState::Completed => "completed",
        SessionState::Cancelled => "cancelled",
        SessionState::Error => "in error",
    }
}
