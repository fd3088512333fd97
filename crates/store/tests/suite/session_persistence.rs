//! Sessions where they are kept for good: what only a database can do, or get wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flow::session::{SessionOwner, SessionRow, SessionStore, StoreError};
use futures_util::future::join_all;
use jiff::Timestamp;
use store::StoreOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::harness::{self, TestDatabase, now_micros, seconds_ago, seconds_from_now, wait_until_count};
use crate::sessions::{ANN, InsertUpTo as _, session_row};

test_on_both_databases!(
    sessions_survive_reopening,
    times_are_truncated_to_microseconds,
    unstorable_names_are_not_found,
    longest_session_names_are_stored,
    duplicate_session_id_is_rejected,
    sweep_is_limited_to_about_1000_rows,
);

async fn sessions_survive_reopening(database: &TestDatabase) {
    let store = database.open().await;
    assert!(store.insert_up_to(ANN, "one", session_row("first"), 9, now_micros()).await.unwrap());
    let second = SessionRow { leased_until: Some(seconds_from_now(5)), ..session_row("second") };
    assert!(store.save(ANN, "one", 1, second.clone()).await.unwrap());
    assert!(store.mark_used(&[7; 32], seconds_from_now(60)).await.unwrap());
    drop(store);
    let store = database.open().await;
    assert_eq!(store.load(ANN, "one").await.unwrap(), Some((2, second)));
    assert!(!store.mark_used(&[7; 32], seconds_from_now(60)).await.unwrap());
}

async fn times_are_truncated_to_microseconds(database: &TestDatabase) {
    let store = database.open().await;
    let fine = |seconds| seconds_from_now(seconds) + Duration::from_nanos(999);
    let begun = SessionRow {
        expires_at: fine(10),
        delete_at: fine(20),
        leased_until: Some(fine(5)),
        ..session_row("fine")
    };
    let cut = |time: Timestamp| Timestamp::from_microsecond(time.as_microsecond()).unwrap();
    let kept = SessionRow {
        expires_at: cut(begun.expires_at),
        delete_at: cut(begun.delete_at),
        leased_until: begun.leased_until.map(cut),
        ..begun.clone()
    };
    assert!(store.insert_up_to(ANN, "one", begun, 1, now_micros()).await.unwrap());
    assert_eq!(store.load(ANN, "one").await.unwrap(), Some((1, kept)));
    let renewed = fine(6);
    assert!(store.renew_lease(ANN, "one", 1, renewed).await.unwrap());
    assert_eq!(store.load(ANN, "one").await.unwrap().unwrap().1.leased_until, Some(cut(renewed)));
}

async fn unstorable_names_are_not_found(database: &TestDatabase) {
    let store = database.open().await;
    let (endless, too_long) = ("n".repeat(1 << 20), "n".repeat(1001));
    for name in ["a\0b", "\0", endless.as_str(), too_long.as_str(), ""] {
        let named = [
            (ANN, name),
            (SessionOwner { subject: name, ..ANN }, "one"),
            (SessionOwner { tenant: name, ..ANN }, "one"),
        ];
        for (owner, id) in named {
            assert_eq!(store.load(owner, id).await.unwrap(), None);
            assert!(!store.save(owner, id, 1, session_row("")).await.unwrap());
            assert!(!store.renew_lease(owner, id, 1, seconds_from_now(9)).await.unwrap());
            let error = store.insert_up_to(owner, id, session_row(""), 9, now_micros()).await.unwrap_err();
            assert!(matches!(error, StoreError::Broken(_)), "{error}");
            assert!(error.to_string().len() < 200, "{error}");
        }
    }
    assert_eq!(store.sweep(seconds_from_now(100_000)).await.unwrap(), 0, "nothing was kept");
}

async fn longest_session_names_are_stored(database: &TestDatabase) {
    let store = database.open().await;
    // Letters that do not get shorter by compression.
    let long = |seed: u32| {
        let decoded = |number: u32| {
            char::from(b'!' + u8::try_from(number.wrapping_mul(2_654_435_761) >> 16 & 63).unwrap())
        };
        (0..1000).map(|number| decoded(number + seed)).collect::<String>()
    };
    let (tenant, subject, id) = (long(0), long(5000), long(9000));
    let owner = SessionOwner { tenant: &tenant, subject: &subject };
    assert!(store.insert_up_to(owner, &id, session_row("long"), 1, now_micros()).await.unwrap());
    assert!(!store.insert_up_to(owner, "two", session_row("long"), 1, now_micros()).await.unwrap());
    assert!(store.save(owner, &id, 1, session_row("longer")).await.unwrap());
    assert_eq!(store.load(owner, &id).await.unwrap().unwrap().0, 2);
}

