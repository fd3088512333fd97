//! Buckets of tokens: what goes into the statement, and what comes out of it.
//!
//! The databases do the sums, each in one statement. They forgive a billionth of a token, because fractions that are
//! added up fall short of a whole; so who waits as long as [`Lease::next_in`] says gets a token.

use std::time::Duration;

use access::{Lease, Terms};

const FORGIVEN: f64 = 1e-9;
/// What "never" is, as a time that can be added to others.
const NEVER: Duration = Duration::from_secs(u32::MAX as u64);
/// More than this is not told apart, and no sum of it overflows.
const FASTEST: f64 = 1e9;

/// Tokens per second, as a number that can be reckoned with.
pub(crate) fn rate(terms: Terms) -> f64 {
    // Not a number: no tokens. `clamp` would keep it.
    if terms.per_second > 0.0 { terms.per_second.min(FASTEST) } else { 0.0 }
}

/// A clock that is set back by less than this may be that of calls which overtake each other.
pub(crate) const JUMP: Duration = Duration::from_secs(10);

/// How many leases are between two looks for buckets that nobody needs any more.
pub(crate) const SWEEP_EVERY: u32 = 4096;

/// How long it takes to fill an empty bucket.
pub(crate) fn fill_time(terms: Terms) -> Duration {
    let seconds = f64::from(terms.capacity) / rate(terms);
    Duration::try_from_secs_f64(seconds).map_or(NEVER, |time| time.min(NEVER))
}

/// The answer to a caller who got `taken` out of a bucket that now holds `tokens`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked, or saturates as it should"
)]
pub(crate) fn answer(terms: Terms, taken: i64, tokens: f64) -> Lease {
    let left = (tokens + FORGIVEN).floor().max(0.0) as u32;
    let next_in = if left > 0 { Duration::ZERO } else { wait(terms, 1.0 - tokens) };
    Lease { taken: u32::try_from(taken).unwrap_or(0), left, next_in }
}

fn wait(terms: Terms, lacking: f64) -> Duration {
    if terms.capacity == 0 {
        return NEVER;
    }
    // Databases count in microseconds, so a part of one is waited for in full.
    let microseconds = (lacking / rate(terms) * 1e6).ceil();
    Duration::try_from_secs_f64(microseconds / 1e6).map_or(NEVER, |wait| wait.min(NEVER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next_in(per_second: f64, capacity: u32, tokens: f64) -> Duration {
        answer(Terms { per_second, capacity, block: 1 }, 0, tokens).next_in
    }

    #[test]
    fn the_wait_is_for_what_lacks() {
        assert_eq!(next_in(2.0, 5, 0.0), Duration::from_millis(500));
        assert_eq!(next_in(2.0, 5, 0.5), Duration::from_millis(250));
        assert_eq!(next_in(2.0, 5, 1.0), Duration::ZERO);
        assert_eq!(next_in(3.0, 5, 0.0), Duration::from_micros(333_334));
    }

    #[test]
    fn a_bucket_that_never_fills_is_waited_for_without_an_overflow() {
        for (per_second, capacity) in [(0.0, 5), (-1.0, 5), (f64::NAN, 5), (1e-300, 5), (1.0, 0)] {
            assert_eq!(next_in(per_second, capacity, 0.0), NEVER, "{per_second} {capacity}");
        }
        assert_eq!(next_in(f64::INFINITY, 5, 0.0), Duration::from_micros(1));
    }
}
