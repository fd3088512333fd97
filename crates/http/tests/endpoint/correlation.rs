//! Lines of the log lead to the request that they are about.

use serde_json::{Value, json};
use server::Scope;

use crate::access::{away, some_key};
use crate::harness::{Endpoint, Setup};
use crate::log::Log;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const OTHER: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const OTHER_PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

/// The lines that hold all of these. Tests share the log, so one of them is a request id of this test alone.
fn lines(log: &Log, parts: &[&str]) -> Vec<String> {
    let text = log.text();
    let has_all = |line: &&str| parts.iter().all(|part| line.contains(part));
    text.lines().filter(has_all).map(str::to_owned).collect()
}

fn message(tool: &str, arguments: Value, meta: Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": "the-id", "method": "tools/call", "params": params }).to_string()
}

#[test]
fn an_error_and_its_audit_line_name_request_and_trace() {
    let log = Log::begin();
    let endpoint = Endpoint::keyed(None);
    let bearer = format!("Bearer {}", endpoint.key(Scope::Write));
    for (request, header, meta, trace) in [
        ("by-header", PARENT, json!({}), Some(TRACE)),
        ("by-meta", PARENT, json!({ "traceparent": OTHER_PARENT }), Some(OTHER)),
        ("by-header-after-bad-meta", PARENT, json!({ "traceparent": 7 }), Some(TRACE)),
        ("untraced", "00-x", json!({}), None),
    ] {
        let headers =
            [("Authorization", bearer.as_str()), ("X-Request-Id", request), ("traceparent", header)];
        let named = format!("request{{request=\"{request}\" rpc.id=\"the-id\" rpc.method=\"tools/call\"");
        let answer = endpoint.request("POST /api/mcp", &headers, &message("crash", json!({}), meta.clone()));
        assert_eq!(answer.kind(), "internal");
        let found = lines(log, &[&named, "ERROR"]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("tool=\"crash\" tenant=\"main\" subject=\"key:key_"), "{found:?}");
        assert_eq!(trace.is_some(), found[0].contains("trace_id="), "{found:?}");
        assert!(trace.is_none_or(|trace| found[0].contains(&format!("trace_id=\"{trace}\""))), "{found:?}");

        let wish = json!({ "name": "x", "slug": request, "description": "" });
        let answer = endpoint.request("POST /api/mcp", &headers, &message("create_project", wish, meta));
        assert_eq!(answer.status, 200);
        let found = lines(log, &[&named, "audit", "event=\"changed\""]);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}

#[test]
fn who_is_not_let_in_is_logged_with_the_request() {
    let log = Log::begin();
    let endpoint = Endpoint::keyed(None);
    let headers = [("X-Request-Id", "stranger"), ("traceparent", PARENT)];
    assert_eq!(endpoint.request("POST /mcp", &headers, "{}").status, 401);
    let named = format!("http{{request=\"stranger\" trace_id=\"{TRACE}\"}}");
    let found = lines(log, &[&named, "event=\"denied\""]);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn an_outage_of_a_thousand_requests_is_a_handful_of_lines() {
    let log = Log::begin();
    let endpoint = Setup { keyed: true, access: Some(away()), ..Setup::default() }.start();
    let bearer = format!("Bearer {}", some_key());
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for n in 0..1000 {
        let id = format!("outage-{n}");
        let headers = [("Authorization", bearer.as_str()), ("X-Request-Id", id.as_str())];
        assert_eq!(endpoint.request("POST /api/mcp", &headers, list).kind(), "store_unavailable");
    }
    let found = lines(log, &["ERROR", "request=\"outage-"]);
    // One per ten seconds, on however slow a machine.
    assert!((1..=20).contains(&found.len()), "{found:?}");
    assert!(found[0].contains("outage-0\"") && found[0].contains("made up"), "{found:?}");
}