async fn duplicate_session_id_is_rejected(database: &TestDatabase) {
    let store = database.open().await;
    assert!(store.insert_up_to(ANN, "one", session_row("first"), 9, now_micros()).await.unwrap());
    for owner in [ANN, SessionOwner { tenant: "umbrella", subject: "bob" }] {
        let error =
            store.insert_up_to(owner, "one", session_row("second"), 9, now_micros()).await.unwrap_err();
        assert!(matches!(error, StoreError::Broken(_)) && !error.to_string().contains("one"), "{error}");
    }
    assert_eq!(store.load(ANN, "one").await.unwrap().unwrap().1.body, Some(b"first".to_vec()));
}

async fn sweep_is_limited_to_about_1000_rows(database: &TestDatabase) {
    let store = database.open().await;
    let tokens: Vec<u16> = (0..2100).collect();
    for some in tokens.chunks(300) {
        let spend = |number: &u16| {
            let mut token = [0; 32];
            token[..2].copy_from_slice(&number.to_le_bytes());
            let store = &store;
            async move { store.mark_used(&token, seconds_ago(1)).await.unwrap() }
        };
        assert!(join_all(some.iter().map(spend)).await.into_iter().all(|is_new| is_new));
    }
    let mut swept = Vec::new();
    for _ in 0..4 {
        swept.push(store.sweep(now_micros()).await.unwrap());
    }
    assert_eq!(swept, [1000, 1000, 100, 0]);
}

/// On one thread, so that nobody has seen that the connections are gone when the next statement is sent.
#[tokio::test]
async fn change_on_a_dead_connection_is_retried() {
    let Some(place) = harness::postgres().await else { return };
    let (store, place) = (place.open().await, &place);
    let break_connections = || {
        std::thread::scope(|scope| {
            let elsewhere = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            scope.spawn(move || elsewhere.block_on(harness::break_connections(place))).join().unwrap();
        });
    };
    for round in 0..4_u8 {
        let id = format!("s-{round}");
        assert!(store.insert_up_to(ANN, &id, session_row("first"), 9, now_micros()).await.unwrap());
        break_connections();
        assert!(store.save(ANN, &id, 1, session_row("second")).await.unwrap());
        break_connections();
        assert!(store.renew_lease(ANN, &id, 2, seconds_from_now(9)).await.unwrap());
        break_connections();
        assert!(store.mark_used(&[round; 32], seconds_from_now(9)).await.unwrap());
        break_connections();
        assert_eq!(store.load(ANN, &id).await.unwrap().unwrap().0, 2);
        break_connections();
    }
}

/// A way to the server on which one answer can get lost, and the connection with it.
async fn start_response_dropping_proxy(server: String) -> (String, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let is_lossy = Arc::new(AtomicBool::new(false));
    let loses = Arc::clone(&is_lossy);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&server).await.unwrap();
            tokio::spawn(forward(client, server, Arc::clone(&loses)));
        }
    });
    (address, is_lossy)
}

