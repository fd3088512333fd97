//! `/mcp` as of 2026-07-28: every request stands for itself.

use serde_json::{Value, json};
use server::Scope;
use server::access::RateLimit;
use server::tools::Toolset;

use crate::harness::{HttpTestResponse, HttpTestServer, TestEventStream, eventually};

const VERSION: &str = "2026-07-28";
const VERSION_HEADER: (&str, &str) = ("MCP-Protocol-Version", VERSION);
const METHOD_HEADER: (&str, &str) = ("Mcp-Method", "tools/call");
const NAME_HEADER: (&str, &str) = ("Mcp-Name", "echo");

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    })
}

/// A request as a client of this revision writes it: the headers that go with the body, and the body.
pub(crate) fn build_request(method: &str, mut params: Value) -> (Vec<(&'static str, String)>, String) {
    let mut headers = vec![(VERSION_HEADER.0, VERSION.to_owned()), (METHOD_HEADER.0, method.to_owned())];
    if let Some(name) = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str) {
        headers.push((NAME_HEADER.0, name.to_owned()));
    }
    for (key, value) in meta().as_object().unwrap() {
        params["_meta"][key] = value.clone();
    }
    (headers, json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string())
}

pub(crate) fn send_request(endpoint: &HttpTestServer, method: &str, params: Value) -> HttpTestResponse {
    let (headers, body) = build_request(method, params);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    endpoint.request("POST /mcp", &headers, &body)
}

fn open_stream(endpoint: &HttpTestServer, method: &str, params: Value) -> TestEventStream {
    let (headers, body) = build_request(method, params);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    endpoint.open_stream("POST /mcp", &headers, &body)
}

fn echo_params() -> Value {
    json!({ "name": "echo", "arguments": { "text": "x" } })
}

