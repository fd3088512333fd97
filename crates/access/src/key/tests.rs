use proptest::prelude::*;
use secrecy::ExposeSecret;

use super::*;
use crate::testing::{at, pepper, random, record};

fn issued(environment: Environment) -> (String, Credential) {
    let (key, credential) = pepper().issue(environment, random());
    (key.expose_secret().to_owned(), credential)
}

#[test]
fn a_key_looks_as_documented_and_is_known_again() {
    for (environment, head) in [(Environment::Live, "cf_live_sk_"), (Environment::Test, "cf_test_sk_")] {
        let (key, credential) = issued(environment);
        assert!(key.starts_with(head) && key.len() == head.len() + 55, "{key}");
        assert_eq!(pepper().prefix(&key), Some(credential.prefix.as_str()));
        let principal = pepper().judge(&key, &record(), &credential, at(0)).unwrap();
        assert_eq!(
            (principal.subject(), principal.tenant(), principal.scope(), principal.project()),
            ("key:key_1", "main", Scope::Write, Some("proj_abc123"))
        );
    }
}

#[test]
fn two_keys_have_nothing_in_common() {
    let draw = random();
    let mut all: Vec<_> = (0..200).map(|_| pepper().issue(Environment::Live, &draw).1).collect();
    all.sort_by(|a, b| a.prefix.cmp(&b.prefix));
    all.dedup_by(|a, b| a.prefix == b.prefix || a.hash == b.hash);
    assert_eq!(all.len(), 200);
}

#[test]
fn what_is_kept_does_not_show_the_secret() {
    let (key, credential) = issued(Environment::Live);
    let secret = &key[credential.prefix.len()..];
    assert!(!format!("{credential:?} {:?} {:?}", record(), pepper()).contains(secret));
}

#[test]
fn what_is_no_key_is_known_without_the_store() {
    let (key, _) = issued(Environment::Live);
    let swapped = key.replace("cf_live_sk_", "cf_test_sk_");
    for (text, is_key) in [
        (key.as_str(), true),
        // The environment is not part of the name; the hash over all of it says no.
        (swapped.as_str(), true),
        ("", false),
        ("cf_live_sk_", false),
        ("cf_live_sk_abc", false),
        (&key[..key.len() - 1], false),
        (&format!("{key}x"), false),
        (&format!(" {key}"), false),
        (&key.to_uppercase(), false),
        (&key.replace("cf_live", "cf_prod"), false),
        (&format!("cf_live_sk_{}", "é".repeat(27) + "x"), false),
        (&format!("cf_live_sk_{}", "a".repeat(55)), false),
    ] {
        assert_eq!(pepper().prefix(text).is_some(), is_key, "{text}");
    }
    assert_eq!(Pepper::new([8; 32]).prefix(&key), None, "the name of another server's key");
}

type Change = fn(&mut KeyRecord, &mut Credential);

#[test]
fn a_key_ends_when_it_ends() {
    let (key, credential) = issued(Environment::Live);
    let table: [(Change, i64, Result<(), Refused>); 9] = [
        (|_, _| {}, 0, Ok(())),
        (|record, _| record.expires = Some(at(1000)), 999, Ok(())),
        (|record, _| record.expires = Some(at(1000)), 1000, Err(Refused::Expired)),
        (|record, _| record.revoked = Some(at(1000)), 1000, Err(Refused::Revoked)),
        (|record, _| record.revoked = Some(at(9000)), 1000, Err(Refused::Revoked)),
        (|_, credential| credential.until = Some(at(1000)), 999, Ok(())),
        (|_, credential| credential.until = Some(at(1000)), 1000, Err(Refused::Revoked)),
        (|_, credential| credential.hash[31] ^= 1, 0, Err(Refused::Wrong)),
        (
            |record, credential| {
                record.revoked = Some(at(0));
                credential.hash[0] ^= 1;
            },
            0,
            // Who does not know the secret does not learn that it was revoked.
            Err(Refused::Wrong),
        ),
    ];
    for (n, (change, now, expected)) in table.into_iter().enumerate() {
        let (mut record, mut credential) = (record(), credential.clone());
        change(&mut record, &mut credential);
        assert_eq!(pepper().judge(&key, &record, &credential, at(now)).map(|_| ()), expected, "row {n}");
    }
}

#[test]
fn a_pepper_is_32_bytes_however_they_are_written() {
    let (key, _) = issued(Environment::Live);
    for (text, is_ours) in [
        ("07".repeat(32), Some(true)),
        ("BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=".to_owned(), Some(true)),
        ("BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc".to_owned(), Some(true)),
        (format!(" {}\n", "07".repeat(32)), Some(true)),
        ("08".repeat(32), Some(false)),
        ("07".repeat(31), None),
        ("zz".repeat(32), None),
        (String::new(), None),
        ("é".repeat(32), None),
    ] {
        let pepper = Pepper::parse(&text);
        assert_eq!(pepper.map(|pepper| pepper.prefix(&key).is_some()), is_ours, "{text}");
    }
}

proptest! {
    /// Any single character that is another one makes another key.
    #[test]
    fn a_changed_key_opens_nothing(place in 0_usize..66, other in any::<char>()) {
        let (key, credential) = issued(Environment::Live);
        let mut changed: Vec<char> = key.chars().collect();
        prop_assume!(changed[place] != other);
        changed[place] = other;
        let changed: String = changed.into_iter().collect();
        let found = pepper().prefix(&changed).is_some_and(|prefix| prefix == credential.prefix);
        let opens = pepper().judge(&changed, &record(), &credential, at(0));
        prop_assert_eq!(opens, Err(Refused::Wrong));
        // A name with a character changed is known for a made-up one, so the store is not asked.
        let in_name = (11..23).contains(&place);
        prop_assert!(!(found && in_name));
    }

    #[test]
    fn no_text_makes_it_fall_over(text in any::<String>()) {
        prop_assert!(pepper().prefix(&text).is_none());
        let longer = format!("cf_live_sk_{text}");
        prop_assert!(pepper().prefix(&longer).is_none());
        let _ = Pepper::parse(&text);
    }
}
