//! MCP Flow: one session, whichever server is asked.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{shared_database, start_pair};
use crate::interactive::{error_code, expect_result, respond_params, session_ref, waiting_interview_params};
use crate::process::TEST_TIMEOUT;
use crate::serving::host::{HttpHost, StoreFixture, eventually};
use crate::serving::http::RawHttpClient;

/// Nobody is held back by how often they call.
const NO_RATE_LIMIT: [&str; 2] = ["--rate-limit", "0"];

/// Two servers, a client of each, and a key.
struct ReplicaPair {
    hosts: [HttpHost; 2],
    clients: [RawHttpClient; 2],
    key: String,
}

impl ReplicaPair {
    fn new(fixture: &StoreFixture) -> Self {
        let hosts = start_pair(fixture, &NO_RATE_LIMIT);
        let clients = hosts.each_ref().map(HttpHost::client);
        Self { hosts, clients, key: fixture.create_key(&[]).text }
    }

    fn ask(&mut self, server: usize, method: &str, params: &Value) -> Value {
        self.clients[server % 2].ask(&self.key, method, params)
    }

    fn state(&mut self, server: usize, session: &Value) -> Value {
        expect_result(self.ask(server, "interaction.getState", session))
    }

    /// Answers every prompt, each at the next server. All standings, and the last answer that was sent.
    fn complete_booking(&mut self, params: &Value) -> (Vec<Value>, Value) {
        let mut all = vec![expect_result(self.ask(0, "interaction.start", params))];
        let mut prompt = all[0]["initialPrompt"].clone();
        let mut sent = Value::Null;
        while prompt.is_object() {
            sent = respond_params(&session_ref(&all[all.len() - 1]), &prompt);
            let rate_limit = expect_result(self.ask(all.len(), "interaction.respond", &sent));
            assert_eq!(rate_limit["accepted"], true, "{rate_limit}");
            prompt = rate_limit["nextPrompt"].clone();
            all.push(rate_limit);
        }
        (all, sent)
    }
}

/// F16 of the guide.
#[test]
fn responses_can_go_to_any_replica() {
    let Some((_turn, site)) = shared_database() else { return };
    let mut table = ReplicaPair::new(&site);
    let (all, _) = table.complete_booking(&json!({ "toolName": "booking" }));
    let last = &all[all.len() - 1];
    assert_eq!((all.len(), &last["state"]), (7, &json!("completed")));
    for server in 0..2 {
        let state = table.state(server, &session_ref(last));
        assert_eq!(state["accumulatedData"]["result"], last["result"]["data"], "{state}");
        assert_eq!(state["history"].as_array().unwrap().len(), 6, "{state}");
        assert_eq!(error_code(&table.ask(server, "interaction.cancel", &session_ref(last))), -32003);
    }
}

/// F03 of the guide.
#[test]
fn one_of_a_hundred_concurrent_responses_is_accepted() {
    let Some((_turn, site)) = shared_database() else { return };
    let mut table = ReplicaPair::new(&site);
    let (mut given, mut last) = (json!({}), Value::Null);
    // A field in the middle of a form, one that runs the conversation, and the one that books. Each in a session of its own,
    // since a hundred responses are all that one may get in ten seconds, refused or not.
    for server in 0.. {
        let begin = json!({ "toolName": "booking", "initialParams": given });
        let rate_limit = expect_result(table.ask(server, "interaction.start", &begin));
        let (session, prompt) = (session_ref(&rate_limit), rate_limit["initialPrompt"].clone());
        let Some(name) = prompt["name"].as_str() else { break };
        let params = respond_params(&session, &prompt);
        let outcomes = respond_concurrently(&table, &params);
        assert_eq!(
            outcomes,
            BTreeMap::from([("accepted".to_owned(), 1), ("-32003".to_owned(), 99)]),
            "{prompt}"
        );
        last = eventually("the one that counts is done", TEST_TIMEOUT, || {
            Some(table.state(server, &session)).filter(|state| state["state"] != "processing")
        });
        assert_eq!(last["history"].as_array().unwrap().len(), 1, "{last}");
        given[name] = params["response"]["value"].clone();
    }
    assert_eq!((given.as_object().unwrap().len(), &last["state"]), (6, &json!("completed")));
}

