//! `POST /api/mcp`: the CODEFLUSS document.

use std::fmt::Write as _;

use serde_json::{Value, json};
use server::Scope;
use server::access::Rate;

use crate::harness::{Answer, Endpoint, Setup};

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;
const ECHO: &str =
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}"#;
const NOTE: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}"#;

/// Headers that are part of what is promised.
const TOLD: [&str; 8] = [
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
    LIST,
    ECHO,
    NOTE,
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
fn noted(answer: &Answer) -> String {
    let mut text = answer.status.to_string();
    for name in TOLD {
        if let Some(value) = answer.header(name) {
            write!(text, " {name}={value:?}").unwrap();
        }
    }
    if !answer.body.is_empty() {
        let mut body = answer.json();
        shorten(&mut body);
        write!(text, "\n< {body}").unwrap();
    }
    text
}

fn shorten(value: &mut Value) {
    match value {
        Value::Array(entries) => entries.iter_mut().for_each(shorten),
        Value::Object(members) => {
            for (name, member) in members {
                match (name.as_str(), &*member) {
                    ("tools" | "availableTools" | "known", Value::Array(_)) => *member = json!("…"),
                    _ => shorten(member),
                }
            }
        }
        _ => {}
    }
}

/// Every exchange of a conversation, one after the other.
fn transcript(endpoint: &Endpoint, headers: &[(&str, &str)], bodies: &[&str]) -> String {
    let note =
        |body: &&str| format!("> {body}\n< {}\n", noted(&endpoint.request("POST /api/mcp", headers, body)));
    bodies.iter().map(note).collect::<Vec<_>>().join("\n")
}

fn bearer(key: &str) -> (&'static str, String) {
    ("Authorization", format!("Bearer {key}"))
}

#[test]
fn the_documented_exchanges_in_english() {
    insta::assert_snapshot!(transcript(&Endpoint::open(), &[], EXAMPLES));
}

#[test]
fn the_documented_exchanges_in_german() {
    let headers = [("Accept-Language", "de-AT, en;q=0.5")];
    insta::assert_snapshot!(transcript(&Endpoint::open(), &headers, EXAMPLES));
}

/// Codes, kinds and ids are the same in both languages.
#[test]
fn codes_and_kinds_have_no_language() {
    let endpoint = Endpoint::open();
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
    let (_, answer) = Endpoint::open().post(LIST);
    let tools = answer["result"]["tools"].as_array().unwrap();
    assert!(tools.len() > 5 && answer["result"].get("nextCursor").is_none());
    for tool in tools {
        let is_text = |name: &str| tool[name].as_str().is_some_and(|text| !text.is_empty());
        assert!(is_text("name") && is_text("description"), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
}

#[test]
fn a_batch_that_cancels_itself_gets_an_empty_answer() {
    let endpoint = Endpoint::open();
    let (status, answer) = endpoint.post(
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{"steps":1000,"step_ms":1000}}},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]"#,
    );
    assert_eq!((status, answer), (200, Value::Null));
}

