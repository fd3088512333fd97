//! How a server ends: at SIGTERM, and at a second one.

use std::io::ErrorKind;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::host::{CreatedKey, HttpHost, StoreFixture, eventually};
use super::http::{McpEndpoint, RawHttpClient};
use crate::process::TEST_TIMEOUT;

/// The guide allows this much for what runs.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The ways to call a tool.
#[derive(Clone, Copy, Debug)]
enum ToolCallMode {
    Stateless(McpEndpoint),
    InSession,
}

const CALL_MODES: [ToolCallMode; 3] = [
    ToolCallMode::Stateless(McpEndpoint::Api),
    ToolCallMode::Stateless(McpEndpoint::Modern),
    ToolCallMode::InSession,
];

/// Every call is counted on its own, so that lists of keys tell of each.
const COUNTED_CALLS_FLAGS: [&str; 4] = ["--rate-limit", "6000000", "--rate-burst", "9"];

/// A client that can call `wait` at any time.
struct WaitingCaller {
    mode: ToolCallMode,
    key: CreatedKey,
    client: RawHttpClient,
    session: String,
}

impl WaitingCaller {
    fn new(fixture: &StoreFixture, host: &HttpHost, mode: ToolCallMode) -> Self {
        let (key, mut client) = (fixture.create_key(&[]), host.client());
        let session = match mode {
            ToolCallMode::Stateless(_) => String::new(),
            ToolCallMode::InSession => client.open_session(&key.text, "test"),
        };
        Self { mode, key, client, session }
    }

    /// How many steps it took, if it came to its end.
    fn wait(mut self, steps: u32, step_ms: u32) -> Option<Value> {
        let (key, arguments) = (&self.key.text, json!({ "steps": steps, "step_ms": step_ms }));
        let answer = match self.mode {
            ToolCallMode::Stateless(way) => self.client.call(way, key, "wait", arguments),
            ToolCallMode::InSession => self.client.call_in_session(&self.session, key, "wait", arguments),
        };
        let text = answer.ok()?.message()?["result"]["content"][0]["text"].as_str()?.to_owned();
        Some(serde_json::from_str::<Value>(&text).ok()?["steps"].clone())
    }
}

/// Lets clients of all kinds call `wait`; what becomes of the calls. All of them run when this returns.
fn start_waits(
    fixture: &StoreFixture,
    host: &HttpHost,
    steps: u32,
    step_ms: u32,
) -> Vec<(ToolCallMode, JoinHandle<Option<Value>>)> {
    let callers = CALL_MODES.map(|kind| WaitingCaller::new(fixture, host, kind));
    let ids = callers.each_ref().map(|caller| caller.key.id.clone());
    let last_used = || {
        let list = fixture.list_keys();
        let of = |id: &String| list.iter().find(|key| key["id"] == id.as_str()).unwrap()["lastUsed"].clone();
        ids.each_ref().map(of)
    };
    let before = last_used();
    let calls = callers.map(|caller| (caller.mode, std::thread::spawn(move || caller.wait(steps, step_ms))));
    // A call that is counted runs.
    eventually("all calls run", TEST_TIMEOUT, || {
        last_used().iter().zip(&before).all(|(now, then)| now != then).then_some(())
    });
    calls.into()
}

/// Calls until the server is gone. Every answer is whole and right.
fn call_until_closed(host: &HttpHost, endpoint: McpEndpoint, key: &str) -> u32 {
    let mut client = host.client();
    for count in 0.. {
        let text = format!("{endpoint:?} {count}");
        match client.call(endpoint, key, "echo", json!({ "text": text })) {
            Ok(answer) => assert_eq!(answer.echo_text(), Some(text), "{answer:?}"),
            Err(error) => {
                let gone =
                    [ErrorKind::UnexpectedEof, ErrorKind::ConnectionRefused, ErrorKind::ConnectionReset];
                assert!(gone.contains(&error.kind()) || error.kind() == ErrorKind::BrokenPipe, "{error:?}");
                return count;
            }
        }
    }
    0
}

