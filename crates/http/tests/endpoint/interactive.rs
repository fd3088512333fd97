//! MCP Flow over every endpoint: the same session, whatever carries it.

use std::time::Duration;

use serde_json::{Value, json};
use server::Scope;
use server::tools::Toolset;

use crate::harness::{Answer, Endpoint, Stream};
use crate::{mcp_session, mcp_stateless, old_pair, ws};

/// What somebody who books says to a prompt.
fn reply(prompt: &Value) -> Value {
    let all = json!({
        "destination": "Lisbon", "departure": "2026-05-01", "return": "2026-05-09", "travellers": 2,
        "class": "first", "confirm": true,
    });
    all[prompt["name"].as_str().unwrap_or_else(|| panic!("no prompt: {prompt}"))].clone()
}

fn response(session: &Value, prompt: &Value) -> Value {
    json!({ "sessionId": session, "response": { "value": reply(prompt) }, "promptId": prompt["promptId"] })
}

fn request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

fn booking() -> Value {
    json!({ "toolName": "booking" })
}

/// Somebody who speaks to the server.
trait Client {
    /// The answer to a request. Whatever else comes before it is a mistake.
    fn ask(&mut self, method: &str, params: &Value) -> Value;

    /// The next message that nobody asked for. `None`: this client is told nothing.
    fn news(&mut self) -> Option<Value> {
        None
    }
}

/// Books from the first prompt to the last. What is pushed is what the answer says, once, and no more.
fn book(client: &mut dyn Client) {
    let started = client.ask("interaction.start", &booking())["result"].clone();
    assert_eq!(started["state"], "idle", "{started}");
    let session = &started["sessionId"];
    let mut prompt = started["initialPrompt"].clone();
    let mut turns = 0;
    let done = loop {
        let standing = client.ask("interaction.respond", &response(session, &prompt))["result"].clone();
        assert_eq!(standing["accepted"], true, "{standing}");
        turns += 1;
        let is_over = standing.get("nextPrompt").is_none();
        if let Some(news) = client.news() {
            assert!(news["id"].is_string() && news["params"]["sessionId"] == *session, "{news}");
            let (method, told, answered) = if is_over {
                ("interaction.complete", &news["params"]["result"], &standing["result"])
            } else {
                ("interaction.prompt", &news["params"]["prompt"], &standing["nextPrompt"])
            };
            assert_eq!((&news["method"], told), (&json!(method), answered));
        }
        if is_over {
            break standing;
        }
        prompt = standing["nextPrompt"].clone();
        assert!(prompt["promptId"].is_string(), "{prompt}");
    };
    assert_eq!((turns, &done["state"]), (6, &json!("completed")));
    let named = json!({ "sessionId": session });
    let state = client.ask("interaction.getState", &named)["result"].clone();
    assert_eq!(state["accumulatedData"]["result"], done["result"]["data"], "{state}");
    let completed = client.ask("interaction.complete", &named)["result"].clone();
    assert_eq!((&completed["success"], &completed["finalResult"]), (&json!(true), &done["result"]["data"]));
}

/// `/api/mcp`, with a key.
struct Api<'a> {
    endpoint: &'a Endpoint,
    bearer: String,
}

impl<'a> Api<'a> {
    fn new(endpoint: &'a Endpoint, key: &str) -> Self {
        Self { endpoint, bearer: format!("Bearer {key}") }
    }

    fn post(&self, message: &Value) -> Answer {
        self.endpoint.request("POST /api/mcp", &[("Authorization", &self.bearer)], &message.to_string())
    }

    /// Begins to book; the session and its first prompt.
    fn start(&mut self) -> (Value, Value) {
        let started = self.ask("interaction.start", &booking())["result"].clone();
        (started["sessionId"].clone(), started["initialPrompt"].clone())
    }

    fn code(&mut self, method: &str, params: &Value) -> Value {
        self.ask(method, params)["error"]["code"].clone()
    }
}

impl Client for Api<'_> {
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.post(&request(method, params));
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("application/json")),
            "{answer:?}"
        );
        answer.json()
    }
}

/// `/mcp` in a session, perhaps with a stream for news.
struct InSession<'a> {
    client: mcp_session::Client<'a>,
    stream: Option<Stream>,
}

impl Client for InSession<'_> {
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.client.post(&request(method, params).to_string());
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("application/json")),
            "{answer:?}"
        );
        answer.json()
    }

    fn news(&mut self) -> Option<Value> {
        self.stream.as_mut().map(Stream::message)
    }
}

