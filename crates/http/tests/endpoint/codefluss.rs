//! `POST /api/mcp`: the CODEFLUSS document.

use std::fmt::Write as _;

use serde_json::{Value, json};
use server::Scope;
use server::access::RateLimit;

use crate::harness::{HttpTestConfig, HttpTestResponse, HttpTestServer};

const LIST_TOOLS: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;
const CALL_ECHO: &str =
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}"#;
const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}"#;

/// Headers that are part of what is promised.
const DOCUMENTED_HEADERS: [&str; 8] = [
    "content-type",
    "allow",
    "www-authenticate",
    "retry-after",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "ratelimit-policy",
];

/// The examples of the document, with tools that are there. One line each.
const EXAMPLES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"my-client","version":"1.0.0"}}}"#,
    LIST_TOOLS,
    CALL_ECHO,
    NOTIFICATION,
    r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}]"#,
    r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list}"#,
    r#"{"jsonrpc":"2.0","id":1}"#,
    r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#,
    r#"{"id":1,"method":"tools/list"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"unknown_method"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":5}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x","more":1}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x://y"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"crash"}}"#,
    r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#,
    r#"{"jsonrpc":"2.0","id":"text","method":"ping"}"#,
    "[]",
    r#"[[],1,{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
    r#"[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","method":"x"}]"#,
];

/// An answer as a reader would note it down. Long lists are cut to what matters here.
fn render_response(answer: &HttpTestResponse) -> String {
    let mut text = answer.status.to_string();
    for name in DOCUMENTED_HEADERS {
        if let Some(value) = answer.header(name) {
            write!(text, " {name}={value:?}").unwrap();
        }
    }
    if !answer.body.is_empty() {
        let mut body = answer.json();
        shorten_lists(&mut body);
        write!(text, "\n< {body}").unwrap();
    }
    text
}

fn shorten_lists(value: &mut Value) {
    match value {
        Value::Array(entries) => entries.iter_mut().for_each(shorten_lists),
        Value::Object(members) => {
            for (name, member) in members {
                match (name.as_str(), &*member) {
                    ("tools" | "availableTools" | "known", Value::Array(_)) => *member = json!("…"),
                    _ => shorten_lists(member),
                }
            }
        }
        _ => {}
    }
}

/// Every exchange of a conversation, one after the other.
fn transcript(endpoint: &HttpTestServer, headers: &[(&str, &str)], bodies: &[&str]) -> String {
    let note = |body: &&str| {
        format!("> {body}\n< {}\n", render_response(&endpoint.request("POST /api/mcp", headers, body)))
    };
    bodies.iter().map(note).collect::<Vec<_>>().join("\n")
}

fn authorization(key: &str) -> (&'static str, String) {
    ("Authorization", format!("Bearer {key}"))
}

#[test]
fn documented_exchanges_match_in_english() {
    insta::assert_snapshot!(transcript(&HttpTestServer::start_without_auth(), &[], EXAMPLES));
}

#[test]
fn documented_exchanges_match_in_german() {
    let headers = [("Accept-Language", "de-AT, en;q=0.5")];
    insta::assert_snapshot!(transcript(&HttpTestServer::start_without_auth(), &headers, EXAMPLES));
}

/// Codes, kinds and ids are the same in both languages.
#[test]
fn error_codes_and_kinds_are_language_independent() {
    let endpoint = HttpTestServer::start_without_auth();
    for body in EXAMPLES {
        let [english, german] = ["en", "de"].map(|language| {
            let answer = endpoint.request("POST /api/mcp", &[("Accept-Language", language)], body);
            let body = if answer.body.is_empty() { Value::Null } else { answer.json() };
            let error = &body["error"];
            (answer.status, json!([body["id"], error["code"], error["message"], error["data"]["kind"]]))
        });
        assert_eq!(english, german, "{body}");
    }
}

