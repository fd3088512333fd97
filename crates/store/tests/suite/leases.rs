//! Limits: nobody gets more than the terms allow, from however many places they ask.

use std::sync::Arc;
use std::time::{Duration, Instant};

use access::{BucketLease, BucketParams};
use jiff::Timestamp;
use store::Store;

use crate::harness::{self, TestDatabase, credential, key_record, now_micros};

test_on_both_databases!(
    new_bucket_is_full,
    bucket_is_truncated_to_a_smaller_capacity,
    buckets_are_independent,
    extreme_terms_are_handled,
    waiting_for_next_in_yields_a_token,
    concurrent_leases_do_not_exceed_the_capacity,
    concurrent_leases_do_not_exceed_the_refill,
    lease_updates_last_used_of_its_key,
    clock_set_back_does_not_block_leases,
);

/// So slow that nothing comes in during a test.
const NEGLIGIBLE_RATE: f64 = 1e-6;

fn terms(per_second: f64, capacity: u32, block: u32) -> BucketParams {
    BucketParams { refill_per_second: per_second, capacity, max_lease: block }
}

async fn new_bucket_is_full(database: &TestDatabase) {
    let store = database.open().await;
    let lease =
        async || store.lease_tokens("one", terms(NEGLIGIBLE_RATE, 5, 2), now_micros().into()).await.unwrap();
    assert_eq!(lease().await, BucketLease { granted: 2, remaining: 3, next_token_in: Duration::ZERO });
    assert_eq!(lease().await, BucketLease { granted: 2, remaining: 1, next_token_in: Duration::ZERO });
    let last = lease().await;
    assert_eq!((last.granted, last.remaining), (1, 0));
    assert!(last.next_token_in > Duration::from_hours(250), "{last:?}");
    let none = lease().await;
    assert_eq!((none.granted, none.remaining), (0, 0));
    assert!(
        none.next_token_in <= last.next_token_in && none.next_token_in > Duration::from_hours(250),
        "{none:?}"
    );
}

async fn bucket_is_truncated_to_a_smaller_capacity(database: &TestDatabase) {
    let store = database.open().await;
    store.lease_tokens("one", terms(NEGLIGIBLE_RATE, 100, 1), now_micros().into()).await.unwrap();
    let cut = store.lease_tokens("one", terms(NEGLIGIBLE_RATE, 10, 4), now_micros().into()).await.unwrap();
    assert_eq!((cut.granted, cut.remaining), (4, 6));
    let grown = store.lease_tokens("one", terms(NEGLIGIBLE_RATE, 100, 4), now_micros().into()).await.unwrap();
    assert_eq!((grown.granted, grown.remaining), (4, 2), "more room is no more tokens");
}

async fn buckets_are_independent(database: &TestDatabase) {
    let store = database.open().await;
    for name in ["one", "ONE", "one ", "key:one"] {
        let lease =
            store.lease_tokens(name, terms(NEGLIGIBLE_RATE, 3, 3), now_micros().into()).await.unwrap();
        assert_eq!((lease.granted, lease.remaining), (3, 0), "{name}");
    }
}

async fn extreme_terms_are_handled(database: &TestDatabase) {
    let store = database.open().await;
    let rates = [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE];
    for (number, rate) in rates.into_iter().enumerate() {
        for (capacity, block) in [(0, 0), (0, 5), (5, 0), (u32::MAX, u32::MAX)] {
            for _ in 0..2 {
                let bucket = format!("{number} {capacity} {block}");
                let lease = store
                    .lease_tokens(&bucket, terms(rate, capacity, block), now_micros().into())
                    .await
                    .unwrap();
                assert!(lease.granted <= block.min(capacity), "{bucket} {lease:?}");
                assert!(lease.remaining <= capacity, "{bucket} {lease:?}");
            }
        }
    }
}