/// `/mcp`, as of 2026-07-28.
struct Modern<'a>(&'a Endpoint);

impl Client for Modern<'_> {
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let answer = mcp_stateless::ask(self.0, method, params.clone());
        assert_eq!(answer.header("content-type"), Some("application/json"), "{answer:?}");
        answer.json()
    }
}

/// `/sse` and `/messages`.
struct Pair<'a> {
    endpoint: &'a Endpoint,
    stream: Stream,
    line: String,
}

impl Client for Pair<'_> {
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.endpoint.request(&self.line, &[], &request(method, params).to_string());
        assert_eq!(answer.status, 202, "{answer:?}");
        let answer = self.stream.message();
        assert!(answer["id"] == 1 && answer.get("method").is_none(), "{answer}");
        answer
    }

    fn news(&mut self) -> Option<Value> {
        Some(self.stream.message())
    }
}

/// `/ws`.
struct Ws(ws::Socket);

impl Client for Ws {
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.0.say(&request(method, params));
        let answer = self.0.message();
        assert!(answer["id"] == 1 && answer.get("method").is_none(), "{answer}");
        answer
    }

    fn news(&mut self) -> Option<Value> {
        Some(self.0.message())
    }
}

#[test]
fn a_booking_in_the_manner_of_codefluss() {
    let endpoint = Endpoint::keyed(None);
    book(&mut Api::new(&endpoint, &endpoint.key(Scope::Read)));
}

#[test]
fn a_booking_in_a_session_is_told_on_its_stream() {
    let endpoint = Endpoint::open();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = mcp_session::Client::new(&endpoint, version);
        let stream = client.stream("GET /mcp", &[], "");
        let mut client = InSession { client, stream: Some(stream) };
        book(&mut client);
        endpoint.app.serve_toolsets(&[Toolset::Reference]);
        let next = client.news().unwrap();
        assert_eq!(next["method"], "notifications/tools/list_changed", "{version}: more was pushed");
        endpoint.app.serve_toolsets(&Toolset::ALL);
    }
}

#[test]
fn a_booking_in_a_session_without_a_stream_is_told_nothing() {
    let endpoint = Endpoint::open();
    let mut client = InSession { client: mcp_session::Client::new(&endpoint, "2025-11-25"), stream: None };
    book(&mut client);
    // Nor is anything kept for whoever listens later.
    let mut stream = client.client.stream("GET /mcp", &[], "");
    endpoint.app.serve_toolsets(&[Toolset::Reference]);
    assert_eq!(stream.message()["method"], "notifications/tools/list_changed");
}

#[test]
fn a_booking_without_a_session_is_told_nothing() {
    let endpoint = Endpoint::open();
    book(&mut Modern(&endpoint));
}

#[test]
fn a_booking_on_the_old_pair_is_told_on_the_same_stream() {
    let endpoint = Endpoint::open();
    let (stream, line) = old_pair::open(&endpoint, &[]);
    book(&mut Pair { endpoint: &endpoint, stream, line });
}

#[test]
fn a_booking_on_a_socket_is_told_on_it() {
    let endpoint = Endpoint::open();
    book(&mut Ws(ws::open(&endpoint, &[])));
}

/// One session, and every way to it.
#[test]
fn a_session_may_change_its_way() {
    let endpoint = Endpoint::open();
    let (stream, line) = old_pair::open(&endpoint, &[]);
    let mut ways: [Box<dyn Client + '_>; 5] = [
        Box::new(Api::new(&endpoint, "")),
        Box::new(InSession { client: mcp_session::Client::new(&endpoint, "2025-11-25"), stream: None }),
        Box::new(Modern(&endpoint)),
        Box::new(Pair { endpoint: &endpoint, stream, line }),
        Box::new(Ws(ws::open(&endpoint, &[]))),
    ];
    let started = ways[4].ask("interaction.start", &booking())["result"].clone();
    let mut prompt = started["initialPrompt"].clone();
    let mut turn = 0;
    while prompt.is_object() {
        let way = &mut ways[turn % 5];
        let answer = way.ask("interaction.respond", &response(&started["sessionId"], &prompt));
        assert_eq!(answer["result"]["accepted"], true, "{answer}");
        way.news();
        prompt = answer["result"].get("nextPrompt").cloned().unwrap_or_default();
        turn += 1;
    }
    assert_eq!(turn, 6);
}

