//! What callers may take from each other: memory, connections, time.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use http_transport::{BodyLimits, ConnectionLimits};
use serde_json::{Value, json};
use server::Scope;
use server::access::RateLimit;
use tokio::net::TcpSocket;

use crate::harness::{
    DEADLINE, HttpTestConfig, HttpTestResponse, HttpTestServer, block_on, eventually, read_response,
};
use crate::mcp_session::McpSessionClient;

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

/// The head of a `POST /api/mcp` that announces a body of this length.
fn request_head(key: Option<&str>, length: usize) -> String {
    let key = key.map(|key| format!("Authorization: Bearer {key}\r\n")).unwrap_or_default();
    format!(
        "POST /api/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{key}Content-Length: {length}\r\n\r\n"
    )
}

/// A request whose body has begun, and does not end.
fn send_unfinished(endpoint: &HttpTestServer, key: &str, length: usize, sent: usize) -> TcpStream {
    let mut stream = endpoint.connect();
    stream.write_all(request_head(Some(key), length).as_bytes()).unwrap();
    // The server may refuse it before all of this is written.
    let _ = stream.write_all(&vec![b' '; sent]);
    stream
}

fn read_and_close(stream: TcpStream) -> HttpTestResponse {
    read_response(&mut BufReader::new(stream))
}

fn ping(endpoint: &HttpTestServer, key: &str) -> HttpTestResponse {
    endpoint.request("POST /api/mcp", &[("Authorization", &format!("Bearer {key}"))], PING)
}

