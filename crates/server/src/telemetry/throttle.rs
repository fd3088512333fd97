//! Keeps an outage from filling the log with the same line.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a store that fails is logged.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Lets one log line through per interval, and counts the others.
#[derive(Debug, Default)]
pub struct LogThrottle {
    state: Mutex<LogThrottleState>,
}

#[derive(Debug, Default)]
struct LogThrottleState {
    last: Option<Instant>,
    suppressed: u64,
}

impl LogThrottle {
    /// Whether a line may be written at this moment. If so, how many were suppressed since the last one.
    pub fn admit(&self, now: Instant) -> Option<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.is_some_and(|last| now.saturating_duration_since(last) < LOG_INTERVAL) {
            state.suppressed += 1;
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_per_interval_reports_the_suppressed_count() {
        let (throttle, start) = (LogThrottle::default(), Instant::now());
        for (after_ms, admitted) in [
            (0, Some(0)),
            (0, None),
            (1, None),
            (9_999, None),
            (10_000, Some(3)),
            (10_001, None),
            // A clock that another thread read earlier.
            (5_000, None),
            (20_000, Some(2)),
            (60_000, Some(0)),
        ] {
            assert_eq!(throttle.admit(start + Duration::from_millis(after_ms)), admitted, "at {after_ms} ms");
        }
    }

    #[test]
    fn long_outage_logs_one_line_per_interval() {
        let (throttle, start) = (LogThrottle::default(), Instant::now());
        let admitted = (0..1_000_u64).filter_map(|n| throttle.admit(start + Duration::from_millis(n * 30)));
        assert_eq!(admitted.collect::<Vec<_>>(), [0, 333, 333]);
    }
}
