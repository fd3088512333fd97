//! Whatever comes in, the server stays alive, answers every request once, and serves the next one.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{TestClient, app};

/// JSON that looks like a message here and there.
fn json_value() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("2.0"),
        Just("tools/call"),
        Just("tools/list"),
        Just("initialize"),
        Just("notifications/initialized"),
        Just("notifications/cancelled"),
        Just("completion/complete"),
        Just("resources/read"),
        Just("logging/setLevel"),
        Just("server/discover"),
        Just("2026-07-28"),
        Just("booking"),
        Just("tell_fortune"),
        Just("crash"),
        Just("handshake"),
        Just("request"),
        Just("x"),
    ];
    let leaf = prop_oneof![
        4 => word.prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
    ];
    let key = "(jsonrpc|id|method|params|type|tool|name|arguments|_meta|result|error|ref|argument|cursor|uri|level\
               |protocolVersion|capabilities|requestState|inputResponses|progressToken|requestId\
               |io\\.modelcontextprotocol/protocolVersion|io\\.modelcontextprotocol/clientCapabilities)";
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            4 => prop::collection::btree_map(key, inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A request that is well-formed on the outside.
fn request() -> impl Strategy<Value = Value> {
    ("(tools/call|tools/list|completion/complete|resources/read|prompts/get|logging/setLevel|initialize|nope)", json_value())
        .prop_map(|(method, params)| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
}

async fn assert_alive(client: &mut TestClient) {
    let pong = client.exchange(r#"{"jsonrpc":"2.0","id":"alive?","method":"ping"}"#).await;
    assert_eq!(pong, [r#"{"jsonrpc":"2.0","id":"alive?","result":{}}"#]);
}

fn with_client<T>(ready: bool, test: impl AsyncFnOnce(&mut TestClient) -> T) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let app = app().build();
        let mut client = if ready {
            TestClient::initialized(&app, "2025-11-25", json!({})).await
        } else {
            TestClient::new(&app)
        };
        test(&mut client).await
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_get_at_most_one_answer(bytes in prop::collection::vec(any::<u8>(), 0..300), ready in any::<bool>()) {
        with_client(ready, async |client| {
            client.send(&bytes);
            assert!(client.settle().await.len() <= 1, "one line, one answer");
            assert_alive(client).await;
        });
    }

    #[test]
    fn arbitrary_json_gets_at_most_one_answer(value in json_value(), ready in any::<bool>()) {
        with_client(ready, async |client| {
            assert!(client.exchange(&value.to_string()).await.len() <= 1, "one line, one answer");
            assert_alive(client).await;
        });
    }

    #[test]
    fn requests_are_answered_exactly_once(request in request(), ready in any::<bool>()) {
        with_client(ready, async |client| {
            let answers = client.exchange(&request.to_string()).await;
            assert_eq!(answers.len(), 1, "{request}");
            let answer: Value = serde_json::from_str(&answers[0]).unwrap();
            assert_eq!(answer["id"], 1);
            assert_alive(client).await;
        });
    }
}

/// Each costs one error answer, and the next request is served.
#[test]
fn malformed_lines_are_rejected_and_the_next_request_is_served() {
    let deep = |n: usize| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{}{}}}"#, "[".repeat(n), "]".repeat(n))
    };
    let large =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "x".repeat(5 << 20));
    let many = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":[{}0]}}}}"#,
        "0,".repeat(1_000_000)
    );
    let gallery: &[(&[u8], i64, &str)] = &[
        (b"{not json", -32700, "parse_error"),
        (b"{\"jsonrpc\":\"2.0\"", -32700, "parse_error"),
        (b"\xff\xfe", -32700, "not_utf8"),
        (b"\"\xc0\xaf\"", -32700, "not_utf8"),
        (br#""\ud800""#, -32700, "lone_surrogate"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, -32700, "parse_error"),
        (b"nul", -32700, "parse_error"),
        (b"[]", -32600, "empty_batch"),
        (b"true", -32600, "invalid_request"),
        (br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600, "duplicate_key"),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1,"b":2}}}"#,
            -32600,
            "duplicate_key",
        ),
    ];
    with_client(false, async |client| {
        for (line, code, kind) in gallery {
            client.send(line);
            assert_rejected(client, *code, kind).await;
        }
        for (line, code, kind) in [
            (deep(64), -32700, "nested_too_deep"),
            (deep(100_000), -32700, "nested_too_deep"),
            (large, -32600, "message_too_large"),
            (many, -32600, "too_many_values"),
            (format!("[{}1]", "1,".repeat(50)), -32600, "batch_too_large"),
        ] {
            client.send(line.as_bytes());
            assert_rejected(client, code, kind).await;
        }
    });
}

async fn assert_rejected(client: &mut TestClient, code: i64, kind: &str) {
    let answers = client.settle().await;
    assert_eq!(answers.len(), 1, "{kind}");
    let answer: Value = serde_json::from_str(&answers[0]).unwrap();
    assert_eq!(
        (answer["error"]["code"].as_i64(), answer["error"]["data"]["kind"].as_str()),
        (Some(code), Some(kind))
    );
    assert_alive(client).await;
}
