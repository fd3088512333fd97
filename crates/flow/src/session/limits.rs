//! How much of everything.

use std::time::Duration;

/// How much one session may have, and one owner of sessions.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Sessions that one owner may have open at once.
    pub sessions: u32,
    /// Sessions of one owner that have ended and are remembered. Beyond that the oldest are forgotten before their time.
    pub ended: u32,
    /// Questions that may be answered in one session, also those that were gone back from.
    pub turns: usize,
    /// Bytes of one session, all in all.
    pub bytes: usize,
    /// Bytes of one response.
    pub response: usize,
    /// How often a question is answered badly before the session ends.
    pub attempts: u32,
    /// Responses to one session in so much time.
    pub rate: (u32, Duration),
    /// How long a user may stay silent, unless the session was begun with another time.
    pub idle: Duration,
    /// How long a session may take from beginning to end. Also the longest time that one may be begun with.
    pub longest: Duration,
    /// How long a conversation may work on one answer.
    pub turn: Duration,
    /// How long what is over can be read.
    pub grace: Duration,
    /// For how long it is remembered that there was a session.
    pub remembered: Duration,
    /// How long somebody who works on a session is not doubted.
    pub lease: Duration,
    /// How often they are heard of, and learn whether the session was cancelled.
    pub heartbeat: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 100,
            ended: 1000,
            turns: 200,
            bytes: 1024 * 1024,
            response: 512 * 1024,
            attempts: 5,
            rate: (100, Duration::from_secs(10)),
            idle: Duration::from_mins(5),
            longest: Duration::from_hours(24),
            turn: Duration::from_mins(5),
            grace: Duration::from_mins(1),
            remembered: Duration::from_hours(24),
            lease: Duration::from_secs(10),
            heartbeat: Duration::from_millis(500),
        }
    }
}
