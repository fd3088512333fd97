//! MCP Flow over every endpoint: the same session, whatever carries it.

use std::time::Duration;

use serde_json::{Value, json};
use server::Scope;
use server::tools::Toolset;

use crate::harness::{HttpTestResponse, HttpTestServer, TestEventStream};
use crate::{legacy_sse, mcp_session, mcp_stateless, ws};

/// What somebody who books says to a prompt.
fn answer_for(prompt: &Value) -> Value {
    let all = json!({
        "destination": "Lisbon", "departure": "2026-05-01", "return": "2026-05-09", "travellers": 2,
        "class": "first", "confirm": true,
    });
    all[prompt["name"].as_str().unwrap_or_else(|| panic!("no prompt: {prompt}"))].clone()
}

fn respond_params(session: &Value, prompt: &Value) -> Value {
    json!({ "sessionId": session, "response": { "value": answer_for(prompt) }, "promptId": prompt["promptId"] })
}

fn rpc_request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

fn booking_params() -> Value {
    json!({ "toolName": "booking" })
}

/// Somebody who speaks to the server.
trait FlowClient {
    /// The answer to a request. Whatever else comes before it is a mistake.
    fn request(&mut self, method: &str, params: &Value) -> Value;

    /// The next message that nobody asked for. `None`: this client is told nothing.
    fn next_notification(&mut self) -> Option<Value> {
        None
    }
}

/// Books from the first prompt to the last. What is pushed is what the answer says, once, and no more.
fn complete_booking(client: &mut dyn FlowClient) {
    let started = client.request("interaction.start", &booking_params())["result"].clone();
    assert_eq!(started["state"], "idle", "{started}");
    let session = &started["sessionId"];
    let mut prompt = started["initialPrompt"].clone();
    let mut turns = 0;
    let done = loop {
        let rate_limit =
            client.request("interaction.respond", &respond_params(session, &prompt))["result"].clone();
        assert_eq!(rate_limit["accepted"], true, "{rate_limit}");
        turns += 1;
        let is_over = rate_limit.get("nextPrompt").is_none();
        if let Some(news) = client.next_notification() {
            assert!(news["id"].is_string() && news["params"]["sessionId"] == *session, "{news}");
            let (method, told, answered) = if is_over {
                ("interaction.complete", &news["params"]["result"], &rate_limit["result"])
            } else {
                ("interaction.prompt", &news["params"]["prompt"], &rate_limit["nextPrompt"])
            };
            assert_eq!((&news["method"], told), (&json!(method), answered));
        }
        if is_over {
            break rate_limit;
        }
        prompt = rate_limit["nextPrompt"].clone();
        assert!(prompt["promptId"].is_string(), "{prompt}");
    };
    assert_eq!((turns, &done["state"]), (6, &json!("completed")));
    let named = json!({ "sessionId": session });
    let state = client.request("interaction.getState", &named)["result"].clone();
    assert_eq!(state["accumulatedData"]["result"], done["result"]["data"], "{state}");
    let completed = client.request("interaction.complete", &named)["result"].clone();
    assert_eq!((&completed["success"], &completed["finalResult"]), (&json!(true), &done["result"]["data"]));
}

/// `/api/mcp`, with a key.
struct ApiMcpClient<'a> {
    endpoint: &'a HttpTestServer,
    bearer: String,
}

impl<'a> ApiMcpClient<'a> {
    fn new(endpoint: &'a HttpTestServer, key: &str) -> Self {
        Self { endpoint, bearer: format!("Bearer {key}") }
    }

    fn post(&self, message: &Value) -> HttpTestResponse {
        self.endpoint.request("POST /api/mcp", &[("Authorization", &self.bearer)], &message.to_string())
    }

    /// Begins to book; the session and its first prompt.
    fn start_booking(&mut self) -> (Value, Value) {
        let started = self.request("interaction.start", &booking_params())["result"].clone();
        (started["sessionId"].clone(), started["initialPrompt"].clone())
    }

    fn error_code(&mut self, method: &str, params: &Value) -> Value {
        self.request(method, params)["error"]["code"].clone()
    }
}

