//! Logs: on stderr alone, a line for each event, and as much as the settings say.

use serde_json::{Value, json};

use super::host::{HttpHost, StoreFixture};
use super::http::McpEndpoint;

/// Texts that try to write lines of their own, or to paint them.
const FORGED_TEXT: &str =
    "x\n{\"level\":\"ERROR\",\"message\":\"forged\"}\r\n\u{1b}[31mred\u{1b}[0m\u{2028}\u{85}\0";

const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// What becomes of them as the id of a request: a text of one line.
const ESCAPED_FORGED_TEXT: &str = r#"x\n{"level":"ERROR","message":"forged"}\r\n\u{1b}[31mred\u{1b}[0m"#;

/// A client that brings such texts wherever it can.
fn send_hostile_requests(host: &HttpHost, key: &str) {
    let mut client = host.client();
    client.open_session(key, FORGED_TEXT);
    client.open_session(key, &"long ".repeat(50_000));
    let session = client.open_session(key, "test");
    for tool in ["crash", FORGED_TEXT] {
        client.call_in_session(&session, key, tool, json!({ "text": FORGED_TEXT })).unwrap();
        client.call(McpEndpoint::Api, key, tool, json!({})).unwrap();
    }
    // The one place where a client's own text becomes part of a line about a failure.
    let params = json!({ "name": "crash", "arguments": {}, "_meta": { "traceparent": TRACEPARENT } });
    let forged = json!({ "jsonrpc": "2.0", "id": FORGED_TEXT, "method": "tools/call", "params": params });
    let answer = client.post("POST /api/mcp", key, &[], &forged).unwrap();
    assert_eq!(answer.json()["error"]["code"], -32603, "{answer:?}");
    let odd = [("X-Request-Id", "a\u{1b}[31m"), ("User-Agent", "\u{1b}[31m")];
    let answer = client.exchange("GET /mcp?%0a", &odd, "").unwrap();
    assert!([400, 401].contains(&answer.status), "{answer:?}");
    client.call(McpEndpoint::Api, "cf_live_sk_\u{1b}[31m", "echo", json!({})).unwrap();
}

/// The lines of a log, but for what the server tells people at its start.
fn event_lines(log: &str) -> Vec<&str> {
    log.lines().filter(|line| !line.starts_with("fluxway listens on ")).collect()
}

#[test]
fn json_logs_are_one_object_per_line() {
    let fixture = StoreFixture::new();
    let key = fixture.create_key(&[]);
    let host = fixture.serve(&["--log", "trace", "--log-format", "json"]);
    send_hostile_requests(&host, &key.text);
    let (out, log) = host.shut_down();
    assert_eq!(out, "");
    let (mut names, mut levels, mut crashes) = (Vec::new(), Vec::new(), Vec::new());
    for line in event_lines(&log) {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line:?}"));
        assert!(event["level"].is_string() && event["timestamp"].is_string(), "{line}");
        assert_ne!(event["message"], "forged", "{line}");
        names.extend(event["client.name"].as_str().map(str::to_owned));
        if event["level"] == "ERROR" && event["span"]["trace_id"].is_string() {
            crashes.push(event.clone());
        }
        levels.push(event["level"].as_str().unwrap().to_owned());
    }
    let [crash] = &crashes[..] else { panic!("{crashes:?}") };
    let span = &crash["span"];
    assert!(span["rpc.id"].as_str().is_some_and(|id| id.starts_with(ESCAPED_FORGED_TEXT)), "{crash}");
    assert_eq!(span["trace_id"], "0af7651916cd43dd8448eb211c80319c", "{crash}");
    assert_eq!((&span["tool"], &span["rpc.method"]), (&json!("crash"), &json!("tools/call")), "{crash}");
    assert!(crash["error"].as_str().is_some_and(|error| error.contains("diagnostics.rs:")), "{crash}");
    assert!(names.iter().any(|name| name == FORGED_TEXT), "{names:?}");
    assert!(["ERROR", "INFO", "DEBUG"].iter().all(|level| levels.iter().any(|found| found == level)));
    assert!(!log.contains('\u{1b}') && !log.contains(key.secret()));
}

#[test]
fn json_logs_are_nothing_but_json() {
    let fixture = StoreFixture::new();
    let (_, log) = fixture.serve(&["--log-format", "json"]).shut_down();
    assert!(!log.is_empty(), "nothing was logged");
    for line in log.lines() {
        assert!(
            serde_json::from_str::<Value>(line).is_ok_and(|event| event.is_object()),
            "no JSON: {line:?}"
        );
    }
}

#[test]
fn text_logs_are_one_line_per_event() {
    let fixture = StoreFixture::new();
    let key = fixture.create_key(&[]);
    let host = fixture.serve(&["--log", "trace"]);
    send_hostile_requests(&host, &key.text);
    let (out, log) = host.shut_down();
    assert_eq!(out, "");
    for line in event_lines(&log) {
        assert!(line.starts_with("20"), "a line without a time: {line:?}");
    }
    let crash = log.lines().find(|line| line.contains("trace_id=\"0af7651916cd43dd8448eb211c80319c\""));
    assert!(crash.is_some_and(|line| line.contains("rpc.id=\"x\\\\n{")), "{crash:?}");
    let controls = |text: &str| text.chars().any(|one| one.is_control() && one != '\n');
    assert!(!controls(&log), "{:?}", log.lines().find(|line| controls(line)));
    assert!(!log.contains(key.secret()));
}

#[test]
fn log_level_ignores_rust_log() {
    let fixture = StoreFixture::new();
    let key = fixture.create_key(&[]);
    for (level, rust_log, has_audit, has_debug) in [
        ("warn", "trace", true, false),
        ("warn", "off", true, false),
        ("off", "trace", false, false),
        ("debug", "off", true, true),
        ("debug", "error,audit=off", true, true),
    ] {
        let mut command = fixture.serve_command(&["--log", level]);
        let host = HttpHost::start(command.env("RUST_LOG", rust_log).env("RUST_BACKTRACE", "1"));
        assert_eq!(host.client().get("/mcp").unwrap().status, 401);
        let answer = host.client().call(McpEndpoint::Api, &key.text, "echo", json!({ "text": "x" })).unwrap();
        assert_eq!(answer.echo_text().as_deref(), Some("x"));
        let (out, log) = host.shut_down();
        let found = (log.contains("event=\"denied\""), log.contains(" DEBUG "));
        assert_eq!((out.as_str(), found), ("", (has_audit, has_debug)), "{level} {rust_log}: {log}");
        assert!(!log.contains(" TRACE "), "{level} {rust_log}: {log}");
    }
}
