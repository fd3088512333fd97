use proptest::prelude::*;
use secrecy::ExposeSecret;

use super::*;
use crate::testing::{deterministic_random, key_record, pepper, time_at_ms};

fn issue_key(environment: KeyEnvironment) -> (String, KeyCredential) {
    let (key, credential) = pepper().issue(environment, deterministic_random());
    (key.expose_secret().to_owned(), credential)
}

#[test]
fn issued_key_has_documented_format_and_verifies() {
    for (environment, head) in [(KeyEnvironment::Live, "cf_live_sk_"), (KeyEnvironment::Test, "cf_test_sk_")]
    {
        let (key, credential) = issue_key(environment);
        assert!(key.starts_with(head) && key.len() == head.len() + 55, "{key}");
        assert_eq!(pepper().parse_prefix(&key), Some(credential.prefix.as_str()));
        let principal = pepper().verify(&key, &key_record(), &credential, time_at_ms(0)).unwrap();
        assert_eq!(
            (principal.subject(), principal.tenant(), principal.scope(), principal.project()),
            ("key:key_1", "main", Scope::Write, Some("proj_abc123"))
        );
    }
}

#[test]
fn issued_keys_are_unique() {
    let draw = deterministic_random();
    let mut all: Vec<_> = (0..200).map(|_| pepper().issue(KeyEnvironment::Live, &draw).1).collect();
    all.sort_by(|a, b| a.prefix.cmp(&b.prefix));
    all.dedup_by(|a, b| a.prefix == b.prefix || a.hash == b.hash);
    assert_eq!(all.len(), 200);
}

#[test]
fn debug_output_does_not_contain_the_secret() {
    let (key, credential) = issue_key(KeyEnvironment::Live);
    let secret = &key[credential.prefix.len()..];
    assert!(!format!("{credential:?} {:?} {:?}", key_record(), pepper()).contains(secret));
}

#[test]
fn malformed_keys_have_no_prefix() {
    let (key, _) = issue_key(KeyEnvironment::Live);
    let swapped = key.replace("cf_live_sk_", "cf_test_sk_");
    for (text, is_key) in [
        (key.as_str(), true),
        // The checksum does not cover the environment, but the hash of the whole key does.
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
        assert_eq!(pepper().parse_prefix(text).is_some(), is_key, "{text}");
    }
    assert_eq!(Pepper::new([8; 32]).parse_prefix(&key), None, "the name of another server's key");
}

type KeyMutation = fn(&mut KeyRecord, &mut KeyCredential);

#[test]
fn expired_revoked_or_wrong_key_is_rejected() {
    let (key, credential) = issue_key(KeyEnvironment::Live);
    let table: [(KeyMutation, i64, Result<(), KeyRejection>); 9] = [
        (|_, _| {}, 0, Ok(())),
        (|record, _| record.expires = Some(time_at_ms(1000)), 999, Ok(())),
        (|record, _| record.expires = Some(time_at_ms(1000)), 1000, Err(KeyRejection::Expired)),
        (|record, _| record.revoked = Some(time_at_ms(1000)), 1000, Err(KeyRejection::Revoked)),
        (|record, _| record.revoked = Some(time_at_ms(9000)), 1000, Err(KeyRejection::Revoked)),
        (|_, credential| credential.valid_until = Some(time_at_ms(1000)), 999, Ok(())),
        (|_, credential| credential.valid_until = Some(time_at_ms(1000)), 1000, Err(KeyRejection::Revoked)),
        (|_, credential| credential.hash[31] ^= 1, 0, Err(KeyRejection::WrongSecret)),
        (
            |record, credential| {
                record.revoked = Some(time_at_ms(0));
                credential.hash[0] ^= 1;
            },
            0,
            // A wrong secret must not reveal that the key was revoked.
            Err(KeyRejection::WrongSecret),
        ),
    ];
    for (n, (change, now, expected)) in table.into_iter().enumerate() {
        let (mut record, mut credential) = (key_record(), credential.clone());
        change(&mut record, &mut credential);
        assert_eq!(
            pepper().verify(&key, &record, &credential, time_at_ms(now)).map(|_| ()),
            expected,
            "row {n}"
        );
    }
}

#[test]
fn pepper_parses_32_bytes_of_hex_or_base64() {
    let (key, _) = issue_key(KeyEnvironment::Live);
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
        assert_eq!(pepper.map(|pepper| pepper.parse_prefix(&key).is_some()), is_ours, "{text}");
    }
}

proptest! {
    /// Changing any single character invalidates the key.
    #[test]
    fn key_with_any_character_changed_is_rejected(place in 0_usize..66, other in any::<char>()) {
        let (key, credential) = issue_key(KeyEnvironment::Live);
        let mut changed: Vec<char> = key.chars().collect();
        prop_assume!(changed[place] != other);
        changed[place] = other;
        let changed: String = changed.into_iter().collect();
        let found = pepper().parse_prefix(&changed).is_some_and(|prefix| prefix == credential.prefix);
        let opens = pepper().verify(&changed, &key_record(), &credential, time_at_ms(0));
        prop_assert_eq!(opens, Err(KeyRejection::WrongSecret));
        // A changed name fails its checksum, so the store is not queried.
        let in_name = (11..23).contains(&place);
        prop_assert!(!(found && in_name));
    }

    #[test]
    fn parsing_arbitrary_text_never_panics(text in any::<String>()) {
        prop_assert!(pepper().parse_prefix(&text).is_none());
        let longer = format!("cf_live_sk_{text}");
        prop_assert!(pepper().parse_prefix(&longer).is_none());
        let _ = Pepper::parse(&text);
    }
}
