//! Two servers on one database in `PostgreSQL`. Run where `tests/database/run` provides one.

mod interactive;
mod load;
mod outage;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_postgres::NoTls;

use crate::serving::access_control::{LOW_RATE_LIMIT, count_admitted};
use crate::serving::host::{HttpHost, StoreFixture};
use crate::serving::http::{McpEndpoint, RawHttpClient};
use crate::serving::keys::time_until_rejected;
use crate::serving::stores::print_skipped;

/// Held by everybody who uses the database server, and alone by who restarts it.
static DATABASE_SERVER_LOCK: RwLock<()> = RwLock::new(());

fn env_setting(name: &str) -> Option<String> {
    let value = std::env::var(name).ok();
    if value.is_none() {
        print_skipped(&format!("{name} is not set; tests/database/run sets it"));
    }
    value
}

/// A database with an ordinary role of its own. Gone with the server.
fn create_database(superuser: &str) -> StoreFixture {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("r{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (admin, connection) = tokio_postgres::connect(superuser, NoTls).await.unwrap();
        tokio::spawn(connection);
        for sql in [
            format!("CREATE ROLE {name} LOGIN PASSWORD 'secret' NOSUPERUSER NOBYPASSRLS"),
            format!("CREATE DATABASE {name} OWNER {name}"),
        ] {
            admin.batch_execute(&sql).await.unwrap();
        }
    });
    let (_, host) = superuser.rsplit_once('@').unwrap();
    let (host, _) = host.split_once('/').unwrap();
    StoreFixture { url: format!("postgres://{name}:secret@{host}/{name}"), ..StoreFixture::new() }
}

/// A database, while nobody restarts the server.
fn shared_database() -> Option<(RwLockReadGuard<'static, ()>, StoreFixture)> {
    let superuser = env_setting("TEST_POSTGRES")?;
    let turn = DATABASE_SERVER_LOCK.read().unwrap_or_else(PoisonError::into_inner);
    Some((turn, create_database(&superuser)))
}

/// A database, and the program that restarts its server. Nobody else is there.
fn exclusive_database() -> Option<(RwLockWriteGuard<'static, ()>, StoreFixture, String)> {
    let (superuser, restart) = (env_setting("TEST_POSTGRES")?, env_setting("TEST_POSTGRES_RESTART")?);
    let turn = DATABASE_SERVER_LOCK.write().unwrap_or_else(PoisonError::into_inner);
    Some((turn, create_database(&superuser), restart))
}

/// Two servers, started at once on whatever is in the database.
fn start_pair(fixture: &StoreFixture, args: &[&str]) -> [HttpHost; 2] {
    std::thread::scope(|scope| {
        [(); 2].map(|()| scope.spawn(|| fixture.serve(args))).map(|start| start.join().unwrap())
    })
}

#[test]
fn key_works_on_both_replicas() {
    let Some((_turn, site)) = shared_database() else { return };
    let hosts = start_pair(&site, &[]);
    let key = site.create_key(&["--scope", "write"]).text;
    let mut clients = hosts.each_ref().map(HttpHost::client);
    for round in 0..20 {
        let (way, text) = (McpEndpoint::ALL[round / 2 % 2], format!("round {round}"));
        let answer = clients[round % 2].call(way, &key, "echo", json!({ "text": text })).unwrap();
        assert_eq!(answer.echo_text(), Some(text), "{answer:?}");
    }
}

/// What somebody who books says, whatever is asked.
fn fill_form(question: &Value) -> Value {
    let all = json!({
        "destination": "Lisbon", "departure": "2099-05-01", "travellers": 2, "class": "first", "confirm": true
    });
    let asked = question["params"]["requestedSchema"]["properties"].as_object().unwrap();
    let known = asked.keys().filter_map(|name| Some((name.clone(), all.get(name)?.clone())));
    json!({ "action": "accept", "content": Value::Object(known.collect()) })
}