async fn waiting_for_next_in_yields_a_token(database: &TestDatabase) {
    let store = database.open().await;
    let terms = terms(30.0, 1, 1);
    assert_eq!(store.lease_tokens("one", terms, now_micros().into()).await.unwrap().granted, 1);
    for _ in 0..10 {
        let wait = store.lease_tokens("one", terms, now_micros().into()).await.unwrap();
        if wait.granted == 0 {
            assert!(wait.next_token_in <= Duration::from_millis(34), "{wait:?}");
            // The clock of `now` counts whole microseconds.
            tokio::time::sleep(wait.next_token_in + Duration::from_micros(1)).await;
            assert_eq!(store.lease_tokens("one", terms, now_micros().into()).await.unwrap().granted, 1);
        }
    }
}

/// What 16 callers at two replicas get, who ask `calls` times each.
async fn lease_concurrently(database: &TestDatabase, params: BucketParams, calls: u32) -> u64 {
    let replicas: [Arc<dyn Store>; 2] = [database.open().await, database.open().await];
    let callers: Vec<_> = (0..16)
        .map(|number| {
            let store = replicas[number % 2].clone();
            tokio::spawn(async move {
                let mut taken = 0;
                for _ in 0..calls {
                    taken += u64::from(
                        store.lease_tokens("one", params, now_micros().into()).await.unwrap().granted,
                    );
                }
                taken
            })
        })
        .collect();
    let mut all = 0;
    for caller in callers {
        all += caller.await.unwrap();
    }
    all
}

async fn concurrent_leases_do_not_exceed_the_capacity(database: &TestDatabase) {
    assert_eq!(lease_concurrently(database, terms(NEGLIGIBLE_RATE, 100, 3), 10).await, 100);
}

async fn concurrent_leases_do_not_exceed_the_refill(database: &TestDatabase) {
    let (rate, capacity) = (2000.0, 50);
    let start = Instant::now();
    let taken = lease_concurrently(database, terms(rate, capacity, 7), 25).await;
    let came_in = start.elapsed().as_secs_f64() * rate;
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let taken = taken as f64;
    assert!(taken <= f64::from(capacity) + came_in, "{taken} taken, {came_in} came in");
    assert!(taken >= f64::from(capacity), "{taken} taken");
}

/// The clock that tokens come in by was an hour ahead: the machine was started anew, or another database has taken over.
async fn clock_set_back_does_not_block_leases(database: &TestDatabase) {
    let store = database.open().await;
    let terms = terms(30.0, 1, 1);
    assert_eq!(store.lease_tokens("one", terms, now_micros().into()).await.unwrap().granted, 1);
    if database.url.starts_with("sqlite:") {
        let file = rusqlite::Connection::open(database.file()).unwrap();
        file.execute_batch("UPDATE rate_buckets SET uptime = uptime + 3600000000").unwrap();
    } else {
        harness::execute(database, "UPDATE rate_buckets SET updated = updated + interval '1 hour'").await;
    }
    let wait = store.lease_tokens("one", terms, now_micros().into()).await.unwrap();
    assert_eq!(wait.granted, 0, "nothing came in meanwhile");
    tokio::time::sleep(wait.next_token_in + Duration::from_micros(1)).await;
    assert_eq!(store.lease_tokens("one", terms, now_micros().into()).await.unwrap().granted, 1);
}

async fn lease_updates_last_used_of_its_key(database: &TestDatabase) {
    let store = database.open().await;
    store.add_key(key_record("used"), credential("u")).await.unwrap();
    store.add_key(key_record("unused"), credential("n")).await.unwrap();
    let before = now_micros();
    store.lease_tokens("key:used", terms(1.0, 5, 1), now_micros().into()).await.unwrap();
    let after = now_micros();
    let listings = store.list_keys(Some("acme")).await.unwrap();
    let last_used = |id: &str| listings.iter().find(|listing| listing.key.id == id).unwrap().last_used;
    assert_eq!(last_used("unused"), None);
    let used: Timestamp = last_used("used").unwrap();
    assert!(before <= used && used <= after, "{before} {used} {after}");
}
