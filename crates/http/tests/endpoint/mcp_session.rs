//! `/mcp` up to 2025-11-25: sessions.

use serde_json::{Value, json};
use server::access::RateLimit;
use server::tools::Toolset;
use server::{QuotaLimits, Scope};

use crate::harness::{
    HttpTestConfig, HttpTestResponse, HttpTestServer, SseEvent, TestEventStream, eventually,
};

/// A client in a session.
pub(crate) struct McpSessionClient<'a> {
    endpoint: &'a HttpTestServer,
    bearer: Option<String>,
    session: String,
}

fn initialize(version: &str) -> String {
    let params = json!({
        "protocolVersion": version,
        "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "t", "version": "1" },
    });
    request(0, "initialize", params)
}

fn request(id: u32, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

impl<'a> McpSessionClient<'a> {
    pub(crate) fn new(endpoint: &'a HttpTestServer, version: &str) -> Self {
        Self::with_key(endpoint, version, None)
    }

    pub(crate) fn with_key(endpoint: &'a HttpTestServer, version: &str, key: Option<&str>) -> Self {
        let bearer = key.map(|key| format!("Bearer {key}"));
        let mut client = Self { endpoint, bearer, session: String::new() };
        let answer = client.post(&initialize(version));
        assert_eq!((answer.status, &answer.json()["result"]["protocolVersion"]), (200, &json!(version)));
        answer.header("mcp-session-id").unwrap().clone_into(&mut client.session);
        assert_eq!(client.post(INITIALIZED).status, 202);
        client
    }

    fn headers<'b>(&'b self, more: &[(&'b str, &'b str)]) -> Vec<(&'b str, &'b str)> {
        let mut headers = more.to_vec();
        if !self.session.is_empty() {
            headers.push(("Mcp-Session-Id", &self.session));
        }
        headers.extend(self.bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        headers
    }

    fn send(&self, line: &str, more: &[(&str, &str)], body: &str) -> HttpTestResponse {
        self.endpoint.request(line, &self.headers(more), body)
    }

    pub(crate) fn post(&self, body: &str) -> HttpTestResponse {
        self.send("POST /mcp", &[], body)
    }

    pub(crate) fn open_stream(&self, line: &str, more: &[(&str, &str)], body: &str) -> TestEventStream {
        self.endpoint.open_stream(line, &self.headers(more), body)
    }
}

/// A booking that lacks nothing but the user's consent.
fn booking_call(id: u32) -> String {
    let arguments = json!({ "destination": "Lisbon", "departure": "2026-05-01", "return": "2026-05-04", "travellers": 2, "class": "economy" });
    request(id, "tools/call", json!({ "name": "booking", "arguments": arguments }))
}

fn wait_call(id: u32, steps: u32, step_ms: u32) -> String {
    request(
        id,
        "tools/call",
        json!({ "name": "wait", "arguments": { "steps": steps, "step_ms": step_ms }, "_meta": { "progressToken": "p" } }),
    )
}

#[test]
fn session_lives_from_initialize_to_delete() {
    let endpoint = HttpTestServer::start_without_auth();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = McpSessionClient::new(&endpoint, version);
        assert!(client.session.len() >= 22 && client.session.bytes().all(|byte| byte.is_ascii_graphic()));
        let version_header = [("MCP-Protocol-Version", version)];
        let answer = client.send("POST /mcp", &version_header, &request(1, "tools/list", json!({})));
        assert_eq!(answer.status, 200);
        assert!(answer.json()["result"]["tools"].as_array().unwrap().len() > 5);
        let again = client.post(&initialize(version));
        assert_eq!(
            (again.json()["error"]["code"].as_i64(), again.error_kind().as_str()),
            (Some(-32600), "already_initialized")
        );
        let ended = client.send("DELETE /mcp", &version_header, "");
        assert_eq!((ended.status, ended.body.as_str()), (204, ""));
        for (line, body) in [("POST /mcp", INITIALIZED), ("GET /mcp", ""), ("DELETE /mcp", "")] {
            let answer = client.send(line, &[], body);
            assert_eq!((answer.status, answer.error_kind().as_str()), (404, "session_unknown"), "{line}");
        }
    }
    eventually("nothing is left of them", || endpoint.metrics().contains("fluxway_sessions 0"));
}