/// Books a journey: each answer comes from the next server. The questions, and what came of them.
fn complete_booking(clients: &mut [RawHttpClient], key: &str) -> (usize, Value) {
    let mut params = json!({ "name": "booking", "arguments": {} });
    for round in 0..20 {
        let server = round % clients.len();
        let answer = clients[server].call_stateless(key, params.clone()).unwrap();
        let result = answer.json()["result"].clone();
        if result["resultType"] != "input_required" {
            assert!(result.is_object(), "{answer:?}");
            return (round, result["structuredContent"].clone());
        }
        params["requestState"] = result["requestState"].clone();
        params["inputResponses"] = json!({ "question": fill_form(&result["inputRequests"]["question"]) });
    }
    panic!("it asks without end")
}

#[test]
fn questions_can_be_answered_on_another_replica() {
    let Some((_turn, site)) = shared_database() else { return };
    let hosts = start_pair(&site, &[]);
    let key = site.create_key(&["--scope", "write"]).text;
    let mut clients = hosts.each_ref().map(HttpHost::client);
    let (questions, booked) = complete_booking(&mut clients, &key);
    assert!(questions >= 4 && booked.is_object(), "{questions} questions, {booked}");
    assert_eq!(complete_booking(&mut clients[..1], &key).0, questions, "one server alone asks as much");

    // Nor does it matter when all servers are replaced between two answers.
    let begun =
        clients[0].call_stateless(&key, json!({ "name": "booking", "arguments": {} })).unwrap().json();
    let state = begun["result"]["requestState"].as_str().unwrap().to_owned();
    drop(hosts);
    let host = site.serve(&[]);
    let responses = json!({ "question": fill_form(&begun["result"]["inputRequests"]["question"]) });
    let params =
        json!({ "name": "booking", "arguments": {}, "requestState": state, "inputResponses": responses });
    let next = host.client().call_stateless(&key, params.clone()).unwrap().json();
    assert!(next["result"]["inputRequests"]["question"].to_string().contains("departure"), "{next}");
    // To somebody else it says nothing.
    let other = site.create_key(&["--tenant", "other"]).text;
    let refused = host.client().call_stateless(&other, params).unwrap().json();
    assert!(refused["error"].is_object(), "{refused}");
}

#[test]
fn session_is_unknown_on_the_other_replica() {
    let Some((_turn, site)) = shared_database() else { return };
    let hosts = start_pair(&site, &[]);
    let key = site.create_key(&[]).text;
    let [mut here, mut there] = hosts.each_ref().map(HttpHost::client);
    let session = here.open_session(&key, "test");
    let echo = || json!({ "text": "x" });
    assert_eq!(
        here.call_in_session(&session, &key, "echo", echo()).unwrap().echo_text().as_deref(),
        Some("x")
    );
    let answer = there.call_in_session(&session, &key, "echo", echo()).unwrap();
    assert_eq!(answer.status, 404, "{answer:?}");
    let anew = there.open_session(&key, "test");
    assert_eq!(there.call_in_session(&anew, &key, "echo", echo()).unwrap().echo_text().as_deref(), Some("x"));
    assert_eq!(
        here.call_in_session(&session, &key, "echo", echo()).unwrap().echo_text().as_deref(),
        Some("x")
    );
}

#[test]
fn rate_limit_is_shared_by_replicas() {
    let Some((_turn, site)) = shared_database() else { return };
    let [one, two] = start_pair(&site, &LOW_RATE_LIMIT);
    for round in 0..5 {
        let count = count_admitted([&one, &two], &site.create_key(&[]).text);
        assert!((18..=20).contains(&count), "{count} in round {round}");
    }
}

#[test]
fn revocation_reaches_both_replicas_within_two_seconds() {
    let Some((_turn, site)) = shared_database() else { return };
    let hosts = start_pair(&site, &["--rate-limit", "0"]);
    let key = site.create_key(&[]);
    for (host, way) in hosts.iter().zip(McpEndpoint::ALL) {
        let answer = host.client().call(way, &key.text, "echo", json!({ "text": "x" })).unwrap();
        assert_eq!(answer.echo_text().as_deref(), Some("x"), "{answer:?}");
    }
    assert_eq!(site.run_keys(&["revoke", &key.id]).0, 0);
    let since = Instant::now();
    std::thread::scope(|scope| {
        for (host, way) in hosts.iter().zip(McpEndpoint::ALL) {
            let key = &key.text;
            let promise = Duration::from_secs(2);
            scope.spawn(move || assert!(time_until_rejected(host, way, key, since) < promise, "{way:?}"));
        }
    });
}
