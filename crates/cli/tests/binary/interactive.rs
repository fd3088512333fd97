//! MCP Flow on a pipe: what a session needs to outlive every process that serves it.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::process::{StdioServer, TEST_TIMEOUT, fluxway};
use crate::serving::host::eventually;

/// Words that occur nowhere but in answers.
const UNIQUE_DESTINATION: &str = "Quetzaltenango";
const UNIQUE_NOTE: &str = "vegetarian-window-seat";

/// What somebody says to a prompt of `booking` or `interview`.
pub(crate) fn prompt_answer(prompt: &Value) -> Value {
    let all = json!({
        "destination": UNIQUE_DESTINATION, "departure": "2099-05-01", "return": "2099-05-09", "travellers": 2, "class": "first",
        "confirm": true, "name": "Ann", "colour": "red", "toppings": ["basil"], "wait": 0, "temperature": 21.5,
        "day": "2026-03-02", "document": "notes.txt", "size": { "width": 3 }, "agree": true,
    });
    let name = prompt["name"].as_str().unwrap_or_else(|| panic!("no prompt: {prompt}"));
    all[name].clone()
}

/// The parameters of an `interaction.respond` that says it. `named`: the session's id, or a token.
pub(crate) fn respond_params(named: &Value, prompt: &Value) -> Value {
    let mut params = named.clone();
    params["response"] = json!({ "value": prompt_answer(prompt), "metadata": { "note": UNIQUE_NOTE } });
    params["promptId"] = prompt["promptId"].clone();
    params
}

/// How a session is named in parameters.
pub(crate) fn session_ref(rate_limit: &Value) -> Value {
    match rate_limit.get("token") {
        Some(token) => json!({ "token": token }),
        None => json!({ "sessionId": rate_limit["sessionId"] }),
    }
}

/// The parameters of an interview that waits as soon as the name is known.
pub(crate) fn waiting_interview_params(milliseconds: u32) -> Value {
    json!({ "toolName": "interview", "initialParams": { "colour": "red", "toppings": [], "wait": milliseconds } })
}

/// A folder with a database that processes come and go on.
struct FlowFixture(TempDir);

impl FlowFixture {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = fluxway(&[&["--toolsets", "reference,diagnostics"], args].concat());
        command.env("XDG_DATA_HOME", self.0.path());
        command
    }

    /// A process on it. It is killed, like by a power failure, when it is dropped.
    fn serve(&self, args: &[&str]) -> StdioServer {
        StdioServer::spawn(&mut self.command(args))
    }

    /// One that seals with these keys.
    fn serve_with_seal_keys(&self, keys: &str) -> StdioServer {
        StdioServer::spawn(self.command(&[]).env("FLUXWAY_SEAL_KEY", keys))
    }

    /// Asks a process that lives for this alone.
    fn ask(&self, method: &str, params: &Value) -> Value {
        self.serve(&[]).ask(method, params)
    }

    fn start(&self, params: &Value) -> Value {
        expect_result(self.ask("interaction.start", params))
    }

    fn state(&self, of: &Value) -> Value {
        expect_result(self.ask("interaction.getState", &session_ref(of)))
    }

    /// Every byte in the folder.
    fn read_all_bytes(&self) -> Vec<u8> {
        fn read(folder: &std::path::Path, all: &mut Vec<u8>) {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    read(&entry.path(), all);
                } else {
                    all.extend(std::fs::read(entry.path()).unwrap());
                }
            }
        }
        let mut all = Vec::new();
        read(self.0.path(), &mut all);
        all
    }
}

pub(crate) fn expect_result(answer: Value) -> Value {
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}

pub(crate) fn error_code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}

fn booking_params() -> Value {
    json!({ "toolName": "booking", "context": { "from": UNIQUE_NOTE } })
}

