//! How many connections one tenant may have of PostgreSQL's, and what is left to others.

use std::sync::Arc;
use std::time::Duration;

use access::BucketParams;
use flow::session::SessionOwner;
use futures_util::future::join_all;
use store::{Store, StoreOptions};
use tokio::task::JoinHandle;

use crate::harness::{
    self, TestDatabase, connect_as_superuser, credential, key_record, now_micros, wait_for_lock_waiters,
};
use crate::sessions::{InsertUpTo as _, session_row};

/// Who is looked up while others are slow.
const OTHER_OWNER: SessionOwner<'_> = SessionOwner { tenant: "evening", subject: "eve" };

/// Whoever does not find a connection within that time did not get one at all.
fn options(connections: usize) -> StoreOptions {
    StoreOptions {
        max_connections: connections,
        connect_timeout: Duration::from_secs(30),
        ..harness::patient_options()
    }
}

/// A store with sessions of these tenants, of two owners each, and of somebody who is not slow.
async fn open_with_sessions(database: &TestDatabase, connections: usize, tenants: &[&str]) -> Arc<dyn Store> {
    let store = database.open_with(&options(connections)).await;
    store.add_key(key_record("one"), credential("p")).await.unwrap();
    assert!(store.insert_up_to(OTHER_OWNER, "eve", session_row("eve"), 9, now_micros()).await.unwrap());
    for tenant in tenants {
        for number in 0..20 {
            let (owner, id) = session_owner_and_id(tenant, number);
            assert!(store.insert_up_to(owner, &id, session_row("first"), 99, now_micros()).await.unwrap());
        }
    }
    store
}

fn session_owner_and_id(tenant: &str, number: usize) -> (SessionOwner<'_>, String) {
    (SessionOwner { tenant, subject: ["ann", "bob"][number % 2] }, format!("{tenant} {number}"))
}

/// Saves them all at once. What it is that makes statements slow does not matter: here it is a lock.
fn save_concurrently(store: &Arc<dyn Store>, tenant: &'static str) -> Vec<JoinHandle<bool>> {
    let save = |number| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            let (owner, id) = session_owner_and_id(tenant, number);
            store.save(owner, &id, 1, session_row("second")).await.unwrap()
        })
    };
    (0..20).map(save).collect()
}

async fn look_up_key_and_lease(store: &Arc<dyn Store>) {
    let terms = BucketParams { refill_per_second: 1000.0, capacity: 1000, max_lease: 1 };
    assert!(store.key_by_prefix("p").await.unwrap().is_some());
    assert_eq!(store.lease_tokens("ip:1", terms, now_micros().into()).await.unwrap().granted, 1);
    assert_eq!(store.sweep(harness::seconds_ago(99)).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_tenant_leaves_a_quarter_of_connections_to_others() {
    for (connections, most) in [(8, 6), (2, 1)] {
        let Some(place) = harness::postgres().await else { return };
        let store = open_with_sessions(&place, connections, &["acme"]).await;
        let (other, onlooker) = (connect_as_superuser(&place).await, connect_as_superuser(&place).await);
        other
            .batch_execute("BEGIN; SELECT FROM flow_sessions WHERE tenant = 'acme' FOR UPDATE")
            .await
            .unwrap();
        let saving = save_concurrently(&store, "acme");
        wait_for_lock_waiters(&onlooker, if most == 6 { |count| count == 6 } else { |count| count == 1 })
            .await;
        for _ in 0..20 {
            assert_eq!(store.load(OTHER_OWNER, "eve").await.unwrap().unwrap().0, 1);
            look_up_key_and_lease(&store).await;
        }
        wait_for_lock_waiters(&onlooker, if most == 6 { |count| count == 6 } else { |count| count == 1 })
            .await;
        other.batch_execute("COMMIT").await.unwrap();
        assert!(
            join_all(saving).await.into_iter().all(|saved| saved.unwrap()),
            "those in line have their turn"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_tenants_leave_one_connection_for_key_lookups() {
    let Some(place) = harness::postgres().await else { return };
    let store = open_with_sessions(&place, 8, &["acme", "umbrella"]).await;
    let (other, onlooker) = (connect_as_superuser(&place).await, connect_as_superuser(&place).await);
    other
        .batch_execute("BEGIN; SELECT FROM flow_sessions WHERE tenant <> 'evening' FOR UPDATE")
        .await
        .unwrap();
    let saving = ["acme", "umbrella"].map(|tenant| save_concurrently(&store, tenant));
    wait_for_lock_waiters(&onlooker, |count| count == 7).await;
    for _ in 0..20 {
        look_up_key_and_lease(&store).await;
    }
    wait_for_lock_waiters(&onlooker, |count| count == 7).await;
    other.batch_execute("COMMIT").await.unwrap();
    for saving in saving {
        assert!(join_all(saving).await.into_iter().all(|saved| saved.unwrap()));
    }
}

/// Nobody stands in line for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_too_long_for_a_connection_is_unreachable() {
    let Some(place) = harness::postgres().await else { return };
    drop(open_with_sessions(&place, 8, &["acme"]).await);
    let short = StoreOptions { statement_timeout: Duration::from_secs(1), ..options(2) };
    let store = place.open_with(&short).await;
    let (other, onlooker) = (connect_as_superuser(&place).await, connect_as_superuser(&place).await);
    other.batch_execute("BEGIN; SELECT FROM flow_sessions WHERE tenant = 'acme' FOR UPDATE").await.unwrap();
    let (owner, first) = session_owner_and_id("acme", 0);
    let saving = join_all((0..8).map(|_| store.save(owner, &first, 1, session_row("second"))));
    for failed in saving.await {
        let error = failed.unwrap_err();
        assert!(matches!(error, flow::session::StoreError::Unreachable(_)), "{error}");
    }
    wait_for_lock_waiters(&onlooker, |count| count == 0).await;
    other.batch_execute("ROLLBACK").await.unwrap();
    assert!(store.save(owner, &first, 1, session_row("second")).await.unwrap());
}
