//! `/mcp` as of 2026-07-28: every request stands for itself.

use serde_json::{Value, json};
use server::Scope;
use server::access::Rate;
use server::tools::Toolset;

use crate::harness::{Answer, Endpoint, Stream, eventually};

const VERSION: &str = "2026-07-28";
const V: (&str, &str) = ("MCP-Protocol-Version", VERSION);
const CALL: (&str, &str) = ("Mcp-Method", "tools/call");
const ECHO: (&str, &str) = ("Mcp-Name", "echo");

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    })
}

/// A request as a client of this revision writes it: the headers that go with the body, and the body.
pub(crate) fn written(method: &str, mut params: Value) -> (Vec<(&'static str, String)>, String) {
    let mut headers = vec![(V.0, VERSION.to_owned()), (CALL.0, method.to_owned())];
    if let Some(name) = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str) {
        headers.push((ECHO.0, name.to_owned()));
    }
    for (key, value) in meta().as_object().unwrap() {
        params["_meta"][key] = value.clone();
    }
    (headers, json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string())
}

pub(crate) fn ask(endpoint: &Endpoint, method: &str, params: Value) -> Answer {
    let (headers, body) = written(method, params);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    endpoint.request("POST /mcp", &headers, &body)
}

fn listen(endpoint: &Endpoint, method: &str, params: Value) -> Stream {
    let (headers, body) = written(method, params);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    endpoint.stream("POST /mcp", &headers, &body)
}

fn echo() -> Value {
    json!({ "name": "echo", "arguments": { "text": "x" } })
}

