//! Leases of SQLite, where the time is told, against a bucket that anybody can read.

use std::time::Duration;

use access::BucketParams;
use jiff::Timestamp;
use proptest::prelude::*;
use store::StoreOptions;

/// A bucket in quarters of tokens, at a clock that ticks in quarters of seconds: no fraction is ever lost.
struct BucketModel {
    quarters: u64,
    updated: i64,
}

impl BucketModel {
    /// What is taken, and what is left. A clock that is ten seconds behind was set, and is believed.
    fn lease(&mut self, rate: u64, capacity: u32, block: u32, tick: i64) -> (u64, u64) {
        let ticks = u64::try_from(tick - self.updated).unwrap_or(0);
        self.updated = if self.updated - tick > 40 { tick } else { self.updated.max(tick) };
        self.quarters = (self.quarters + ticks * rate).min(u64::from(capacity) * 4);
        let taken = (self.quarters / 4).min(u64::from(block));
        self.quarters -= taken * 4;
        (taken, self.quarters / 4)
    }
}

/// One call: tokens per second, capacity, block, and by how many ticks the clock moves before it.
fn arbitrary_calls() -> impl Strategy<Value = Vec<(u32, u32, u32, i64)>> {
    let moves = prop_oneof![4 => 0..8_i64, 1 => -60..0_i64, 1 => 0..4000_i64];
    prop::collection::vec((0..6_u32, 0..12_u32, 0..6_u32, moves), 1..40)
}

fn timestamp(tick: i64) -> Timestamp {
    Timestamp::from_microsecond(1_900_000_000_000_000 + tick * 250_000).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_leases_match_the_model(calls in arbitrary_calls()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = store::open(&"sqlite::memory:".parse().unwrap(), &StoreOptions::default()).await.unwrap();
            let mut tick = 0;
            let mut model: Option<BucketModel> = None;
            for (rate, capacity, block, ticks) in calls {
                tick += ticks;
                let full = || BucketModel { quarters: u64::from(capacity) * 4, updated: tick };
                let bucket = model.get_or_insert_with(full);
                let (taken, left) = bucket.lease(u64::from(rate), capacity, block, tick);
                let terms = BucketParams { refill_per_second: f64::from(rate), capacity, max_lease: block };
                let lease = store.lease_tokens("one", terms, timestamp(tick).into()).await.unwrap();
                assert_eq!((u64::from(lease.granted), u64::from(lease.remaining)), (taken, left), "{terms:?} at {tick}");
                assert_eq!(lease.next_token_in.is_zero(), left > 0);
            }
        });
    }

    #[test]
    fn leased_tokens_never_exceed_the_refill(
        rate in 0.001..5000.0_f64,
        (capacity, block) in (1..50_u32, 1..50_u32),
        moves in prop::collection::vec(-1_000_000..3_000_000_i64, 1..60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = store::open(&"sqlite::memory:".parse().unwrap(), &StoreOptions::default()).await.unwrap();
            let terms = BucketParams { refill_per_second: rate, capacity, max_lease: block };
            let (mut time, mut taken) = (timestamp(0), 0.0);
            let (start, mut latest) = (time, time);
            for step in moves {
                // Calls overtake each other by seconds at the most.
                time = Timestamp::from_microsecond(time.as_microsecond() + step).unwrap();
                time = time.max(latest - Duration::from_secs(8));
                latest = latest.max(time);
                let lease = store.lease_tokens("one", terms, time.into()).await.unwrap();
                taken += f64::from(lease.granted);
                assert!(lease.granted <= block);
                // The first call may be before the start, which then is its own.
                let elapsed = latest.duration_since(start).as_secs_f64() + 1.0;
                assert!(taken <= f64::from(capacity) + rate * elapsed + 1e-6);
                if lease.remaining == 0 {
                    let enough = latest.max(time) + lease.next_token_in + Duration::from_micros(1);
                    time = enough;
                    latest = enough;
                    let next = store.lease_tokens("one", terms, enough.into()).await.unwrap();
                    taken += f64::from(next.granted);
                    assert!(next.granted >= 1, "told to wait {:?}", lease.next_token_in);
                }
            }
        });
    }
}