fn contains_text(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn a_kill_between_any_two_messages_loses_nothing() {
    let home = FlowFixture::new();
    let mut rate_limit = home.start(&booking_params());
    let session = session_ref(&rate_limit);
    let mut prompt = rate_limit["initialPrompt"].clone();
    let mut said = Map::new();
    while prompt.is_object() {
        said.insert(prompt["name"].as_str().unwrap().to_owned(), prompt_answer(&prompt));
        rate_limit = expect_result(home.ask("interaction.respond", &respond_params(&session, &prompt)));
        assert_eq!(rate_limit["accepted"], true, "{rate_limit}");
        prompt = rate_limit["nextPrompt"].clone();
        let state = home.state(&session);
        let mut data = state["accumulatedData"].as_object().unwrap().clone();
        data.remove("result");
        assert_eq!(data, said);
        assert_eq!(state["history"].as_array().unwrap().len(), said.len(), "{state}");
        assert_eq!(state.get("currentPrompt").unwrap_or(&Value::Null), &prompt, "{state}");
        assert_eq!(state["context"]["from"], UNIQUE_NOTE);
        let asked = expect_result(home.ask("interaction.continue", &session));
        assert_eq!(asked.get("nextPrompt").unwrap_or(&Value::Null), &prompt, "{asked}");
    }
    assert_eq!((said.len(), &rate_limit["state"]), (6, &json!("completed")));
    let done = expect_result(home.ask("interaction.complete", &session));
    assert_eq!((&done["success"], &done["finalResult"]), (&json!(true), &rate_limit["result"]["data"]));
    assert_eq!(done["finalResult"]["destination"], UNIQUE_DESTINATION);
    assert_eq!(
        error_code(
            &home.ask("interaction.respond", &respond_params(&session, &json!({ "name": "confirm" })))
        ),
        -32003
    );
    assert_eq!(error_code(&home.ask("interaction.cancel", &session)), -32003);
    let kept = home.read_all_bytes();
    assert!(contains_text(&kept, "flow_sessions"), "this looks in the wrong place");
    for word in [
        UNIQUE_DESTINATION,
        UNIQUE_NOTE,
        "2099-05",
        "departure",
        done["finalResult"]["reference"].as_str().unwrap(),
    ] {
        assert!(!contains_text(&kept, word), "{word} can be read in the database");
    }
}

/// How long it takes from the start of a process to its answer.
fn typical_response_time(home: &FlowFixture) -> Duration {
    let began = Instant::now();
    home.ask("interaction.getState", &json!({ "sessionId": "session_x" }));
    began.elapsed()
}

/// F15 of the guide: what was acknowledged is there, and nothing is there by halves.
#[test]
fn kill_before_the_response_is_atomic() {
    const ROUNDS: u32 = 8;
    let home = FlowFixture::new();
    let rate_limit = home.start(&booking_params());
    let (session, usual) = (session_ref(&rate_limit), typical_response_time(&home));
    let mut prompt = rate_limit["initialPrompt"].clone();
    let (mut counted, mut delay) = (0, Duration::ZERO);
    while prompt.is_object() {
        let before = home.state(&session)["history"].as_array().unwrap().len();
        let mut is_acknowledged = false;
        for _ in 0..ROUNDS {
            let mut server = home.serve(&[]);
            server.request("interaction.respond", &respond_params(&session, &prompt));
            // Later each time, until there was an answer before the kill. How fast the machine is just now does not matter.
            std::thread::sleep(delay);
            server.child.kill().unwrap();
            let answers = server.remaining_messages();
            is_acknowledged |= answers.iter().any(|answer| answer["result"]["accepted"] == true);
            delay = if answers.is_empty() { delay + delay / 4 + usual / 20 } else { Duration::ZERO };
            let state = eventually("nobody works on it", TEST_TIMEOUT, || {
                Some(home.state(&session)).filter(|state| state["state"] != "processing")
            });
            let turns = state["history"].as_array().unwrap().len();
            let is_counted = state["currentPrompt"]["promptId"] != prompt["promptId"];
            assert_eq!(turns, before + usize::from(is_counted), "{state}");
            assert!(is_counted || !is_acknowledged, "what was acknowledged is lost: {state}");
        }
        // Whoever got no answer says it again.
        let again = home.ask("interaction.respond", &respond_params(&session, &prompt));
        if again["result"]["accepted"] != true {
            assert_eq!(error_code(&again), -32003, "{again}");
            counted += 1;
        }
        prompt = expect_result(home.ask("interaction.continue", &session))["nextPrompt"].clone();
    }
    assert!(counted > 0, "every kill came too early");
    let state = home.state(&session);
    // Whoever was killed while it was booking leaves it unknown whether it was booked; it is not done twice.
    let is_unknown = state["result"]["error"]["kind"] == "outcome_unknown";
    assert!(is_unknown || state["accumulatedData"]["result"]["destination"] == UNIQUE_DESTINATION, "{state}");
    assert_eq!(state["history"].as_array().unwrap().len(), 6, "{state}");
}

/// F13 of the guide.
#[test]
fn sessions_are_unreadable_without_their_seal_key() {
    let home = FlowFixture::new();
    let [old, new] = ["a1".repeat(32), "b2".repeat(32)];
    let both = format!("{new},{old}");
    let rate_limit =
        expect_result(home.serve_with_seal_keys(&old).ask("interaction.start", &booking_params()));
    let session = session_ref(&rate_limit);
    for (keys, may) in [(&old, true), (&new, false), (&both, true)] {
        let answer = home.serve_with_seal_keys(keys).ask("interaction.getState", &session);
        assert_eq!(answer["error"]["code"], if may { Value::Null } else { json!(-32001) }, "{answer}");
        assert_eq!(answer["result"].is_object(), may, "{answer}");
    }
    for method in ["interaction.cancel", "interaction.complete", "interaction.continue"] {
        assert_eq!(error_code(&home.serve_with_seal_keys(&new).ask(method, &session)), -32001, "{method}");
    }
    // Whatever is written is sealed with the first, so that the other can be retired.
    let prompt = &rate_limit["initialPrompt"];
    let answer =
        home.serve_with_seal_keys(&both).ask("interaction.respond", &respond_params(&session, prompt));
    assert_eq!(answer["result"]["accepted"], true, "{answer}");
    let state = expect_result(home.serve_with_seal_keys(&new).ask("interaction.getState", &session));
    assert_eq!(state["accumulatedData"]["destination"], UNIQUE_DESTINATION);
    assert_eq!(error_code(&home.serve_with_seal_keys(&old).ask("interaction.getState", &session)), -32001);
}

#[test]
fn a_session_is_unknown_on_another_database() {
    let [home, other] = [FlowFixture::new(), FlowFixture::new()];
    let session = session_ref(&home.start(&booking_params()));
    other.start(&booking_params());
    for method in ["getState", "cancel", "complete", "continue", "respond"] {
        let mut params = session.clone();
        params["response"] = json!({ "value": UNIQUE_DESTINATION });
        assert_eq!(error_code(&other.ask(&format!("interaction.{method}"), &params)), -32001, "{method}");
    }
    assert_eq!(home.state(&session)["state"], "waiting_user");
}

#[test]
fn flow_off_disables_interactive_sessions() {
    let home = FlowFixture::new();
    let mut server = home.serve(&["--flow-off"]);
    let shown = expect_result(server.ask("capabilities", &json!({})));
    assert_eq!(shown["interactive"], false, "{shown}");
    let features = shown["features"].as_object().unwrap();
    assert!(!features.is_empty() && features.values().all(|feature| feature == false), "{shown}");
    let refused = server.ask("interaction.start", &booking_params());
    assert_eq!(
        (error_code(&refused), &refused["error"]["data"]["kind"]),
        (-32007, &json!("not_interactive"))
    );
    let about = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about });
    let hello = expect_result(server.ask("initialize", &hello));
    assert_ne!(hello["capabilities"]["experimental"]["interactive"]["interactive"], true, "{hello}");
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let called = expect_result(server.ask("tools/call", &json!({ "name": "booking", "arguments": {} })));
    assert!(called["isError"] == true && called.to_string().contains("destination"), "{called}");
}