#[test]
fn discovery_says_what_there_is() {
    let answer = ask(&Endpoint::open(), "server/discover", json!({}));
    let result = &answer.json()["result"];
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    assert_eq!(result["supportedVersions"][0], VERSION);
    assert!(result["ttlMs"].as_u64().is_some() && result["cacheScope"].is_string(), "{result}");
    assert!(result["capabilities"]["tools"].is_object(), "{result}");
    assert_eq!(
        (&result["resultType"], &result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"]),
        (&json!("complete"), &json!("fluxway"))
    );
}

#[test]
fn a_call_is_answered_in_plain_json_and_needs_nothing_before() {
    let answer = ask(&Endpoint::open(), "tools/call", echo());
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let result = &answer.json()["result"];
    assert_eq!(
        (&result["structuredContent"]["text"], &result["resultType"]),
        (&json!("x"), &json!("complete"))
    );
    assert!(result.get("isError").is_none() && answer.header("mcp-session-id").is_none());
}

#[test]
fn headers_say_what_the_body_says() {
    let endpoint = Endpoint::open();
    let (_, body) = written("tools/call", echo());
    for (headers, status, header) in [
        (vec![V, CALL, ECHO], 200, ""),
        (vec![("mcp-protocol-version", VERSION), CALL, ECHO], 200, ""),
        (vec![V, CALL, ("Mcp-Name", "=?base64?ZWNobw==?=")], 200, ""),
        (vec![V, CALL, ("Mcp-Name", "=?base64?ZWNobw?=")], 400, "Mcp-Name"),
        (vec![V, CALL, ("Mcp-Name", "=?base64?/w==?=")], 400, "Mcp-Name"),
        (vec![CALL, ECHO], 400, "MCP-Protocol-Version"),
        (vec![("MCP-Protocol-Version", "2025-11-25"), CALL, ECHO], 400, "MCP-Protocol-Version"),
        (vec![("MCP-Protocol-Version", "1999-01-01"), CALL, ECHO], 400, "MCP-Protocol-Version"),
        (vec![("MCP-Protocol-Version", ""), CALL, ECHO], 400, "MCP-Protocol-Version"),
        (vec![V, V, CALL, ECHO], 400, "MCP-Protocol-Version"),
        (vec![V, ECHO], 400, "Mcp-Method"),
        (vec![V, ("Mcp-Method", "tools/list"), ECHO], 400, "Mcp-Method"),
        (vec![V, ("Mcp-Method", "TOOLS/CALL"), ECHO], 400, "Mcp-Method"),
        (vec![V, CALL, CALL, ECHO], 400, "Mcp-Method"),
        (vec![V, CALL], 400, "Mcp-Name"),
        (vec![V, CALL, ("Mcp-Name", "list_projects")], 400, "Mcp-Name"),
        (vec![V, CALL, ECHO, ("Mcp-Name", "wait")], 400, "Mcp-Name"),
        (vec![V, CALL, ECHO, ECHO], 400, "Mcp-Name"),
    ] {
        let answer = endpoint.request("POST /mcp", &headers, &body);
        assert_eq!(answer.status, status, "{headers:?} {}", answer.body);
        if status == 400 {
            let error = &answer.json()["error"];
            assert_eq!(
                (&error["code"], &error["data"]["header"], &answer.json()["id"]),
                (&json!(-32020), &json!(header), &json!(1)),
                "{headers:?}"
            );
        }
    }
    let ran = endpoint.metrics();
    assert!(ran.contains(r#"tool="echo",outcome="ok"} 3"#), "what does not fit was not run: {ran}");
}

#[test]
fn what_is_refused_gets_a_status() {
    let endpoint = Endpoint::open();
    let with_meta = |meta: Value| json!({ "_meta": meta });
    let body = |method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
    };
    let list = ("Mcp-Method", "tools/list");
    let good = body("tools/list", with_meta(meta()));
    let old = |version: &str| {
        let mut meta = meta();
        meta["io.modelcontextprotocol/protocolVersion"] = version.into();
        body("tools/list", with_meta(meta))
    };
    let no_capabilities = with_meta(json!({ "io.modelcontextprotocol/protocolVersion": VERSION }));
    let no_version = with_meta(json!({ "io.modelcontextprotocol/clientCapabilities": {} }));
    let initialize = json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } });
    for (headers, body, status, code, kind) in [
        (vec![V, list], good.clone(), 200, 0, ""),
        (vec![V, list, ("Accept", "*/*")], good.clone(), 200, 0, ""),
        (vec![V, list, ("Accept", "application/json")], good.clone(), 200, 0, ""),
        (vec![V, list, ("Accept", "text/html")], good.clone(), 406, -32600, "not_acceptable"),
        (vec![V, list, ("Accept", "")], good.clone(), 406, -32600, "not_acceptable"),
        (vec![V, list, ("Content-Type", "text/plain")], good.clone(), 415, -32600, "not_json"),
        (vec![V, list, ("Content-Type", "")], good.clone(), 415, -32600, "not_json"),
        (vec![V, list, ("Origin", "https://evil.com")], good.clone(), 403, -32600, "origin_not_allowed"),
        (vec![V, list, ("Host", "evil.com")], good.clone(), 403, -32600, "host_not_allowed"),
        (vec![V, ("Mcp-Method", "x/y")], body("x/y", with_meta(meta())), 404, -32601, "method_not_found"),
        (vec![V, ("Mcp-Method", "ping")], body("ping", with_meta(meta())), 404, -32601, "method_not_found"),
        (vec![V, list], body("tools/list", json!({})), 400, -32602, "invalid_params"),
        (vec![V, list], body("tools/list", no_capabilities), 400, -32602, "invalid_params"),
        (vec![V, list], body("tools/list", no_version), 400, -32602, "invalid_params"),
        (vec![V, list], body("tools/list", json!([])), 200, -32602, "invalid_params"),
        (
            vec![("MCP-Protocol-Version", "2099-01-01"), list],
            old("2099-01-01"),
            400,
            -32022,
            "unsupported_version",
        ),
        (
            vec![("MCP-Protocol-Version", "2025-11-25"), list],
            old("2025-11-25"),
            400,
            -32022,
            "unsupported_version",
        ),
        (
            vec![V, ("Mcp-Method", "initialize")],
            body("initialize", initialize),
            400,
            -32602,
            "invalid_params",
        ),
        (vec![V, list], format!("[{good}]"), 400, -32600, "batch_not_allowed"),
        (vec![V], "[]".to_owned(), 400, -32600, "empty_batch"),
        (vec![V], "{not json".to_owned(), 400, -32700, "parse_error"),
        (vec![], "{not json".to_owned(), 400, -32700, "parse_error"),
        (vec![V], String::new(), 400, -32700, "parse_error"),
        (vec![V], r#"{"jsonrpc":"2.0","id":1}"#.to_owned(), 400, -32600, "invalid_request"),
        (vec![V], r#"{"type":"handshake","id":1}"#.to_owned(), 400, -32600, "invalid_request"),
    ] {
        let answer = endpoint.request("POST /mcp", &headers, &body);
        let error = &answer.json()["error"];
        let found = (answer.status, error["code"].as_i64().unwrap_or(0), answer.kind());
        assert_eq!(found, (status, code, kind.to_owned()), "{headers:?} {body}");
    }
    let answer =
        endpoint.request("POST /mcp", &[("MCP-Protocol-Version", "2099-01-01"), list], &old("2099-01-01"));
    let data = &answer.json()["error"]["data"];
    assert_eq!((&data["requested"], &data["supported"][0]), (&json!("2099-01-01"), &json!(VERSION)));
}

#[test]
fn only_post_is_there() {
    let endpoint = Endpoint::open();
    let answer = endpoint.request("GET /mcp", &[V], "");
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    for method in ["PUT", "PATCH", "OPTIONS", "TRACE"] {
        let answer = endpoint.request(&format!("{method} /mcp"), &[V], "");
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, POST, DELETE")), "{method}");
    }
}

#[test]
fn there_is_nothing_to_delete() {
    let answer = Endpoint::open().request("DELETE /mcp", &[V], "");
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
}

#[test]
fn a_notification_is_accepted_without_a_word() {
    let body = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9, "_meta": meta() } });
    let headers = [V, ("Mcp-Method", "notifications/cancelled")];
    let answer = Endpoint::open().request("POST /mcp", &headers, &body.to_string());
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
}

