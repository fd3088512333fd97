use proptest::prelude::*;

use super::*;

/// One line that describes the decoded message.
fn summary(incoming: &Incoming) -> String {
    match incoming {
        Incoming::One(one) => summarize_message(one),
        Incoming::Batch(entries) => {
            format!("batch [{}]", entries.iter().map(summarize_message).collect::<Vec<_>>().join(" | "))
        }
    }
}

fn summarize_message(message: &Result<Message, MalformedMessage>) -> String {
    let id = |id: &Option<Id>| id.as_ref().map_or("-".to_owned(), |id| id.as_json().to_owned());
    match message {
        Ok(Message::Request(r)) => format!("request {} {}", r.id.as_json(), r.method),
        Ok(Message::Notification(n)) => format!("notification {}", n.method),
        Ok(Message::Response(r)) => {
            format!("response {} {}", r.id.as_json(), if r.outcome.is_ok() { "ok" } else { "error" })
        }
        Ok(Message::Envelope(EnvelopeRequest { id: i, call: EnvelopeCall::Handshake })) => {
            format!("handshake {}", id(i))
        }
        Ok(Message::Envelope(EnvelopeRequest { id: i, call: EnvelopeCall::Tool { name, arguments } })) => {
            format!("tool {} {name} {}", id(i), serde_json::to_string(arguments).unwrap())
        }
        Err(e) => {
            let dialect = match e.is_envelope {
                None => "?",
                Some(true) => "envelope",
                Some(false) => "json-rpc",
            };
            format!("{dialect} {} refused: {}", id(&e.id), e.error)
        }
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(summary(&decode(text.as_bytes(), &Limits::default())), expected, "{text}");
}

#[test]
fn json_rpc_messages_are_decoded() {
    check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request 1 ping");
    check(r#"{"jsonrpc":"2.0","method":"x","params":{}}"#, "notification x");
    check(r#"{"jsonrpc":"2.0","id":"s","result":{}}"#, r#"response "s" ok"#);
    check(r#"{"jsonrpc":"2.0","id":"s","error":{"code":1}}"#, r#"response "s" error"#);
    check("\u{feff}  {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"unknown\":[1]}\r", "request 1 ping");
}

#[test]
fn ids_are_kept_as_written() {
    for id in ["0", "-1", "1.50", "1e400", "123456789012345678901234567890", r#""a\u0062""#, r#""""#] {
        check(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#), &format!("request {id} m"));
    }
    let refused = "json-rpc - refused: `id` must be a string or a number, not";
    for (id, found) in [("null", "null"), ("true", "a boolean"), ("[1]", "an array"), ("{}", "an object")] {
        check(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#), &format!("{refused} {found}"));
    }
}

#[test]
fn invalid_json_rpc_is_rejected() {
    check(r#"{"id":1,"method":"ping"}"#, "json-rpc 1 refused: Missing required field: jsonrpc");
    check(r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "json-rpc 1 refused: `jsonrpc` must be \"2.0\"");
    check(r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, "json-rpc 1 refused: `jsonrpc` must be \"2.0\"");
    check(r#"{"jsonrpc":"2.0","id":1}"#, "json-rpc 1 refused: Missing required field: method");
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        "json-rpc 1 refused: `method` must be a string, not a number",
    );
    check(r#"{"jsonrpc":"2.0","result":1}"#, "json-rpc - refused: Missing required field: id");
    check(
        r#"{"jsonrpc":"2.0","type":"request","tool":"x"}"#,
        "json-rpc - refused: Missing required field: method",
    );
}

#[test]
fn envelope_messages_are_decoded() {
    check(r#"{"type":"handshake","id":"1"}"#, r#"handshake "1""#);
    check(r#"{"type":"request","tool":"handshake","id":"1"}"#, r#"handshake "1""#);
    check(r#"{"tool":"handshake"}"#, "handshake -");
    check(
        r#"{"type":"request","id":"42","tool":"faq","params":{"query":"q"}}"#,
        r#"tool "42" faq {"query":"q"}"#,
    );
    check(
        r#"{"type":"request","id":4,"tool":"faq","query":"q","topK":2}"#,
        r#"tool 4 faq {"query":"q","topK":2}"#,
    );
    check(r#"{"type":"request","method":"m","tool":"faq"}"#, "tool - faq {}");
    check("{}", "envelope - refused: Missing required field: tool");
    check(
        r#"{"id":7,"type":"nonsense"}"#,
        "envelope 7 refused: unknown message type `nonsense`; send \"handshake\" or \"request\"",
    );
    check(r#"{"id":7,"type":3}"#, "envelope 7 refused: `type` must be a string, not a number");
    check(r#"{"id":7,"tool":3}"#, "envelope 7 refused: `tool` must be a string, not a number");
    check(
        r#"{"id":7,"tool":"t","params":[]}"#,
        "envelope 7 refused: `params` must be an object, not an array",
    );
    check(r#"{"id":{},"tool":"t"}"#, "envelope - refused: `id` must be a string or a number, not an object");
}

#[test]
fn batches_are_decoded_within_limits() {
    check(
        r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},3]"#,
        "batch [request 1 a | notification b | ? - refused: a message must be a JSON object, not a number]",
    );
    check("[]", "? - refused: a batch must contain at least one message");
    check(
        &format!("[{}0]", "0,".repeat(50)),
        "? - refused: a batch may contain at most 50 messages, this one has 51",
    );
}

#[test]
fn invalid_json_is_rejected() {
    check("{not json", "? - refused: key must be a string at position 2");
    check("{\n\"a\": }", "? - refused: expected value at position 8");
    check(r#"{"a":1}{"b":2}"#, "? - refused: trailing characters at position 8");
    check("7", "? - refused: a message must be a JSON object, not a number");
    check(r#"{"a":1,"a":2}"#, "? - refused: duplicate key `a` in an object");
    let long = format!("\"{}\"", "x".repeat(Limits::default().bytes));
    check(&long, "? - refused: the message exceeds 4194304 bytes and was skipped");
}

#[test]
fn escaped_and_plain_ids_are_equal() {
    let id = |text: &str| Id::new(serde_json::from_str(text).unwrap()).unwrap();
    assert_eq!(id(r#""a""#), id(r#""\u0061""#));
    assert_ne!(id(r#""1""#), id("1"));
}

fn arbitrary_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 4.0)),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("(jsonrpc|id|method|params|type|tool|.{0,4})", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        decode(&bytes, &Limits::default());
    }

    /// The scan accepts everything that serde_json accepts.
    #[test]
    fn valid_json_is_never_a_syntax_error(value in arbitrary_json()) {
        let incoming = decode(value.to_string().as_bytes(), &Limits::default());
        let syntax = matches!(&incoming, Incoming::One(Err(MalformedMessage { error: MessageError::Syntax { .. }, .. })));
        prop_assert!(!syntax, "{}", summary(&incoming));
    }

    #[test]
    fn request_round_trips(id in "[a-z\\\\\"é]{0,8}", method in ".{0,20}", params in arbitrary_json()) {
        let bytes = crate::encode::request(&Id::from_text(&id), &method, &serde_json::json!({ "p": params }));
        match decode(&bytes, &Limits::default()) {
            Incoming::One(Ok(Message::Request(request))) => {
                prop_assert_eq!(request.id, Id::from_text(&id));
                prop_assert_eq!(request.method, method);
                let Params::Object(map) = request.params else { panic!("params are an object") };
                prop_assert_eq!(&map["p"], &params);
            }
            other => prop_assert!(false, "{}", summary(&other)),
        }
    }
}