impl FlowClient for ApiMcpClient<'_> {
    fn request(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.post(&rpc_request(method, params));
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("application/json")),
            "{answer:?}"
        );
        answer.json()
    }
}

/// `/mcp` in a session, perhaps with a stream for news.
struct SessionFlowClient<'a> {
    client: mcp_session::McpSessionClient<'a>,
    stream: Option<TestEventStream>,
}

impl FlowClient for SessionFlowClient<'_> {
    fn request(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.client.post(&rpc_request(method, params).to_string());
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("application/json")),
            "{answer:?}"
        );
        answer.json()
    }

    fn next_notification(&mut self) -> Option<Value> {
        self.stream.as_mut().map(TestEventStream::next_message)
    }
}

/// `/mcp`, as of 2026-07-28.
struct StatelessFlowClient<'a>(&'a HttpTestServer);

impl FlowClient for StatelessFlowClient<'_> {
    fn request(&mut self, method: &str, params: &Value) -> Value {
        let answer = mcp_stateless::send_request(self.0, method, params.clone());
        assert_eq!(answer.header("content-type"), Some("application/json"), "{answer:?}");
        answer.json()
    }
}

/// `/sse` and `/messages`.
struct LegacySseFlowClient<'a> {
    endpoint: &'a HttpTestServer,
    stream: TestEventStream,
    line: String,
}

impl FlowClient for LegacySseFlowClient<'_> {
    fn request(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.endpoint.request(&self.line, &[], &rpc_request(method, params).to_string());
        assert_eq!(answer.status, 202, "{answer:?}");
        let answer = self.stream.next_message();
        assert!(answer["id"] == 1 && answer.get("method").is_none(), "{answer}");
        answer
    }

    fn next_notification(&mut self) -> Option<Value> {
        Some(self.stream.next_message())
    }
}

/// `/ws`.
struct WsFlowClient(ws::TestWebSocket);

impl FlowClient for WsFlowClient {
    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.0.send_message(&rpc_request(method, params));
        let answer = self.0.next_message();
        assert!(answer["id"] == 1 && answer.get("method").is_none(), "{answer}");
        answer
    }

    fn next_notification(&mut self) -> Option<Value> {
        Some(self.0.next_message())
    }
}

#[test]
fn booking_completes_over_codefluss_api() {
    let endpoint = HttpTestServer::start_with_keys(None);
    complete_booking(&mut ApiMcpClient::new(&endpoint, &endpoint.create_key(Scope::Read)));
}

#[test]
fn booking_in_session_notifies_its_stream() {
    let endpoint = HttpTestServer::start_without_auth();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = mcp_session::McpSessionClient::new(&endpoint, version);
        let stream = client.open_stream("GET /mcp", &[], "");
        let mut client = SessionFlowClient { client, stream: Some(stream) };
        complete_booking(&mut client);
        endpoint.app.serve_toolsets(&[Toolset::Reference]);
        let next = client.next_notification().unwrap();
        assert_eq!(next["method"], "notifications/tools/list_changed", "{version}: more was pushed");
        endpoint.app.serve_toolsets(&Toolset::ALL);
    }
}

#[test]
fn booking_in_session_without_stream_sends_no_notifications() {
    let endpoint = HttpTestServer::start_without_auth();
    let mut client = SessionFlowClient {
        client: mcp_session::McpSessionClient::new(&endpoint, "2025-11-25"),
        stream: None,
    };
    complete_booking(&mut client);
    // Nor is anything kept for whoever listens later.
    let mut stream = client.client.open_stream("GET /mcp", &[], "");
    endpoint.app.serve_toolsets(&[Toolset::Reference]);
    assert_eq!(stream.next_message()["method"], "notifications/tools/list_changed");
}

#[test]
fn stateless_booking_sends_no_notifications() {
    let endpoint = HttpTestServer::start_without_auth();
    complete_booking(&mut StatelessFlowClient(&endpoint));
}

