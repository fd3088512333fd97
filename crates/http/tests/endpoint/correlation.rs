//! Lines of the log lead to the request that they are about.

use serde_json::{Value, json};
use server::Scope;

use crate::access::{unreachable_store, unregistered_key};
use crate::harness::{HttpTestConfig, HttpTestServer};
use crate::log::CapturedLog;

const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";
const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const OTHER_TRACE_ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const OTHER_TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

/// The lines that hold all of these. Tests share the log, so one of them is a request id of this test alone.
fn matching_lines(log: &CapturedLog, parts: &[&str]) -> Vec<String> {
    let text = log.text();
    let has_all = |line: &&str| parts.iter().all(|part| line.contains(part));
    text.lines().filter(has_all).map(str::to_owned).collect()
}

fn tool_call(tool: &str, arguments: Value, meta: Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": "the-id", "method": "tools/call", "params": params }).to_string()
}

#[test]
fn error_and_audit_lines_contain_request_and_trace_ids() {
    let log = CapturedLog::install();
    let endpoint = HttpTestServer::start_with_keys(None);
    let bearer = format!("Bearer {}", endpoint.create_key(Scope::Write));
    for (request, header, meta, trace) in [
        ("by-header", TRACEPARENT, json!({}), Some(TRACE_ID)),
        ("by-meta", TRACEPARENT, json!({ "traceparent": OTHER_TRACEPARENT }), Some(OTHER_TRACE_ID)),
        ("by-header-after-bad-meta", TRACEPARENT, json!({ "traceparent": 7 }), Some(TRACE_ID)),
        ("untraced", "00-x", json!({}), None),
    ] {
        let headers =
            [("Authorization", bearer.as_str()), ("X-Request-Id", request), ("traceparent", header)];
        let named = format!("request{{request=\"{request}\" rpc.id=\"the-id\" rpc.method=\"tools/call\"");
        let answer =
            endpoint.request("POST /api/mcp", &headers, &tool_call("crash", json!({}), meta.clone()));
        assert_eq!(answer.error_kind(), "internal");
        let found = matching_lines(log, &[&named, "ERROR"]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("tool=\"crash\" tenant=\"main\" subject=\"key:key_"), "{found:?}");
        assert_eq!(trace.is_some(), found[0].contains("trace_id="), "{found:?}");
        assert!(trace.is_none_or(|trace| found[0].contains(&format!("trace_id=\"{trace}\""))), "{found:?}");

        let wish = json!({ "name": "x", "slug": request, "description": "" });
        let answer = endpoint.request("POST /api/mcp", &headers, &tool_call("create_project", wish, meta));
        assert_eq!(answer.status, 200);
        let found = matching_lines(log, &[&named, "audit", "event=\"changed\""]);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}

#[test]
fn denied_request_is_logged_with_its_ids() {
    let log = CapturedLog::install();
    let endpoint = HttpTestServer::start_with_keys(None);
    let headers = [("X-Request-Id", "stranger"), ("traceparent", TRACEPARENT)];
    assert_eq!(endpoint.request("POST /mcp", &headers, "{}").status, 401);
    let named = format!("http{{request=\"stranger\" trace_id=\"{TRACE_ID}\"}}");
    let found = matching_lines(log, &[&named, "event=\"denied\""]);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn store_outage_logging_is_throttled() {
    let log = CapturedLog::install();
    let endpoint = HttpTestConfig {
        requires_key: true,
        access_store: Some(unreachable_store()),
        ..HttpTestConfig::default()
    }
    .start();
    let bearer = format!("Bearer {}", unregistered_key());
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for n in 0..1000 {
        let id = format!("outage-{n}");
        let headers = [("Authorization", bearer.as_str()), ("X-Request-Id", id.as_str())];
        assert_eq!(endpoint.request("POST /api/mcp", &headers, list).error_kind(), "store_unavailable");
    }
    let found = matching_lines(log, &["ERROR", "request=\"outage-"]);
    // One per ten seconds, on however slow a machine.
    assert!((1..=20).contains(&found.len()), "{found:?}");
    assert!(found[0].contains("outage-0\"") && found[0].contains("made up"), "{found:?}");
}
