//! Strings that somebody might send.

use access::{KeyRecord, StoreError, Terms};

use crate::harness::{Place, credential, key, now};

on_both!(
    the_longest_names_fit,
    odd_strings_come_back_as_they_were,
    nul_and_endless_names_are_refused,
    nothing_is_lost_after_refusals
);

const ODD: &[&str] = &[
    "'; DROP TABLE api_keys; --",
    "\"quoted\" \\ back\\slash $1 ?1 %s {}",
    "👩‍👩‍👧‍👦 ﷽ 𝒳",
    "\u{202e}right to left\u{202c} עברית",
    "e\u{301} \u{e9} \u{212b} \u{feff}",
    " leading and trailing \t\n\r",
    "\u{1}\u{7f}\u{85}\u{2028}\u{fffd}",
    "\u{10ffff}",
];

fn wide_terms() -> Terms {
    Terms { per_second: 1.0, capacity: 5, block: 1 }
}

async fn odd_strings_come_back_as_they_were(place: &Place) {
    let store = place.open().await;
    let megabyte = "ü𝒳".repeat(170_000);
    for text in ODD.iter().copied().chain([megabyte.as_str()]) {
        let name: String = text.chars().take(300).collect();
        let odd = KeyRecord {
            id: name.clone(),
            tenant: name.clone(),
            label: text.to_owned(),
            project: Some(text.to_owned()),
            ..key("")
        };
        store.add_key(odd.clone(), credential(&name)).await.unwrap();
        assert_eq!(store.key_by_prefix(&name).await.unwrap(), Some((odd.clone(), credential(&name))));
        let listed = store.keys(Some(&name)).await.unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!((&listed[0].key, listed[0].prefixes.as_slice()), (&odd, &[name.clone()][..]));
        store.lease(&format!("key:{name}"), wide_terms(), now().into()).await.unwrap();
        assert!(store.keys(Some(&name)).await.unwrap()[0].last_used.is_some());
        assert_eq!(store.secret(&name, text.as_bytes()).await.unwrap(), text.as_bytes());
        assert!(store.revoke_key(&name, now()).await.unwrap().is_some());
    }
    assert_eq!(store.keys(None).await.unwrap().len(), ODD.len() + 1);
}

/// Names that do not get shorter by compression, as long as they may be.
async fn the_longest_names_fit(place: &Place) {
    let store = place.open().await;
    let mut state = 7_u32;
    let mut longest = || {
        let letters = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b'!' + u8::try_from((state >> 16) % 94).unwrap())
        });
        letters.take(1000).collect::<String>()
    };
    let (id, prefix) = (longest(), longest());
    let owned = KeyRecord { tenant: longest(), ..key(&id) };
    store.add_key(owned.clone(), credential(&prefix)).await.unwrap();
    assert_eq!(store.key_by_prefix(&prefix).await.unwrap().unwrap().0, owned);
    store.lease(&longest(), wide_terms(), now().into()).await.unwrap();
    store.secret(&longest(), b"fresh").await.unwrap();
    assert!(store.rotate_key(&id, credential(&longest()), now()).await.unwrap().is_some());
}

async fn nul_and_endless_names_are_refused(place: &Place) {
    let store = place.open().await;
    let (endless, too_long) = ("n".repeat(1 << 20), "n".repeat(1001));
    for name in ["a\0b", "\0", endless.as_str(), too_long.as_str(), ""] {
        assert_eq!(store.key_by_prefix(name).await.unwrap(), None);
        assert_eq!(store.keys(Some(name)).await.unwrap(), []);
        assert_eq!(store.revoke_key(name, now()).await.unwrap(), None);
        assert_eq!(store.rotate_key(name, credential("p"), now()).await.unwrap(), None);
        let refused = [
            store.add_key(key(name), credential("p")).await.unwrap_err(),
            store
                .add_key(KeyRecord { tenant: name.to_owned(), ..key("k") }, credential("p"))
                .await
                .unwrap_err(),
            store.add_key(key("k"), credential(name)).await.unwrap_err(),
            store.rotate_key("k", credential(name), now()).await.unwrap_err(),
            store.lease(name, wide_terms(), now().into()).await.unwrap_err(),
            store.secret(name, b"fresh").await.unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(error, StoreError::Broken(_)), "{error}");
            assert!(error.to_string().len() < 200, "{error}");
        }
    }
    for odd in [
        KeyRecord { label: "a\0b".to_owned(), ..key("k") },
        KeyRecord { project: Some("a\0b".to_owned()), ..key("k") },
    ] {
        assert!(matches!(store.add_key(odd, credential("p")).await, Err(StoreError::Broken(_))));
    }
    assert_eq!(store.keys(None).await.unwrap(), []);
}

/// More refusals than there are connections.
async fn nothing_is_lost_after_refusals(place: &Place) {
    let store = place.open().await;
    store.add_key(key("one"), credential("p")).await.unwrap();
    for number in 0..20 {
        store.add_key(key("one"), credential(&format!("p-{number}"))).await.unwrap_err();
    }
    store.add_key(key("two"), credential("p-two")).await.unwrap();
    assert_eq!(store.keys(None).await.unwrap().len(), 2);
}
