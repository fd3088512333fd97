//! Keys and their secrets.

use access::{Environment, KeyRecord, Scope, StoreError};

use crate::harness::{Place, ago, credential, key, later, now};

on_both!(
    a_key_is_found_by_the_prefix_of_its_secret,
    a_key_opens_something_until_it_ends,
    a_key_that_is_there_is_not_added_again,
    revoking_twice_keeps_the_first_time,
    after_a_rotation_the_old_secret_lives_until_its_end,
    a_secret_never_ends_later_than_before,
    rotations_at_once_leave_one_secret_without_an_end,
    what_is_not_there_is_not_changed,
    lists_are_by_age_and_tenant,
    a_list_shows_the_secrets_that_open_something,
    the_store_is_ready,
);

async fn a_key_is_found_by_the_prefix_of_its_secret(place: &Place) {
    let store = place.open().await;
    let full = KeyRecord {
        environment: Environment::Test,
        scope: Scope::Admin,
        project: Some("apollo".to_owned()),
        expires: Some(later(60)),
        revoked: Some(ago(1)),
        ..key("full")
    };
    let mut ending = credential("p-full");
    ending.until = Some(later(30));
    store.add_key(full.clone(), ending.clone()).await.unwrap();
    store.add_key(key("plain"), credential("p-plain")).await.unwrap();
    assert_eq!(store.key_by_prefix("p-full").await.unwrap(), Some((full, ending)));
    let (plain, secret) = store.key_by_prefix("p-plain").await.unwrap().unwrap();
    assert_eq!((plain.expires, plain.revoked, plain.project), (None, None, None));
    assert_eq!(secret, credential("p-plain"));
    for unknown in ["p", "p-plain2", "P-PLAIN", "", "%", "p-_lain"] {
        assert_eq!(store.key_by_prefix(unknown).await.unwrap(), None, "{unknown}");
    }
}

async fn a_key_opens_something_until_it_ends(place: &Place) {
    let store = place.open().await;
    assert!(!store.has_usable_key(now()).await.unwrap());
    store.add_key(KeyRecord { expires: Some(ago(1)), ..key("expired") }, credential("e")).await.unwrap();
    store.add_key(key("revoked"), credential("r")).await.unwrap();
    store.revoke_key("revoked", ago(1)).await.unwrap();
    let mut replaced = credential("o");
    replaced.until = Some(ago(1));
    store.add_key(key("replaced"), replaced).await.unwrap();
    assert!(!store.has_usable_key(now()).await.unwrap());
    assert!(store.has_usable_key(ago(10)).await.unwrap(), "they were good before");
    store.add_key(KeyRecord { expires: Some(later(60)), ..key("good") }, credential("g")).await.unwrap();
    assert!(store.has_usable_key(now()).await.unwrap());
    assert!(!store.has_usable_key(later(120)).await.unwrap());
}

async fn a_key_that_is_there_is_not_added_again(place: &Place) {
    let store = place.open().await;
    store.add_key(key("one"), credential("p-one")).await.unwrap();
    let same_id = KeyRecord { tenant: "other".to_owned(), ..key("one") };
    let error = store.add_key(same_id, credential("p-two")).await.unwrap_err();
    assert!(matches!(error, StoreError::Broken(_)), "{error}");
    assert_eq!(store.key_by_prefix("p-two").await.unwrap(), None);
    let error = store.add_key(key("two"), credential("p-one")).await.unwrap_err();
    assert!(matches!(error, StoreError::Broken(_)), "{error}");
    assert!(!error.to_string().contains("p-one"), "texts quote no values: {error}");
    // The key was written before its secret was refused. Both are gone.
    assert_eq!(store.keys(None).await.unwrap().len(), 1);
    assert_eq!(store.revoke_key("two", now()).await.unwrap(), None);
}

async fn revoking_twice_keeps_the_first_time(place: &Place) {
    let store = place.open().await;
    store.add_key(key("one"), credential("p-one")).await.unwrap();
    let first = ago(50);
    let revoked = Some(KeyRecord { revoked: Some(first), ..store.keys(None).await.unwrap()[0].key.clone() });
    assert_eq!(store.revoke_key("one", first).await.unwrap(), revoked);
    assert_eq!(store.revoke_key("one", now()).await.unwrap(), revoked);
    assert_eq!(store.revoke_key("one", ago(90)).await.unwrap(), revoked);
    assert_eq!(store.key_by_prefix("p-one").await.unwrap().map(|(key, _)| key), revoked);
    let after = store.rotate_key("one", credential("p-new"), now()).await.unwrap();
    assert_eq!(after, None, "a revoked key gets no new secret");
    assert_eq!(store.key_by_prefix("p-new").await.unwrap(), None);
    assert_eq!(store.key_by_prefix("p-one").await.unwrap().unwrap().1, credential("p-one"));
}

async fn after_a_rotation_the_old_secret_lives_until_its_end(place: &Place) {
    let store = place.open().await;
    store.add_key(key("one"), credential("p-old")).await.unwrap();
    store.add_key(key("two"), credential("p-two")).await.unwrap();
    let end = later(3600);
    let rotated = store.rotate_key("one", credential("p-new"), end).await.unwrap().unwrap();
    let (old_key, old) = store.key_by_prefix("p-old").await.unwrap().unwrap();
    let (new_key, new) = store.key_by_prefix("p-new").await.unwrap().unwrap();
    assert_eq!((&old_key, &new_key), (&rotated, &rotated));
    assert_eq!((old.until, new.until), (Some(end), None));
    assert_eq!(old.hash, credential("p-old").hash);
    let (_, other) = store.key_by_prefix("p-two").await.unwrap().unwrap();
    assert_eq!(other.until, None, "another key's secret is not touched");
    // A prefix that is in use is refused, and nothing has ended by that.
    store.rotate_key("one", credential("p-two"), now()).await.unwrap_err();
    assert_eq!(store.key_by_prefix("p-new").await.unwrap().unwrap().1.until, None);
}