async fn forward(client: TcpStream, server: TcpStream, is_lossy: Arc<AtomicBool>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let forth = tokio::io::copy(&mut from_client, &mut to_server);
    let back = async {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from_server.read(&mut bytes).await {
            if is_lossy.swap(false, Ordering::SeqCst) || to_client.write_all(&bytes[..count]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! { _ = forth => (), () = back => () }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_answer_is_not_reported_as_failure() {
    let Some(place) = harness::postgres().await else { return };
    let (start, rest) = place.url.rsplit_once('@').unwrap();
    let (server, database) = rest.split_once('/').unwrap();
    let (way, is_lossy) = start_response_dropping_proxy(server.to_owned()).await;
    let location = format!("{start}@{way}/{database}").parse().unwrap();
    let options = StoreOptions { max_connections: 1, ..harness::patient_options() };
    let store = store::open(&location, &options).await.unwrap();
    let lose_the_next_answer = || is_lossy.store(true, Ordering::SeqCst);
    // Everything once, so that the statements are prepared and the next answer is that of the change.
    let prepare = async |id: &str, token: u8| {
        assert!(store.insert_up_to(ANN, id, session_row("first"), 9, now_micros()).await.unwrap());
        assert!(store.save(ANN, id, 1, session_row("second")).await.unwrap());
        assert!(store.renew_lease(ANN, id, 2, seconds_from_now(1)).await.unwrap());
        assert!(store.mark_used(&[token; 32], seconds_from_now(60)).await.unwrap());
    };
    let is_uncertain = |answer: Result<bool, StoreError>| {
        let error = answer.unwrap_err();
        assert!(matches!(error, StoreError::Unreachable(_)), "{error}");
        assert!(error.to_string().ends_with("the outcome is unknown"), "{error}");
    };
    prepare("one", 1).await;
    lose_the_next_answer();
    is_uncertain(store.save(ANN, "one", 2, session_row("third")).await);
    let (version, kept) = store.load(ANN, "one").await.unwrap().unwrap();
    assert_eq!((version, kept.body), (3, Some(b"third".to_vec())), "it was done, and once");
    prepare("two", 2).await;
    lose_the_next_answer();
    is_uncertain(store.insert_up_to(ANN, "three", session_row("first"), 9, now_micros()).await);
    assert!(store.load(ANN, "three").await.unwrap().is_some());
    prepare("four", 4).await;
    lose_the_next_answer();
    is_uncertain(store.mark_used(&[5; 32], seconds_from_now(60)).await);
    assert!(!store.mark_used(&[5; 32], seconds_from_now(60)).await.unwrap());
    // A lease may be renewed twice.
    prepare("six", 6).await;
    lose_the_next_answer();
    assert!(store.renew_lease(ANN, "six", 2, seconds_from_now(2)).await.unwrap());
}

/// Whatever the database has for others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stricter_default_isolation_changes_nothing() {
    let Some(place) = harness::postgres().await else { return };
    let own = "ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'serializable'";
    place.connect().await.batch_execute(own).await.unwrap();
    let replicas = [place.open().await, place.open().await];
    let all = (0..40).map(|number| {
        let store = replicas[number % 2].clone();
        tokio::spawn(async move {
            store.insert_up_to(ANN, &format!("s-{number}"), session_row(""), 5, now_micros()).await.unwrap()
        })
    });
    let begun = join_all(all.collect::<Vec<_>>()).await.into_iter().filter(|begun| *begun.as_ref().unwrap());
    assert_eq!(begun.count(), 5);
}

/// A conversation that goes on: its row stays on its page, and no index is touched.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saving_a_turn_does_not_update_indexes() {
    let Some(place) = harness::postgres().await else { return };
    let store: Arc<dyn SessionStore> = place.open().await;
    // In the middle of an hour: `due` is cut to that.
    let hour = now_micros().as_second() / 3600 * 3600 + 7200;
    let at = move |minutes: i64| Timestamp::from_second(hour + minutes * 60).unwrap();
    let turn = move |number: i64| SessionRow {
        expires_at: at(5 + number),
        delete_at: at(1500 + number),
        ..session_row(&"x".repeat(900))
    };
    // One after the other: while somebody looks, old rows cannot be cleared away, and how often that is depends on the
    // machine.
    let ids: Vec<String> = (0..20).map(|session| format!("s-{session}")).collect();
    for id in &ids {
        assert!(store.insert_up_to(ANN, id, turn(0), 99, now_micros()).await.unwrap());
    }
    for number in 1..=12 {
        for id in &ids {
            let (version, _) = store.load(ANN, id).await.unwrap().unwrap();
            assert!(store.renew_lease(ANN, id, version, seconds_from_now(9)).await.unwrap());
            assert!(store.save(ANN, id, version, turn(number)).await.unwrap());
        }
    }
    // The connections tell what they did when they end, at the latest.
    drop(store);
    let client = place.connect().await;
    let sql = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'flow_sessions'";
    let updates = "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'flow_sessions'";
    wait_until_count(&client, updates, |updates| updates >= 2 * 12 * 20).await;
    let counts = client.query_one(sql, &[]).await.unwrap();
    let (updates, hot): (i64, i64) = (counts.get(0), counts.get(1));
    println!("{hot} of {updates}");
    assert!(hot * 4 >= updates * 3, "{hot} of {updates}");
}