/// Sends it a hundred times, to both servers; how often what came of it.
fn respond_concurrently(table: &ReplicaPair, params: &Value) -> BTreeMap<String, usize> {
    const CALLERS: usize = 100;
    let verifier = Barrier::new(CALLERS);
    let outcomes = std::thread::scope(|scope| {
        let call = |server: usize| {
            let verifier = &verifier;
            scope.spawn(move || {
                let mut client = table.hosts[server % 2].client();
                client.ask(&table.key, "capabilities", &json!({}));
                verifier.wait();
                client.ask(&table.key, "interaction.respond", params)
            })
        };
        let callers: Vec<_> = (0..CALLERS).map(call).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect::<Vec<_>>()
    });
    let mut counts = BTreeMap::new();
    for answer in outcomes {
        let outcome = match &answer["result"]["accepted"] {
            Value::Null => error_code(&answer).to_string(),
            accepted => if accepted == true { "accepted" } else { "refused" }.to_owned(),
        };
        *counts.entry(outcome).or_default() += 1;
    }
    counts
}

#[test]
fn running_session_is_cancelled_from_the_other_replica() {
    let Some((_turn, site)) = shared_database() else { return };
    let mut table = ReplicaPair::new(&site);
    let rate_limit = expect_result(table.ask(0, "interaction.start", &waiting_interview_params(600_000)));
    let session = session_ref(&rate_limit);
    let (mut runner, key) = (table.hosts[0].client(), table.key.clone());
    std::thread::scope(|scope| {
        let params = respond_params(&session, &rate_limit["initialPrompt"]);
        let running = scope.spawn(move || runner.ask(&key, "interaction.respond", &params));
        for server in 0..2 {
            eventually("it is seen to work", TEST_TIMEOUT, || {
                (table.state(server, &session)["state"] == "processing").then_some(())
            });
        }
        let began = Instant::now();
        assert_eq!(expect_result(table.ask(1, "interaction.cancel", &session))["cancelled"], true);
        let stopped = running.join().unwrap();
        assert_eq!(error_code(&stopped), -32006, "{stopped}");
        assert!(began.elapsed() < TEST_TIMEOUT, "{:?}", began.elapsed());
    });
    for server in 0..2 {
        assert_eq!(table.state(server, &session)["state"], "cancelled");
        assert_eq!(error_code(&table.ask(server, "interaction.cancel", &session)), -32006);
    }
}

#[test]
#[ignore = "long: takes 20 s"]
fn session_of_a_killed_replica_is_taken_over() {
    let Some((_turn, site)) = shared_database() else { return };
    let mut table = ReplicaPair::new(&site);
    let rate_limit = expect_result(table.ask(0, "interaction.start", &waiting_interview_params(8000)));
    let session = session_ref(&rate_limit);
    let (address, key) = (table.hosts[0].address, table.key.clone());
    let params = respond_params(&session, &rate_limit["initialPrompt"]);
    let killed = std::thread::scope(|scope| {
        // It gets no answer: the connection breaks.
        scope.spawn(move || {
            let message =
                json!({ "jsonrpc": "2.0", "id": 1, "method": "interaction.respond", "params": params });
            assert!(RawHttpClient::new(address).post("POST /api/mcp", &key, &[], &message).is_err());
        });
        eventually("it is seen to work", TEST_TIMEOUT, || {
            (table.state(1, &session)["state"] == "processing").then_some(())
        });
        table.hosts[0].kill();
        Instant::now()
    });
    let state = eventually("the other takes it over", TEST_TIMEOUT, || {
        Some(table.state(1, &session)).filter(|state| state["state"] != "processing")
    });
    let took = killed.elapsed();
    let asked = &state["currentPrompt"];
    assert_eq!((&state["state"], &asked["name"]), (&json!("waiting_user"), &json!("temperature")), "{state}");
    assert_eq!(state["accumulatedData"]["name"], "Ann", "{state}");
    assert!((Duration::from_secs(5)..2 * TEST_TIMEOUT).contains(&took), "{took:?}");
    let answer = table.ask(1, "interaction.respond", &respond_params(&session, asked));
    assert_eq!(answer["result"]["accepted"], true, "{answer}");
}