/// POSTs can overtake each other: who sends a request has seen the answer to `initialize`.
#[test]
fn first_request_after_initialize_is_answered() {
    let endpoint = HttpTestServer::start_without_auth();
    let answer = endpoint.request("POST /mcp", &[], &initialize("2025-11-25"));
    let session = [("Mcp-Session-Id", answer.header("mcp-session-id").unwrap())];
    let answer = endpoint.request("POST /mcp", &session, &request(1, "tools/list", json!({})));
    assert!(answer.json()["result"]["tools"].is_array(), "{}", answer.body);
}

#[test]
fn missing_or_unknown_session_is_rejected() {
    let endpoint = HttpTestServer::start_without_auth();
    let list = request(1, "tools/list", json!({}));
    for (line, headers, body, status, kind) in [
        ("POST /mcp", vec![], list.as_str(), 400, "session_required"),
        ("POST /mcp", vec![], INITIALIZED, 400, "session_required"),
        ("POST /mcp", vec![], r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400, "session_required"),
        ("GET /mcp", vec![], "", 400, "session_required"),
        ("DELETE /mcp", vec![], "", 400, "session_required"),
        ("POST /mcp", vec![("Mcp-Session-Id", "x")], &list, 404, "session_unknown"),
        ("POST /mcp", vec![("Mcp-Session-Id", "")], &list, 404, "session_unknown"),
        ("GET /mcp", vec![("Mcp-Session-Id", "x")], "", 404, "session_unknown"),
        ("DELETE /mcp", vec![("Mcp-Session-Id", "x")], "", 404, "session_unknown"),
        ("POST /mcp", vec![("Mcp-Session-Id", "x"), ("Mcp-Session-Id", "y")], &list, 400, "session_required"),
    ] {
        let answer = endpoint.request(line, &headers, body);
        assert_eq!(
            (answer.status, answer.error_kind().as_str()),
            (status, kind),
            "{line} {headers:?} {body}"
        );
    }
}

#[test]
fn session_of_another_key_is_unknown() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let (mine, theirs) = (endpoint.create_key(Scope::Write), endpoint.create_key(Scope::Admin));
    let client = McpSessionClient::with_key(&endpoint, "2025-11-25", Some(&mine));
    let thief = McpSessionClient {
        endpoint: &endpoint,
        bearer: Some(format!("Bearer {theirs}")),
        session: client.session.clone(),
    };
    for (line, body) in [("POST /mcp", INITIALIZED), ("GET /mcp", ""), ("DELETE /mcp", "")] {
        let answer = thief.send(line, &[], body);
        assert_eq!((answer.status, answer.error_kind().as_str()), (404, "session_unknown"), "{line}");
    }
    assert_eq!(client.post(&request(1, "ping", json!({}))).status, 200);
}

#[test]
fn session_ids_are_unpredictable() {
    let endpoint = HttpTestServer::start_without_auth();
    let mut names: Vec<_> = (0..50).map(|_| McpSessionClient::new(&endpoint, "2025-11-25").session).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 50);
    let begins_alike = names.windows(2).filter(|pair| pair[0][..12] == pair[1][..12]).count();
    assert_eq!(begins_alike, 0, "{names:?}");
}

#[test]
fn failed_initialize_opens_no_session() {
    let endpoint = HttpTestServer::start_without_auth();
    for (body, code) in [
        (request(1, "initialize", json!({})), -32602),
        (
            request(1, "initialize", json!({ "protocolVersion": 5, "capabilities": {}, "clientInfo": {} })),
            -32602,
        ),
        (request(1, "initialize", json!([])), -32602),
    ] {
        let answer = endpoint.request("POST /mcp", &[], &body);
        assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (200, Some(code)), "{body}");
        assert_eq!(answer.header("mcp-session-id"), None);
    }
    eventually("no session is kept", || endpoint.metrics().contains("fluxway_sessions 0"));
}

#[test]
fn unknown_protocol_version_is_rejected() {
    let endpoint = HttpTestServer::start_without_auth();
    let client = McpSessionClient::new(&endpoint, "2025-06-18");
    for version in ["1999-01-01", "x", ""] {
        let header = [("MCP-Protocol-Version", version)];
        let answer = client.send("POST /mcp", &header, &request(1, "ping", json!({})));
        assert_eq!((answer.status, answer.error_kind().as_str()), (400, "unsupported_version"), "{version}");
    }
}

