//! Keys and their secrets.

use access::{KeyEnvironment, KeyRecord, Scope, StoreError};

use crate::harness::{TestDatabase, credential, key_record, now_micros, seconds_ago, seconds_from_now};

test_on_both_databases!(
    key_is_found_by_its_secret_prefix,
    key_is_usable_until_it_expires,
    duplicate_key_is_rejected,
    revoking_twice_keeps_the_first_timestamp,
    old_secret_is_valid_until_its_end_after_rotation,
    rotation_never_extends_an_old_secret,
    concurrent_rotations_leave_one_unlimited_secret,
    missing_keys_are_not_changed,
    keys_are_listed_by_age_and_tenant,
    key_list_contains_only_usable_secrets,
    open_store_is_ready,
);

async fn key_is_found_by_its_secret_prefix(database: &TestDatabase) {
    let store = database.open().await;
    let full = KeyRecord {
        environment: KeyEnvironment::Test,
        scope: Scope::Admin,
        project: Some("apollo".to_owned()),
        expires: Some(seconds_from_now(60)),
        revoked: Some(seconds_ago(1)),
        ..key_record("full")
    };
    let mut ending = credential("p-full");
    ending.valid_until = Some(seconds_from_now(30));
    store.add_key(full.clone(), ending.clone()).await.unwrap();
    store.add_key(key_record("plain"), credential("p-plain")).await.unwrap();
    assert_eq!(store.key_by_prefix("p-full").await.unwrap(), Some((full, ending)));
    let (plain, secret) = store.key_by_prefix("p-plain").await.unwrap().unwrap();
    assert_eq!((plain.expires, plain.revoked, plain.project), (None, None, None));
    assert_eq!(secret, credential("p-plain"));
    for unknown in ["p", "p-plain2", "P-PLAIN", "", "%", "p-_lain"] {
        assert_eq!(store.key_by_prefix(unknown).await.unwrap(), None, "{unknown}");
    }
}

async fn key_is_usable_until_it_expires(database: &TestDatabase) {
    let store = database.open().await;
    assert!(!store.has_usable_key(now_micros()).await.unwrap());
    store
        .add_key(KeyRecord { expires: Some(seconds_ago(1)), ..key_record("expired") }, credential("e"))
        .await
        .unwrap();
    store.add_key(key_record("revoked"), credential("r")).await.unwrap();
    store.revoke_key("revoked", seconds_ago(1)).await.unwrap();
    let mut replaced = credential("o");
    replaced.valid_until = Some(seconds_ago(1));
    store.add_key(key_record("replaced"), replaced).await.unwrap();
    assert!(!store.has_usable_key(now_micros()).await.unwrap());
    assert!(store.has_usable_key(seconds_ago(10)).await.unwrap(), "they were good before");
    store
        .add_key(KeyRecord { expires: Some(seconds_from_now(60)), ..key_record("good") }, credential("g"))
        .await
        .unwrap();
    assert!(store.has_usable_key(now_micros()).await.unwrap());
    assert!(!store.has_usable_key(seconds_from_now(120)).await.unwrap());
}

async fn duplicate_key_is_rejected(database: &TestDatabase) {
    let store = database.open().await;
    store.add_key(key_record("one"), credential("p-one")).await.unwrap();
    let same_id = KeyRecord { tenant: "other".to_owned(), ..key_record("one") };
    let error = store.add_key(same_id, credential("p-two")).await.unwrap_err();
    assert!(matches!(error, StoreError::Broken(_)), "{error}");
    assert_eq!(store.key_by_prefix("p-two").await.unwrap(), None);
    let error = store.add_key(key_record("two"), credential("p-one")).await.unwrap_err();
    assert!(matches!(error, StoreError::Broken(_)), "{error}");
    assert!(!error.to_string().contains("p-one"), "texts quote no values: {error}");
    // The key was written before its secret was refused. Both are gone.
    assert_eq!(store.list_keys(None).await.unwrap().len(), 1);
    assert_eq!(store.revoke_key("two", now_micros()).await.unwrap(), None);
}

async fn revoking_twice_keeps_the_first_timestamp(database: &TestDatabase) {
    let store = database.open().await;
    store.add_key(key_record("one"), credential("p-one")).await.unwrap();
    let first = seconds_ago(50);
    let revoked =
        Some(KeyRecord { revoked: Some(first), ..store.list_keys(None).await.unwrap()[0].key.clone() });
    assert_eq!(store.revoke_key("one", first).await.unwrap(), revoked);
    assert_eq!(store.revoke_key("one", now_micros()).await.unwrap(), revoked);
    assert_eq!(store.revoke_key("one", seconds_ago(90)).await.unwrap(), revoked);
    assert_eq!(store.key_by_prefix("p-one").await.unwrap().map(|(key, _)| key), revoked);
    let after = store.rotate_key("one", credential("p-new"), now_micros()).await.unwrap();
    assert_eq!(after, None, "a revoked key gets no new secret");
    assert_eq!(store.key_by_prefix("p-new").await.unwrap(), None);
    assert_eq!(store.key_by_prefix("p-one").await.unwrap().unwrap().1, credential("p-one"));
}