#[test]
fn discovery_reports_versions_and_capabilities() {
    let answer = send_request(&HttpTestServer::start_without_auth(), "server/discover", json!({}));
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
fn call_without_initialize_gets_plain_json() {
    let answer = send_request(&HttpTestServer::start_without_auth(), "tools/call", echo_params());
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let result = &answer.json()["result"];
    assert_eq!(
        (&result["structuredContent"]["text"], &result["resultType"]),
        (&json!("x"), &json!("complete"))
    );
    assert!(result.get("isError").is_none() && answer.header("mcp-session-id").is_none());
}

#[test]
fn headers_that_contradict_the_body_are_rejected() {
    let endpoint = HttpTestServer::start_without_auth();
    let (_, body) = build_request("tools/call", echo_params());
    for (headers, status, header) in [
        (vec![VERSION_HEADER, METHOD_HEADER, NAME_HEADER], 200, ""),
        (vec![("mcp-protocol-version", VERSION), METHOD_HEADER, NAME_HEADER], 200, ""),
        (vec![VERSION_HEADER, METHOD_HEADER, ("Mcp-Name", "=?base64?ZWNobw==?=")], 200, ""),
        (vec![VERSION_HEADER, METHOD_HEADER, ("Mcp-Name", "=?base64?ZWNobw?=")], 400, "Mcp-Name"),
        (vec![VERSION_HEADER, METHOD_HEADER, ("Mcp-Name", "=?base64?/w==?=")], 400, "Mcp-Name"),
        (vec![METHOD_HEADER, NAME_HEADER], 400, "MCP-Protocol-Version"),
        (
            vec![("MCP-Protocol-Version", "2025-11-25"), METHOD_HEADER, NAME_HEADER],
            400,
            "MCP-Protocol-Version",
        ),
        (
            vec![("MCP-Protocol-Version", "1999-01-01"), METHOD_HEADER, NAME_HEADER],
            400,
            "MCP-Protocol-Version",
        ),
        (vec![("MCP-Protocol-Version", ""), METHOD_HEADER, NAME_HEADER], 400, "MCP-Protocol-Version"),
        (vec![VERSION_HEADER, VERSION_HEADER, METHOD_HEADER, NAME_HEADER], 400, "MCP-Protocol-Version"),
        (vec![VERSION_HEADER, NAME_HEADER], 400, "Mcp-Method"),
        (vec![VERSION_HEADER, ("Mcp-Method", "tools/list"), NAME_HEADER], 400, "Mcp-Method"),
        (vec![VERSION_HEADER, ("Mcp-Method", "TOOLS/CALL"), NAME_HEADER], 400, "Mcp-Method"),
        (vec![VERSION_HEADER, METHOD_HEADER, METHOD_HEADER, NAME_HEADER], 400, "Mcp-Method"),
        (vec![VERSION_HEADER, METHOD_HEADER], 400, "Mcp-Name"),
        (vec![VERSION_HEADER, METHOD_HEADER, ("Mcp-Name", "list_projects")], 400, "Mcp-Name"),
        (vec![VERSION_HEADER, METHOD_HEADER, NAME_HEADER, ("Mcp-Name", "wait")], 400, "Mcp-Name"),
        (vec![VERSION_HEADER, METHOD_HEADER, NAME_HEADER, NAME_HEADER], 400, "Mcp-Name"),
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
fn rejected_requests_get_http_status() {
    let endpoint = HttpTestServer::start_without_auth();
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
        (vec![VERSION_HEADER, list], good.clone(), 200, 0, ""),
        (vec![VERSION_HEADER, list, ("Accept", "*/*")], good.clone(), 200, 0, ""),
        (vec![VERSION_HEADER, list, ("Accept", "application/json")], good.clone(), 200, 0, ""),
        (vec![VERSION_HEADER, list, ("Accept", "text/html")], good.clone(), 406, -32600, "not_acceptable"),
        (vec![VERSION_HEADER, list, ("Accept", "")], good.clone(), 406, -32600, "not_acceptable"),
        (vec![VERSION_HEADER, list, ("Content-Type", "text/plain")], good.clone(), 415, -32600, "not_json"),
        (vec![VERSION_HEADER, list, ("Content-Type", "")], good.clone(), 415, -32600, "not_json"),
        (
            vec![VERSION_HEADER, list, ("Origin", "https://evil.com")],
            good.clone(),
            403,
            -32600,
            "origin_not_allowed",
        ),
        (vec![VERSION_HEADER, list, ("Host", "evil.com")], good.clone(), 403, -32600, "host_not_allowed"),
        (
            vec![VERSION_HEADER, ("Mcp-Method", "x/y")],
            body("x/y", with_meta(meta())),
            404,
            -32601,
            "method_not_found",
        ),
        (
            vec![VERSION_HEADER, ("Mcp-Method", "ping")],
            body("ping", with_meta(meta())),
            404,
            -32601,
            "method_not_found",
        ),
        (vec![VERSION_HEADER, list], body("tools/list", json!({})), 400, -32602, "invalid_params"),
        (vec![VERSION_HEADER, list], body("tools/list", no_capabilities), 400, -32602, "invalid_params"),
        (vec![VERSION_HEADER, list], body("tools/list", no_version), 400, -32602, "invalid_params"),
        (vec![VERSION_HEADER, list], body("tools/list", json!([])), 200, -32602, "invalid_params"),
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
            vec![VERSION_HEADER, ("Mcp-Method", "initialize")],
            body("initialize", initialize),
            400,
            -32602,
            "invalid_params",
        ),
        (vec![VERSION_HEADER, list], format!("[{good}]"), 400, -32600, "batch_not_allowed"),
        (vec![VERSION_HEADER], "[]".to_owned(), 400, -32600, "empty_batch"),
        (vec![VERSION_HEADER], "{not json".to_owned(), 400, -32700, "parse_error"),
        (vec![], "{not json".to_owned(), 400, -32700, "parse_error"),
        (vec![VERSION_HEADER], String::new(), 400, -32700, "parse_error"),
        (vec![VERSION_HEADER], r#"{"jsonrpc":"2.0","id":1}"#.to_owned(), 400, -32600, "invalid_request"),
        (vec![VERSION_HEADER], r#"{"type":"handshake","id":1}"#.to_owned(), 400, -32600, "invalid_request"),
    ] {
        let answer = endpoint.request("POST /mcp", &headers, &body);
        let error = &answer.json()["error"];
        let found = (answer.status, error["code"].as_i64().unwrap_or(0), answer.error_kind());
        assert_eq!(found, (status, code, kind.to_owned()), "{headers:?} {body}");
    }
    let answer =
        endpoint.request("POST /mcp", &[("MCP-Protocol-Version", "2099-01-01"), list], &old("2099-01-01"));
    let data = &answer.json()["error"]["data"];
    assert_eq!((&data["requested"], &data["supported"][0]), (&json!("2099-01-01"), &json!(VERSION)));
}

#[test]
fn only_post_is_allowed() {
    let endpoint = HttpTestServer::start_without_auth();
    let answer = endpoint.request("GET /mcp", &[VERSION_HEADER], "");
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    for method in ["PUT", "PATCH", "OPTIONS", "TRACE"] {
        let answer = endpoint.request(&format!("{method} /mcp"), &[VERSION_HEADER], "");
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, POST, DELETE")), "{method}");
    }
}

#[test]
fn delete_is_not_allowed() {
    let answer = HttpTestServer::start_without_auth().request("DELETE /mcp", &[VERSION_HEADER], "");
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
}

#[test]
fn notification_is_accepted_with_empty_body() {
    let body = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9, "_meta": meta() } });
    let headers = [VERSION_HEADER, ("Mcp-Method", "notifications/cancelled")];
    let answer = HttpTestServer::start_without_auth().request("POST /mcp", &headers, &body.to_string());
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
}

