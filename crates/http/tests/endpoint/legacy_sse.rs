//! `GET /sse` and `POST /messages`: the way of 2024-11-05.

use serde_json::{Value, json};
use server::Scope;
use server::access::RateLimit;
use server::tools::Toolset;

use crate::harness::{HttpTestResponse, HttpTestServer, TestEventStream, eventually};

/// The stream, and where to send messages.
pub(crate) fn open_stream(endpoint: &HttpTestServer, headers: &[(&str, &str)]) -> (TestEventStream, String) {
    let mut stream = endpoint.open_stream("GET /sse", headers, "");
    assert_eq!(
        (stream.response.status, stream.response.header("content-type")),
        (200, Some("text/event-stream"))
    );
    let first = stream.next_event().unwrap();
    assert_eq!(first.name.as_deref(), Some("endpoint"));
    assert!(first.data.starts_with("/messages?sessionId="), "{first:?}");
    (stream, format!("POST {}", first.data))
}

fn initialize() -> String {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } })
    .to_string()
}

fn assert_accepted(answer: &HttpTestResponse) {
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
}

#[test]
fn posted_messages_are_answered_on_the_stream() {
    let endpoint = HttpTestServer::start_without_auth();
    let (mut stream, line) = open_stream(&endpoint, &[]);
    assert_accepted(&endpoint.request(&line, &[], &initialize()));
    assert_eq!(stream.next_message()["result"]["protocolVersion"], "2024-11-05");
    assert_accepted(&endpoint.request(
        &line,
        &[],
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    ));
    for (body, member) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, "result"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, "error"),
        ("{not json", "error"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "result"),
    ] {
        assert_accepted(&endpoint.request(&line, &[], body));
        assert!(stream.next_message()[member].is_object(), "{body}");
    }
    assert_accepted(&endpoint.request(&line, &[], r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#));
    assert_eq!(stream.next_message(), json!([{ "jsonrpc": "2.0", "id": 1, "result": {} }]));
    endpoint.app.serve_toolsets(&[Toolset::Reference]);
    assert_eq!(stream.next_message()["method"], "notifications/tools/list_changed");
}

#[test]
fn message_without_open_stream_is_rejected() {
    let endpoint = HttpTestServer::start_without_auth();
    let (stream, line) = open_stream(&endpoint, &[]);
    for (line, status, kind) in [
        ("POST /messages", 400, "session_required"),
        ("POST /messages?x=1", 400, "session_required"),
        ("POST /messages?sessionId=", 404, "session_unknown"),
        ("POST /messages?sessionId=x", 404, "session_unknown"),
        ("GET /messages?sessionId=x", 405, "method_not_allowed"),
        ("POST /sse", 405, "method_not_allowed"),
    ] {
        let answer = endpoint.request(line, &[], &initialize());
        assert_eq!((answer.status, answer.error_kind().as_str()), (status, kind), "{line}");
    }
    // Its name opens nothing on the newer endpoint.
    let name = line.split_once('=').unwrap().1;
    assert_eq!(endpoint.request("POST /mcp", &[("Mcp-Session-Id", name)], &initialize()).status, 404);
    let refused = endpoint.request("GET /sse", &[("Accept", "application/json")], "");
    assert_eq!((refused.status, refused.error_kind().as_str()), (406, "not_acceptable"));
    drop(stream);
    eventually("it ends with its stream", || endpoint.request(&line, &[], &initialize()).status == 404);
    eventually("nothing is left of it", || endpoint.metrics().contains("fluxway_sessions 0"));
}

#[test]
fn stream_of_another_key_is_unknown() {
    let endpoint = HttpTestServer::start_with_keys(Some(RateLimit { per_minute: 6, burst: 2 }));
    let [mine, theirs] = [(); 2].map(|()| format!("Bearer {}", endpoint.create_key(Scope::Read)));
    assert_eq!(endpoint.request("GET /sse", &[], "").status, 401);
    let (mut stream, line) = open_stream(&endpoint, &[("Authorization", &mine)]);
    assert_eq!(endpoint.request(&line, &[], &initialize()).status, 401);
    assert_eq!(endpoint.request(&line, &[("Authorization", &theirs)], &initialize()).status, 404);
    let send = |body: &str| endpoint.request(&line, &[("Authorization", &mine)], body);
    assert_accepted(&send(&initialize()));
    assert!(stream.next_message()["result"].is_object());
    assert_accepted(&send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#));
    let limited = send(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    assert_eq!((limited.status, limited.header("retry-after")), (429, Some("10")));
}

#[test]
fn revoked_key_ends_the_stream() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let bearer = format!("Bearer {}", endpoint.create_key(Scope::Read));
    let (mut stream, line) = open_stream(&endpoint, &[("Authorization", &bearer)]);
    endpoint.request(&line, &[("Authorization", &bearer)], &initialize());
    assert!(stream.next_message()["result"].is_object());
    endpoint.request(
        &line,
        &[("Authorization", &bearer)],
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    );
    endpoint.revoke_all_keys();
    endpoint.app.serve_toolsets(&[Toolset::Reference]);
    assert_eq!(
        stream.remaining_messages(),
        Vec::<Value>::new(),
        "nothing is told to who is no longer welcome"
    );
    assert_eq!(endpoint.request(&line, &[("Authorization", &bearer)], &initialize()).status, 401);
}

#[test]
fn legacy_sse_disconnect_cancels_the_call() {
    let endpoint = HttpTestServer::start_without_auth();
    let (mut stream, line) = open_stream(&endpoint, &[]);
    endpoint.request(&line, &[], &initialize());
    stream.next_message();
    let wait = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "wait", "arguments": { "steps": 1000, "step_ms": 10 }, "_meta": { "progressToken": 1 } } });
    assert_accepted(&endpoint.request(&line, &[], &wait.to_string()));
    assert_eq!(stream.next_message()["method"], "notifications/progress");
    drop(stream);
    eventually("the call is cancelled", || {
        endpoint.metrics().contains(r#"tool="wait",outcome="cancelled"} 1"#)
    });
}

#[test]
fn client_that_does_not_read_is_rejected() {
    let endpoint = HttpTestServer::start_without_auth();
    let (_stream, line) = open_stream(&endpoint, &[]);
    endpoint.request(&line, &[], &initialize());
    let text = "x".repeat(1 << 20);
    let echo = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "echo", "arguments": { "text": text } } })
    .to_string();
    let refused = (0..64).any(|_| endpoint.request(&line, &[], &echo).status != 202);
    assert!(refused, "64 answers of 1 MiB each are kept for somebody who takes none");
}
