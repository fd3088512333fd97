//! Limits: nobody gets more than the terms allow, from however many places they ask.

use std::sync::Arc;
use std::time::{Duration, Instant};

use access::{Lease, Terms};
use jiff::Timestamp;
use store::Store;

use crate::harness::{self, Place, credential, key, now};

on_both!(
    a_new_bucket_is_full,
    a_bucket_is_cut_to_a_smaller_capacity,
    buckets_do_not_know_each_other,
    strange_terms_do_no_harm,
    who_waits_as_told_gets_a_token,
    many_callers_get_no_more_than_the_capacity,
    many_callers_get_no_more_than_comes_in,
    a_lease_tells_when_a_key_was_used,
    a_clock_that_was_set_back_locks_no_caller_out,
);

/// So slow that nothing comes in during a test.
const NOTHING: f64 = 1e-6;

fn terms(per_second: f64, capacity: u32, block: u32) -> Terms {
    Terms { per_second, capacity, block }
}

async fn a_new_bucket_is_full(place: &Place) {
    let store = place.open().await;
    let lease = async || store.lease("one", terms(NOTHING, 5, 2), now().into()).await.unwrap();
    assert_eq!(lease().await, Lease { taken: 2, left: 3, next_in: Duration::ZERO });
    assert_eq!(lease().await, Lease { taken: 2, left: 1, next_in: Duration::ZERO });
    let last = lease().await;
    assert_eq!((last.taken, last.left), (1, 0));
    assert!(last.next_in > Duration::from_hours(250), "{last:?}");
    let none = lease().await;
    assert_eq!((none.taken, none.left), (0, 0));
    assert!(none.next_in <= last.next_in && none.next_in > Duration::from_hours(250), "{none:?}");
}

async fn a_bucket_is_cut_to_a_smaller_capacity(place: &Place) {
    let store = place.open().await;
    store.lease("one", terms(NOTHING, 100, 1), now().into()).await.unwrap();
    let cut = store.lease("one", terms(NOTHING, 10, 4), now().into()).await.unwrap();
    assert_eq!((cut.taken, cut.left), (4, 6));
    let grown = store.lease("one", terms(NOTHING, 100, 4), now().into()).await.unwrap();
    assert_eq!((grown.taken, grown.left), (4, 2), "more room is no more tokens");
}

async fn buckets_do_not_know_each_other(place: &Place) {
    let store = place.open().await;
    for name in ["one", "ONE", "one ", "key:one"] {
        let lease = store.lease(name, terms(NOTHING, 3, 3), now().into()).await.unwrap();
        assert_eq!((lease.taken, lease.left), (3, 0), "{name}");
    }
}

async fn strange_terms_do_no_harm(place: &Place) {
    let store = place.open().await;
    let rates = [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE];
    for (number, rate) in rates.into_iter().enumerate() {
        for (capacity, block) in [(0, 0), (0, 5), (5, 0), (u32::MAX, u32::MAX)] {
            for _ in 0..2 {
                let bucket = format!("{number} {capacity} {block}");
                let lease = store.lease(&bucket, terms(rate, capacity, block), now().into()).await.unwrap();
                assert!(lease.taken <= block.min(capacity), "{bucket} {lease:?}");
                assert!(lease.left <= capacity, "{bucket} {lease:?}");
            }
        }
    }
}

async fn who_waits_as_told_gets_a_token(place: &Place) {
    let store = place.open().await;
    let terms = terms(30.0, 1, 1);
    assert_eq!(store.lease("one", terms, now().into()).await.unwrap().taken, 1);
    for _ in 0..10 {
        let wait = store.lease("one", terms, now().into()).await.unwrap();
        if wait.taken == 0 {
            assert!(wait.next_in <= Duration::from_millis(34), "{wait:?}");
            // The clock of `now` counts whole microseconds.
            tokio::time::sleep(wait.next_in + Duration::from_micros(1)).await;
            assert_eq!(store.lease("one", terms, now().into()).await.unwrap().taken, 1);
        }
    }
}

/// What 16 callers at two replicas get, who ask `calls` times each.
async fn taken_by_many(place: &Place, terms: Terms, calls: u32) -> u64 {
    let replicas: [Arc<dyn Store>; 2] = [place.open().await, place.open().await];
    let callers: Vec<_> = (0..16)
        .map(|number| {
            let store = replicas[number % 2].clone();
            tokio::spawn(async move {
                let mut taken = 0;
                for _ in 0..calls {
                    taken += u64::from(store.lease("one", terms, now().into()).await.unwrap().taken);
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

async fn many_callers_get_no_more_than_the_capacity(place: &Place) {
    assert_eq!(taken_by_many(place, terms(NOTHING, 100, 3), 10).await, 100);
}

async fn many_callers_get_no_more_than_comes_in(place: &Place) {
    let (rate, capacity) = (2000.0, 50);
    let start = Instant::now();
    let taken = taken_by_many(place, terms(rate, capacity, 7), 25).await;
    let came_in = start.elapsed().as_secs_f64() * rate;
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let taken = taken as f64;
    assert!(taken <= f64::from(capacity) + came_in, "{taken} taken, {came_in} came in");
    assert!(taken >= f64::from(capacity), "{taken} taken");
}

/// The clock that tokens come in by was an hour ahead: the machine was started anew, or another database has taken over.
async fn a_clock_that_was_set_back_locks_no_caller_out(place: &Place) {
    let store = place.open().await;
    let terms = terms(30.0, 1, 1);
    assert_eq!(store.lease("one", terms, now().into()).await.unwrap().taken, 1);
    if place.url.starts_with("sqlite:") {
        let file = rusqlite::Connection::open(place.file()).unwrap();
        file.execute_batch("UPDATE rate_buckets SET uptime = uptime + 3600000000").unwrap();
    } else {
        harness::execute(place, "UPDATE rate_buckets SET updated = updated + interval '1 hour'").await;
    }
    let wait = store.lease("one", terms, now().into()).await.unwrap();
    assert_eq!(wait.taken, 0, "nothing came in meanwhile");
    tokio::time::sleep(wait.next_in + Duration::from_micros(1)).await;
    assert_eq!(store.lease("one", terms, now().into()).await.unwrap().taken, 1);
}

async fn a_lease_tells_when_a_key_was_used(place: &Place) {
    let store = place.open().await;
    store.add_key(key("used"), credential("u")).await.unwrap();
    store.add_key(key("unused"), credential("n")).await.unwrap();
    let before = now();
    store.lease("key:used", terms(1.0, 5, 1), now().into()).await.unwrap();
    let after = now();
    let listings = store.keys(Some("acme")).await.unwrap();
    let last_used = |id: &str| listings.iter().find(|listing| listing.key.id == id).unwrap().last_used;
    assert_eq!(last_used("unused"), None);
    let used: Timestamp = last_used("used").unwrap();
    assert!(before <= used && used <= after, "{before} {used} {after}");
}
