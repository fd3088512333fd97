use std::sync::atomic::Ordering;

use futures_util::FutureExt;
use proptest::prelude::*;

use super::*;
use crate::testing::{FakeAccessStore, time_at_ms};

fn rate_limiter(fake: &Arc<FakeAccessStore>, per_minute: u32, burst: u32) -> RateLimiter {
    RateLimiter::new(Arc::clone(fake) as Arc<dyn AccessStore>, Some(RateLimit { per_minute, burst }))
}

fn acquire(limiter: &RateLimiter, wanted: u32, now: i64) -> RateLimitStatus {
    limiter.acquire("me", wanted, time_at_ms(now).into()).now_or_never().unwrap().unwrap().unwrap()
}

#[test]
fn burst_is_granted_then_calls_are_limited_to_the_rate() {
    let fake = Arc::default();
    let limiter = rate_limiter(&fake, 60, 5);
    for (now, granted, remaining, retry_after) in [
        (0, 1, 4, 0),
        (0, 1, 3, 0),
        (0, 1, 2, 0),
        (0, 1, 1, 0),
        (0, 1, 0, 0),
        (0, 0, 0, 1000),
        (400, 0, 0, 600),
        (1000, 1, 0, 0),
        (1000, 0, 0, 1000),
        (61_000, 1, 4, 0),
    ] {
        let rate_limit = acquire(&limiter, 1, now);
        assert_eq!((rate_limit.granted, rate_limit.remaining), (granted, remaining), "{now} ms");
        if granted == 0 {
            assert_eq!(rate_limit.retry_after, Duration::from_millis(retry_after), "{now} ms");
        }
    }
}

/// The wall clock is changed by an hour in both directions while the uptime continues.
#[test]
fn setting_the_clock_does_not_change_the_limit() {
    for step in [3_600_000, -3_600_000] {
        let fake = Arc::default();
        let limiter = rate_limiter(&fake, 60, 5);
        let take = |time: i64, uptime: u64| {
            let now = ClockReading { time: time_at_ms(time), uptime: Duration::from_millis(uptime) };
            limiter.acquire("me", 1, now).now_or_never().unwrap().unwrap().unwrap()
        };
        while take(0, 10_000).granted == 1 {}
        let refused = take(step, 10_000);
        assert_eq!((refused.granted, refused.retry_after), (0, Duration::from_secs(1)), "{step}");
        assert_eq!(take(step, 11_000).granted, 1, "{step}");
        assert_eq!(take(0, 11_000).granted, 0, "setting it back adds no tokens: {step}");
    }
}

#[test]
fn call_after_retry_after_is_granted() {
    for (per_minute, burst) in [(60, 5), (7, 1), (600, 100), (90, 33)] {
        let fake = Arc::default();
        let limiter = rate_limiter(&fake, per_minute, burst);
        let mut now = 0;
        while acquire(&limiter, 1, now).granted == 1 {}
        for _ in 0..20 {
            let wait = acquire(&limiter, 1, now).retry_after;
            assert!(wait > Duration::ZERO, "{per_minute} {burst}");
            now += i64::try_from(wait.as_millis()).unwrap() + 1;
            assert_eq!(acquire(&limiter, 1, now).granted, 1, "{per_minute} {burst}");
            while acquire(&limiter, 1, now).granted == 1 {}
        }
    }
}

#[test]
fn batch_is_granted_the_remaining_tokens() {
    let fake = Arc::default();
    let limiter = rate_limiter(&fake, 60, 5);
    assert_eq!(acquire(&limiter, 3, 0).granted, 3);
    let rest = acquire(&limiter, 3, 0);
    assert_eq!((rest.granted, rest.remaining, rest.retry_after), (2, 0, Duration::from_secs(1)));
}

#[test]
fn callers_are_limited_separately() {
    let fake = Arc::default();
    let limiter = rate_limiter(&fake, 60, 1);
    assert_eq!(acquire(&limiter, 1, 0).granted, 1);
    assert_eq!(acquire(&limiter, 1, 0).granted, 0);
    let other = limiter.acquire("other", 1, time_at_ms(0).into()).now_or_never().unwrap().unwrap().unwrap();
    assert_eq!(other.granted, 1);
}