#[test]
fn a_batch_has_at_most_fifty_entries() {
    let endpoint = Endpoint::open();
    let ping = |id: usize| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    for (entries, fits) in [(1, true), (50, true), (51, false), (10_000, false)] {
        let batch: Vec<_> = (0..entries).map(ping).collect();
        let (status, answer) = endpoint.post(&json!(batch).to_string());
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
fn ids_come_back_as_they_were_written() {
    let endpoint = Endpoint::open();
    for id in ["1", "0", "-7", "1.5", "12345678901234567890123", "1e3", r#""a""#, r#""""#, r#""ä\u0001""#] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let answer = endpoint.request("POST /api/mcp", &[], &body).body;
        assert!(answer.contains(&format!(r#""id":{id}"#)), "{id}: {answer}");
    }
}

#[test]
fn without_a_key() {
    let endpoint = Endpoint::keyed(None);
    let bodies = [
        LIST,
        r#"{"jsonrpc":"2.0","id":"a","method":"no/such/method"}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":"b","method":"ping"}]"#,
        NOTE,
        "{not json",
        "",
    ];
    let english = transcript(&endpoint, &[], &bodies);
    let german = transcript(&endpoint, &[("Accept-Language", "de")], &bodies[..1]);
    insta::assert_snapshot!(format!("{english}\n{german}"));
}

#[test]
fn without_a_key_a_readable_id_is_echoed() {
    let endpoint = Endpoint::keyed(None);
    for body in
        [r#"{"jsonrpc":"2.0","id":7}"#, r#"{"type":"handshake","id":7}"#, r#"{"id":7,"method":"ping"}"#]
    {
        let answer = endpoint.request("POST /api/mcp", &[], body);
        assert_eq!((answer.status, &answer.json()["id"]), (401, &json!(7)), "{body}");
    }
}

#[test]
fn with_a_wrong_key() {
    let endpoint = Endpoint::keyed(None);
    let key = endpoint.key(Scope::Write);
    let last = if key.ends_with('x') { 'y' } else { 'x' };
    let (name, wrong) = bearer(&format!("{}{last}", &key[..key.len() - 1]));
    let batch =
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
    insta::assert_snapshot!(transcript(&endpoint, &[(name, &wrong)], &[LIST, batch]));
}

#[test]
fn a_notification_is_not_answered_whatever_the_key() {
    let endpoint = Endpoint::keyed(None);
    let answer = endpoint.request("POST /api/mcp", &[("Authorization", "Bearer cf_live_sk_x")], NOTE);
    assert_eq!((answer.status, answer.body.as_str()), (200, ""));
}

#[test]
fn a_reading_key_does_not_write() {
    let endpoint = Endpoint::keyed(None);
    let (name, reader) = bearer(&endpoint.key(Scope::Read));
    let headers = [(name, reader.as_str())];
    let write = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"apply_edit_plan","arguments":{"plan":{}}}}"#;
    let english = transcript(&endpoint, &headers, &[write, ECHO]);
    let german = transcript(&endpoint, &[headers[0], ("Accept-Language", "de")], &[write]);
    insta::assert_snapshot!(format!("{english}\n{german}"));
}

#[test]
fn past_the_limit() {
    let endpoint = Endpoint::keyed(Some(Rate { per_minute: 6, burst: 3 }));
    let (name, key) = bearer(&endpoint.key(Scope::Read));
    let headers = [(name, key.as_str())];
    let pings = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]"#;
    let english = transcript(&endpoint, &headers, &[ECHO, pings, ECHO, pings]);
    let german = transcript(&endpoint, &[headers[0], ("Accept-Language", "de")], &[ECHO]);
    endpoint.clock.advance(std::time::Duration::from_secs(10));
    let later = transcript(&endpoint, &headers, &[ECHO, ECHO]);
    insta::assert_snapshot!(format!("{english}\n{german}\nTen seconds later:\n\n{later}"));
}

#[test]
fn what_is_not_a_json_request_gets_a_status() {
    let endpoint = Endpoint::open();
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
        let answer = noted(&endpoint.request(line, headers, "{}"));
        write!(text, "> {line} {headers:?}\n< {answer}\n\n").unwrap();
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_refused_method_is_told_in_german() {
    let endpoint = Endpoint::open();
    let answer = endpoint.request("GET /api/mcp", &[("Accept-Language", "de")], "");
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    assert_eq!(answer.json()["error"]["data"]["detail"], "Nur POST erlaubt");
}

#[test]
fn a_body_has_a_limit() {
    let endpoint = Endpoint::open();
    let body = |length: usize| {
        let frame = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":""}}}"#;
        ECHO.replace(r#""x""#, &format!("\"{}\"", "x".repeat(length - frame.len())))
    };
    let most = 4 << 20;
    for (length, status) in [(most, 200), (most + 1, 413), (most + 100_000, 413)] {
        let body = body(length);
        assert_eq!(body.len(), length);
        assert_eq!(endpoint.request("POST /api/mcp", &[], &body).status, status, "{length}");
    }
}

#[test]
fn no_greeting_and_no_accept_header_is_needed() {
    let endpoint = Endpoint::open();
    for accept in ["", "text/html", "application/json"] {
        let answer = endpoint.request("POST /api/mcp", &[("Accept", accept)], ECHO);
        assert_eq!((answer.status, &answer.json()["result"]["isError"]), (200, &json!(false)), "{accept:?}");
    }
}

/// Nobody can say who calls: the documented 500, and when to try again.
#[test]
fn a_store_that_is_away() {
    let endpoint = Setup { keyed: true, access: Some(crate::access::away()), ..Setup::default() }.start();
    let (name, key) = bearer(&crate::access::some_key());
    let english = transcript(&endpoint, &[(name, &key)], &[LIST]);
    let german = transcript(&endpoint, &[(name, &key), ("Accept-Language", "de")], &[LIST]);
    insta::assert_snapshot!(format!("{english}\n{german}"));
}

#[test]
fn a_store_that_is_away_fails_a_batch_too() {
    let endpoint = Setup { keyed: true, access: Some(crate::access::away()), ..Setup::default() }.start();
    let (name, key) = bearer(&crate::access::some_key());
    let answer = endpoint.request("POST /api/mcp", &[(name, &key)], &format!("[{LIST}]"));
    assert_eq!((answer.status, answer.header("retry-after")), (500, Some("2")));
}
