use std::pin::pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use futures_util::FutureExt;

use super::*;
use crate::Scope;
use crate::testing::{Fake, at, pepper, with_key};

/// What comes out at once.
fn enter(gate: &Gate, key: &str, now: i64) -> Result<Principal, String> {
    let entered = gate.enter(key, at(now)).now_or_never().unwrap();
    entered.map_err(|denied| match denied {
        Denied::Key(refused) => refused.as_str().to_owned(),
        Denied::Store(_) => "store".to_owned(),
    })
}

fn gate(fake: &Arc<Fake>) -> Gate {
    Gate::new(Arc::clone(fake) as Arc<dyn AccessStore>, pepper())
}

#[test]
fn the_store_is_asked_once_in_a_second() {
    let (fake, key) = with_key(|_| {});
    let gate = gate(&fake);
    for (now, asked) in [(0, 1), (1, 1), (999, 1), (1000, 2), (1999, 2), (2000, 3), (10_000, 4)] {
        let principal = enter(&gate, &key, now).unwrap();
        assert_eq!((fake.asked(), principal.project()), (asked, Some("proj_abc123")), "{now} ms");
    }
}

#[test]
fn one_looks_again_while_the_others_go_by_what_is_remembered() {
    let (fake, key) = with_key(|_| {});
    let gate = gate(&fake);
    enter(&gate, &key, 0).unwrap();
    fake.is_slow.store(true, Ordering::Relaxed);
    let mut first = pin!(gate.enter(&key, at(1500)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut context).is_pending(), "it waits for the store");
    for _ in 0..10 {
        assert!(enter(&gate, &key, 1600).is_ok(), "the others do not");
    }
    assert_eq!(fake.asked(), 2);
    fake.is_slow.store(false, Ordering::Relaxed);
    assert!(matches!(first.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
    assert!(enter(&gate, &key, 2400).is_ok());
    assert_eq!(fake.asked(), 2, "what it brought counts for the others");
}

#[test]
fn a_revocation_holds_after_two_seconds() {
    let (fake, key) = with_key(|_| {});
    let gate = gate(&fake);
    enter(&gate, &key, 0).unwrap();
    fake.keys.lock().unwrap().values_mut().for_each(|(record, _)| record.revoked = Some(at(1)));
    assert!(enter(&gate, &key, 999).is_ok(), "that is what remembering means");
    assert_eq!(enter(&gate, &key, 1000), Err("revoked".to_owned()));
    assert_eq!(enter(&gate, &key, 1001), Err("revoked".to_owned()));
    let fresh = Gate::new(Arc::clone(&fake) as Arc<dyn AccessStore>, pepper());
    assert_eq!(enter(&fresh, &key, 2), Err("revoked".to_owned()));
}

#[test]
fn an_end_that_is_known_holds_at_once() {
    let (fake, key) = with_key(|record| record.expires = Some(at(500)));
    let gate = gate(&fake);
    assert!(enter(&gate, &key, 499).is_ok());
    assert_eq!(enter(&gate, &key, 500), Err("expired".to_owned()));
    assert_eq!(fake.asked(), 1);
}

#[test]
fn a_store_that_is_away_is_forgiven_for_two_seconds() {
    let (fake, key) = with_key(|_| {});
    let gate = gate(&fake);
    enter(&gate, &key, 0).unwrap();
    fake.is_away.store(true, Ordering::Relaxed);
    for (now, fine) in [(999, true), (1000, true), (1500, true), (1999, true), (2000, false), (5000, false)] {
        assert_eq!(enter(&gate, &key, now).is_ok(), fine, "{now} ms");
    }
    assert_eq!(enter(&gate, &key, 6000), Err("store".to_owned()), "nobody says that the key is wrong");
    fake.is_away.store(false, Ordering::Relaxed);
    assert!(enter(&gate, &key, 6001).is_ok());
}

#[test]
fn made_up_names_never_reach_the_store() {
    let (fake, key) = with_key(|_| {});
    let gate = gate(&fake);
    for n in 0..10_000_u32 {
        let made_up = format!("cf_live_sk_{n:012}{}", &key[23..]);
        assert_eq!(enter(&gate, &made_up, 0), Err("malformed".to_owned()), "{made_up}");
    }
    assert_eq!(fake.asked(), 0);
}

#[test]
fn a_wrong_secret_costs_one_question_and_an_unknown_name_too() {
    let (fake, key) = with_key(|_| {});
    let gate = gate(&fake);
    let wrong = format!("{}{}", &key[..23], "x".repeat(43));
    for _ in 0..100 {
        assert_eq!(enter(&gate, &wrong, 0), Err("wrong".to_owned()));
    }
    assert_eq!(fake.asked(), 1);
    let record = fake.keys.lock().unwrap().drain().next().unwrap();
    for _ in 0..100 {
        assert_eq!(enter(&gate, &key, 5000), Err("unknown".to_owned()));
    }
    assert_eq!(fake.asked(), 2, "that there is no such key is remembered too");
    fake.keys.lock().unwrap().insert(record.0, record.1);
    assert!(enter(&gate, &key, 7000).is_ok(), "and not for longer");
}

#[test]
fn a_clock_that_is_set_back_does_not_keep_a_key_alive() {
    let (fake, key) = with_key(|_| {});
    let gate = gate(&fake);
    enter(&gate, &key, 10_000).unwrap();
    fake.keys.lock().unwrap().values_mut().for_each(|(record, _)| record.revoked = Some(at(0)));
    assert_eq!(enter(&gate, &key, 1000), Err("revoked".to_owned()));
}

#[test]
fn whoever_enters_has_what_the_key_allows() {
    for scope in Scope::ALL {
        let (fake, key) = with_key(|record| record.scope = scope);
        assert_eq!(enter(&gate(&fake), &key, 0).unwrap().scope(), scope);
    }
}