/// The requests of one who knows a session's name, and what they come to where it is unknown.
fn about(session: &Value) -> [(&'static str, Value); 5] {
    let named = json!({ "sessionId": session });
    [
        ("interaction.respond", json!({ "sessionId": session, "response": { "value": "Lisbon" } })),
        ("interaction.getState", named.clone()),
        ("interaction.cancel", named.clone()),
        ("interaction.complete", named.clone()),
        ("interaction.continue", named),
    ]
}

/// Row 2 of the contract.
#[test]
fn codes_are_those_of_the_document_once_a_key_has_opened() {
    let endpoint = Endpoint::keyed(None);
    let mut api = Api::new(&endpoint, &endpoint.key(Scope::Read));
    let (session, prompt) = api.start();
    for (method, params) in about(&json!("session_nobody-knows-this-one")) {
        let answer = api.ask(method, &params);
        let error = &answer["error"];
        assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32001), &json!("session_not_found")));
        assert_eq!(error["data"]["sessionId"], "session_nobody-knows-this-one", "{method}");
        // Somebody who is not let in learns nothing but that.
        let wrong = Api::new(&endpoint, "cf_live_sk_wrong").ask(method, &params);
        assert_eq!(wrong["error"]["code"], -32001, "{method}");
        assert_ne!(wrong["error"]["data"]["kind"], "session_not_found", "{wrong}");
        let nobody = endpoint.request("POST /api/mcp", &[], &request(method, &params).to_string());
        assert_eq!((nobody.status, &nobody.json()["error"]["code"]), (401, &json!(-32001)), "{method}");
        assert!(nobody.header("www-authenticate").is_some());
    }
    let respond = |response: Value| json!({ "sessionId": session, "response": response });
    let late = json!({ "sessionId": session, "response": { "value": "Lisbon" }, "promptId": "prompt_99" });
    for (method, params, code, kind) in [
        ("interaction.start", json!({ "toolName": "nothing" }), -32602, "tool_not_found"),
        ("interaction.start", json!({ "toolName": "echo" }), -32007, "not_interactive"),
        ("interaction.start", json!({}), -32602, "invalid_params"),
        ("interaction.start", json!({ "toolName": "booking", "timeout": 1 }), -32602, "invalid_params"),
        ("interaction.getState", json!({}), -32602, "invalid_params"),
        ("interaction.respond", respond(json!("Lisbon")), -32004, "validation_failed"),
        ("interaction.respond", respond(json!({})), -32004, "validation_failed"),
        ("interaction.respond", late, -32003, "invalid_state_transition"),
        ("interaction.complete", json!({ "sessionId": session }), -32003, "invalid_state_transition"),
    ] {
        let answer = api.ask(method, &params);
        let error = &answer["error"];
        assert_eq!(
            (&error["code"], &error["data"]["kind"]),
            (&json!(code), &json!(kind)),
            "{method} {params}: {answer}"
        );
    }
    // A value that does not do is no error.
    let invalid = api.ask("interaction.respond", &respond(json!({ "value": "x" })));
    let shown = &invalid["result"];
    assert_eq!(
        (&shown["accepted"], &shown["validation"]["valid"]),
        (&json!(false), &json!(false)),
        "{invalid}"
    );
    assert!(shown["validation"]["suggestion"].is_string() && shown["nextPrompt"]["name"] == prompt["name"]);
    let named = json!({ "sessionId": session });
    assert_eq!(api.ask("interaction.cancel", &named)["result"], json!({ "cancelled": true }));
    for (method, code) in [("respond", -32006), ("cancel", -32006), ("complete", -32003)] {
        let params = respond(json!({ "value": "Lisbon" }));
        assert_eq!(api.code(&format!("interaction.{method}"), &params), code, "{method}");
    }
    assert_eq!(api.ask("interaction.getState", &named)["result"]["state"], "cancelled");
}

/// Rows 20 and 20a of the contract, by a clock that is moved.
#[test]
fn what_is_over_can_be_read_for_a_while_and_is_remembered_for_longer() {
    let endpoint = Endpoint::keyed(None);
    let mut api = Api::new(&endpoint, &endpoint.key(Scope::Read));
    let (silent, _) = api.start();
    let (ended, _) = api.start();
    assert_eq!(api.ask("interaction.cancel", &json!({ "sessionId": ended }))["result"]["cancelled"], true);
    for (seconds, session, state) in [
        (59, &ended, json!("cancelled")),
        (2, &ended, Value::Null),
        (238, &silent, json!("waiting_user")),
        (2, &silent, Value::Null),
    ] {
        endpoint.clock.advance(Duration::from_secs(seconds));
        let answer = api.ask("interaction.getState", &json!({ "sessionId": session }));
        assert_eq!(answer["result"]["state"], state, "{answer}");
        if state.is_null() {
            for (method, params) in about(session) {
                assert_eq!(api.code(method, &params), -32002, "{method}");
            }
        }
    }
}