async fn old_secret_is_valid_until_its_end_after_rotation(database: &TestDatabase) {
    let store = database.open().await;
    store.add_key(key_record("one"), credential("p-old")).await.unwrap();
    store.add_key(key_record("two"), credential("p-two")).await.unwrap();
    let end = seconds_from_now(3600);
    let rotated = store.rotate_key("one", credential("p-new"), end).await.unwrap().unwrap();
    let (old_key, old) = store.key_by_prefix("p-old").await.unwrap().unwrap();
    let (new_key, new) = store.key_by_prefix("p-new").await.unwrap().unwrap();
    assert_eq!((&old_key, &new_key), (&rotated, &rotated));
    assert_eq!((old.valid_until, new.valid_until), (Some(end), None));
    assert_eq!(old.hash, credential("p-old").hash);
    let (_, other) = store.key_by_prefix("p-two").await.unwrap().unwrap();
    assert_eq!(other.valid_until, None, "another key's secret is not touched");
    // A prefix that is in use is refused, and nothing has ended by that.
    store.rotate_key("one", credential("p-two"), now_micros()).await.unwrap_err();
    assert_eq!(store.key_by_prefix("p-new").await.unwrap().unwrap().1.valid_until, None);
}

async fn rotation_never_extends_an_old_secret(database: &TestDatabase) {
    let store = database.open().await;
    store.add_key(key_record("one"), credential("p-1")).await.unwrap();
    let (sooner, soon, much_later) = (seconds_from_now(5), seconds_from_now(10), seconds_from_now(1000));
    store.rotate_key("one", credential("p-2"), soon).await.unwrap();
    store.rotate_key("one", credential("p-3"), much_later).await.unwrap();
    let until = async |prefix| store.key_by_prefix(prefix).await.unwrap().unwrap().1.valid_until;
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

async fn concurrent_rotations_leave_one_unlimited_secret(database: &TestDatabase) {
    let store = database.open().await;
    store.add_key(key_record("one"), credential("p")).await.unwrap();
    let end = seconds_from_now(60);
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
        endless += usize::from(store.key_by_prefix(&prefix).await.unwrap().unwrap().1.valid_until.is_none());
    }
    assert_eq!(endless, 1);
    let listing = store.list_keys(None).await.unwrap().remove(0);
    assert_eq!(listing.prefixes.len(), 17);
    let newest = store.key_by_prefix(&listing.prefixes[0]).await.unwrap().unwrap().1;
    assert_eq!(newest.valid_until, None, "the newest comes first");
}

async fn missing_keys_are_not_changed(database: &TestDatabase) {
    let store = database.open().await;
    store.add_key(key_record("one"), credential("p-one")).await.unwrap();
    for id in ["", "two", "ONE", "one ", "%", "o_e"] {
        assert_eq!(store.revoke_key(id, now_micros()).await.unwrap(), None, "{id}");
        assert_eq!(store.rotate_key(id, credential("p-new"), now_micros()).await.unwrap(), None, "{id}");
    }
    assert_eq!(store.key_by_prefix("p-new").await.unwrap(), None);
    assert_eq!(store.key_by_prefix("p-one").await.unwrap().unwrap().1, credential("p-one"));
}

async fn keys_are_listed_by_age_and_tenant(database: &TestDatabase) {
    let store = database.open().await;
    assert_eq!(store.list_keys(None).await.unwrap(), []);
    let of = |id: &str, tenant: &str, age| KeyRecord {
        tenant: tenant.to_owned(),
        created: seconds_ago(age),
        ..key_record(id)
    };
    for added in [of("young", "acme", 10), of("old", "acme", 90), of("middle", "umbrella", 50)] {
        let secret = credential(&added.id);
        store.add_key(added, secret).await.unwrap();
    }
    let same_time = seconds_ago(5);
    for id in ["b", "a", "B"] {
        store.add_key(KeyRecord { created: same_time, ..key_record(id) }, credential(id)).await.unwrap();
    }
    let ids = async |tenant| {
        let listings = store.list_keys(tenant).await.unwrap();
        listings.into_iter().map(|listing| listing.key.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(None).await, ["old", "middle", "young", "B", "a", "b"]);
    assert_eq!(ids(Some("acme")).await, ["old", "young", "B", "a", "b"]);
    assert_eq!(ids(Some("umbrella")).await, ["middle"]);
    for nobody in ["", "ACME", "%", "acme' OR '1'='1"] {
        assert!(ids(Some(nobody)).await.is_empty(), "{nobody}");
    }
}

async fn key_list_contains_only_usable_secrets(database: &TestDatabase) {
    let store = database.open().await;
    let expired =
        KeyRecord { expires: Some(seconds_ago(1)), created: seconds_ago(300), ..key_record("expired") };
    store.add_key(expired, credential("e")).await.unwrap();
    store
        .add_key(KeyRecord { created: seconds_ago(200), ..key_record("revoked") }, credential("r"))
        .await
        .unwrap();
    store.revoke_key("revoked", seconds_ago(1)).await.unwrap();
    store.add_key(key_record("rotated"), credential("z-1")).await.unwrap();
    store.rotate_key("rotated", credential("y-2"), seconds_ago(1)).await.unwrap();
    store.rotate_key("rotated", credential("x-3"), seconds_from_now(60)).await.unwrap();
    let listings = store.list_keys(None).await.unwrap();
    let prefixes: Vec<_> = listings.iter().map(|listing| listing.prefixes.join(" ")).collect();
    assert_eq!(prefixes, ["", "", "x-3 y-2"]);
    assert!(listings.iter().all(|listing| listing.last_used.is_none()));
}

async fn open_store_is_ready(database: &TestDatabase) {
    let store = database.open().await;
    for _ in 0..3 {
        store.check_ready().await.unwrap();
    }
    store.add_key(key_record("one"), credential("p")).await.unwrap();
    store.check_ready().await.unwrap();
}