#[test]
fn sigterm_under_load_lets_calls_finish() {
    let site = StoreFixture::new();
    let busy = site.create_key(&[]).text;
    let mut host = site.serve(&COUNTED_CALLS_FLAGS);
    std::thread::scope(|scope| {
        let (server, busy) = (&host, &busy);
        let load: Vec<_> = (0..4)
            .map(|n| scope.spawn(move || call_until_closed(server, McpEndpoint::ALL[n % 2], busy)))
            .collect();
        let calls = start_waits(&site, server, 15, 100);
        server.signal(Signal::TERM);
        for (kind, call) in calls {
            assert_eq!(call.join().unwrap(), Some(json!(15)), "{kind:?}");
        }
        let counts: Vec<u32> = load.into_iter().map(|load| load.join().unwrap()).collect();
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    });
    let status = host.wait(TEST_TIMEOUT);
    assert!(status.success(), "{status}: {}", host.log());
    let refused = host.client().get("/healthz").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

/// Sends signals to a server whose calls take a minute; its exit code, and when it ended.
fn terminate_during_long_calls(signals: u32) -> (Option<i32>, Duration) {
    let site = StoreFixture::new();
    let mut host = site.serve(&COUNTED_CALLS_FLAGS);
    let calls = start_waits(&site, &host, 6, 10_000);
    let began = Instant::now();
    host.signal(Signal::TERM);
    if signals > 1 {
        eventually("no new connections", TEST_TIMEOUT, || host.client().get("/healthz").err());
        host.signal(Signal::TERM);
    }
    let status = host.wait(TEST_TIMEOUT);
    let took = began.elapsed();
    for (kind, call) in calls {
        assert_eq!(call.join().unwrap(), None, "{kind:?}");
    }
    (status.code(), took)
}

#[test]
fn shutdown_waits_at_most_ten_seconds() {
    let (code, took) = terminate_during_long_calls(1);
    assert_eq!(code, Some(0));
    // They would go on for a minute.
    assert!(took < DRAIN_TIMEOUT * 3, "{took:?}");
}

#[test]
fn second_sigterm_exits_immediately() {
    let (code, took) = terminate_during_long_calls(2);
    assert_eq!(code, Some(130));
    assert!(took < DRAIN_TIMEOUT, "{took:?}");
}

/// Whoever read that the server listens may signal at once.
#[test]
fn signals_are_handled_once_the_server_listens() {
    let site = StoreFixture::new();
    for _ in 0..10 {
        let mut host = site.serve(&[]);
        host.signal(Signal::HUP);
        let answer = host.client().get("/healthz");
        assert!(answer.is_ok_and(|answer| answer.status == 200), "{}", host.wait(TEST_TIMEOUT));
        host.signal(Signal::TERM);
        let status = host.wait(TEST_TIMEOUT);
        assert!(status.success(), "{status}");
    }
}

#[test]
fn sigterm_ends_idle_connections_and_streams() {
    let site = StoreFixture::new();
    let (mut host, key) = (site.serve(&[]), site.create_key(&[]));
    let (mut idle, mut streaming) = (host.client(), host.client());
    assert_eq!(idle.get("/healthz").unwrap().status, 200);
    let session = streaming.open_session(&key.text, "test");
    let bearer = format!("Bearer {}", key.text);
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Accept", "text/event-stream"),
        ("Mcp-Session-Id", session.as_str()),
        ("MCP-Protocol-Version", "2025-11-25"),
    ];
    std::thread::scope(|scope| {
        let stream = scope.spawn(|| streaming.exchange("GET /mcp", &headers, ""));
        let admin = site.create_key(&["--scope", "admin"]).text;
        let is_open = || fetch_metrics(&host, &admin).contains("fluxway_streams 1").then_some(());
        eventually("the stream is open", TEST_TIMEOUT, is_open);
        let began = Instant::now();
        host.signal(Signal::TERM);
        let answer = stream.join().unwrap().unwrap();
        assert_eq!(answer.status, 200, "the stream ends in good order");
        assert!(host.wait(TEST_TIMEOUT).success());
        assert!(began.elapsed() < DRAIN_TIMEOUT, "{:?}", began.elapsed());
    });
}

fn fetch_metrics(host: &HttpHost, admin: &str) -> String {
    let bearer = format!("Bearer {admin}");
    host.client().exchange("GET /metrics", &[("Authorization", &bearer)], "").unwrap().body
}
