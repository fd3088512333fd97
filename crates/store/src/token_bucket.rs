//! Token buckets: the parameters and results of the SQL statements.
//!
//! Each database computes a bucket in one statement, with a tolerance of a billionth of a token, because
//! accumulated fractions fall short of a whole. So a caller that waits for [`BucketLease::next_token_in`]
//! always gets a token.

use std::time::Duration;

use access::{BucketLease, BucketParams};

const TOKEN_EPSILON: f64 = 1e-9;
/// Stands for "never", but can be added to other times without overflow.
const MAX_WAIT: Duration = Duration::from_secs(u32::MAX as u64);
/// Rates are capped here, so that no computation overflows.
const MAX_TOKENS_PER_SECOND: f64 = 1e9;

/// The refill rate as a finite, non-negative number.
pub(crate) fn clamped_rate(params: BucketParams) -> f64 {
    // NaN means no tokens. `clamp` would keep it.
    if params.refill_per_second > 0.0 { params.refill_per_second.min(MAX_TOKENS_PER_SECOND) } else { 0.0 }
}

/// A smaller step back is not a clock jump, but calls that overtake each other.
pub(crate) const CLOCK_JUMP_THRESHOLD: Duration = Duration::from_secs(10);

/// Number of leases between two sweeps of unused buckets.
pub(crate) const LEASES_PER_SWEEP: u32 = 4096;

pub(crate) fn fill_time(params: BucketParams) -> Duration {
    let seconds = f64::from(params.capacity) / clamped_rate(params);
    Duration::try_from_secs_f64(seconds).map_or(MAX_WAIT, |time| time.min(MAX_WAIT))
}

/// The lease for a caller that took `taken` tokens and left `tokens` in the bucket.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked, or saturates as intended"
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
    // Databases count in microseconds, so round up.
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
