//! How many connections one tenant may have of PostgreSQL's, and what is left to others.

use std::sync::Arc;
use std::time::Duration;

use access::Terms;
use flow::session::Owner;
use futures_util::future::join_all;
use store::{Options, Store};
use tokio::task::JoinHandle;

use crate::harness::{self, Place, credential, key, now, superuser, waiting};
use crate::sessions::{Beginning as _, row};

/// Who is looked up while others are slow.
const EVE: Owner<'_> = Owner { tenant: "evening", subject: "eve" };

/// Whoever does not find a connection within that time did not get one at all.
fn options(connections: usize) -> Options {
    Options { connections, connect_timeout: Duration::from_secs(30), ..harness::patient() }
}

/// A store with sessions of these tenants, of two owners each, and of somebody who is not slow.
async fn filled(place: &Place, connections: usize, tenants: &[&str]) -> Arc<dyn Store> {
    let store = place.open_with(&options(connections)).await;
    store.add_key(key("one"), credential("p")).await.unwrap();
    assert!(store.begin_up_to(EVE, "eve", row("eve"), 9, now()).await.unwrap());
    for tenant in tenants {
        for number in 0..20 {
            let (owner, id) = session(tenant, number);
            assert!(store.begin_up_to(owner, &id, row("first"), 99, now()).await.unwrap());
        }
    }
    store
}

fn session(tenant: &str, number: usize) -> (Owner<'_>, String) {
    (Owner { tenant, subject: ["ann", "bob"][number % 2] }, format!("{tenant} {number}"))
}

/// Saves them all at once. What it is that makes statements slow does not matter: here it is a lock.
fn save(store: &Arc<dyn Store>, tenant: &'static str) -> Vec<JoinHandle<bool>> {
    let save = |number| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            let (owner, id) = session(tenant, number);
            store.save(owner, &id, 1, row("second")).await.unwrap()
        })
    };
    (0..20).map(save).collect()
}

async fn look_up(store: &Arc<dyn Store>) {
    let terms = Terms { per_second: 1000.0, capacity: 1000, block: 1 };
    assert!(store.key_by_prefix("p").await.unwrap().is_some());
    assert_eq!(store.lease("ip:1", terms, now().into()).await.unwrap().taken, 1);
    assert_eq!(store.sweep(harness::ago(99)).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_tenant_leaves_a_quarter_to_others() {
    for (connections, most) in [(8, 6), (2, 1)] {
        let Some(place) = harness::postgres().await else { return };
        let store = filled(&place, connections, &["acme"]).await;
        let (other, onlooker) = (superuser(&place).await, superuser(&place).await);
        other
            .batch_execute("BEGIN; SELECT FROM flow_sessions WHERE tenant = 'acme' FOR UPDATE")
            .await
            .unwrap();
        let saving = save(&store, "acme");
        waiting(&onlooker, if most == 6 { |count| count == 6 } else { |count| count == 1 }).await;
        for _ in 0..20 {
            assert_eq!(store.load(EVE, "eve").await.unwrap().unwrap().0, 1);
            look_up(&store).await;
        }
        waiting(&onlooker, if most == 6 { |count| count == 6 } else { |count| count == 1 }).await;
        other.batch_execute("COMMIT").await.unwrap();
        assert!(
            join_all(saving).await.into_iter().all(|saved| saved.unwrap()),
            "those in line have their turn"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_tenants_leave_one_to_those_who_look_up_keys() {
    let Some(place) = harness::postgres().await else { return };
    let store = filled(&place, 8, &["acme", "umbrella"]).await;
    let (other, onlooker) = (superuser(&place).await, superuser(&place).await);
    other
        .batch_execute("BEGIN; SELECT FROM flow_sessions WHERE tenant <> 'evening' FOR UPDATE")
        .await
        .unwrap();
    let saving = ["acme", "umbrella"].map(|tenant| save(&store, tenant));
    waiting(&onlooker, |count| count == 7).await;
    for _ in 0..20 {
        look_up(&store).await;
    }
    waiting(&onlooker, |count| count == 7).await;
    other.batch_execute("COMMIT").await.unwrap();
    for saving in saving {
        assert!(join_all(saving).await.into_iter().all(|saved| saved.unwrap()));
    }
}

/// Nobody stands in line for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_does_not_move_is_an_outage() {
    let Some(place) = harness::postgres().await else { return };
    drop(filled(&place, 8, &["acme"]).await);
    let short = Options { statement_timeout: Duration::from_secs(1), ..options(2) };
    let store = place.open_with(&short).await;
    let (other, onlooker) = (superuser(&place).await, superuser(&place).await);
    other.batch_execute("BEGIN; SELECT FROM flow_sessions WHERE tenant = 'acme' FOR UPDATE").await.unwrap();
    let (owner, first) = session("acme", 0);
    let saving = join_all((0..8).map(|_| store.save(owner, &first, 1, row("second"))));
    for failed in saving.await {
        let error = failed.unwrap_err();
        assert!(matches!(error, flow::session::StoreError::Unreachable(_)), "{error}");
    }
    waiting(&onlooker, |count| count == 0).await;
    other.batch_execute("ROLLBACK").await.unwrap();
    assert!(store.save(owner, &first, 1, row("second")).await.unwrap());
}
