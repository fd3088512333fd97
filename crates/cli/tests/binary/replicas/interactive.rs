//! MCP Flow: one session, whichever server is asked.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{pair, shared};
use crate::interactive::{code, named, response, succeeded, waiting};
use crate::process::DEADLINE;
use crate::serving::host::{Host, Site, eventually};
use crate::serving::http::Client;

/// Nobody is held back by how often they call.
const FREE: [&str; 2] = ["--rate-limit", "0"];

/// Two servers, a client of each, and a key.
struct Table {
    hosts: [Host; 2],
    clients: [Client; 2],
    key: String,
}

impl Table {
    fn new(site: &Site) -> Self {
        let hosts = pair(site, &FREE);
        let clients = hosts.each_ref().map(Host::client);
        Self { hosts, clients, key: site.key(&[]).text }
    }

    fn ask(&mut self, server: usize, method: &str, params: &Value) -> Value {
        self.clients[server % 2].ask(&self.key, method, params)
    }

    fn state(&mut self, server: usize, session: &Value) -> Value {
        succeeded(self.ask(server, "interaction.getState", session))
    }

    /// Answers every prompt, each at the next server. All standings, and the last answer that was sent.
    fn book(&mut self, params: &Value) -> (Vec<Value>, Value) {
        let mut all = vec![succeeded(self.ask(0, "interaction.start", params))];
        let mut prompt = all[0]["initialPrompt"].clone();
        let mut sent = Value::Null;
        while prompt.is_object() {
            sent = response(&named(&all[all.len() - 1]), &prompt);
            let standing = succeeded(self.ask(all.len(), "interaction.respond", &sent));
            assert_eq!(standing["accepted"], true, "{standing}");
            prompt = standing["nextPrompt"].clone();
            all.push(standing);
        }
        (all, sent)
    }
}

/// F16 of the guide.
#[test]
fn every_answer_may_go_to_another_server() {
    let Some((_turn, site)) = shared() else { return };
    let mut table = Table::new(&site);
    let (all, _) = table.book(&json!({ "toolName": "booking" }));
    let last = &all[all.len() - 1];
    assert_eq!((all.len(), &last["state"]), (7, &json!("completed")));
    for server in 0..2 {
        let state = table.state(server, &named(last));
        assert_eq!(state["accumulatedData"]["result"], last["result"]["data"], "{state}");
        assert_eq!(state["history"].as_array().unwrap().len(), 6, "{state}");
        assert_eq!(code(&table.ask(server, "interaction.cancel", &named(last))), -32003);
    }
}

/// F03 of the guide.
#[test]
fn of_a_hundred_answers_at_once_one_counts() {
    let Some((_turn, site)) = shared() else { return };
    let mut table = Table::new(&site);
    let (mut given, mut last) = (json!({}), Value::Null);
    // A field in the middle of a form, one that runs the conversation, and the one that books. Each in a session of its own,
    // since a hundred responses are all that one may get in ten seconds, refused or not.
    for server in 0.. {
        let begin = json!({ "toolName": "booking", "initialParams": given });
        let standing = succeeded(table.ask(server, "interaction.start", &begin));
        let (session, prompt) = (named(&standing), standing["initialPrompt"].clone());
        let Some(name) = prompt["name"].as_str() else { break };
        let params = response(&session, &prompt);
        let outcomes = at_once(&table, &params);
        assert_eq!(
            outcomes,
            BTreeMap::from([("accepted".to_owned(), 1), ("-32003".to_owned(), 99)]),
            "{prompt}"
        );
        last = eventually("the one that counts is done", DEADLINE, || {
            Some(table.state(server, &session)).filter(|state| state["state"] != "processing")
        });
        assert_eq!(last["history"].as_array().unwrap().len(), 1, "{last}");
        given[name] = params["response"]["value"].clone();
    }
    assert_eq!((given.as_object().unwrap().len(), &last["state"]), (6, &json!("completed")));
}

/// Sends it a hundred times, to both servers; how often what came of it.
fn at_once(table: &Table, params: &Value) -> BTreeMap<String, usize> {
    const CALLERS: usize = 100;
    let gate = Barrier::new(CALLERS);
    let outcomes = std::thread::scope(|scope| {
        let call = |server: usize| {
            let gate = &gate;
            scope.spawn(move || {
                let mut client = table.hosts[server % 2].client();
                client.ask(&table.key, "capabilities", &json!({}));
                gate.wait();
                client.ask(&table.key, "interaction.respond", params)
            })
        };
        let callers: Vec<_> = (0..CALLERS).map(call).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect::<Vec<_>>()
    });
    let mut counts = BTreeMap::new();
    for answer in outcomes {
        let outcome = match &answer["result"]["accepted"] {
            Value::Null => code(&answer).to_string(),
            accepted => if accepted == true { "accepted" } else { "refused" }.to_owned(),
        };
        *counts.entry(outcome).or_default() += 1;
    }
    counts
}

#[test]
fn what_runs_on_one_is_cancelled_on_the_other() {
    let Some((_turn, site)) = shared() else { return };
    let mut table = Table::new(&site);
    let standing = succeeded(table.ask(0, "interaction.start", &waiting(600_000)));
    let session = named(&standing);
    let (mut runner, key) = (table.hosts[0].client(), table.key.clone());
    std::thread::scope(|scope| {
        let params = response(&session, &standing["initialPrompt"]);
        let running = scope.spawn(move || runner.ask(&key, "interaction.respond", &params));
        for server in 0..2 {
            eventually("it is seen to work", DEADLINE, || {
                (table.state(server, &session)["state"] == "processing").then_some(())
            });
        }
        let began = Instant::now();
        assert_eq!(succeeded(table.ask(1, "interaction.cancel", &session))["cancelled"], true);
        let stopped = running.join().unwrap();
        assert_eq!(code(&stopped), -32006, "{stopped}");
        assert!(began.elapsed() < DEADLINE, "{:?}", began.elapsed());
    });
    for server in 0..2 {
        assert_eq!(table.state(server, &session)["state"], "cancelled");
        assert_eq!(code(&table.ask(server, "interaction.cancel", &session)), -32006);
    }
}