#[test]
fn booking_over_legacy_sse_notifies_same_stream() {
    let endpoint = HttpTestServer::start_without_auth();
    let (stream, line) = legacy_sse::open_stream(&endpoint, &[]);
    complete_booking(&mut LegacySseFlowClient { endpoint: &endpoint, stream, line });
}

#[test]
fn booking_over_websocket_notifies_same_socket() {
    let endpoint = HttpTestServer::start_without_auth();
    complete_booking(&mut WsFlowClient(ws::open_socket(&endpoint, &[])));
}

/// One session, and every way to it.
#[test]
fn session_continues_across_transports() {
    let endpoint = HttpTestServer::start_without_auth();
    let (stream, line) = legacy_sse::open_stream(&endpoint, &[]);
    let mut ways: [Box<dyn FlowClient + '_>; 5] = [
        Box::new(ApiMcpClient::new(&endpoint, "")),
        Box::new(SessionFlowClient {
            client: mcp_session::McpSessionClient::new(&endpoint, "2025-11-25"),
            stream: None,
        }),
        Box::new(StatelessFlowClient(&endpoint)),
        Box::new(LegacySseFlowClient { endpoint: &endpoint, stream, line }),
        Box::new(WsFlowClient(ws::open_socket(&endpoint, &[]))),
    ];
    let started = ways[4].request("interaction.start", &booking_params())["result"].clone();
    let mut prompt = started["initialPrompt"].clone();
    let mut turn = 0;
    while prompt.is_object() {
        let way = &mut ways[turn % 5];
        let answer = way.request("interaction.respond", &respond_params(&started["sessionId"], &prompt));
        assert_eq!(answer["result"]["accepted"], true, "{answer}");
        way.next_notification();
        prompt = answer["result"].get("nextPrompt").cloned().unwrap_or_default();
        turn += 1;
    }
    assert_eq!(turn, 6);
}

/// The requests of one who knows a session's name, and what they come to where it is unknown.
fn session_requests(session: &Value) -> [(&'static str, Value); 5] {
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
fn authenticated_errors_use_documented_codes() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let mut api = ApiMcpClient::new(&endpoint, &endpoint.create_key(Scope::Read));
    let (session, prompt) = api.start_booking();
    for (method, params) in session_requests(&json!("session_nobody-knows-this-one")) {
        let answer = api.request(method, &params);
        let error = &answer["error"];
        assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32001), &json!("session_not_found")));
        assert_eq!(error["data"]["sessionId"], "session_nobody-knows-this-one", "{method}");
        // Somebody who is not let in learns nothing but that.
        let wrong = ApiMcpClient::new(&endpoint, "cf_live_sk_wrong").request(method, &params);
        assert_eq!(wrong["error"]["code"], -32001, "{method}");
        assert_ne!(wrong["error"]["data"]["kind"], "session_not_found", "{wrong}");
        let nobody = endpoint.request("POST /api/mcp", &[], &rpc_request(method, &params).to_string());
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
        let answer = api.request(method, &params);
        let error = &answer["error"];
        assert_eq!(
            (&error["code"], &error["data"]["kind"]),
            (&json!(code), &json!(kind)),
            "{method} {params}: {answer}"
        );
    }
    // A value that does not do is no error.
    let invalid = api.request("interaction.respond", &respond(json!({ "value": "x" })));
    let shown = &invalid["result"];
    assert_eq!(
        (&shown["accepted"], &shown["validation"]["valid"]),
        (&json!(false), &json!(false)),
        "{invalid}"
    );
    assert!(shown["validation"]["suggestion"].is_string() && shown["nextPrompt"]["name"] == prompt["name"]);
    let named = json!({ "sessionId": session });
    assert_eq!(api.request("interaction.cancel", &named)["result"], json!({ "cancelled": true }));
    for (method, code) in [("respond", -32006), ("cancel", -32006), ("complete", -32003)] {
        let params = respond(json!({ "value": "Lisbon" }));
        assert_eq!(api.error_code(&format!("interaction.{method}"), &params), code, "{method}");
    }
    assert_eq!(api.request("interaction.getState", &named)["result"]["state"], "cancelled");
}

