//! Databases that do not answer, and connections that break.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use access::{BucketParams, StoreError};
use store::{OpenError, StoreOptions};

use crate::harness::{self, break_connections, credential, key_record, now_micros};

#[tokio::test]
async fn unreachable_server_is_reported_quickly() {
    // One port that nobody listens at and nobody is given by chance, and one where nobody says anything.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = SocketAddr::from(([127, 0, 0, 1], 1));
    let hasty = StoreOptions { connect_timeout: Duration::from_millis(300), ..StoreOptions::default() };
    for address in [silent.local_addr().unwrap(), closed] {
        let location = format!("postgres://ann:hunter2@{address}/flux").parse().unwrap();
        let start = Instant::now();
        let error = store::open(&location, &hasty).await.err().unwrap();
        assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
        let unreachable = matches!(error, OpenError::Failed { cause: StoreError::Unreachable(_), .. });
        assert!(unreachable && !error.to_string().contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn wrong_password_is_not_reported_as_unreachable() {
    let Some(database) = harness::postgres().await else { return };
    let location = database.url.replace("p%252Fw", "wrong").parse().unwrap();
    let error = store::open(&location, &harness::patient_options()).await.err().unwrap();
    assert!(matches!(error, OpenError::Failed { cause: StoreError::Broken(_), .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_connections_are_replaced() {
    let Some(database) = harness::postgres().await else { return };
    let store = database.open().await;
    let terms = BucketParams { refill_per_second: 1.0, capacity: 5, max_lease: 1 };
    for round in 0..10 {
        let id = format!("k-{round}");
        store.add_key(key_record(&id), credential(&id)).await.unwrap();
        break_connections(&database).await;
        assert!(store.key_by_prefix(&id).await.unwrap().is_some(), "round {round}");
        break_connections(&database).await;
        store.lease_tokens(&id, terms, now_micros().into()).await.unwrap();
        break_connections(&database).await;
    }
    assert_eq!(store.list_keys(None).await.unwrap().len(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exhausted_pool_is_unreachable_after_the_timeout() {
    let Some(database) = harness::postgres().await else { return };
    database.open().await.add_key(key_record("one"), credential("p")).await.unwrap();
    // Long enough to get its own connection on a busy machine.
    let options = StoreOptions {
        max_connections: 1,
        connect_timeout: Duration::from_secs(5),
        ..harness::patient_options()
    };
    let store = store::open(&database.location(), &options).await.unwrap();
    let (other, onlooker) = (database.connect().await, database.connect().await);
    other.batch_execute("BEGIN; LOCK TABLE api_keys").await.unwrap();
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.key_by_prefix("p").await }
    });
    harness::wait_for_lock_waiters(&onlooker, |count| count > 0).await;
    let error = store.key_by_prefix("p").await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable(_)), "{error}");
    other.batch_execute("ROLLBACK").await.unwrap();
    assert!(waiting.await.unwrap().unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_statement_is_unreachable_after_the_timeout() {
    let Some(database) = harness::postgres().await else { return };
    let patient = database.open().await;
    patient.add_key(key_record("one"), credential("p")).await.unwrap();
    let options = StoreOptions { statement_timeout: Duration::from_secs(2), ..harness::patient_options() };
    let store = store::open(&database.location(), &options).await.unwrap();
    let other = database.connect().await;
    other.batch_execute("BEGIN; LOCK TABLE api_keys").await.unwrap();
    let start = Instant::now();
    for error in [
        store.key_by_prefix("p").await.unwrap_err(),
        store.revoke_key("one", now_micros()).await.unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Unreachable(_)), "{error}");
    }
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
    other.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(patient.key_by_prefix("p").await.unwrap().unwrap().0.revoked, None);
}

/// A caller who goes away leaves no transaction to the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_calls_leave_no_transaction_open() {
    for database in [Some(harness::sqlite()), harness::postgres().await].into_iter().flatten() {
        let options = StoreOptions { max_connections: 2, ..harness::patient_options() };
        let store = store::open(&database.location(), &options).await.unwrap();
        for number in 0..200_u64 {
            let id = format!("k-{number}");
            let patience = Duration::from_micros(number * 20);
            let change = async {
                store.add_key(key_record(&id), credential(&id)).await?;
                store.rotate_key(&id, credential(&format!("{id}-2")), now_micros()).await
            };
            let _ = tokio::time::timeout(patience, change).await;
            let _ = tokio::time::timeout(patience, store.key_by_prefix(&id)).await;
        }
        store.add_key(key_record("last"), credential("last")).await.unwrap();
        for listing in store.list_keys(None).await.unwrap() {
            assert!(!listing.prefixes.is_empty(), "half of {}", listing.key.id);
        }
        drop(store);
        assert!(database.open().await.key_by_prefix("last").await.unwrap().is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locked_file_is_unreachable() {
    let database = harness::sqlite();
    let store = database.open().await;
    let other = rusqlite::Connection::open(database.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(store.list_keys(None).await.unwrap(), [], "reading goes on");
    let error = store.check_ready().await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable(_)), "{error}");
    other.execute_batch("ROLLBACK").unwrap();
    store.check_ready().await.unwrap();
}

/// On one thread, so that nobody has seen that the connections are gone when the next statement is sent.
#[tokio::test]
async fn statement_on_a_dead_connection_is_retried() {
    let Some(database) = harness::postgres().await else { return };
    let (store, database) = (database.open().await, &database);
    let finds = || futures_util::future::join_all([store.key_by_prefix("p"), store.key_by_prefix("p")]);
    for round in 0..5 {
        let id = format!("k-{round}");
        for found in finds().await {
            assert_eq!(found.unwrap(), None);
        }
        std::thread::scope(|scope| {
            let elsewhere = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            scope.spawn(move || elsewhere.block_on(break_connections(database))).join().unwrap();
        });
        if round % 2 == 0 {
            store.add_key(key_record(&id), credential(&id)).await.unwrap();
        } else {
            assert_eq!(store.key_by_prefix(&id).await.unwrap(), None);
        }
    }
    assert_eq!(store.list_keys(None).await.unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_transaction_is_not_committed_by_the_next_caller() {
    let Some(database) = harness::postgres().await else { return };
    let options = StoreOptions { max_connections: 1, ..harness::patient_options() };
    let store = store::open(&database.location(), &options).await.unwrap();
    store.add_key(key_record("one"), credential("p-1")).await.unwrap();
    let (other, onlooker) = (database.connect().await, database.connect().await);
    other.batch_execute("BEGIN; LOCK TABLE api_keys IN EXCLUSIVE MODE").await.unwrap();
    tokio::select! {
        done = store.add_key(key_record("two"), credential("p-2")) => panic!("{done:?}"),
        () = harness::wait_for_lock_waiters(&onlooker, |count| count > 0) => (),
    }
    other.batch_execute("ROLLBACK").await.unwrap();
    store.add_key(key_record("three"), credential("p-3")).await.unwrap();
    let ids: Vec<_> =
        store.list_keys(None).await.unwrap().into_iter().map(|listing| listing.key.id).collect();
    assert_eq!(ids, ["one", "three"]);
}