#[test]
#[ignore = "long: takes 20 s"]
fn what_ran_on_a_server_that_was_killed_goes_on_on_the_other() {
    let Some((_turn, site)) = shared() else { return };
    let mut table = Table::new(&site);
    let standing = succeeded(table.ask(0, "interaction.start", &waiting(8000)));
    let session = named(&standing);
    let (address, key) = (table.hosts[0].address, table.key.clone());
    let params = response(&session, &standing["initialPrompt"]);
    let killed = std::thread::scope(|scope| {
        // It gets no answer: the connection breaks.
        scope.spawn(move || {
            let message =
                json!({ "jsonrpc": "2.0", "id": 1, "method": "interaction.respond", "params": params });
            assert!(Client::new(address).post("POST /api/mcp", &key, &[], &message).is_err());
        });
        eventually("it is seen to work", DEADLINE, || {
            (table.state(1, &session)["state"] == "processing").then_some(())
        });
        table.hosts[0].kill();
        Instant::now()
    });
    let state = eventually("the other takes it over", DEADLINE, || {
        Some(table.state(1, &session)).filter(|state| state["state"] != "processing")
    });
    let took = killed.elapsed();
    let asked = &state["currentPrompt"];
    assert_eq!((&state["state"], &asked["name"]), (&json!("waiting_user"), &json!("temperature")), "{state}");
    assert_eq!(state["accumulatedData"]["name"], "Ann", "{state}");
    assert!((Duration::from_secs(5)..2 * DEADLINE).contains(&took), "{took:?}");
    let answer = table.ask(1, "interaction.respond", &response(&session, asked));
    assert_eq!(answer["result"]["accepted"], true, "{answer}");
}

/// F11 of the guide.
#[test]
fn a_token_goes_from_server_to_server_and_books_once() {
    let Some((_turn, site)) = shared() else { return };
    let mut table = Table::new(&site);
    let (all, sent) = table.book(&json!({ "toolName": "booking", "context": { "stateless": true } }));
    let last = &all[all.len() - 1];
    assert_eq!((all.len(), &last["state"]), (7, &json!("completed")));
    for server in 0..4 {
        let again = table.ask(server, "interaction.respond", &sent);
        assert_eq!(code(&again), -32001, "{again}");
        assert_eq!(code(&table.ask(server, "interaction.cancel", &named(&all[5]))), -32001);
    }
    // An older one leads to the same end, and there it is over.
    let mut standing = succeeded(table.ask(1, "interaction.getState", &named(&all[4])));
    let mut prompt = standing["currentPrompt"].clone();
    let refused = loop {
        let answer = table.ask(0, "interaction.respond", &response(&named(&standing), &prompt));
        if answer["error"].is_object() {
            break answer;
        }
        standing = succeeded(answer);
        prompt = standing["nextPrompt"].clone();
        assert!(prompt.is_object(), "it was booked twice: {standing}");
    };
    assert_eq!(code(&refused), -32001, "{refused}");
    assert_eq!(table.state(0, &named(last))["accumulatedData"]["result"], last["result"]["data"]);
}

/// Of many who book with one token, one does.
#[test]
fn a_token_that_is_sent_many_times_at_once_books_once() {
    let Some((_turn, site)) = shared() else { return };
    let mut table = Table::new(&site);
    let given =
        json!({ "destination": "Lisbon", "departure": "2099-05-01", "travellers": 1, "class": "first" });
    let start = json!({ "toolName": "booking", "initialParams": given, "context": { "stateless": true } });
    let mut standing = succeeded(table.ask(0, "interaction.start", &start));
    let mut prompt = standing["initialPrompt"].clone();
    while prompt["name"] != "confirm" {
        standing = succeeded(table.ask(1, "interaction.respond", &response(&named(&standing), &prompt)));
        prompt = standing["nextPrompt"].clone();
    }
    let outcomes = at_once(&table, &response(&named(&standing), &prompt));
    assert_eq!(outcomes, BTreeMap::from([("accepted".to_owned(), 1), ("-32001".to_owned(), 99)]));
}

/// F02 of the guide, where the walls are those of the database.
#[test]
fn a_session_is_nobody_else_s_on_any_server() {
    let Some((_turn, site)) = shared() else { return };
    let mut table = Table::new(&site);
    let standing = succeeded(table.ask(0, "interaction.start", &json!({ "toolName": "booking" })));
    let session = named(&standing);
    for others in [site.key(&[]), site.key(&["--tenant", "other"])] {
        for (number, method) in ["respond", "getState", "cancel", "complete", "continue"].iter().enumerate() {
            let params = response(&session, &standing["initialPrompt"]);
            let answer =
                table.clients[number % 2].ask(&others.text, &format!("interaction.{method}"), &params);
            assert_eq!(code(&answer), -32001, "{method}: {answer}");
        }
    }
    let state = table.state(1, &session);
    assert_eq!((&state["state"], &state["history"]), (&json!("waiting_user"), &json!([])), "{state}");
}