#[test]
fn unknown_protocol_version_is_rejected_on_get_and_delete() {
    let endpoint = HttpTestServer::start_without_auth();
    let client = McpSessionClient::new(&endpoint, "2025-06-18");
    for line in ["GET /mcp", "DELETE /mcp"] {
        let stream = client.open_stream(line, &[("MCP-Protocol-Version", "1999-01-01")], "");
        assert_eq!(stream.response.status, 400, "{line}");
    }
}

#[test]
fn duplicate_protocol_version_is_rejected() {
    let endpoint = HttpTestServer::start_without_auth();
    let client = McpSessionClient::new(&endpoint, "2025-06-18");
    let twice = [("MCP-Protocol-Version", "1999-01-01"), ("MCP-Protocol-Version", "2025-06-18")];
    assert_eq!(client.send("POST /mcp", &twice, &request(1, "ping", json!({}))).status, 400);
}

#[test]
fn batches_are_accepted_only_in_older_revisions() {
    let endpoint = HttpTestServer::start_without_auth();
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"no"}]"#;
    for (version, taken) in
        [("2024-11-05", true), ("2025-03-26", true), ("2025-06-18", false), ("2025-11-25", false)]
    {
        let answer = McpSessionClient::new(&endpoint, version).post(batch);
        if taken {
            let answers = answer.json();
            assert_eq!((answer.status, answers.as_array().unwrap().len()), (200, 2), "{version}");
            assert_eq!((&answers[0]["id"], &answers[1]["error"]["code"]), (&json!(1), &json!(-32601)));
        } else {
            let found = (answer.status, answer.json()["error"]["code"].as_i64(), answer.error_kind());
            assert_eq!(found, (400, Some(-32600), "batch_not_allowed".to_owned()), "{version}");
        }
    }
    let notes = r#"[{"jsonrpc":"2.0","method":"notifications/x"}]"#;
    assert_eq!(McpSessionClient::new(&endpoint, "2025-03-26").post(notes).status, 202);
}

/// Many clients never end their sessions: the one that was not used for longest makes room.
#[test]
fn least_recently_used_session_is_evicted_at_the_limit() {
    let endpoint = HttpTestConfig {
        quota_limits: QuotaLimits { streams: 8, sessions: 2, ..QuotaLimits::default() },
        ..HttpTestConfig::default()
    }
    .start();
    let [oldest, first] = [(); 2].map(|()| McpSessionClient::new(&endpoint, "2025-11-25"));
    let second = McpSessionClient::new(&endpoint, "2025-11-25");
    let ping = request(1, "ping", json!({}));
    let status = |client: &McpSessionClient<'_>| client.post(&ping).status;
    assert_eq!((status(&oldest), status(&first), status(&second)), (404, 200, 200));
    let _streams = [&first, &second].map(|client| client.open_stream("GET /mcp", &[], ""));
    let refused = endpoint.request("POST /mcp", &[], &initialize("2025-11-25"));
    assert_eq!(
        (refused.status, refused.error_kind().as_str()),
        (429, "too_many_sessions"),
        "both are in use"
    );
    assert_eq!(refused.header("mcp-session-id"), None);
    first.send("DELETE /mcp", &[], "");
    eventually("its place can be taken again", || {
        endpoint.request("POST /mcp", &[], &initialize("2025-11-25")).status == 200
    });
    assert_eq!(status(&second), 200);
}

