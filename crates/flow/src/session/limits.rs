//! How much of everything.

use std::time::Duration;

/// How much one session may have, and one owner of sessions.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Sessions that one owner may have open at once.
    pub max_open_sessions: u32,
    /// Sessions of one owner that have ended and are remembered. Beyond that the oldest are forgotten before their time.
    pub max_ended_sessions: u32,
    /// Questions that may be answered in one session, also those that were gone back from.
    pub max_turns: usize,
    /// Bytes of one session, all in all.
    pub max_session_bytes: usize,
    /// Bytes of one response.
    pub max_response_bytes: usize,
    /// How often a question is answered badly before the session ends.
    pub max_attempts: u32,
    /// Responses to one session in so much time.
    pub response_rate: (u32, Duration),
    /// How long a user may stay silent, unless the session was begun with another time.
    pub idle_timeout: Duration,
    /// How long a session may take from beginning to end. Also the longest time that one may be begun with.
    pub max_lifetime: Duration,
    /// How long a conversation may work on one answer.
    pub turn_timeout: Duration,
    /// How long what is over can be read.
    pub grace_period: Duration,
    /// For how long it is remembered that there was a session.
    pub retention: Duration,
    /// How long somebody who works on a session is not doubted.
    pub lease_duration: Duration,
    /// How often they are heard of, and learn whether the session was cancelled.
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