#[test]
fn messages_of_2026_07_28_carry_the_code_in_their_data() {
    let endpoint = Endpoint::open();
    let mut client = Modern(&endpoint);
    let started = client.ask("interaction.start", &booking())["result"].clone();
    let named = json!({ "sessionId": started["sessionId"] });
    let no_response = json!({ "sessionId": started["sessionId"], "response": {} });
    let unknown = json!({ "sessionId": "session_x" });
    for (method, params, code) in [
        ("interaction.getState", &unknown, -32001),
        ("interaction.complete", &named, -32003),
        ("interaction.respond", &no_response, -32004),
        ("interaction.start", &json!({ "toolName": "echo" }), -32007),
    ] {
        let answer = client.ask(method, params);
        let error = &answer["error"];
        assert_eq!((&error["code"], &error["data"]["flowCode"]), (&json!(-32602), &json!(code)), "{answer}");
        assert!(error["data"]["kind"].is_string(), "{answer}");
    }
}

#[test]
fn a_batch_holds_conversations() {
    let endpoint = Endpoint::keyed(None);
    let mut api = Api::new(&endpoint, &endpoint.key(Scope::Read));
    let (session, prompt) = api.start();
    let entry = |id: Value, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let say = response(&session, &prompt);
    let named = json!({ "sessionId": session });
    let mut batch = vec![
        entry(json!("a"), "interaction.start", booking()),
        entry(json!(2), "interaction.respond", say.clone()),
        entry(json!(3), "interaction.respond", say),
        entry(json!(4), "interaction.getState", json!({ "sessionId": "session_x" })),
        entry(json!(5), "capabilities", json!({})),
        entry(json!(6), "tools/call", json!({ "name": "echo", "arguments": { "text": "x" } })),
    ];
    batch.push(json!({ "jsonrpc": "2.0", "method": "interaction.getState", "params": named }));
    let answer = api.post(&json!(batch));
    assert_eq!(answer.status, 200, "{answer:?}");
    let answers = answer.json();
    let answers = answers.as_array().unwrap();
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!("a"), &json!(2), &json!(3), &json!(4), &json!(5), &json!(6)]);
    assert!(answers[0]["result"]["initialPrompt"].is_object(), "{answer:?}");
    // Whichever comes first; it is one of them.
    let mut twins = [&answers[1], &answers[2]];
    twins.sort_by_key(|twin| twin["error"].is_object());
    assert_eq!(
        (&twins[0]["result"]["accepted"], &twins[1]["error"]["code"]),
        (&json!(true), &json!(-32003)),
        "{answer:?}"
    );
    assert_eq!(
        (&answers[3]["error"]["code"], &answers[4]["result"]["interactive"]),
        (&json!(-32001), &json!(true))
    );
    assert_eq!(answers[5]["result"]["isError"], false, "{answer:?}");
    let state = api.ask("interaction.getState", &named);
    assert_eq!(state["result"]["history"].as_array().unwrap().len(), 1, "{state}");
}

