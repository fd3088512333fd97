//! How a server ends: at SIGTERM, and at a second one.

use std::io::ErrorKind;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::host::{Host, Key, Site, eventually};
use super::http::{Client, Way};
use crate::process::DEADLINE;

/// The guide allows this much for what runs.
const DRAIN: Duration = Duration::from_secs(10);

/// The ways to call a tool.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Alone(Way),
    InSession,
}

const KINDS: [Kind; 3] = [Kind::Alone(Way::Api), Kind::Alone(Way::Modern), Kind::InSession];

/// Every call is counted on its own, so that lists of keys tell of each.
const COUNTED: [&str; 4] = ["--rate-limit", "6000000", "--rate-burst", "9"];

/// A client that can call `wait` at any time.
struct Caller {
    kind: Kind,
    key: Key,
    client: Client,
    session: String,
}

impl Caller {
    fn new(site: &Site, host: &Host, kind: Kind) -> Self {
        let (key, mut client) = (site.key(&[]), host.client());
        let session = match kind {
            Kind::Alone(_) => String::new(),
            Kind::InSession => client.greet(&key.text, "test"),
        };
        Self { kind, key, client, session }
    }

    /// How many steps it took, if it came to its end.
    fn wait(mut self, steps: u32, step_ms: u32) -> Option<Value> {
        let (key, arguments) = (&self.key.text, json!({ "steps": steps, "step_ms": step_ms }));
        let answer = match self.kind {
            Kind::Alone(way) => self.client.call(way, key, "wait", arguments),
            Kind::InSession => self.client.call_in(&self.session, key, "wait", arguments),
        };
        let text = answer.ok()?.message()?["result"]["content"][0]["text"].as_str()?.to_owned();
        Some(serde_json::from_str::<Value>(&text).ok()?["steps"].clone())
    }
}

/// Lets clients of all kinds call `wait`; what becomes of the calls. All of them run when this returns.
fn start_waits(site: &Site, host: &Host, steps: u32, step_ms: u32) -> Vec<(Kind, JoinHandle<Option<Value>>)> {
    let callers = KINDS.map(|kind| Caller::new(site, host, kind));
    let ids = callers.each_ref().map(|caller| caller.key.id.clone());
    let last_used = || {
        let list = site.list();
        let of = |id: &String| list.iter().find(|key| key["id"] == id.as_str()).unwrap()["lastUsed"].clone();
        ids.each_ref().map(of)
    };
    let before = last_used();
    let calls = callers.map(|caller| (caller.kind, std::thread::spawn(move || caller.wait(steps, step_ms))));
    // A call that is counted runs.
    eventually("all calls run", DEADLINE, || {
        last_used().iter().zip(&before).all(|(now, then)| now != then).then_some(())
    });
    calls.into()
}

/// Calls until the server is gone. Every answer is whole and right.
fn hammer(host: &Host, way: Way, key: &str) -> u32 {
    let mut client = host.client();
    for count in 0.. {
        let text = format!("{way:?} {count}");
        match client.call(way, key, "echo", json!({ "text": text })) {
            Ok(answer) => assert_eq!(answer.echoed(), Some(text), "{answer:?}"),
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
    let site = Site::new();
    let busy = site.key(&[]).text;
    let mut host = site.serve(&COUNTED);
    std::thread::scope(|scope| {
        let (server, busy) = (&host, &busy);
        let load: Vec<_> =
            (0..4).map(|n| scope.spawn(move || hammer(server, Way::BOTH[n % 2], busy))).collect();
        let calls = start_waits(&site, server, 15, 100);
        server.signal(Signal::TERM);
        for (kind, call) in calls {
            assert_eq!(call.join().unwrap(), Some(json!(15)), "{kind:?}");
        }
        let counts: Vec<u32> = load.into_iter().map(|load| load.join().unwrap()).collect();
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    });
    let status = host.wait(DEADLINE);
    assert!(status.success(), "{status}: {}", host.log());
    let refused = host.client().get("/healthz").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

/// Sends signals to a server whose calls take a minute; its exit code, and when it ended.
fn end_with_long_calls(signals: u32) -> (Option<i32>, Duration) {
    let site = Site::new();
    let mut host = site.serve(&COUNTED);
    let calls = start_waits(&site, &host, 6, 10_000);
    let began = Instant::now();
    host.signal(Signal::TERM);
    if signals > 1 {
        eventually("no new connections", DEADLINE, || host.client().get("/healthz").err());
        host.signal(Signal::TERM);
    }
    let status = host.wait(DEADLINE);
    let took = began.elapsed();
    for (kind, call) in calls {
        assert_eq!(call.join().unwrap(), None, "{kind:?}");
    }
    (status.code(), took)
}

#[test]
fn calls_that_never_end_are_not_waited_for_longer_than_ten_seconds() {
    let (code, took) = end_with_long_calls(1);
    assert_eq!(code, Some(0));
    // They would go on for a minute.
    assert!(took < DRAIN * 3, "{took:?}");
}

#[test]
fn a_second_sigterm_means_at_once() {
    let (code, took) = end_with_long_calls(2);
    assert_eq!(code, Some(130));
    assert!(took < DRAIN, "{took:?}");
}

/// Whoever read that the server listens may signal at once.
#[test]
fn signals_are_heard_as_soon_as_the_server_listens() {
    let site = Site::new();
    for _ in 0..10 {
        let mut host = site.serve(&[]);
        host.signal(Signal::HUP);
        let answer = host.client().get("/healthz");
        assert!(answer.is_ok_and(|answer| answer.status == 200), "{}", host.wait(DEADLINE));
        host.signal(Signal::TERM);
        let status = host.wait(DEADLINE);
        assert!(status.success(), "{status}");
    }
}

#[test]
fn sigterm_ends_idle_connections_and_streams() {
    let site = Site::new();
    let (mut host, key) = (site.serve(&[]), site.key(&[]));
    let (mut idle, mut streaming) = (host.client(), host.client());
    assert_eq!(idle.get("/healthz").unwrap().status, 200);
    let session = streaming.greet(&key.text, "test");
    let bearer = format!("Bearer {}", key.text);
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Accept", "text/event-stream"),
        ("Mcp-Session-Id", session.as_str()),
        ("MCP-Protocol-Version", "2025-11-25"),
    ];
    std::thread::scope(|scope| {
        let stream = scope.spawn(|| streaming.exchange("GET /mcp", &headers, ""));
        let admin = site.key(&["--scope", "admin"]).text;
        let is_open = || metrics(&host, &admin).contains("fluxway_streams 1").then_some(());
        eventually("the stream is open", DEADLINE, is_open);
        let began = Instant::now();
        host.signal(Signal::TERM);
        let answer = stream.join().unwrap().unwrap();
        assert_eq!(answer.status, 200, "the stream ends in good order");
        assert!(host.wait(DEADLINE).success());
        assert!(began.elapsed() < DRAIN, "{:?}", began.elapsed());
    });
}

fn metrics(host: &Host, admin: &str) -> String {
    let bearer = format!("Bearer {admin}");
    host.client().exchange("GET /metrics", &[("Authorization", &bearer)], "").unwrap().body
}