#[test]
fn question_is_answered_by_independent_second_request() {
    let endpoint = HttpTestServer::start_without_auth();
    let arguments =
        json!({ "destination": "Lisbon", "departure": "2026-05-01", "travellers": 2, "class": "economy" });
    let call = json!({ "name": "booking", "arguments": arguments });
    let mut asked = send_request(&endpoint, "tools/call", call.clone()).json();
    // Forms may ask for what is optional; an empty answer will do for that.
    for _ in 0..3 {
        let question = &asked["result"]["inputRequests"]["question"]["params"];
        if question["requestedSchema"]["properties"].get("confirm").is_some() {
            break;
        }
        asked = answer_question(&endpoint, &call, &asked, json!({ "action": "accept", "content": {} }));
    }
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    assert!(result.get("ttlMs").is_none());
    let done = answer_question(
        &endpoint,
        &call,
        &asked,
        json!({ "action": "accept", "content": { "confirm": true } }),
    );
    assert_eq!(
        (&done["result"]["resultType"], &done["result"]["structuredContent"]["destination"]),
        (&json!("complete"), &json!("Lisbon")),
        "{done}"
    );
    // The state is good for this call alone.
    let other = json!({ "name": "booking", "arguments": { "destination": "Oslo" } });
    let refused = answer_question(&endpoint, &other, &asked, json!({ "action": "accept", "content": {} }));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let declined = answer_question(&endpoint, &call, &asked, json!({ "action": "decline" }));
    assert_eq!(declined["result"]["isError"], true, "{declined}");
}

/// The same call again, with an answer to what was asked.
fn answer_question(endpoint: &HttpTestServer, call: &Value, asked: &Value, answer: Value) -> Value {
    let mut call = call.clone();
    call["requestState"] = asked["result"]["requestState"].clone();
    call["inputResponses"] = json!({ "question": answer });
    send_request(endpoint, "tools/call", call).json()
}