/// Rows 20 and 20a of the contract, by a clock that is moved.
#[test]
fn ended_session_is_readable_then_reported_as_expired() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let mut api = ApiMcpClient::new(&endpoint, &endpoint.create_key(Scope::Read));
    let (silent, _) = api.start_booking();
    let (ended, _) = api.start_booking();
    assert_eq!(
        api.request("interaction.cancel", &json!({ "sessionId": ended }))["result"]["cancelled"],
        true
    );
    for (seconds, session, state) in [
        (59, &ended, json!("cancelled")),
        (2, &ended, Value::Null),
        (238, &silent, json!("waiting_user")),
        (2, &silent, Value::Null),
    ] {
        endpoint.clock.advance(Duration::from_secs(seconds));
        let answer = api.request("interaction.getState", &json!({ "sessionId": session }));
        assert_eq!(answer["result"]["state"], state, "{answer}");
        if state.is_null() {
            for (method, params) in session_requests(session) {
                assert_eq!(api.error_code(method, &params), -32002, "{method}");
            }
        }
    }
}

#[test]
fn stateless_errors_carry_flow_code_in_data() {
    let endpoint = HttpTestServer::start_without_auth();
    let mut client = StatelessFlowClient(&endpoint);
    let started = client.request("interaction.start", &booking_params())["result"].clone();
    let named = json!({ "sessionId": started["sessionId"] });
    let no_response = json!({ "sessionId": started["sessionId"], "response": {} });
    let unknown = json!({ "sessionId": "session_x" });
    for (method, params, code) in [
        ("interaction.getState", &unknown, -32001),
        ("interaction.complete", &named, -32003),
        ("interaction.respond", &no_response, -32004),
        ("interaction.start", &json!({ "toolName": "echo" }), -32007),
    ] {
        let answer = client.request(method, params);
        let error = &answer["error"];
        assert_eq!((&error["code"], &error["data"]["flowCode"]), (&json!(-32602), &json!(code)), "{answer}");
        assert!(error["data"]["kind"].is_string(), "{answer}");
    }
}

#[test]
fn batch_may_contain_interaction_requests() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let mut api = ApiMcpClient::new(&endpoint, &endpoint.create_key(Scope::Read));
    let (session, prompt) = api.start_booking();
    let entry = |id: Value, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let say = respond_params(&session, &prompt);
    let named = json!({ "sessionId": session });
    let mut batch = vec![
        entry(json!("a"), "interaction.start", booking_params()),
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
    let state = api.request("interaction.getState", &named);
    assert_eq!(state["result"]["history"].as_array().unwrap().len(), 1, "{state}");
}

