//! Limits on sessions.

use std::time::Duration;

/// Limits per session and per owner.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of open sessions per owner.
    pub max_open_sessions: u32,
    /// Maximum number of ended sessions retained per owner. Beyond that the oldest are deleted early.
    pub max_ended_sessions: u32,
    /// Maximum number of answers per session, including undone ones.
    pub max_turns: usize,
    /// Maximum total size of a session, in bytes.
    pub max_session_bytes: usize,
    /// Maximum size of a response, in bytes.
    pub max_response_bytes: usize,
    /// How many invalid answers to one question end the session.
    pub max_attempts: u32,
    /// Maximum number of responses per session within a time window.
    pub response_rate: (u32, Duration),
    /// How long the user may be inactive, unless the session was started with another timeout.
    pub idle_timeout: Duration,
    /// Maximum lifetime of a session, and the longest timeout that can be requested.
    pub max_lifetime: Duration,
    /// How long a turn may run.
    pub turn_timeout: Duration,
    /// How long an ended session can be read.
    pub grace_period: Duration,
    /// How long the row of an expired session is retained, to tell expired sessions from unknown ones.
    pub retention: Duration,
    /// How long a running turn keeps its lease without renewing it.
    pub lease_duration: Duration,
    /// How often a running turn renews its lease and checks for cancellation.
    pub heartbeat_interval: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_open_sessions: 100,
            max_ended_sessions: 1000,
            max_turns: 200,
            max_session_bytes: 1024 * 1024,
            max_response_bytes: 512 * 1024,
            max_attempts: 5,
            response_rate: (100, Duration::from_secs(10)),
            idle_timeout: Duration::from_mins(5),
            max_lifetime: Duration::from_hours(24),
            turn_timeout: Duration::from_mins(5),
            grace_period: Duration::from_mins(1),
            retention: Duration::from_hours(24),
            lease_duration: Duration::from_secs(10),
            heartbeat_interval: Duration::from_millis(500),
        }
    }
}