#[test]
fn request_state_of_another_key_is_rejected() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let keys = [endpoint.create_key(Scope::Read), endpoint.create_key(Scope::Read)];
    let call = |key: &str, params: Value| {
        let (headers, body) = build_request("tools/call", params);
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

fn wait_params(steps: u32, step_ms: u32) -> Value {
    json!({ "name": "wait", "arguments": { "steps": steps, "step_ms": step_ms }, "_meta": { "progressToken": "p" } })
}

#[test]
fn progress_is_streamed_and_increases() {
    let endpoint = HttpTestServer::start_without_auth();
    let mut stream = open_stream(&endpoint, "tools/call", wait_params(4, 3));
    let told = |name: &str| stream.response.header(name).map(str::to_owned);
    assert_eq!(
        (stream.response.status, told("content-type"), told("x-accel-buffering"), told("cache-control")),
        (200, Some("text/event-stream".into()), Some("no".into()), Some("no-store".into()))
    );
    let messages = stream.remaining_messages();
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
fn client_without_streams_gets_plain_response() {
    let endpoint = HttpTestServer::start_without_auth();
    let (headers, body) = build_request("tools/call", wait_params(3, 1));
    let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    headers.push(("Accept", "application/json"));
    let answer = endpoint.request("POST /mcp", &headers, &body);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    assert_eq!(answer.json()["result"]["structuredContent"]["steps"], 3);
    headers.pop();
    headers.push(("Accept", "text/event-stream"));
    let messages = endpoint.open_stream("POST /mcp", &headers, &body).remaining_messages();
    assert_eq!(messages.last().unwrap()["result"]["structuredContent"]["steps"], 3);
}

fn subscription_params() -> Value {
    json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": ["x://nothing"] } })
}

#[test]
fn listener_gets_subscribed_notifications_with_its_id() {
    let endpoint = HttpTestServer::start_without_auth();
    let mut stream = open_stream(&endpoint, "subscriptions/listen", subscription_params());
    let acknowledged = stream.next_message();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({ "toolsListChanged": true }));
    endpoint.app.serve_toolsets(&[Toolset::Reference]);
    let news = stream.next_message();
    assert_eq!(news["method"], "notifications/tools/list_changed");
    for message in [&acknowledged, &news] {
        assert_eq!(message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1, "{message}");
    }
    // When the server ends, the stream comes to a proper end.
    endpoint.app.shut_down();
    let messages = stream.remaining_messages();
    assert_eq!(
        (messages.len(), &messages[0]["id"], &messages[0]["result"]["resultType"]),
        (1, &json!(1), &json!("complete"))
    );
}

#[test]
fn listening_without_streams_is_rejected() {
    let endpoint = HttpTestServer::start_without_auth();
    let (headers, body) = build_request("subscriptions/listen", subscription_params());
    let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    headers.push(("Accept", "application/json"));
    assert_eq!(endpoint.request("POST /mcp", &headers, &body).status, 406);
}

#[test]
fn streams_per_caller_are_limited_to_eight() {
    let endpoint = HttpTestServer::start_without_auth();
    let open = || {
        let mut stream = open_stream(&endpoint, "subscriptions/listen", subscription_params());
        (stream.response.status == 200).then(|| drop(stream.next_message()))?;
        Some(stream)
    };
    let mut streams: Vec<_> = (0..8).map(|_| open().unwrap()).collect();
    let refused = send_request(&endpoint, "subscriptions/listen", subscription_params());
    assert_eq!((refused.status, refused.error_kind().as_str()), (429, "too_many_streams"));
    assert_eq!(refused.json()["error"]["data"]["limit"], 8);
    assert_eq!(send_request(&endpoint, "tools/call", echo_params()).status, 200, "calls go on");
    streams.pop();
    eventually("a place that was given back can be taken", || open().is_some());
}

#[test]
fn stateless_disconnect_cancels_the_call() {
    let endpoint = HttpTestServer::start_without_auth();
    let mut stream = open_stream(&endpoint, "tools/call", wait_params(1000, 10));
    assert_eq!(stream.next_message()["method"], "notifications/progress");
    drop(stream);
    let cancelled = r#"method="tools/call",tool="wait",outcome="cancelled"} 1"#;
    eventually("the call is cancelled", || endpoint.metrics().contains(cancelled));
    let mut listener = open_stream(&endpoint, "subscriptions/listen", subscription_params());
    listener.next_message();
    drop(listener);
    let cancelled = r#"method="subscriptions/listen",tool="",outcome="cancelled"} 1"#;
    eventually("so is the listener", || endpoint.metrics().contains(cancelled));
    eventually("no stream is left", || endpoint.metrics().contains("fluxway_streams 0"));
}

#[test]
fn call_past_the_rate_limit_is_rejected() {
    let endpoint = HttpTestServer::start_with_keys(Some(RateLimit { per_minute: 6, burst: 1 }));
    let bearer = format!("Bearer {}", endpoint.create_key(Scope::Read));
    let (headers, body) = build_request("tools/call", echo_params());
    let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    headers.push(("Authorization", &bearer));
    let answer = endpoint.request("POST /mcp", &headers, &body);
    assert_eq!((answer.status, answer.header("ratelimit-remaining")), (200, Some("0")));
    let answer = endpoint.request("POST /mcp", &headers, &body);
    assert_eq!(
        (answer.status, answer.header("retry-after"), answer.error_kind().as_str()),
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
fn notification_is_accepted_past_the_rate_limit() {
    let endpoint = HttpTestServer::start_with_keys(Some(RateLimit { per_minute: 6, burst: 1 }));
    let bearer = format!("Bearer {}", endpoint.create_key(Scope::Read));
    let body = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9, "_meta": meta() } });
    let headers =
        [VERSION_HEADER, ("Mcp-Method", "notifications/cancelled"), ("Authorization", bearer.as_str())];
    let send = || endpoint.request("POST /mcp", &headers, &body.to_string()).status;
    assert_eq!((send(), send()), (202, 202), "whoever takes back a request lightens the load");
}