#[test]
fn a_question_goes_through_two_requests_that_know_nothing_of_each_other() {
    let endpoint = Endpoint::open();
    let arguments =
        json!({ "destination": "Lisbon", "departure": "2026-05-01", "travellers": 2, "class": "economy" });
    let call = json!({ "name": "booking", "arguments": arguments });
    let mut asked = ask(&endpoint, "tools/call", call.clone()).json();
    // Forms may ask for what is optional; an empty answer will do for that.
    for _ in 0..3 {
        let question = &asked["result"]["inputRequests"]["question"]["params"];
        if question["requestedSchema"]["properties"].get("confirm").is_some() {
            break;
        }
        asked = answer(&endpoint, &call, &asked, json!({ "action": "accept", "content": {} }));
    }
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    assert!(result.get("ttlMs").is_none());
    let done =
        answer(&endpoint, &call, &asked, json!({ "action": "accept", "content": { "confirm": true } }));
    assert_eq!(
        (&done["result"]["resultType"], &done["result"]["structuredContent"]["destination"]),
        (&json!("complete"), &json!("Lisbon")),
        "{done}"
    );
    // The state is good for this call alone.
    let other = json!({ "name": "booking", "arguments": { "destination": "Oslo" } });
    let refused = answer(&endpoint, &other, &asked, json!({ "action": "accept", "content": {} }));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let declined = answer(&endpoint, &call, &asked, json!({ "action": "decline" }));
    assert_eq!(declined["result"]["isError"], true, "{declined}");
}

/// The same call again, with an answer to what was asked.
fn answer(endpoint: &Endpoint, call: &Value, asked: &Value, answer: Value) -> Value {
    let mut call = call.clone();
    call["requestState"] = asked["result"]["requestState"].clone();
    call["inputResponses"] = json!({ "question": answer });
    ask(endpoint, "tools/call", call).json()
}

#[test]
fn a_question_to_somebody_else_is_not_answered() {
    let endpoint = Endpoint::keyed(None);
    let keys = [endpoint.key(Scope::Read), endpoint.key(Scope::Read)];
    let call = |key: &str, params: Value| {
        let (headers, body) = written("tools/call", params);
        let bearer = format!("Bearer {key}");
        let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        headers.push(("Authorization", &bearer));
        endpoint.request("POST /mcp", &headers, &body).json()
    };
    let asked = call(&keys[0], json!({ "name": "booking", "arguments": {} }));
    let again =
        json!({ "name": "booking", "arguments": {}, "requestState": asked["result"]["requestState"] });
    assert_eq!(call(&keys[0], again.clone())["result"]["resultType"], "input_required");
    assert_eq!(call(&keys[1], again)["error"]["data"]["kind"], "invalid_state");
}

fn wait(steps: u32, step_ms: u32) -> Value {
    json!({ "name": "wait", "arguments": { "steps": steps, "step_ms": step_ms }, "_meta": { "progressToken": "p" } })
}