#[test]
fn notifications_arrive_on_session_stream() {
    let endpoint = HttpTestServer::start_without_auth();
    for (version, primes) in [("2025-11-25", true), ("2025-06-18", false)] {
        endpoint.app.serve_toolsets(&Toolset::ALL);
        let client = McpSessionClient::new(&endpoint, version);
        let mut stream = client.open_stream("GET /mcp", &[("Accept", "text/event-stream")], "");
        assert_eq!(
            (stream.response.status, stream.response.header("content-type")),
            (200, Some("text/event-stream"))
        );
        if primes {
            let first = stream.next_event().unwrap();
            assert_eq!((first.id.as_deref(), first.data.as_str()), (Some("0-0"), ""));
        }
        endpoint.app.serve_toolsets(&[Toolset::Reference]);
        let news = stream.next_event().unwrap();
        assert_eq!((news.id.as_deref(), news.name.as_deref()), (Some("0-1"), Some("message")), "{version}");
        assert_eq!(news.json()["method"], "notifications/tools/list_changed");
        client.send("DELETE /mcp", &[], "");
        assert!(stream.remaining_messages().len() <= 2, "the stream ends with the session");
    }
}

#[test]
fn get_without_event_stream_accept_is_rejected() {
    let endpoint = HttpTestServer::start_without_auth();
    let client = McpSessionClient::new(&endpoint, "2025-11-25");
    let answer = client.send("GET /mcp", &[("Accept", "application/json")], "");
    assert_eq!((answer.status, answer.error_kind().as_str()), (406, "not_acceptable"));
}

/// The question that comes on a stream, after whatever was said before it.
fn next_question(stream: &mut TestEventStream) -> Value {
    loop {
        let message = stream.next_message();
        if message["method"] == "elicitation/create" {
            return message;
        }
    }
}

fn accept_response(question: &Value, content: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept", "content": content } })
        .to_string()
}

#[test]
fn elicitation_arrives_on_stream_of_its_call() {
    let endpoint = HttpTestServer::start_without_auth();
    for version in ["2025-06-18", "2025-11-25"] {
        let client = McpSessionClient::new(&endpoint, version);
        let mut stream = client.open_stream("POST /mcp", &[], &booking_call(1));
        let asked = next_question(&mut stream);
        assert!(asked["id"].is_string() && asked["params"]["message"].as_str().unwrap().contains("Lisbon"));
        let answer = client.post(&accept_response(&asked, json!({ "confirm": true })));
        assert_eq!((answer.status, answer.body.as_str()), (202, ""));
        let messages = stream.remaining_messages();
        assert_eq!((messages.len(), &messages[0]["id"]), (1, &json!(1)), "{version}");
        assert!(
            messages[0]["result"]["content"][0]["text"].as_str().unwrap().contains("Lisbon"),
            "{messages:?}"
        );
    }
}

#[test]
fn missing_input_is_reported_when_client_cannot_be_asked() {
    let endpoint = HttpTestServer::start_without_auth();
    let client = McpSessionClient::new(&endpoint, "2025-11-25");
    let answer = client.send("POST /mcp", &[("Accept", "application/json")], &booking_call(1));
    assert_eq!(answer.json()["result"]["isError"], true, "a plain answer cannot carry a question");
    assert!(answer.body.contains("confirm"));
}

/// Somebody else with a session of their own cannot answer for the user.
#[test]
fn elicitation_answer_from_other_session_is_ignored() {
    let endpoint = HttpTestServer::start_without_auth();
    let [client, other] = [(); 2].map(|()| McpSessionClient::new(&endpoint, "2025-11-25"));
    let mut stream = client.open_stream("POST /mcp", &[], &booking_call(1));
    let asked = next_question(&mut stream);
    assert_eq!(other.post(&accept_response(&asked, json!({ "confirm": true }))).status, 202);
    assert_eq!(client.post(&accept_response(&asked, json!({ "confirm": false }))).status, 202);
    assert_eq!(stream.remaining_messages()[0]["result"]["isError"], true, "it was the user who said no");
}

#[test]
fn elicitation_answer_is_accepted_past_the_rate_limit() {
    let endpoint = HttpTestServer::start_with_keys(Some(RateLimit { per_minute: 6, burst: 3 }));
    let key = endpoint.create_key(Scope::Read);
    let client = McpSessionClient::with_key(&endpoint, "2025-11-25", Some(&key));
    let mut stream = client.open_stream("POST /mcp", &[], &booking_call(1));
    let asked = next_question(&mut stream);
    assert_eq!(client.post(&wait_call(2, 1, 1)).status, 429, "no more questions to the server");
    assert_eq!(client.post(&accept_response(&asked, json!({ "confirm": true }))).status, 202);
    assert!(
        stream.remaining_messages()[0]["result"]["structuredContent"].is_object(),
        "the tool heard the answer"
    );
}

