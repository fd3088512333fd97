//! Buckets of tokens: what goes into the statement, and what comes out of it.
//!
//! The databases do the sums, each in one statement. They forgive a billionth of a token, because fractions that are
//! added up fall short of a whole; so who waits as long as [`BucketLease::next_token_in`] says gets a token.

use std::time::Duration;

use access::{BucketLease, BucketParams};

const TOKEN_EPSILON: f64 = 1e-9;
/// What "never" is, as a time that can be added to others.
const MAX_WAIT: Duration = Duration::from_secs(u32::MAX as u64);
/// More than this is not told apart, and no sum of it overflows.
const MAX_TOKENS_PER_SECOND: f64 = 1e9;

/// Tokens per second, as a number that can be reckoned with.
pub(crate) fn clamped_rate(params: BucketParams) -> f64 {
    // Not a number: no tokens. `clamp` would keep it.
    if params.refill_per_second > 0.0 { params.refill_per_second.min(MAX_TOKENS_PER_SECOND) } else { 0.0 }
}

/// A clock that is set back by less than this may be that of calls which overtake each other.
pub(crate) const CLOCK_JUMP_THRESHOLD: Duration = Duration::from_secs(10);

/// How many leases are between two looks for buckets that nobody needs any more.
pub(crate) const LEASES_PER_SWEEP: u32 = 4096;

/// How long it takes to fill an empty bucket.
pub(crate) fn fill_time(params: BucketParams) -> Duration {
    let seconds = f64::from(params.capacity) / clamped_rate(params);
    Duration::try_from_secs_f64(seconds).map_or(MAX_WAIT, |time| time.min(MAX_WAIT))
}

/// The answer to a caller who got `taken` out of a bucket that now holds `tokens`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked, or saturates as it should"
)]
pub(crate) fn lease_from_bucket(params: BucketParams, taken: i64, tokens: f64) -> BucketLease {
    let left = (tokens + TOKEN_EPSILON).floor().max(0.0) as u32;
    let next_in = if left > 0 { Duration::ZERO } else { refill_wait(params, 1.0 - tokens) };
    BucketLease { granted: u32::try_from(taken).unwrap_or(0), remaining: left, next_token_in: next_in }
}

fn refill_wait(params: BucketParams, lacking: f64) -> Duration {
    if params.capacity == 0 {
        return MAX_WAIT;
    }
    // Databases count in microseconds, so a part of one is waited for in full.
    let microseconds = (lacking / clamped_rate(params) * 1e6).ceil();
    Duration::try_from_secs_f64(microseconds / 1e6).map_or(MAX_WAIT, |wait| wait.min(MAX_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next_in(per_second: f64, capacity: u32, tokens: f64) -> Duration {
        lease_from_bucket(BucketParams { refill_per_second: per_second, capacity, max_lease: 1 }, 0, tokens)
            .next_token_in
    }

    #[test]
    fn wait_covers_the_missing_fraction() {
        assert_eq!(next_in(2.0, 5, 0.0), Duration::from_millis(500));
        assert_eq!(next_in(2.0, 5, 0.5), Duration::from_millis(250));
        assert_eq!(next_in(2.0, 5, 1.0), Duration::ZERO);
        assert_eq!(next_in(3.0, 5, 0.0), Duration::from_micros(333_334));
    }

    #[test]
    fn wait_for_a_bucket_that_never_fills_is_capped() {
        for (per_second, capacity) in [(0.0, 5), (-1.0, 5), (f64::NAN, 5), (1e-300, 5), (1.0, 0)] {
            assert_eq!(next_in(per_second, capacity, 0.0), MAX_WAIT, "{per_second} {capacity}");
        }
        assert_eq!(next_in(f64::INFINITY, 5, 0.0), Duration::from_micros(1));
    }
}
