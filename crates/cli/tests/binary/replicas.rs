//! Two servers on one database in `PostgreSQL`. Run where `tests/database/run` provides one.

mod interactive;
mod load;
mod outage;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_postgres::NoTls;

use crate::serving::doors::{SLOW, admitted};
use crate::serving::host::{Host, Site};
use crate::serving::http::{Client, Way};
use crate::serving::keys::last_welcome;
use crate::serving::stores::not_run;

/// Held by everybody who uses the database server, and alone by who restarts it.
static SERVER: RwLock<()> = RwLock::new(());

fn setting(name: &str) -> Option<String> {
    let value = std::env::var(name).ok();
    if value.is_none() {
        not_run(&format!("{name} is not set; tests/database/run sets it"));
    }
    value
}

/// A database with an ordinary role of its own. Gone with the server.
fn fresh_database(superuser: &str) -> Site {
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
    Site { url: format!("postgres://{name}:secret@{host}/{name}"), ..Site::new() }
}

/// A database, while nobody restarts the server.
fn shared() -> Option<(RwLockReadGuard<'static, ()>, Site)> {
    let superuser = setting("TEST_POSTGRES")?;
    let turn = SERVER.read().unwrap_or_else(PoisonError::into_inner);
    Some((turn, fresh_database(&superuser)))
}

/// A database, and the program that restarts its server. Nobody else is there.
fn alone() -> Option<(RwLockWriteGuard<'static, ()>, Site, String)> {
    let (superuser, restart) = (setting("TEST_POSTGRES")?, setting("TEST_POSTGRES_RESTART")?);
    let turn = SERVER.write().unwrap_or_else(PoisonError::into_inner);
    Some((turn, fresh_database(&superuser), restart))
}

/// Two servers, started at once on whatever is in the database.
fn pair(site: &Site, args: &[&str]) -> [Host; 2] {
    std::thread::scope(|scope| {
        [(); 2].map(|()| scope.spawn(|| site.serve(args))).map(|start| start.join().unwrap())
    })
}

#[test]
fn a_key_opens_both_and_requests_may_alternate() {
    let Some((_turn, site)) = shared() else { return };
    let hosts = pair(&site, &[]);
    let key = site.key(&["--scope", "write"]).text;
    let mut clients = hosts.each_ref().map(Host::client);
    for round in 0..20 {
        let (way, text) = (Way::BOTH[round / 2 % 2], format!("round {round}"));
        let answer = clients[round % 2].call(way, &key, "echo", json!({ "text": text })).unwrap();
        assert_eq!(answer.echoed(), Some(text), "{answer:?}");
    }
}

/// What somebody who books says, whatever is asked.
fn fill_in(question: &Value) -> Value {
    let all = json!({
        "destination": "Lisbon", "departure": "2099-05-01", "travellers": 2, "class": "first", "confirm": true
    });
    let asked = question["params"]["requestedSchema"]["properties"].as_object().unwrap();
    let known = asked.keys().filter_map(|name| Some((name.clone(), all.get(name)?.clone())));
    json!({ "action": "accept", "content": Value::Object(known.collect()) })
}

/// Books a journey: each answer comes from the next server. The questions, and what came of them.
fn book(clients: &mut [Client], key: &str) -> (usize, Value) {
    let mut params = json!({ "name": "booking", "arguments": {} });
    for round in 0..20 {
        let server = round % clients.len();
        let answer = clients[server].modern(key, params.clone()).unwrap();
        let result = answer.json()["result"].clone();
        if result["resultType"] != "input_required" {
            assert!(result.is_object(), "{answer:?}");
            return (round, result["structuredContent"].clone());
        }
        params["requestState"] = result["requestState"].clone();
        params["inputResponses"] = json!({ "question": fill_in(&result["inputRequests"]["question"]) });
    }
    panic!("it asks without end")
}

#[test]
fn what_was_asked_by_one_is_answered_to_another() {
    let Some((_turn, site)) = shared() else { return };
    let hosts = pair(&site, &[]);
    let key = site.key(&["--scope", "write"]).text;
    let mut clients = hosts.each_ref().map(Host::client);
    let (questions, booked) = book(&mut clients, &key);
    assert!(questions >= 4 && booked.is_object(), "{questions} questions, {booked}");
    assert_eq!(book(&mut clients[..1], &key).0, questions, "one server alone asks as much");

    // Nor does it matter when all servers are replaced between two answers.
    let begun = clients[0].modern(&key, json!({ "name": "booking", "arguments": {} })).unwrap().json();
    let state = begun["result"]["requestState"].as_str().unwrap().to_owned();
    drop(hosts);
    let host = site.serve(&[]);
    let responses = json!({ "question": fill_in(&begun["result"]["inputRequests"]["question"]) });
    let params =
        json!({ "name": "booking", "arguments": {}, "requestState": state, "inputResponses": responses });
    let next = host.client().modern(&key, params.clone()).unwrap().json();
    assert!(next["result"]["inputRequests"]["question"].to_string().contains("departure"), "{next}");
    // To somebody else it says nothing.
    let other = site.key(&["--tenant", "other"]).text;
    let refused = host.client().modern(&other, params).unwrap().json();
    assert!(refused["error"].is_object(), "{refused}");
}

#[test]
fn a_session_belongs_to_one_server_and_a_new_one_is_soon_begun() {
    let Some((_turn, site)) = shared() else { return };
    let hosts = pair(&site, &[]);
    let key = site.key(&[]).text;
    let [mut here, mut there] = hosts.each_ref().map(Host::client);
    let session = here.greet(&key, "test");
    let echo = || json!({ "text": "x" });
    assert_eq!(here.call_in(&session, &key, "echo", echo()).unwrap().echoed().as_deref(), Some("x"));
    let answer = there.call_in(&session, &key, "echo", echo()).unwrap();
    assert_eq!(answer.status, 404, "{answer:?}");
    let anew = there.greet(&key, "test");
    assert_eq!(there.call_in(&anew, &key, "echo", echo()).unwrap().echoed().as_deref(), Some("x"));
    assert_eq!(here.call_in(&session, &key, "echo", echo()).unwrap().echoed().as_deref(), Some("x"));
}

#[test]
fn one_limit_holds_for_both() {
    let Some((_turn, site)) = shared() else { return };
    let [one, two] = pair(&site, &SLOW);
    for round in 0..5 {
        let count = admitted([&one, &two], &site.key(&[]).text);
        assert!((18..=20).contains(&count), "{count} in round {round}");
    }
}

#[test]
fn a_revocation_holds_on_both_within_two_seconds() {
    let Some((_turn, site)) = shared() else { return };
    let hosts = pair(&site, &["--rate-limit", "0"]);
    let key = site.key(&[]);
    for (host, way) in hosts.iter().zip(Way::BOTH) {
        let answer = host.client().call(way, &key.text, "echo", json!({ "text": "x" })).unwrap();
        assert_eq!(answer.echoed().as_deref(), Some("x"), "{answer:?}");
    }
    assert_eq!(site.keys(&["revoke", &key.id]).0, 0);
    let since = Instant::now();
    std::thread::scope(|scope| {
        for (host, way) in hosts.iter().zip(Way::BOTH) {
            let key = &key.text;
            let promise = Duration::from_secs(2);
            scope.spawn(move || assert!(last_welcome(host, way, key, since) < promise, "{way:?}"));
        }
    });
}