fn event_number(event: &SseEvent) -> u64 {
    event.id.as_deref().unwrap().split_once('-').unwrap().1.parse().unwrap()
}

#[test]
fn reconnected_client_gets_missed_events() {
    let endpoint = HttpTestServer::start_without_auth();
    let client = McpSessionClient::new(&endpoint, "2025-11-25");
    let mut stream = client.open_stream("POST /mcp", &[], &wait_call(7, 30, 5));
    let prime = stream.next_event().unwrap();
    assert_eq!((prime.id.as_deref(), prime.data.as_str()), (Some("1-0"), ""));
    let last = stream.next_event().unwrap();
    assert_eq!(event_number(&last), 1);
    drop(stream);
    let mut stream = client.open_stream("GET /mcp", &[("Last-Event-ID", last.id.as_deref().unwrap())], "");
    let events: Vec<_> = std::iter::from_fn(|| stream.next_event()).collect();
    let numbers: Vec<_> = events.iter().map(event_number).collect();
    assert_eq!(
        numbers,
        (2..2 + events.len() as u64).collect::<Vec<_>>(),
        "none is missing, none comes twice"
    );
    let answer = events.last().unwrap().json();
    assert_eq!((&answer["id"], &answer["result"]["structuredContent"]["steps"]), (&json!(7), &json!(30)));
    // What is over can be read again, from any place.
    let mut again = client.open_stream("GET /mcp", &[("Last-Event-ID", "1-0")], "");
    assert_eq!(again.remaining_messages().len(), events.len() + 1);
    // There is no such stream, or nothing more on it: the client should not come back for ever.
    for id in ["99-0".to_owned(), events.last().unwrap().id.clone().unwrap()] {
        let answer = client.send("GET /mcp", &[("Last-Event-ID", &id)], "");
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST, DELETE")), "{id}");
    }
}

#[test]
fn reconnected_client_still_gets_the_question() {
    let endpoint = HttpTestServer::start_without_auth();
    let client = McpSessionClient::new(&endpoint, "2025-11-25");
    let mut stream = client.open_stream("POST /mcp", &[], &booking_call(1));
    let prime = stream.next_event().unwrap().id.unwrap();
    drop(stream);
    let mut stream = client.open_stream("GET /mcp", &[("Last-Event-ID", &prime)], "");
    let asked = next_question(&mut stream);
    assert_eq!(client.post(&accept_response(&asked, json!({ "confirm": true }))).status, 202);
    assert_eq!(stream.remaining_messages().last().unwrap()["id"], 1);
}

#[test]
fn delivered_notifications_are_not_repeated() {
    let endpoint = HttpTestServer::start_without_auth();
    let client = McpSessionClient::new(&endpoint, "2025-06-18");
    let get = || client.open_stream("GET /mcp", &[], "");
    let mut first = get();
    endpoint.app.serve_toolsets(&[Toolset::Reference]);
    let told: Vec<_> = (0..3).map(|_| first.next_message()).collect();
    assert_eq!(told.len(), 3);
    drop(first);
    let mut second = get();
    endpoint.app.serve_toolsets(&Toolset::ALL);
    assert_eq!(second.next_event().unwrap().id.as_deref(), Some("0-4"));
}

#[test]
fn session_call_is_cancelled_by_notification_not_disconnect() {
    let endpoint = HttpTestServer::start_without_auth();
    let client = McpSessionClient::new(&endpoint, "2025-11-25");
    let mut stream = client.open_stream("POST /mcp", &[], &wait_call(5, 1000, 10));
    stream.next_message();
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
    assert_eq!(client.post(cancel).status, 202);
    assert!(
        stream.remaining_messages().iter().all(|message| message.get("id").is_none()),
        "no answer comes any more"
    );
    eventually("it is counted", || endpoint.metrics().contains(r#"tool="wait",outcome="cancelled"} 1"#));
    let mut stream = client.open_stream("POST /mcp", &[], &wait_call(6, 40, 5));
    stream.next_message();
    drop(stream);
    eventually("the other goes on to its end", || {
        endpoint.metrics().contains(r#"tool="wait",outcome="ok"} 1"#)
    });
}