/// Also for what was begun while it was on.
#[test]
fn flow_off_rejects_existing_sessions() {
    let home = FlowFixture::new();
    let session = session_ref(&home.start(&booking_params()));
    let mut server = home.serve(&["--flow-off"]);
    for method in ["getState", "cancel", "complete", "continue", "respond"] {
        let mut params = session.clone();
        params["response"] = json!({ "value": UNIQUE_DESTINATION });
        let answer = server.ask(&format!("interaction.{method}"), &params);
        assert_eq!(answer["error"]["code"], -32007, "{method}: {answer}");
    }
}

#[test]
fn stateless_sessions_survive_restarts() {
    let sealed = "c3".repeat(32);
    for keys in [None, Some(sealed.as_str())] {
        let home = FlowFixture::new();
        let serve = || {
            let mut command = home.command(&["--flow-stateless"]);
            command.envs(keys.map(|keys| ("FLUXWAY_SEAL_KEY", keys)));
            StdioServer::spawn(&mut command)
        };
        let shown = expect_result(serve().ask("capabilities", &json!({})));
        assert_eq!(
            (&shown["interactive"], &shown["features"]["statefulSessions"]),
            (&json!(true), &json!(false))
        );
        let mut rate_limit = expect_result(serve().ask("interaction.start", &booking_params()));
        let mut prompt = rate_limit["initialPrompt"].clone();
        let mut last = Value::Null;
        while prompt.is_object() {
            assert!(rate_limit["token"].is_string(), "{rate_limit}");
            let by_id = json!({ "sessionId": rate_limit["sessionId"] });
            assert_eq!(
                error_code(&serve().ask("interaction.getState", &by_id)),
                -32001,
                "it is not kept here"
            );
            last = respond_params(&session_ref(&rate_limit), &prompt);
            rate_limit = expect_result(serve().ask("interaction.respond", &last));
            assert_eq!(rate_limit["accepted"], true, "{rate_limit}");
            prompt = rate_limit["nextPrompt"].clone();
        }
        assert_eq!(
            (&rate_limit["state"], &rate_limit["result"]["data"]["destination"]),
            (&json!("completed"), &json!(UNIQUE_DESTINATION))
        );
        let state = expect_result(serve().ask("interaction.getState", &session_ref(&rate_limit)));
        assert_eq!(state["history"].as_array().unwrap().len(), 6, "{state}");
        // F11 of the guide: it was booked, and is not booked again.
        assert_eq!(error_code(&serve().ask("interaction.respond", &last)), -32001);
        assert!(!contains_text(&home.read_all_bytes(), UNIQUE_DESTINATION));
    }
}