/// F02 of the guide.
#[test]
fn a_session_is_its_key_s_alone() {
    let endpoint = Endpoint::keyed(None);
    let mut owner = Api::new(&endpoint, &endpoint.key(Scope::Read));
    let (session, prompt) = owner.start();
    let unknown = json!("session_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    let same_tenant = endpoint.key(Scope::Admin);
    let other_tenant = endpoint.key_with(Scope::Admin, |key| "other".clone_into(&mut key.tenant));
    for other in [same_tenant, other_tenant] {
        let mut other = Api::new(&endpoint, &other);
        for ((method, params), (_, absent)) in about(&session).into_iter().zip(about(&unknown)) {
            let [foreign, nothing] =
                [params, absent].map(|params| other.ask(method, &params)["error"].to_string());
            assert!(foreign.contains("-32001"), "{method}: {foreign}");
            // It reads like one that never was.
            let name = |of: &Value| of.as_str().unwrap().to_owned();
            assert_eq!(
                foreign.replace(&name(&session), ""),
                nothing.replace(&name(&unknown), ""),
                "{method}"
            );
        }
    }
    let state = owner.ask("interaction.getState", &json!({ "sessionId": session }))["result"].clone();
    assert_eq!((&state["state"], &state["history"]), (&json!("waiting_user"), &json!([])), "{state}");
    assert_eq!(state["currentPrompt"], prompt);
    assert_eq!(owner.ask("interaction.respond", &response(&session, &prompt))["result"]["accepted"], true);
}

/// The same for a session that its client keeps.
#[test]
fn a_token_is_its_key_s_alone() {
    let endpoint = Endpoint::keyed(None);
    let mut owner = Api::new(&endpoint, &endpoint.key(Scope::Read));
    let start = json!({ "toolName": "booking", "context": { "stateless": true } });
    let started = owner.ask("interaction.start", &start)["result"].clone();
    let named = json!({ "token": started["token"] });
    let other_tenant = endpoint.key_with(Scope::Admin, |key| "other".clone_into(&mut key.tenant));
    for other in [endpoint.key(Scope::Admin), other_tenant] {
        let mut other = Api::new(&endpoint, &other);
        for method in ["respond", "getState", "cancel", "complete", "continue"] {
            let mut params = named.clone();
            params["response"] = json!({ "value": "Lisbon" });
            assert_eq!(other.code(&format!("interaction.{method}"), &params), -32001, "{method}");
        }
    }
    // Nor does it say anything to whoever finds it.
    let mut params = named.clone();
    params["response"] = json!({ "value": "Quetzaltenango" });
    let next = owner.ask("interaction.respond", &params)["result"]["token"].as_str().unwrap().to_owned();
    let text = String::from_utf8_lossy(&decoded(&next)).into_owned();
    let token: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(token["sessionId"], started["sessionId"]);
    assert!(!text.contains("Quetz"), "{text}");
    let state = decoded(token["state"].as_str().unwrap());
    assert!(!String::from_utf8_lossy(&state).contains("Quetz"));
    // A letter that is another one, anywhere, spoils it.
    for place in (0..next.len() - 1).step_by(next.len() / 40) {
        let mut spoiled = next.clone().into_bytes();
        spoiled[place] = if spoiled[place] == b'A' { b'B' } else { b'A' };
        let spoiled = json!({ "token": String::from_utf8(spoiled).unwrap() });
        assert_eq!(owner.code("interaction.getState", &spoiled), -32001, "letter {place}");
    }
    assert_eq!(
        owner.ask("interaction.getState", &json!({ "token": next }))["result"]["state"],
        "waiting_user"
    );
}

/// What base64url stands for.
fn decoded(text: &str) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes() {
        let value = LETTERS.iter().position(|known| *known == letter).unwrap();
        bits = bits << 6 | u32::try_from(value).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap());
        }
    }
    bytes
}

/// Whatever is wrong with a token, the answer is the same: one that has run out is like one that never was.
#[test]
fn a_token_that_has_run_out_opens_nothing() {
    let endpoint = Endpoint::keyed(None);
    let mut api = Api::new(&endpoint, &endpoint.key(Scope::Read));
    let start = json!({ "toolName": "booking", "context": { "stateless": true } });
    let started = api.ask("interaction.start", &start)["result"].clone();
    let named = json!({ "token": started["token"] });
    endpoint.clock.advance(Duration::from_secs(299));
    assert_eq!(api.ask("interaction.getState", &named)["result"]["state"], "waiting_user");
    endpoint.clock.advance(Duration::from_secs(2));
    for method in ["respond", "getState", "cancel", "complete", "continue"] {
        let mut params = named.clone();
        params["response"] = json!({ "value": "Lisbon" });
        assert_eq!(api.code(&format!("interaction.{method}"), &params), -32001, "{method}");
    }
}