#[test]
fn progress_comes_on_a_stream_and_grows() {
    let endpoint = Endpoint::open();
    let mut stream = listen(&endpoint, "tools/call", wait(4, 3));
    let told = |name: &str| stream.answer.header(name).map(str::to_owned);
    assert_eq!(
        (stream.answer.status, told("content-type"), told("x-accel-buffering"), told("cache-control")),
        (200, Some("text/event-stream".into()), Some("no".into()), Some("no-store".into()))
    );
    let messages = stream.rest();
    let (answer, progress) = messages.split_last().unwrap();
    assert_eq!((&answer["id"], &answer["result"]["structuredContent"]["steps"]), (&json!(1), &json!(4)));
    assert!(!progress.is_empty());
    let numbers: Vec<_> = progress.iter().map(|one| one["params"]["progress"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    assert!(progress.iter().all(|one| one["method"] == "notifications/progress"
        && one["params"]["progressToken"] == "p"
        && one.get("id").is_none()));
}

#[test]
fn who_takes_no_streams_gets_the_answer_alone() {
    let endpoint = Endpoint::open();
    let (headers, body) = written("tools/call", wait(3, 1));
    let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    headers.push(("Accept", "application/json"));
    let answer = endpoint.request("POST /mcp", &headers, &body);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    assert_eq!(answer.json()["result"]["structuredContent"]["steps"], 3);
    headers.pop();
    headers.push(("Accept", "text/event-stream"));
    let messages = endpoint.stream("POST /mcp", &headers, &body).rest();
    assert_eq!(messages.last().unwrap()["result"]["structuredContent"]["steps"], 3);
}

fn changes() -> Value {
    json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": ["x://nothing"] } })
}

#[test]
fn a_listener_is_told_what_it_asked_for_under_its_own_name() {
    let endpoint = Endpoint::open();
    let mut stream = listen(&endpoint, "subscriptions/listen", changes());
    let acknowledged = stream.message();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({ "toolsListChanged": true }));
    endpoint.app.serve_toolsets(&[Toolset::Reference]);
    let news = stream.message();
    assert_eq!(news["method"], "notifications/tools/list_changed");
    for message in [&acknowledged, &news] {
        assert_eq!(message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1, "{message}");
    }
    // When the server ends, the stream comes to a proper end.
    endpoint.app.shut_down();
    let messages = stream.rest();
    assert_eq!(
        (messages.len(), &messages[0]["id"], &messages[0]["result"]["resultType"]),
        (1, &json!(1), &json!("complete"))
    );
}

#[test]
fn who_takes_no_streams_cannot_listen() {
    let endpoint = Endpoint::open();
    let (headers, body) = written("subscriptions/listen", changes());
    let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    headers.push(("Accept", "application/json"));
    assert_eq!(endpoint.request("POST /mcp", &headers, &body).status, 406);
}

#[test]
fn a_caller_has_eight_streams() {
    let endpoint = Endpoint::open();
    let open = || {
        let mut stream = listen(&endpoint, "subscriptions/listen", changes());
        (stream.answer.status == 200).then(|| drop(stream.message()))?;
        Some(stream)
    };
    let mut streams: Vec<_> = (0..8).map(|_| open().unwrap()).collect();
    let refused = ask(&endpoint, "subscriptions/listen", changes());
    assert_eq!((refused.status, refused.kind().as_str()), (429, "too_many_streams"));
    assert_eq!(refused.json()["error"]["data"]["limit"], 8);
    assert_eq!(ask(&endpoint, "tools/call", echo()).status, 200, "calls go on");
    streams.pop();
    eventually("a place that was given back can be taken", || open().is_some());
}

#[test]
fn who_hangs_up_cancels() {
    let endpoint = Endpoint::open();
    let mut stream = listen(&endpoint, "tools/call", wait(1000, 10));
    assert_eq!(stream.message()["method"], "notifications/progress");
    drop(stream);
    let cancelled = r#"method="tools/call",tool="wait",outcome="cancelled"} 1"#;
    eventually("the call is cancelled", || endpoint.metrics().contains(cancelled));
    let mut listener = listen(&endpoint, "subscriptions/listen", changes());
    listener.message();
    drop(listener);
    let cancelled = r#"method="subscriptions/listen",tool="",outcome="cancelled"} 1"#;
    eventually("so is the listener", || endpoint.metrics().contains(cancelled));
    eventually("no stream is left", || endpoint.metrics().contains("fluxway_streams 0"));
}

#[test]
fn past_the_limit() {
    let endpoint = Endpoint::keyed(Some(Rate { per_minute: 6, burst: 1 }));
    let bearer = format!("Bearer {}", endpoint.key(Scope::Read));
    let (headers, body) = written("tools/call", echo());
    let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    headers.push(("Authorization", &bearer));
    let answer = endpoint.request("POST /mcp", &headers, &body);
    assert_eq!((answer.status, answer.header("ratelimit-remaining")), (200, Some("0")));
    let answer = endpoint.request("POST /mcp", &headers, &body);
    assert_eq!(
        (answer.status, answer.header("retry-after"), answer.kind().as_str()),
        (429, Some("10"), "rate_limited")
    );
    let error = &answer.json()["error"];
    assert_eq!(
        (&error["data"]["retryAfter"], &error["code"]),
        (&json!(10), &json!(-32600)),
        "no code of CODEFLUSS"
    );
}

#[test]
fn a_notification_is_taken_also_past_the_limit() {
    let endpoint = Endpoint::keyed(Some(Rate { per_minute: 6, burst: 1 }));
    let bearer = format!("Bearer {}", endpoint.key(Scope::Read));
    let body = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9, "_meta": meta() } });
    let headers = [V, ("Mcp-Method", "notifications/cancelled"), ("Authorization", bearer.as_str())];
    let send = || endpoint.request("POST /mcp", &headers, &body.to_string()).status;
    assert_eq!((send(), send()), (202, 202), "whoever takes back a request lightens the load");
}