/// F02 of the guide.
#[test]
fn session_is_invisible_to_other_keys() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let mut owner = ApiMcpClient::new(&endpoint, &endpoint.create_key(Scope::Read));
    let (session, prompt) = owner.start_booking();
    let unknown = json!("session_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    let same_tenant = endpoint.create_key(Scope::Admin);
    let other_tenant = endpoint.create_key_with(Scope::Admin, |key| "other".clone_into(&mut key.tenant));
    for other in [same_tenant, other_tenant] {
        let mut other = ApiMcpClient::new(&endpoint, &other);
        for ((method, params), (_, absent)) in
            session_requests(&session).into_iter().zip(session_requests(&unknown))
        {
            let [foreign, nothing] =
                [params, absent].map(|params| other.request(method, &params)["error"].to_string());
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
    let state = owner.request("interaction.getState", &json!({ "sessionId": session }))["result"].clone();
    assert_eq!((&state["state"], &state["history"]), (&json!("waiting_user"), &json!([])), "{state}");
    assert_eq!(state["currentPrompt"], prompt);
    assert_eq!(
        owner.request("interaction.respond", &respond_params(&session, &prompt))["result"]["accepted"],
        true
    );
}

/// The same for a session that its client keeps.
#[test]
fn session_token_is_bound_to_its_key() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let mut owner = ApiMcpClient::new(&endpoint, &endpoint.create_key(Scope::Read));
    let start = json!({ "toolName": "booking", "context": { "stateless": true } });
    let started = owner.request("interaction.start", &start)["result"].clone();
    let named = json!({ "token": started["token"] });
    let other_tenant = endpoint.create_key_with(Scope::Admin, |key| "other".clone_into(&mut key.tenant));
    for other in [endpoint.create_key(Scope::Admin), other_tenant] {
        let mut other = ApiMcpClient::new(&endpoint, &other);
        for method in ["respond", "getState", "cancel", "complete", "continue"] {
            let mut params = named.clone();
            params["response"] = json!({ "value": "Lisbon" });
            assert_eq!(other.error_code(&format!("interaction.{method}"), &params), -32001, "{method}");
        }
    }
    // Nor does it say anything to whoever finds it.
    let mut params = named.clone();
    params["response"] = json!({ "value": "Quetzaltenango" });
    let next = owner.request("interaction.respond", &params)["result"]["token"].as_str().unwrap().to_owned();
    let text = String::from_utf8_lossy(&decode_base64url(&next)).into_owned();
    let token: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(token["sessionId"], started["sessionId"]);
    assert!(!text.contains("Quetz"), "{text}");
    let state = decode_base64url(token["state"].as_str().unwrap());
    assert!(!String::from_utf8_lossy(&state).contains("Quetz"));
    // A letter that is another one, anywhere, spoils it.
    for place in (0..next.len() - 1).step_by(next.len() / 40) {
        let mut spoiled = next.clone().into_bytes();
        spoiled[place] = if spoiled[place] == b'A' { b'B' } else { b'A' };
        let spoiled = json!({ "token": String::from_utf8(spoiled).unwrap() });
        assert_eq!(owner.error_code("interaction.getState", &spoiled), -32001, "letter {place}");
    }
    assert_eq!(
        owner.request("interaction.getState", &json!({ "token": next }))["result"]["state"],
        "waiting_user"
    );
}

/// What base64url stands for.
fn decode_base64url(text: &str) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for decoded in text.bytes() {
        let value = LETTERS.iter().position(|known| *known == decoded).unwrap();
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
fn expired_session_token_is_rejected() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let mut api = ApiMcpClient::new(&endpoint, &endpoint.create_key(Scope::Read));
    let start = json!({ "toolName": "booking", "context": { "stateless": true } });
    let started = api.request("interaction.start", &start)["result"].clone();
    let named = json!({ "token": started["token"] });
    endpoint.clock.advance(Duration::from_secs(299));
    assert_eq!(api.request("interaction.getState", &named)["result"]["state"], "waiting_user");
    endpoint.clock.advance(Duration::from_secs(2));
    for method in ["respond", "getState", "cancel", "complete", "continue"] {
        let mut params = named.clone();
        params["response"] = json!({ "value": "Lisbon" });
        assert_eq!(api.error_code(&format!("interaction.{method}"), &params), -32001, "{method}");
    }
}

/// F09 of the guide.
#[test]
fn sessions_per_key_are_limited_to_100() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let keys = [endpoint.create_key(Scope::Read), endpoint.create_key(Scope::Read)];
    let [mut greedy, mut other] = keys.each_ref().map(|key| ApiMcpClient::new(&endpoint, key));
    let sessions: Vec<Value> = (0..100).map(|_| greedy.start_booking().0).collect();
    endpoint.clock.advance(Duration::from_millis(60_500));
    let refused = greedy.post(&rpc_request("interaction.start", &booking_params()));
    let error = refused.json()["error"].clone();
    assert_eq!((&error["code"], &error["data"]["limit"]), (&json!(-32000), &json!(100)), "{refused:?}");
    // They were begun with five minutes each.
    assert_eq!((&error["data"]["retryAfter"], refused.header("retry-after")), (&json!(240), Some("240")));
    assert!(other.start_booking().0.is_string(), "others are not held back");
    // Those that are open go on, and one that ends makes room for one.
    let named = |number: usize| json!({ "sessionId": sessions[number] });
    assert_eq!(greedy.request("interaction.getState", &named(99))["result"]["state"], "waiting_user");
    assert_eq!(greedy.request("interaction.cancel", &named(0))["result"]["cancelled"], true);
    assert!(greedy.start_booking().0.is_string());
    assert_eq!(greedy.error_code("interaction.start", &booking_params()), -32000);
    // So do those whose users fell silent.
    endpoint.clock.advance(Duration::from_secs(301));
    assert!(greedy.start_booking().0.is_string());
}