/// F09 of the guide.
#[test]
fn a_key_has_a_hundred_sessions() {
    let endpoint = Endpoint::keyed(None);
    let keys = [endpoint.key(Scope::Read), endpoint.key(Scope::Read)];
    let [mut greedy, mut other] = keys.each_ref().map(|key| Api::new(&endpoint, key));
    let sessions: Vec<Value> = (0..100).map(|_| greedy.start().0).collect();
    endpoint.clock.advance(Duration::from_millis(60_500));
    let refused = greedy.post(&request("interaction.start", &booking()));
    let error = refused.json()["error"].clone();
    assert_eq!((&error["code"], &error["data"]["limit"]), (&json!(-32000), &json!(100)), "{refused:?}");
    // They were begun with five minutes each.
    assert_eq!((&error["data"]["retryAfter"], refused.header("retry-after")), (&json!(240), Some("240")));
    assert!(other.start().0.is_string(), "others are not held back");
    // Those that are open go on, and one that ends makes room for one.
    let named = |number: usize| json!({ "sessionId": sessions[number] });
    assert_eq!(greedy.ask("interaction.getState", &named(99))["result"]["state"], "waiting_user");
    assert_eq!(greedy.ask("interaction.cancel", &named(0))["result"]["cancelled"], true);
    assert!(greedy.start().0.is_string());
    assert_eq!(greedy.code("interaction.start", &booking()), -32000);
    // So do those whose users fell silent.
    endpoint.clock.advance(Duration::from_secs(301));
    assert!(greedy.start().0.is_string());
}

/// Answers that are refused are not free.
#[test]
fn a_flood_of_refused_answers_has_to_wait() {
    let endpoint = Endpoint::keyed(None);
    let mut api = Api::new(&endpoint, &endpoint.key(Scope::Read));
    let (session, prompt) = api.start();
    let elsewhere =
        json!({ "sessionId": session, "promptId": "prompt_99", "response": { "value": "Lisbon" } });
    for _ in 0..100 {
        assert_eq!(api.code("interaction.respond", &elsewhere), -32003);
    }
    endpoint.clock.advance(Duration::from_millis(2500));
    for params in [elsewhere, response(&session, &prompt)] {
        let refused = api.post(&request("interaction.respond", &params));
        let error = refused.json()["error"].clone();
        assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32000), &json!("limit_reached")));
        assert_eq!((&error["data"]["retryAfter"], refused.header("retry-after")), (&json!(8), Some("8")));
    }
    endpoint.clock.advance(Duration::from_secs(8));
    assert_eq!(api.ask("interaction.respond", &response(&session, &prompt))["result"]["accepted"], true);
}

/// Row 20b of the contract: a token is no way around a cancellation.
#[test]
fn every_token_of_a_cancelled_session_is_refused() {
    let endpoint = Endpoint::keyed(None);
    let mut api = Api::new(&endpoint, &endpoint.key(Scope::Read));
    let stateless = json!({ "toolName": "booking", "context": { "stateless": true } });
    let started = api.ask("interaction.start", &stateless)["result"].clone();
    let mut answer = response(&Value::Null, &started["initialPrompt"]);
    answer["token"] = started["token"].clone();
    let next = api.ask("interaction.respond", &answer)["result"].clone();
    let cancelled = api.ask("interaction.cancel", &json!({ "token": next["token"] }))["result"].clone();
    assert_eq!(cancelled["cancelled"], true);
    for token in [&started["token"], &next["token"], &cancelled["token"]] {
        answer["token"] = token.clone();
        assert_eq!(api.code("interaction.respond", &answer), -32006);
        assert_eq!(api.code("interaction.cancel", &json!({ "token": token })), -32006);
    }
    for token in [&started["token"], &next["token"]] {
        for method in ["interaction.getState", "interaction.continue", "interaction.complete"] {
            assert_eq!(api.code(method, &json!({ "token": token })), -32006, "{method}");
        }
    }
    let state = api.ask("interaction.getState", &json!({ "token": cancelled["token"] }));
    assert_eq!(state["result"]["state"], "cancelled");
}

/// F11 of the guide, for the way of 2026-07-28.
#[test]
fn a_state_that_has_booked_books_no_more() {
    let endpoint = Endpoint::open();
    let given = json!({
        "destination": "Lisbon", "departure": "2026-05-01", "return": "2026-05-04", "travellers": 2, "class": "first"
    });
    let mut call = json!({ "name": "booking", "arguments": given });
    let asked = mcp_stateless::ask(&endpoint, "tools/call", call.clone()).json();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    call["requestState"] = asked["result"]["requestState"].clone();
    call["inputResponses"] = json!({ "question": { "action": "accept", "content": { "confirm": true } } });
    let done = mcp_stateless::ask(&endpoint, "tools/call", call.clone()).json();
    assert!(done["result"]["structuredContent"]["reference"].is_string(), "{done}");
    for _ in 0..3 {
        let again = mcp_stateless::ask(&endpoint, "tools/call", call.clone()).json();
        assert_eq!(
            (&again["error"]["code"], &again["error"]["data"]["kind"]),
            (&json!(-32602), &json!("invalid_state")),
            "{again}"
        );
    }
}