#[test]
fn tools_are_listed_as_documented() {
    let (_, answer) = HttpTestServer::start_without_auth().post_api(LIST_TOOLS);
    let tools = answer["result"]["tools"].as_array().unwrap();
    assert!(tools.len() > 5 && answer["result"].get("nextCursor").is_none());
    for tool in tools {
        let is_text = |name: &str| tool[name].as_str().is_some_and(|text| !text.is_empty());
        assert!(is_text("name") && is_text("description"), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
}

#[test]
fn batch_that_cancels_itself_gets_empty_response() {
    let endpoint = HttpTestServer::start_without_auth();
    let (status, answer) = endpoint.post_api(
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{"steps":1000,"step_ms":1000}}},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]"#,
    );
    assert_eq!((status, answer), (200, Value::Null));
}

#[test]
fn batch_over_fifty_entries_is_rejected() {
    let endpoint = HttpTestServer::start_without_auth();
    let ping = |id: usize| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    for (entries, fits) in [(1, true), (50, true), (51, false), (10_000, false)] {
        let batch: Vec<_> = (0..entries).map(ping).collect();
        let (status, answer) = endpoint.post_api(&json!(batch).to_string());
        assert_eq!(status, 200);
        if fits {
            let ids: Vec<_> = answer.as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
            assert_eq!(
                ids,
                (0..entries).map(Value::from).collect::<Vec<_>>(),
                "in the order of the requests"
            );
        } else {
            assert_eq!(
                (&answer["error"]["code"], &answer["error"]["data"]["kind"], &answer["id"]),
                (&json!(-32600), &json!("batch_too_large"), &Value::Null),
                "{entries}"
            );
        }
    }
}

#[test]
fn request_ids_are_echoed_verbatim() {
    let endpoint = HttpTestServer::start_without_auth();
    for id in ["1", "0", "-7", "1.5", "12345678901234567890123", "1e3", r#""a""#, r#""""#, r#""ä\u0001""#] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let answer = endpoint.request("POST /api/mcp", &[], &body).body;
        assert!(answer.contains(&format!(r#""id":{id}"#)), "{id}: {answer}");
    }
}

#[test]
fn request_without_key_is_rejected() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let bodies = [
        LIST_TOOLS,
        r#"{"jsonrpc":"2.0","id":"a","method":"no/such/method"}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":"b","method":"ping"}]"#,
        NOTIFICATION,
        "{not json",
        "",
    ];
    let english = transcript(&endpoint, &[], &bodies);
    let german = transcript(&endpoint, &[("Accept-Language", "de")], &bodies[..1]);
    insta::assert_snapshot!(format!("{english}\n{german}"));
}

#[test]
fn without_a_key_a_readable_id_is_echoed() {
    let endpoint = HttpTestServer::start_with_keys(None);
    for body in
        [r#"{"jsonrpc":"2.0","id":7}"#, r#"{"type":"handshake","id":7}"#, r#"{"id":7,"method":"ping"}"#]
    {
        let answer = endpoint.request("POST /api/mcp", &[], body);
        assert_eq!((answer.status, &answer.json()["id"]), (401, &json!(7)), "{body}");
    }
}

#[test]
fn request_with_wrong_key_is_rejected() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let key = endpoint.create_key(Scope::Write);
    let last = if key.ends_with('x') { 'y' } else { 'x' };
    let (name, wrong) = authorization(&format!("{}{last}", &key[..key.len() - 1]));
    let batch =
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
    insta::assert_snapshot!(transcript(&endpoint, &[(name, &wrong)], &[LIST_TOOLS, batch]));
}

#[test]
fn notification_gets_no_response_even_with_bad_key() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let answer = endpoint.request("POST /api/mcp", &[("Authorization", "Bearer cf_live_sk_x")], NOTIFICATION);
    assert_eq!((answer.status, answer.body.as_str()), (200, ""));
}

#[test]
fn read_key_cannot_write() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let (name, reader) = authorization(&endpoint.create_key(Scope::Read));
    let headers = [(name, reader.as_str())];
    let write = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"apply_edit_plan","arguments":{"plan":{}}}}"#;
    let english = transcript(&endpoint, &headers, &[write, CALL_ECHO]);
    let german = transcript(&endpoint, &[headers[0], ("Accept-Language", "de")], &[write]);
    insta::assert_snapshot!(format!("{english}\n{german}"));
}