/// Answers that are refused are not free.
#[test]
fn rejected_responses_are_rate_limited() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let mut api = ApiMcpClient::new(&endpoint, &endpoint.create_key(Scope::Read));
    let (session, prompt) = api.start_booking();
    let elsewhere =
        json!({ "sessionId": session, "promptId": "prompt_99", "response": { "value": "Lisbon" } });
    for _ in 0..100 {
        assert_eq!(api.error_code("interaction.respond", &elsewhere), -32003);
    }
    endpoint.clock.advance(Duration::from_millis(2500));
    for params in [elsewhere, respond_params(&session, &prompt)] {
        let refused = api.post(&rpc_request("interaction.respond", &params));
        let error = refused.json()["error"].clone();
        assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32000), &json!("limit_reached")));
        assert_eq!((&error["data"]["retryAfter"], refused.header("retry-after")), (&json!(8), Some("8")));
    }
    endpoint.clock.advance(Duration::from_secs(8));
    assert_eq!(
        api.request("interaction.respond", &respond_params(&session, &prompt))["result"]["accepted"],
        true
    );
}

/// Row 20b of the contract: a token is no way around a cancellation.
#[test]
fn tokens_of_cancelled_session_are_rejected() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let mut api = ApiMcpClient::new(&endpoint, &endpoint.create_key(Scope::Read));
    let stateless = json!({ "toolName": "booking", "context": { "stateless": true } });
    let started = api.request("interaction.start", &stateless)["result"].clone();
    let mut answer = respond_params(&Value::Null, &started["initialPrompt"]);
    answer["token"] = started["token"].clone();
    let next = api.request("interaction.respond", &answer)["result"].clone();
    let cancelled = api.request("interaction.cancel", &json!({ "token": next["token"] }))["result"].clone();
    assert_eq!(cancelled["cancelled"], true);
    for token in [&started["token"], &next["token"], &cancelled["token"]] {
        answer["token"] = token.clone();
        assert_eq!(api.error_code("interaction.respond", &answer), -32006);
        assert_eq!(api.error_code("interaction.cancel", &json!({ "token": token })), -32006);
    }
    for token in [&started["token"], &next["token"]] {
        for method in ["interaction.getState", "interaction.continue", "interaction.complete"] {
            assert_eq!(api.error_code(method, &json!({ "token": token })), -32006, "{method}");
        }
    }
    let state = api.request("interaction.getState", &json!({ "token": cancelled["token"] }));
    assert_eq!(state["result"]["state"], "cancelled");
}

/// F11 of the guide, for the way of 2026-07-28.
#[test]
fn completed_request_state_cannot_be_replayed() {
    let endpoint = HttpTestServer::start_without_auth();
    let given = json!({
        "destination": "Lisbon", "departure": "2026-05-01", "return": "2026-05-04", "travellers": 2, "class": "first"
    });
    let mut call = json!({ "name": "booking", "arguments": given });
    let asked = mcp_stateless::send_request(&endpoint, "tools/call", call.clone()).json();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    call["requestState"] = asked["result"]["requestState"].clone();
    call["inputResponses"] = json!({ "question": { "action": "accept", "content": { "confirm": true } } });
    let done = mcp_stateless::send_request(&endpoint, "tools/call", call.clone()).json();
    assert!(done["result"]["structuredContent"]["reference"].is_string(), "{done}");
    for _ in 0..3 {
        let again = mcp_stateless::send_request(&endpoint, "tools/call", call.clone()).json();
        assert_eq!(
            (&again["error"]["code"], &again["error"]["data"]["kind"]),
            (&json!(-32602), &json!("invalid_state")),
            "{again}"
        );
    }
}
