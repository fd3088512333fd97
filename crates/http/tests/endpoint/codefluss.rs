//! `POST /api/mcp`: the CODEFLUSS document.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::harness::Endpoint;

/// The examples of the document, as far as its tools are not needed.
#[test]
fn the_documented_exchanges() {
    let endpoint = Endpoint::open();
    let (status, answer) = endpoint.post(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"my-client","version":"1.0.0"}}}"#,
    );
    assert_eq!(status, 200);
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(answer["result"]["capabilities"], json!({ "tools": {}, "resources": {} }));

    // No greeting is needed, and success is said out loud.
    let (_, answer) = endpoint.post(
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}"#,
    );
    assert_eq!(
        answer["result"],
        json!({ "content": [{ "type": "text", "text": "{\"text\":\"x\"}" }], "isError": false })
    );

    let (status, answer) = endpoint.post(
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait","arguments":{"steps":1,"step_ms":5}}}]"#,
    );
    assert_eq!(
        (status, answer.as_array().unwrap().len(), &answer[0]["id"], &answer[1]["id"]),
        (200, 2, &json!(1), &json!(2))
    );

    let (status, answer) =
        endpoint.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}"#);
    assert_eq!((status, answer), (200, Value::Null));
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
fn the_documented_errors() {
    let endpoint = Endpoint::open();
    for (body, id, code, message, field, data) in [
        ("{not json", Value::Null, -32700, "Parse error", "detail", "key must be a string at position 2"),
        (
            r#"{"jsonrpc":"2.0","id":1}"#,
            json!(1),
            -32600,
            "Invalid Request",
            "detail",
            "Missing required field: method",
        ),
        (
            r#"{"type":"handshake","id":1}"#,
            json!(1),
            -32600,
            "Invalid Request",
            "detail",
            "Missing required field: jsonrpc",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"unknown_method"}"#,
            json!(1),
            -32601,
            "Method not found",
            "method",
            "unknown_method",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#,
            json!(1),
            -32602,
            "Invalid params",
            "error",
            "Required field missing",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"booking"}}"#,
            json!(1),
            -32602,
            "Invalid params",
            "field",
            "destination",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x://y"}}"#,
            json!(1),
            -32003,
            "Resource not found",
            "uri",
            "x://y",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"crash"}}"#,
            json!(1),
            -32603,
            "Internal error",
            "kind",
            "internal",
        ),
        ("[]", Value::Null, -32600, "Invalid Request", "kind", "empty_batch"),
    ] {
        let (status, answer) = endpoint.post(body);
        assert_eq!((status, &answer["id"]), (200, &id), "{body}");
        let error = &answer["error"];
        assert_eq!(
            (error["code"].as_i64(), error["message"].as_str()),
            (Some(code), Some(message)),
            "{body}"
        );
        assert_eq!(error["data"][field], data, "{body}");
    }
}

#[test]
fn what_is_not_a_json_request_gets_a_status() {
    let endpoint = Endpoint::open();
    let json = "Content-Type: application/json";
    for (head, expected) in [
        (format!("GET /api/mcp HTTP/1.1\r\nHost: localhost\r\n{json}"), 405),
        (format!("DELETE /api/mcp HTTP/1.1\r\nHost: localhost\r\n{json}"), 405),
        (format!("POST /elsewhere HTTP/1.1\r\nHost: localhost\r\n{json}"), 404),
        ("POST /api/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain".to_owned(), 415),
        ("POST /api/mcp HTTP/1.1\r\nHost: localhost".to_owned(), 415),
        (format!("POST /api/mcp HTTP/1.1\r\nHost: evil.com\r\n{json}"), 403),
        (format!("POST /api/mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.com\r\n{json}"), 403),
        (format!("POST /api/mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n{json}"), 403),
    ] {
        assert_eq!(endpoint.send(&head, "{}").0, expected, "{head}");
    }
    let large = format!("{{\"x\":\"{}\"}}", "x".repeat(5 << 20));
    let mut stream = TcpStream::connect(endpoint.address).unwrap();
    write!(
        stream,
        "POST /api/mcp HTTP/1.1\r\nHost: localhost\r\n{json}\r\nContent-Length: {}\r\n\r\n",
        large.len()
    )
    .unwrap();
    let _ = stream.write_all(large.as_bytes()); // the server may have hung up by now
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}