#[test]
fn calls_past_the_rate_limit_are_rejected() {
    let endpoint = HttpTestServer::start_with_keys(Some(RateLimit { per_minute: 6, burst: 3 }));
    let (name, key) = authorization(&endpoint.create_key(Scope::Read));
    let headers = [(name, key.as_str())];
    let pings = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]"#;
    let english = transcript(&endpoint, &headers, &[CALL_ECHO, pings, CALL_ECHO, pings]);
    let german = transcript(&endpoint, &[headers[0], ("Accept-Language", "de")], &[CALL_ECHO]);
    endpoint.clock.advance(std::time::Duration::from_secs(10));
    let later = transcript(&endpoint, &headers, &[CALL_ECHO, CALL_ECHO]);
    insta::assert_snapshot!(format!("{english}\n{german}\nTen seconds later:\n\n{later}"));
}

#[test]
fn non_json_requests_get_http_status() {
    let endpoint = HttpTestServer::start_without_auth();
    let plain = [("Content-Type", "text/plain")];
    let mut text = String::new();
    for (line, headers) in [
        ("GET /api/mcp", [].as_slice()),
        ("DELETE /api/mcp", &[]),
        ("PUT /api/mcp", &[]),
        ("POST /elsewhere", &[]),
        ("POST /api/mcp/", &[]),
        ("POST /api/mcp", &plain),
        ("POST /api/mcp", &[("Content-Type", "text/plain"), ("Accept-Language", "de")]),
        ("POST /api/mcp", &[("Host", "evil.com")]),
        ("POST /api/mcp", &[("Origin", "https://evil.com")]),
    ] {
        let answer = render_response(&endpoint.request(line, headers, "{}"));
        write!(text, "> {line} {headers:?}\n< {answer}\n\n").unwrap();
    }
    insta::assert_snapshot!(text);
}

#[test]
fn method_not_allowed_is_reported_in_german() {
    let endpoint = HttpTestServer::start_without_auth();
    let answer = endpoint.request("GET /api/mcp", &[("Accept-Language", "de")], "");
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    assert_eq!(answer.json()["error"]["data"]["detail"], "Nur POST erlaubt");
}

#[test]
fn oversized_body_is_rejected() {
    let endpoint = HttpTestServer::start_without_auth();
    let body = |length: usize| {
        let frame = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":""}}}"#;
        CALL_ECHO.replace(r#""x""#, &format!("\"{}\"", "x".repeat(length - frame.len())))
    };
    let most = 4 << 20;
    for (length, status) in [(most, 200), (most + 1, 413), (most + 100_000, 413)] {
        let body = body(length);
        assert_eq!(body.len(), length);
        assert_eq!(endpoint.request("POST /api/mcp", &[], &body).status, status, "{length}");
    }
}

#[test]
fn neither_initialize_nor_accept_header_is_required() {
    let endpoint = HttpTestServer::start_without_auth();
    for accept in ["", "text/html", "application/json"] {
        let answer = endpoint.request("POST /api/mcp", &[("Accept", accept)], CALL_ECHO);
        assert_eq!((answer.status, &answer.json()["result"]["isError"]), (200, &json!(false)), "{accept:?}");
    }
}

/// Nobody can say who calls: the documented 500, and when to try again.
#[test]
fn unreachable_store_is_reported() {
    let endpoint = HttpTestConfig {
        requires_key: true,
        access_store: Some(crate::access::unreachable_store()),
        ..HttpTestConfig::default()
    }
    .start();
    let (name, key) = authorization(&crate::access::unregistered_key());
    let english = transcript(&endpoint, &[(name, &key)], &[LIST_TOOLS]);
    let german = transcript(&endpoint, &[(name, &key), ("Accept-Language", "de")], &[LIST_TOOLS]);
    insta::assert_snapshot!(format!("{english}\n{german}"));
}

#[test]
fn unreachable_store_fails_a_batch() {
    let endpoint = HttpTestConfig {
        requires_key: true,
        access_store: Some(crate::access::unreachable_store()),
        ..HttpTestConfig::default()
    }
    .start();
    let (name, key) = authorization(&crate::access::unregistered_key());
    let answer = endpoint.request("POST /api/mcp", &[(name, &key)], &format!("[{LIST_TOOLS}]"));
    assert_eq!((answer.status, answer.header("retry-after")), (500, Some("2")));
}