#[test]
fn store_is_not_queried_for_every_call() {
    let fake = Arc::default();
    let limiter = rate_limiter(&fake, 6000, 1000);
    let granted: u32 = (0..900).map(|_| acquire(&limiter, 1, 0).granted).sum();
    assert_eq!((granted, fake.query_count()), (900, 9));
    while acquire(&limiter, 1, 0).granted > 0 {}
    let asked = fake.query_count();
    (0..1000).for_each(|_| assert_eq!(acquire(&limiter, 1, 0).granted, 0));
    assert_eq!(fake.query_count(), asked, "nor for callers that have to wait");
}

#[test]
fn unreachable_store_is_an_error_not_a_denial() {
    let fake: Arc<FakeAccessStore> = Arc::default();
    let limiter = rate_limiter(&fake, 60, 5);
    fake.is_unreachable.store(true, Ordering::Relaxed);
    assert!(limiter.acquire("me", 1, time_at_ms(0).into()).now_or_never().unwrap().is_err());
    fake.is_unreachable.store(false, Ordering::Relaxed);
    assert_eq!(acquire(&limiter, 1, 0).granted, 1);
}

/// Counting needs a write, and a full disk must not block reads.
#[test]
fn full_store_falls_back_to_local_limit() {
    let fake: Arc<FakeAccessStore> = Arc::default();
    let limiter = rate_limiter(&fake, 60, 5);
    fake.is_full.store(true, Ordering::Relaxed);
    let granted = (0..8).map(|_| acquire(&limiter, 1, 0).granted).sum::<u32>();
    assert_eq!((granted, acquire(&limiter, 1, 0).retry_after), (5, Duration::from_secs(1)));
    assert_eq!((acquire(&limiter, 1, 999).granted, acquire(&limiter, 3, 2000).granted), (0, 2));
    fake.is_full.store(false, Ordering::Relaxed);
    assert_eq!(acquire(&limiter, 3, 3000).granted, 3, "the store counts again from its last state");
}

#[test]
fn missing_or_zero_rate_disables_limiting() {
    let fake: Arc<FakeAccessStore> = Arc::default();
    for rate in
        [None, Some(RateLimit { per_minute: 0, burst: 5 }), Some(RateLimit { per_minute: 5, burst: 0 })]
    {
        let limiter = RateLimiter::new(Arc::clone(&fake) as Arc<dyn AccessStore>, rate);
        assert_eq!(limiter.acquire("me", 1000, time_at_ms(0).into()).now_or_never().unwrap().unwrap(), None);
    }
    let limiter = rate_limiter(&fake, 60, 1);
    assert_eq!((acquire(&limiter, 2, 0).granted, acquire(&limiter, 1, 0).granted), (1, 0));
    limiter.set_limit(None);
    assert_eq!(limiter.acquire("me", 9, time_at_ms(0).into()).now_or_never().unwrap().unwrap(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Three replicas, one bucket: in any time `t` at most `burst + rate * t`.
    #[test]
    fn replicas_together_stay_within_the_rate(
        per_minute in 1_u32..2000,
        burst in 1_u32..120,
        calls in prop::collection::vec((0_usize..3, prop_oneof![Just(0_i64), 0_i64..50, 0_i64..20_000], 1_u32..40), 1..120),
    ) {
        let fake = Arc::default();
        let limiters = [(); 3].map(|()| rate_limiter(&fake, per_minute, burst));
        let mut now = 0;
        let mut granted = Vec::new();
        for (replica, wait, wanted) in calls {
            now += wait;
            let rate_limit = acquire(&limiters[replica], wanted, now);
            prop_assert!(rate_limit.granted <= wanted && rate_limit.remaining <= burst);
            granted.push((now, rate_limit.granted));
        }
        for (first, (from, _)) in granted.iter().enumerate() {
            let mut sum = 0;
            for (to, count) in &granted[first..] {
                sum += count;
                #[expect(clippy::cast_precision_loss, reason = "small numbers")]
                let seconds = (to - from) as f64 / 1000.0;
                let most = f64::from(burst) + f64::from(per_minute) / 60.0 * seconds;
                prop_assert!(f64::from(sum) <= most + 1e-6, "{sum} in {seconds} s, {most} allowed");
            }
        }
    }

    /// A caller within the rate is never rejected.
    #[test]
    fn calls_within_the_rate_are_always_granted(per_minute in 1_u32..2000, burst in 1_u32..120) {
        let fake = Arc::default();
        let limiter = rate_limiter(&fake, per_minute, burst);
        let pause = 60_000_i64.div_euclid(i64::from(per_minute)) + 1;
        for n in 0..200 {
            prop_assert_eq!(acquire(&limiter, 1, n * pause).granted, 1, "call {}", n);
        }
    }
}