/// F11 of the guide.
#[test]
fn stateless_token_works_across_replicas_and_books_once() {
    let Some((_turn, site)) = shared_database() else { return };
    let mut table = ReplicaPair::new(&site);
    let (all, sent) =
        table.complete_booking(&json!({ "toolName": "booking", "context": { "stateless": true } }));
    let last = &all[all.len() - 1];
    assert_eq!((all.len(), &last["state"]), (7, &json!("completed")));
    for server in 0..4 {
        let again = table.ask(server, "interaction.respond", &sent);
        assert_eq!(error_code(&again), -32001, "{again}");
        assert_eq!(error_code(&table.ask(server, "interaction.cancel", &session_ref(&all[5]))), -32001);
    }
    // An older one leads to the same end, and there it is over.
    let mut rate_limit = expect_result(table.ask(1, "interaction.getState", &session_ref(&all[4])));
    let mut prompt = rate_limit["currentPrompt"].clone();
    let refused = loop {
        let answer = table.ask(0, "interaction.respond", &respond_params(&session_ref(&rate_limit), &prompt));
        if answer["error"].is_object() {
            break answer;
        }
        rate_limit = expect_result(answer);
        prompt = rate_limit["nextPrompt"].clone();
        assert!(prompt.is_object(), "it was booked twice: {rate_limit}");
    };
    assert_eq!(error_code(&refused), -32001, "{refused}");
    assert_eq!(table.state(0, &session_ref(last))["accumulatedData"]["result"], last["result"]["data"]);
}

/// Of many who book with one token, one does.
#[test]
fn concurrent_token_use_books_once() {
    let Some((_turn, site)) = shared_database() else { return };
    let mut table = ReplicaPair::new(&site);
    let given =
        json!({ "destination": "Lisbon", "departure": "2099-05-01", "travellers": 1, "class": "first" });
    let start = json!({ "toolName": "booking", "initialParams": given, "context": { "stateless": true } });
    let mut rate_limit = expect_result(table.ask(0, "interaction.start", &start));
    let mut prompt = rate_limit["initialPrompt"].clone();
    while prompt["name"] != "confirm" {
        rate_limit = expect_result(table.ask(
            1,
            "interaction.respond",
            &respond_params(&session_ref(&rate_limit), &prompt),
        ));
        prompt = rate_limit["nextPrompt"].clone();
    }
    let outcomes = respond_concurrently(&table, &respond_params(&session_ref(&rate_limit), &prompt));
    assert_eq!(outcomes, BTreeMap::from([("accepted".to_owned(), 1), ("-32001".to_owned(), 99)]));
}

/// F02 of the guide, where the walls are those of the database.
#[test]
fn session_is_inaccessible_to_other_principals() {
    let Some((_turn, site)) = shared_database() else { return };
    let mut table = ReplicaPair::new(&site);
    let rate_limit = expect_result(table.ask(0, "interaction.start", &json!({ "toolName": "booking" })));
    let session = session_ref(&rate_limit);
    for others in [site.create_key(&[]), site.create_key(&["--tenant", "other"])] {
        for (number, method) in ["respond", "getState", "cancel", "complete", "continue"].iter().enumerate() {
            let params = respond_params(&session, &rate_limit["initialPrompt"]);
            let answer =
                table.clients[number % 2].ask(&others.text, &format!("interaction.{method}"), &params);
            assert_eq!(error_code(&answer), -32001, "{method}: {answer}");
        }
    }
    let state = table.state(1, &session);
    assert_eq!((&state["state"], &state["history"]), (&json!("waiting_user"), &json!([])), "{state}");
}