async fn a_secret_never_ends_later_than_before(place: &Place) {
    let store = place.open().await;
    store.add_key(key("one"), credential("p-1")).await.unwrap();
    let (sooner, soon, much_later) = (later(5), later(10), later(1000));
    store.rotate_key("one", credential("p-2"), soon).await.unwrap();
    store.rotate_key("one", credential("p-3"), much_later).await.unwrap();
    let until = async |prefix| store.key_by_prefix(prefix).await.unwrap().unwrap().1.until;
    assert_eq!(
        [until("p-1").await, until("p-2").await, until("p-3").await],
        [Some(soon), Some(much_later), None]
    );
    store.rotate_key("one", credential("p-4"), sooner).await.unwrap();
    assert_eq!(
        [until("p-1").await, until("p-2").await, until("p-3").await],
        [Some(sooner), Some(sooner), Some(sooner)]
    );
}

async fn rotations_at_once_leave_one_secret_without_an_end(place: &Place) {
    let store = place.open().await;
    store.add_key(key("one"), credential("p")).await.unwrap();
    let end = later(60);
    let rotations: Vec<_> = (0..16)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                let prefix = format!("p-{number}");
                store.rotate_key("one", credential(&prefix), end).await.unwrap().unwrap();
                prefix
            })
        })
        .collect();
    let mut prefixes = Vec::new();
    for rotation in rotations {
        prefixes.push(rotation.await.unwrap());
    }
    let mut endless = 0;
    for prefix in prefixes {
        endless += usize::from(store.key_by_prefix(&prefix).await.unwrap().unwrap().1.until.is_none());
    }
    assert_eq!(endless, 1);
    let listing = store.keys(None).await.unwrap().remove(0);
    assert_eq!(listing.prefixes.len(), 17);
    let newest = store.key_by_prefix(&listing.prefixes[0]).await.unwrap().unwrap().1;
    assert_eq!(newest.until, None, "the newest comes first");
}

async fn what_is_not_there_is_not_changed(place: &Place) {
    let store = place.open().await;
    store.add_key(key("one"), credential("p-one")).await.unwrap();
    for id in ["", "two", "ONE", "one ", "%", "o_e"] {
        assert_eq!(store.revoke_key(id, now()).await.unwrap(), None, "{id}");
        assert_eq!(store.rotate_key(id, credential("p-new"), now()).await.unwrap(), None, "{id}");
    }
    assert_eq!(store.key_by_prefix("p-new").await.unwrap(), None);
    assert_eq!(store.key_by_prefix("p-one").await.unwrap().unwrap().1, credential("p-one"));
}

async fn lists_are_by_age_and_tenant(place: &Place) {
    let store = place.open().await;
    assert_eq!(store.keys(None).await.unwrap(), []);
    let of =
        |id: &str, tenant: &str, age| KeyRecord { tenant: tenant.to_owned(), created: ago(age), ..key(id) };
    for added in [of("young", "acme", 10), of("old", "acme", 90), of("middle", "umbrella", 50)] {
        let secret = credential(&added.id);
        store.add_key(added, secret).await.unwrap();
    }
    let same_time = ago(5);
    for id in ["b", "a", "B"] {
        store.add_key(KeyRecord { created: same_time, ..key(id) }, credential(id)).await.unwrap();
    }
    let ids = async |tenant| {
        let listings = store.keys(tenant).await.unwrap();
        listings.into_iter().map(|listing| listing.key.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(None).await, ["old", "middle", "young", "B", "a", "b"]);
    assert_eq!(ids(Some("acme")).await, ["old", "young", "B", "a", "b"]);
    assert_eq!(ids(Some("umbrella")).await, ["middle"]);
    for nobody in ["", "ACME", "%", "acme' OR '1'='1"] {
        assert!(ids(Some(nobody)).await.is_empty(), "{nobody}");
    }
}

async fn a_list_shows_the_secrets_that_open_something(place: &Place) {
    let store = place.open().await;
    let expired = KeyRecord { expires: Some(ago(1)), created: ago(300), ..key("expired") };
    store.add_key(expired, credential("e")).await.unwrap();
    store.add_key(KeyRecord { created: ago(200), ..key("revoked") }, credential("r")).await.unwrap();
    store.revoke_key("revoked", ago(1)).await.unwrap();
    store.add_key(key("rotated"), credential("z-1")).await.unwrap();
    store.rotate_key("rotated", credential("y-2"), ago(1)).await.unwrap();
    store.rotate_key("rotated", credential("x-3"), later(60)).await.unwrap();
    let listings = store.keys(None).await.unwrap();
    let prefixes: Vec<_> = listings.iter().map(|listing| listing.prefixes.join(" ")).collect();
    assert_eq!(prefixes, ["", "", "x-3 y-2"]);
    assert!(listings.iter().all(|listing| listing.last_used.is_none()));
}

async fn the_store_is_ready(place: &Place) {
    let store = place.open().await;
    for _ in 0..3 {
        store.ready().await.unwrap();
    }
    store.add_key(key("one"), credential("p")).await.unwrap();
    store.ready().await.unwrap();
}
