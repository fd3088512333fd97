use std::pin::pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use futures_util::FutureExt;

use super::*;
use crate::Scope;
use crate::testing::{FakeAccessStore, pepper, store_with_key, time_at_ms};

/// Verifies without waiting.
fn verify(verifier: &KeyVerifier, key: &str, now: i64) -> Result<Principal, String> {
    let entered = verifier.verify(key, time_at_ms(now)).now_or_never().unwrap();
    entered.map_err(|denied| match denied {
        KeyVerifyError::Rejected(refused) => refused.as_str().to_owned(),
        KeyVerifyError::Store(_) => "store".to_owned(),
    })
}

fn verifier(fake: &Arc<FakeAccessStore>) -> KeyVerifier {
    KeyVerifier::new(Arc::clone(fake) as Arc<dyn AccessStore>, pepper())
}

#[test]
fn store_is_queried_at_most_once_per_second() {
    let (fake, key) = store_with_key(|_| {});
    let verifier = verifier(&fake);
    for (now, asked) in [(0, 1), (1, 1), (999, 1), (1000, 2), (1999, 2), (2000, 3), (10_000, 4)] {
        let principal = verify(&verifier, &key, now).unwrap();
        assert_eq!((fake.query_count(), principal.project()), (asked, Some("proj_abc123")), "{now} ms");
    }
}

#[test]
fn one_call_refreshes_while_others_use_the_cache() {
    let (fake, key) = store_with_key(|_| {});
    let verifier = verifier(&fake);
    verify(&verifier, &key, 0).unwrap();
    fake.is_slow.store(true, Ordering::Relaxed);
    let mut first = pin!(verifier.verify(&key, time_at_ms(1500)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut context).is_pending(), "it waits for the store");
    for _ in 0..10 {
        assert!(verify(&verifier, &key, 1600).is_ok(), "the others do not");
    }
    assert_eq!(fake.query_count(), 2);
    fake.is_slow.store(false, Ordering::Relaxed);
    assert!(matches!(first.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
    assert!(verify(&verifier, &key, 2400).is_ok());
    assert_eq!(fake.query_count(), 2, "the refreshed entry serves the others");
}

#[test]
fn revocation_takes_effect_within_two_seconds() {
    let (fake, key) = store_with_key(|_| {});
    let verifier = verifier(&fake);
    verify(&verifier, &key, 0).unwrap();
    fake.keys.lock().unwrap().values_mut().for_each(|(record, _)| record.revoked = Some(time_at_ms(1)));
    assert!(verify(&verifier, &key, 999).is_ok(), "the cached entry is still valid");
    assert_eq!(verify(&verifier, &key, 1000), Err("revoked".to_owned()));
    assert_eq!(verify(&verifier, &key, 1001), Err("revoked".to_owned()));
    let fresh = KeyVerifier::new(Arc::clone(&fake) as Arc<dyn AccessStore>, pepper());
    assert_eq!(verify(&fresh, &key, 2), Err("revoked".to_owned()));
}

#[test]
fn cached_expiry_takes_effect_immediately() {
    let (fake, key) = store_with_key(|record| record.expires = Some(time_at_ms(500)));
    let verifier = verifier(&fake);
    assert!(verify(&verifier, &key, 499).is_ok());
    assert_eq!(verify(&verifier, &key, 500), Err("expired".to_owned()));
    assert_eq!(fake.query_count(), 1);
}

#[test]
fn cached_key_survives_store_outage_for_two_seconds() {
    let (fake, key) = store_with_key(|_| {});
    let verifier = verifier(&fake);
    verify(&verifier, &key, 0).unwrap();
    fake.is_unreachable.store(true, Ordering::Relaxed);
    for (now, fine) in [(999, true), (1000, true), (1500, true), (1999, true), (2000, false), (5000, false)] {
        assert_eq!(verify(&verifier, &key, now).is_ok(), fine, "{now} ms");
    }
    assert_eq!(verify(&verifier, &key, 6000), Err("store".to_owned()), "an outage is not a rejection");
    fake.is_unreachable.store(false, Ordering::Relaxed);
    assert!(verify(&verifier, &key, 6001).is_ok());
}

#[test]
fn forged_key_names_never_reach_the_store() {
    let (fake, key) = store_with_key(|_| {});
    let verifier = verifier(&fake);
    for n in 0..10_000_u32 {
        let made_up = format!("cf_live_sk_{n:012}{}", &key[23..]);
        assert_eq!(verify(&verifier, &made_up, 0), Err("malformed".to_owned()), "{made_up}");
    }
    assert_eq!(fake.query_count(), 0);
}

#[test]
fn wrong_secret_and_unknown_name_cost_one_store_query_each() {
    let (fake, key) = store_with_key(|_| {});
    let verifier = verifier(&fake);
    let wrong = format!("{}{}", &key[..23], "x".repeat(43));
    for _ in 0..100 {
        assert_eq!(verify(&verifier, &wrong, 0), Err("wrong".to_owned()));
    }
    assert_eq!(fake.query_count(), 1);
    let record = fake.keys.lock().unwrap().drain().next().unwrap();
    for _ in 0..100 {
        assert_eq!(verify(&verifier, &key, 5000), Err("unknown".to_owned()));
    }
    assert_eq!(fake.query_count(), 2, "misses are cached too");
    fake.keys.lock().unwrap().insert(record.0, record.1);
    assert!(verify(&verifier, &key, 7000).is_ok(), "and not for longer");
}

#[test]
fn setting_the_clock_back_does_not_revive_revoked_key() {
    let (fake, key) = store_with_key(|_| {});
    let verifier = verifier(&fake);
    verify(&verifier, &key, 10_000).unwrap();
    fake.keys.lock().unwrap().values_mut().for_each(|(record, _)| record.revoked = Some(time_at_ms(0)));
    assert_eq!(verify(&verifier, &key, 1000), Err("revoked".to_owned()));
}

#[test]
fn principal_has_scope_of_its_key() {
    for scope in Scope::ALL {
        let (fake, key) = store_with_key(|record| record.scope = scope);
        assert_eq!(verify(&verifier(&fake), &key, 0).unwrap().scope(), scope);
    }
}