/// Times to give a user, in milliseconds. Between the warning and the end is a fifth, which a machine that is busy just then may
/// miss; then there is more of it.
const USER_TIMEOUTS_MS: [u32; 3] = [1500, 8000, 40_000];

/// A booking, and the warning that it ends soon.
fn start_and_await_warning(home: &FlowFixture, patience: u32) -> Option<(StdioServer, Value, Value)> {
    let mut server = home.serve(&[]);
    let start = json!({ "toolName": "booking", "timeout": patience });
    let rate_limit = expect_result(server.ask("interaction.start", &start));
    let warning = server.receive_within(2 * Duration::from_millis(patience.into()))?;
    assert_eq!(warning["method"], "interaction.timeoutWarning", "{warning}");
    Some((server, rate_limit, warning))
}

#[test]
fn timeout_warning_precedes_expiry() {
    let home = FlowFixture::new();
    let tried = |patience| Some((patience, start_and_await_warning(&home, patience)?));
    let (patience, (mut server, rate_limit, warning)) =
        USER_TIMEOUTS_MS.into_iter().find_map(tried).expect("a warning in time");
    let session = session_ref(&rate_limit);
    assert!(warning.get("id").is_none(), "{warning}");
    let told = &warning["params"];
    assert_eq!(
        (&told["sessionId"], &told["expiresAt"]),
        (&rate_limit["sessionId"], &rate_limit["expiresAt"])
    );
    assert!(told["remaining"].as_u64().is_some_and(|left| left <= u64::from(patience / 5)), "{warning}");
    let over = eventually("it ends", TEST_TIMEOUT, || {
        Some(server.ask("interaction.getState", &session)).filter(|answer| answer["error"].is_object())
    });
    assert_eq!((error_code(&over), &over["error"]["data"]["kind"]), (-32002, &json!("session_expired")));
    for method in ["cancel", "complete", "continue", "respond"] {
        let mut params = session.clone();
        params["response"] = json!({ "value": UNIQUE_DESTINATION });
        assert_eq!(error_code(&server.ask(&format!("interaction.{method}"), &params)), -32002, "{method}");
    }
    assert_eq!(
        error_code(&home.ask("interaction.getState", &session)),
        -32002,
        "other processes know it too"
    );
}

/// Whoever says something is not warned of the end that this put off.
#[test]
fn activity_resets_the_timeout() {
    let home = FlowFixture::new();
    let spoken = USER_TIMEOUTS_MS.into_iter().find_map(|patience| {
        let (mut server, rate_limit, _) = start_and_await_warning(&home, patience)?;
        let answer = server.ask("interaction.continue", &session_ref(&rate_limit));
        if answer["error"]["data"]["kind"] == "session_expired" {
            return None;
        }
        let next = expect_result(answer);
        assert!(next["expiresAt"].as_u64() > rate_limit["expiresAt"].as_u64(), "{next}");
        let warning = server.receive_within(2 * Duration::from_millis(patience.into()))?;
        assert_eq!(warning["params"]["expiresAt"], next["expiresAt"], "{warning}");
        Some(())
    });
    spoken.expect("a second warning in time");
}

