//! `GET /sse` and `POST /messages`: the way of 2024-11-05.

use serde_json::{Value, json};
use server::Scope;
use server::access::Rate;
use server::tools::Toolset;

use crate::harness::{Answer, Endpoint, Stream, eventually};

/// The stream, and where to send messages.
pub(crate) fn open(endpoint: &Endpoint, headers: &[(&str, &str)]) -> (Stream, String) {
    let mut stream = endpoint.stream("GET /sse", headers, "");
    assert_eq!(
        (stream.answer.status, stream.answer.header("content-type")),
        (200, Some("text/event-stream"))
    );
    let first = stream.next().unwrap();
    assert_eq!(first.name.as_deref(), Some("endpoint"));
    assert!(first.data.starts_with("/messages?sessionId="), "{first:?}");
    (stream, format!("POST {}", first.data))
}

fn initialize() -> String {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } })
    .to_string()
}

fn accepted(answer: &Answer) {
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
}

#[test]
fn what_is_posted_is_answered_on_the_stream() {
    let endpoint = Endpoint::open();
    let (mut stream, line) = open(&endpoint, &[]);
    accepted(&endpoint.request(&line, &[], &initialize()));
    assert_eq!(stream.message()["result"]["protocolVersion"], "2024-11-05");
    accepted(&endpoint.request(&line, &[], r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#));
    for (body, member) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, "result"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, "error"),
        ("{not json", "error"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "result"),
    ] {
        accepted(&endpoint.request(&line, &[], body));
        assert!(stream.message()[member].is_object(), "{body}");
    }
    accepted(&endpoint.request(&line, &[], r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#));
    assert_eq!(stream.message(), json!([{ "jsonrpc": "2.0", "id": 1, "result": {} }]));
    endpoint.app.serve_toolsets(&[Toolset::Reference]);
    assert_eq!(stream.message()["method"], "notifications/tools/list_changed");
}

#[test]
fn a_message_needs_its_stream() {
    let endpoint = Endpoint::open();
    let (stream, line) = open(&endpoint, &[]);
    for (line, status, kind) in [
        ("POST /messages", 400, "session_required"),
        ("POST /messages?x=1", 400, "session_required"),
        ("POST /messages?sessionId=", 404, "session_unknown"),
        ("POST /messages?sessionId=x", 404, "session_unknown"),
        ("GET /messages?sessionId=x", 405, "method_not_allowed"),
        ("POST /sse", 405, "method_not_allowed"),
    ] {
        let answer = endpoint.request(line, &[], &initialize());
        assert_eq!((answer.status, answer.kind().as_str()), (status, kind), "{line}");
    }
    // Its name opens nothing on the newer endpoint.
    let name = line.split_once('=').unwrap().1;
    assert_eq!(endpoint.request("POST /mcp", &[("Mcp-Session-Id", name)], &initialize()).status, 404);
    let refused = endpoint.request("GET /sse", &[("Accept", "application/json")], "");
    assert_eq!((refused.status, refused.kind().as_str()), (406, "not_acceptable"));
    drop(stream);
    eventually("it ends with its stream", || endpoint.request(&line, &[], &initialize()).status == 404);
    eventually("nothing is left of it", || endpoint.metrics().contains("fluxway_sessions 0"));
}

#[test]
fn a_stream_belongs_to_its_key() {
    let endpoint = Endpoint::keyed(Some(Rate { per_minute: 6, burst: 2 }));
    let [mine, theirs] = [(); 2].map(|()| format!("Bearer {}", endpoint.key(Scope::Read)));
    assert_eq!(endpoint.request("GET /sse", &[], "").status, 401);
    let (mut stream, line) = open(&endpoint, &[("Authorization", &mine)]);
    assert_eq!(endpoint.request(&line, &[], &initialize()).status, 401);
    assert_eq!(endpoint.request(&line, &[("Authorization", &theirs)], &initialize()).status, 404);
    let send = |body: &str| endpoint.request(&line, &[("Authorization", &mine)], body);
    accepted(&send(&initialize()));
    assert!(stream.message()["result"].is_object());
    accepted(&send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#));
    let limited = send(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    assert_eq!((limited.status, limited.header("retry-after")), (429, Some("10")));
}

#[test]
fn a_key_that_is_revoked_ends_the_stream() {
    let endpoint = Endpoint::keyed(None);
    let bearer = format!("Bearer {}", endpoint.key(Scope::Read));
    let (mut stream, line) = open(&endpoint, &[("Authorization", &bearer)]);
    endpoint.request(&line, &[("Authorization", &bearer)], &initialize());
    assert!(stream.message()["result"].is_object());
    endpoint.request(
        &line,
        &[("Authorization", &bearer)],
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    );
    endpoint.revoke_all();
    endpoint.app.serve_toolsets(&[Toolset::Reference]);
    assert_eq!(stream.rest(), Vec::<Value>::new(), "nothing is told to who is no longer welcome");
    assert_eq!(endpoint.request(&line, &[("Authorization", &bearer)], &initialize()).status, 401);
}

#[test]
fn who_hangs_up_cancels() {
    let endpoint = Endpoint::open();
    let (mut stream, line) = open(&endpoint, &[]);
    endpoint.request(&line, &[], &initialize());
    stream.message();
    let wait = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "wait", "arguments": { "steps": 1000, "step_ms": 10 }, "_meta": { "progressToken": 1 } } });
    accepted(&endpoint.request(&line, &[], &wait.to_string()));
    assert_eq!(stream.message()["method"], "notifications/progress");
    drop(stream);
    eventually("the call is cancelled", || {
        endpoint.metrics().contains(r#"tool="wait",outcome="cancelled"} 1"#)
    });
}

#[test]
fn who_does_not_read_is_not_served_for_ever() {
    let endpoint = Endpoint::open();
    let (_stream, line) = open(&endpoint, &[]);
    endpoint.request(&line, &[], &initialize());
    let text = "x".repeat(1 << 20);
    let echo = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "echo", "arguments": { "text": text } } })
    .to_string();
    let refused = (0..64).any(|_| endpoint.request(&line, &[], &echo).status != 202);
    assert!(refused, "64 answers of 1 MiB each are kept for somebody who takes none");
}