/// Whether the server has hung up.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let read = stream.read(&mut [0; 64]);
    stream.set_nonblocking(false).unwrap();
    match read {
        Ok(read) => read == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

#[test]
fn call_is_rate_limited_before_body_is_read() {
    let endpoint = HttpTestServer::start_with_keys(Some(RateLimit { per_minute: 60, burst: 2 }));
    let (key, other) = (endpoint.create_key(Scope::Read), endpoint.create_key(Scope::Read));
    let _open = [(); 2].map(|()| send_unfinished(&endpoint, &key, 100, 1));
    eventually("bodies that never end have taken the burst", || ping(&endpoint, &key).status == 429);
    let refused = ping(&endpoint, &key);
    assert_eq!(
        (refused.status, &refused.json()["id"]),
        (429, &json!(7)),
        "a short body is looked at for its id"
    );
    assert_eq!(ping(&endpoint, &other).status, 200);
}

#[test]
fn refused_body_is_not_fully_read() {
    let endpoint = HttpTestServer::start_with_keys(Some(RateLimit { per_minute: 60, burst: 1 }));
    let key = endpoint.create_key(Scope::Read);
    assert_eq!(ping(&endpoint, &key).status, 200);
    let refused = read_and_close(send_unfinished(&endpoint, &key, 4 << 20, 70 << 10));
    assert_eq!((refused.status, refused.error_kind().as_str()), (429, "rate_limited"));
    assert_eq!((refused.header("retry-after"), &refused.json()["id"]), (Some("1"), &Value::Null));
}

/// What needs no answer is no call: it may be the answer that a call waits for.
#[test]
fn responses_and_notifications_are_accepted_past_the_rate_limit() {
    let endpoint = HttpTestServer::start_with_keys(Some(RateLimit { per_minute: 1, burst: 3 }));
    let key = endpoint.create_key(Scope::Read);
    let client = McpSessionClient::with_key(&endpoint, "2025-11-25", Some(&key));
    while client.post(PING).status == 200 {}
    assert_eq!(client.post(r#"{"jsonrpc":"2.0","id":"q","result":{}}"#).status, 202);
    assert_eq!(client.post(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#).status, 202);
    assert_eq!(client.post(PING).status, 429);
}

/// The first message of a batch is counted before the body, the others after it.
#[test]
fn batch_is_granted_remaining_calls() {
    let endpoint = HttpTestServer::start_with_keys(Some(RateLimit { per_minute: 1, burst: 3 }));
    let bearer = format!("Bearer {}", endpoint.create_key(Scope::Read));
    let batch: Vec<_> = (0..5).map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })).collect();
    let answer = endpoint.request("POST /api/mcp", &[("Authorization", &bearer)], &json!(batch).to_string());
    let codes: Vec<_> =
        answer.json().as_array().unwrap().iter().map(|one| one["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [None, None, None, Some(-32000), Some(-32000)]);
    assert_eq!(answer.header("ratelimit-remaining"), Some("0"));
}

#[test]
fn body_memory_is_limited_per_key() {
    let bodies =
        BodyLimits { total: 1 << 20, per_address: 1 << 20, per_key: 256 << 10, unfinished_per_key: 3 };
    let endpoint =
        HttpTestConfig { requires_key: true, body_limits: bodies, ..HttpTestConfig::default() }.start();
    let (key, other) = (endpoint.create_key(Scope::Read), endpoint.create_key(Scope::Read));
    let too_much = read_and_close(send_unfinished(&endpoint, &key, 1 << 20, 300 << 10));
    assert_eq!((too_much.status, too_much.error_kind().as_str()), (429, "too_many_bytes"));
    assert_eq!(too_much.header("retry-after"), Some("1"));
    assert_eq!(ping(&endpoint, &key).status, 200, "what was refused is given back");
    let mut open: Vec<_> = (0..3).map(|_| send_unfinished(&endpoint, &key, 100, 1)).collect();
    eventually("three bodies are on their way", || ping(&endpoint, &key).error_kind() == "too_many_bodies");
    assert_eq!(ping(&endpoint, &key).json()["id"], 7, "a short body is looked at for its id");
    assert_eq!(ping(&endpoint, &other).status, 200);
    open.pop();
    eventually("one has hung up", || ping(&endpoint, &key).status == 200);
}

#[test]
fn encoded_body_is_rejected() {
    let endpoint = HttpTestServer::start_without_auth();
    for (encoding, status) in [("identity", 200), ("gzip", 415), ("deflate, identity", 415), ("br", 415)] {
        for path in ["/api/mcp", "/mcp"] {
            let answer = endpoint.request(&format!("POST {path}"), &[("Content-Encoding", encoding)], PING);
            let expected = if status == 200 && path == "/mcp" { 400 } else { status };
            assert_eq!(answer.status, expected, "{path} {encoding}");
        }
    }
}

/// Silent connections make room, again and again.
#[test]
fn silent_connections_are_shed_for_new_ones() {
    let connections = ConnectionLimits { total: 8, per_address: 8 };
    let endpoint =
        HttpTestConfig { requires_key: true, connection_limits: connections, ..HttpTestConfig::default() }
            .start();
    let key = endpoint.create_key(Scope::Read);
    for round in 0..20 {
        let mut silent: Vec<_> = (0..8).map(|_| endpoint.connect()).collect();
        for stream in &mut silent[..4] {
            let _ = stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc");
        }
        for stream in &mut silent[4..6] {
            let _ = stream.write_all(format!("{}{{", request_head(None, 100)).as_bytes());
        }
        assert_eq!(ping(&endpoint, &key).status, 200, "round {round}");
        assert_eq!(endpoint.request("GET /healthz", &[], "").status, 200, "round {round}");
        eventually("the oldest were closed", || silent.iter_mut().any(is_closed));
    }
}

/// Streams are not closed to make room, and leave a reserve to those with keys and to health checks.
#[test]
fn busy_server_keeps_reserve_for_keys_and_probes() {
    let connections = ConnectionLimits { total: 2, per_address: 100 };
    let endpoint =
        HttpTestConfig { requires_key: true, connection_limits: connections, ..HttpTestConfig::default() }
            .start();
    let key = endpoint.create_key(Scope::Read);
    let bearer = format!("Bearer {key}");
    let stream = || endpoint.open_stream("GET /sse", &[("Authorization", &bearer)], "");
    let mut streams: Vec<_> = (0..4).map(|_| stream()).collect();
    assert!(streams.iter().all(|stream| stream.response.status == 200), "two of them from the reserve");
    for _ in 0..5 {
        assert_eq!(endpoint.request("GET /healthz", &[], "").status, 200);
        let refused = ping(&endpoint, &key);
        assert_eq!(
            (refused.status, refused.error_kind().as_str()),
            (500, "busy"),
            "the last places are for probes"
        );
    }
    // A client that would keep its connection is told to open another, which may find a better place.
    let mut kept = endpoint.connect();
    write!(kept, "{}{PING}", request_head(Some(&key), PING.len())).unwrap();
    let refused = read_and_close(kept);
    assert_eq!((refused.status, refused.header("connection")), (500, Some("close")));
    for stream in &mut streams {
        assert_eq!(stream.next_event().unwrap().name.as_deref(), Some("endpoint"), "none was closed");
    }
    streams.pop();
    eventually("a place that was given back can be taken", || ping(&endpoint, &key).status == 200);
}

/// A connection from another address of this machine.
fn connect_from(endpoint: &HttpTestServer, address: &str) -> TcpStream {
    let connect = async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
        socket.connect(endpoint.address).await.unwrap().into_std().unwrap()
    };
    let stream = block_on(connect);
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream
}

#[test]
fn address_over_its_share_sheds_only_its_own_connections() {
    let connections = ConnectionLimits { total: 8, per_address: 3 };
    let endpoint = HttpTestConfig { connection_limits: connections, ..HttpTestConfig::default() }.start();
    let mut quiet = endpoint.connect();
    let mut quotas: Vec<_> = (0..12).map(|_| connect_from(&endpoint, "127.0.0.9")).collect();
    eventually("the crowd has what was free", || {
        quotas.iter_mut().map(is_closed).filter(|closed| !closed).count() == 7
    });
    write!(quiet, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert_eq!(read_and_close(quiet).status, 200, "it was there first, and is there still");
}

/// Behind a proxy that is trusted, clients are told apart by what it says; any other's word counts for nothing.
#[test]
fn forwarded_for_counts_only_from_trusted_proxy() {
    for (proxy, other_client) in [(Some("127.0.0.0/8"), 401), (None, 429)] {
        let endpoint =
            HttpTestConfig { requires_key: true, trusted_proxy: proxy, ..HttpTestConfig::default() }.start();
        let fail = |client: &str| {
            let headers = [("Authorization", "Bearer x"), ("X-Forwarded-For", client)];
            endpoint.request("POST /mcp", &headers, PING).status
        };
        while fail("203.0.113.1") == 401 {}
        assert_eq!(fail("203.0.113.1"), 429);
        assert_eq!(fail("203.0.113.1, 203.0.113.2"), other_client, "{proxy:?}");
        assert_eq!(fail("203.0.113.2, 203.0.113.1"), 429, "{proxy:?}");
    }
}

/// The clock of the machine is set by an hour; the caller's rate stays what it is.
#[test]
fn setting_the_clock_does_not_change_rate_limit() {
    for seconds in [3600, -3600] {
        let endpoint = HttpTestServer::start_with_keys(Some(RateLimit { per_minute: 60, burst: 5 }));
        let key = endpoint.create_key(Scope::Read);
        while ping(&endpoint, &key).status == 200 {}
        endpoint.clock.set_wall_clock_by(seconds);
        let refused = ping(&endpoint, &key);
        assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")), "set by {seconds} s");
        endpoint.clock.advance(Duration::from_secs(1));
        assert_eq!(ping(&endpoint, &key).status, 200, "set by {seconds} s");
        assert_eq!(ping(&endpoint, &key).status, 429, "set by {seconds} s");
    }
}
