//! Strings that somebody might send.

use access::{BucketParams, KeyRecord, StoreError};

use crate::harness::{TestDatabase, credential, key_record, now_micros};

test_on_both_databases!(
    longest_names_are_stored,
    unusual_strings_round_trip,
    nul_and_overlong_names_are_rejected,
    connections_are_usable_after_rejections
);

const UNUSUAL_STRINGS: &[&str] = &[
    "'; DROP TABLE api_keys; --",
    "\"quoted\" \\ back\\slash $1 ?1 %s {}",
    "👩‍👩‍👧‍👦 ﷽ 𝒳",
    "\u{202e}right to left\u{202c} עברית",
    "e\u{301} \u{e9} \u{212b} \u{feff}",
    " leading and trailing \t\n\r",
    "\u{1}\u{7f}\u{85}\u{2028}\u{fffd}",
    "\u{10ffff}",
];

fn lease_terms() -> BucketParams {
    BucketParams { refill_per_second: 1.0, capacity: 5, max_lease: 1 }
}

async fn unusual_strings_round_trip(database: &TestDatabase) {
    let store = database.open().await;
    let megabyte = "ü𝒳".repeat(170_000);
    for text in UNUSUAL_STRINGS.iter().copied().chain([megabyte.as_str()]) {
        let name: String = text.chars().take(300).collect();
        let odd = KeyRecord {
            id: name.clone(),
            tenant: name.clone(),
            label: text.to_owned(),
            project: Some(text.to_owned()),
            ..key_record("")
        };
        store.add_key(odd.clone(), credential(&name)).await.unwrap();
        assert_eq!(store.key_by_prefix(&name).await.unwrap(), Some((odd.clone(), credential(&name))));
        let listed = store.list_keys(Some(&name)).await.unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!((&listed[0].key, listed[0].prefixes.as_slice()), (&odd, &[name.clone()][..]));
        store.lease_tokens(&format!("key:{name}"), lease_terms(), now_micros().into()).await.unwrap();
        assert!(store.list_keys(Some(&name)).await.unwrap()[0].last_used.is_some());
        assert_eq!(store.get_or_insert_secret(&name, text.as_bytes()).await.unwrap(), text.as_bytes());
        assert!(store.revoke_key(&name, now_micros()).await.unwrap().is_some());
    }
    assert_eq!(store.list_keys(None).await.unwrap().len(), UNUSUAL_STRINGS.len() + 1);
}

/// Names that do not get shorter by compression, as long as they may be.
async fn longest_names_are_stored(database: &TestDatabase) {
    let store = database.open().await;
    let mut state = 7_u32;
    let mut longest = || {
        let letters = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b'!' + u8::try_from((state >> 16) % 94).unwrap())
        });
        letters.take(1000).collect::<String>()
    };
    let (id, prefix) = (longest(), longest());
    let owned = KeyRecord { tenant: longest(), ..key_record(&id) };
    store.add_key(owned.clone(), credential(&prefix)).await.unwrap();
    assert_eq!(store.key_by_prefix(&prefix).await.unwrap().unwrap().0, owned);
    store.lease_tokens(&longest(), lease_terms(), now_micros().into()).await.unwrap();
    store.get_or_insert_secret(&longest(), b"fresh").await.unwrap();
    assert!(store.rotate_key(&id, credential(&longest()), now_micros()).await.unwrap().is_some());
}

async fn nul_and_overlong_names_are_rejected(database: &TestDatabase) {
    let store = database.open().await;
    let (endless, too_long) = ("n".repeat(1 << 20), "n".repeat(1001));
    for name in ["a\0b", "\0", endless.as_str(), too_long.as_str(), ""] {
        assert_eq!(store.key_by_prefix(name).await.unwrap(), None);
        assert_eq!(store.list_keys(Some(name)).await.unwrap(), []);
        assert_eq!(store.revoke_key(name, now_micros()).await.unwrap(), None);
        assert_eq!(store.rotate_key(name, credential("p"), now_micros()).await.unwrap(), None);
        let refused = [
            store.add_key(key_record(name), credential("p")).await.unwrap_err(),
            store
                .add_key(KeyRecord { tenant: name.to_owned(), ..key_record("k") }, credential("p"))
                .await
                .unwrap_err(),
            store.add_key(key_record("k"), credential(name)).await.unwrap_err(),
            store.rotate_key("k", credential(name), now_micros()).await.unwrap_err(),
            store.lease_tokens(name, lease_terms(), now_micros().into()).await.unwrap_err(),
            store.get_or_insert_secret(name, b"fresh").await.unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(error, StoreError::Broken(_)), "{error}");
            assert!(error.to_string().len() < 200, "{error}");
        }
    }
    for odd in [
        KeyRecord { label: "a\0b".to_owned(), ..key_record("k") },
        KeyRecord { project: Some("a\0b".to_owned()), ..key_record("k") },
    ] {
        assert!(matches!(store.add_key(odd, credential("p")).await, Err(StoreError::Broken(_))));
    }
    assert_eq!(store.list_keys(None).await.unwrap(), []);
}

/// More refusals than there are connections.
async fn connections_are_usable_after_rejections(database: &TestDatabase) {
    let store = database.open().await;
    store.add_key(key_record("one"), credential("p")).await.unwrap();
    for number in 0..20 {
        store.add_key(key_record("one"), credential(&format!("p-{number}"))).await.unwrap_err();
    }
    store.add_key(key_record("two"), credential("p-two")).await.unwrap();
    assert_eq!(store.list_keys(None).await.unwrap().len(), 2);
}