/// An interview that waits in the first process, as the second one sees it.
fn start_waiting_interview(first: &mut StdioServer, second: &mut StdioServer, milliseconds: u32) -> Value {
    let rate_limit = expect_result(first.ask("interaction.start", &waiting_interview_params(milliseconds)));
    let session = session_ref(&rate_limit);
    first.request("interaction.respond", &respond_params(&session, &rate_limit["initialPrompt"]));
    eventually("it is seen to work", TEST_TIMEOUT, || {
        let state = expect_result(second.ask("interaction.getState", &session));
        (state["state"] == "processing").then_some(())
    });
    session
}

#[test]
fn running_session_is_cancelled_from_another_process() {
    let home = FlowFixture::new();
    let (mut first, mut second) = (home.serve(&[]), home.serve(&[]));
    let session = start_waiting_interview(&mut first, &mut second, 600_000);
    let mut params = session.clone();
    params["response"] = json!({ "value": "x" });
    assert_eq!(error_code(&second.ask("interaction.respond", &params)), -32003, "nothing is asked");
    let began = Instant::now();
    assert_eq!(expect_result(second.ask("interaction.cancel", &session))["cancelled"], true);
    let stopped = first.receive_response();
    assert_eq!(error_code(&stopped), -32006, "{stopped}");
    assert!(began.elapsed() < TEST_TIMEOUT, "{:?}", began.elapsed());
    for server in [&mut first, &mut second] {
        assert_eq!(expect_result(server.ask("interaction.getState", &session))["state"], "cancelled");
        assert_eq!(error_code(&server.ask("interaction.cancel", &session)), -32006);
        assert_eq!(error_code(&server.ask("interaction.respond", &params)), -32006);
    }
}

#[test]
#[ignore = "long: takes 20 s"]
fn a_turn_whose_process_was_killed_is_taken_over() {
    let home = FlowFixture::new();
    let (mut first, mut second) = (home.serve(&[]), home.serve(&[]));
    let session = start_waiting_interview(&mut first, &mut second, 8000);
    let killed = Instant::now();
    drop(first);
    let state = eventually("somebody takes it over", TEST_TIMEOUT, || {
        let state = expect_result(second.ask("interaction.getState", &session));
        Some(state).filter(|state| state["state"] != "processing")
    });
    let took = killed.elapsed();
    assert_eq!(
        (&state["state"], &state["currentPrompt"]["name"]),
        (&json!("waiting_user"), &json!("temperature"))
    );
    assert_eq!(state["accumulatedData"]["name"], "Ann", "{state}");
    assert!((Duration::from_secs(5)..2 * TEST_TIMEOUT).contains(&took), "{took:?}");
    let answer = home.ask("interaction.respond", &respond_params(&session, &state["currentPrompt"]));
    assert_eq!(answer["result"]["accepted"], true, "{answer}");
}

/// Every kind of prompt, each answered by another process.
#[test]
fn every_prompt_kind_works_across_processes() {
    let home = FlowFixture::new();
    let mut rate_limit = home.start(&json!({ "toolName": "interview" }));
    let session = session_ref(&rate_limit);
    let mut prompt = rate_limit["initialPrompt"].clone();
    let mut kinds = Vec::new();
    while prompt.is_object() {
        kinds.push(prompt["type"].as_str().unwrap().to_owned());
        rate_limit = expect_result(home.ask("interaction.respond", &respond_params(&session, &prompt)));
        assert_eq!(rate_limit["accepted"], true, "{rate_limit}");
        prompt = rate_limit["nextPrompt"].clone();
    }
    for kind in ["text", "choice", "confirm", "number", "date", "file", "custom"] {
        assert!(kinds.iter().any(|found| found == kind), "{kind} was not asked: {kinds:?}");
    }
    assert_eq!(rate_limit["result"]["data"]["size"], json!({ "width": 3 }), "{rate_limit}");
}

/// Whoever has read an answer may use its id again.
#[test]
fn request_id_is_reusable_after_the_response() {
    let home = FlowFixture::new();
    let mut server = home.serve(&[]);
    let session = session_ref(&expect_result(server.ask("interaction.start", &booking_params())));
    for round in 0..1000 {
        server
            .send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "interaction.getState", "params": session }));
        let answer = server.receive();
        assert!(answer["result"].is_object(), "round {round}: {answer}");
    }
}
