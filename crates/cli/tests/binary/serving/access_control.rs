//! Where a server listens, whom it lets in, and what two of them share.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use super::host::{HttpHost, StoreFixture};
use super::http::{McpEndpoint, RawHttpResponse};
use crate::process::run_command;

/// Calls at once, of which a tenth stays with whoever asked for them.
const RATE_BURST: u32 = 20;

/// Sends more calls than allowed to both servers at once, and counts those let in.
pub(crate) fn count_admitted(hosts: [&HttpHost; 2], key: &str) -> u32 {
    let count = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for worker in 0..6_usize {
            let (count, host) = (&count, hosts[worker % 2]);
            scope.spawn(move || {
                let mut client = host.client();
                for _ in 0..20 {
                    let way = McpEndpoint::ALL[worker / 2 % 2];
                    let answer = client.call(way, key, "echo", json!({ "text": "x" })).unwrap();
                    match answer.status {
                        200 => drop(count.fetch_add(1, Ordering::Relaxed)),
                        _ => assert_is_limited(way, &answer),
                    }
                }
            });
        }
    });
    count.into_inner()
}

fn assert_is_limited(endpoint: McpEndpoint, answer: &RawHttpResponse) {
    let wait: u64 = answer.header("retry-after").unwrap_or_default().parse().unwrap_or_default();
    assert!(answer.status == 429 && wait > 0, "{answer:?}");
    let error = &answer.json()["error"];
    assert_eq!(error["data"]["retryAfter"], wait, "{answer:?}");
    if endpoint == McpEndpoint::Api {
        assert_eq!(error["code"], -32000, "{answer:?}");
    }
}

/// The flags for it: so slow that nothing comes in while a test runs.
pub(crate) const LOW_RATE_LIMIT: [&str; 4] = ["--rate-limit", "1", "--rate-burst", "20"];

#[test]
fn two_servers_on_one_file_share_one_limit() {
    let fixture = StoreFixture::new();
    let (one, two) = (fixture.serve(&LOW_RATE_LIMIT), fixture.serve(&LOW_RATE_LIMIT));
    for round in 0..3 {
        let key = fixture.create_key(&[]);
        let count = count_admitted([&one, &two], &key.text);
        assert!((RATE_BURST - RATE_BURST / 10..=RATE_BURST).contains(&count), "{count} in round {round}");
    }
    // A server that is started anew does not begin to count anew.
    let key = fixture.create_key(&[]);
    count_admitted([&one, &two], &key.text);
    drop(two);
    let three = fixture.serve(&LOW_RATE_LIMIT);
    assert!(count_admitted([&one, &three], &key.text) <= RATE_BURST / 10);
}

#[test]
fn only_loopback_is_served_without_a_key() {
    let fixture = StoreFixture::new();
    let refusal = |args: &[&str]| {
        let (code, out, err) = run_command(&mut fixture.command(&[&["serve"], args].concat()));
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        err
    };
    let everywhere = ["--http", "0.0.0.0:0"];
    let no_key = "cannot listen on 0.0.0.0:0: no API key exists yet, so only loopback addresses are allowed. \
                  Create a key first:\n  fluxway keys create --scope write\n";
    assert!(refusal(&everywhere).contains(no_key));
    // Keys that open nothing are no keys.
    fixture.create_expired_key(&[]);
    let ended = fixture.create_key(&[]);
    assert_eq!(fixture.run_keys(&["revoke", &ended.id]).0, 0);
    assert!(refusal(&everywhere).contains(no_key));
    for address in ["0.0.0.0:0", "[::]:0"] {
        let err = refusal(&["--http", address, "--no-auth"]);
        assert!(err.contains("--no-auth works on loopback only"), "{err}");
    }
    let key = fixture.create_key(&[]);
    let host =
        HttpHost::start(&mut fixture.command(&["serve", "--toolsets", "diagnostics", "--http", "0.0.0.0:0"]));
    let mut client = super::http::RawHttpClient::new(([127, 0, 0, 1], host.address.port()).into());
    let answer = client.call(McpEndpoint::Api, &key.text, "echo", json!({ "text": "x" })).unwrap();
    assert_eq!(answer.echo_text().as_deref(), Some("x"), "{answer:?}");
}

#[test]
fn no_auth_allows_reads_and_rejects_writes() {
    let fixture = StoreFixture::new();
    let host = fixture.serve(&["--no-auth", "--toolsets", "integrate"]);
    for way in McpEndpoint::ALL {
        let answer = host.client().call(way, "", "echo", json!({ "text": "x" })).unwrap();
        assert_eq!(answer.echo_text().as_deref(), Some("x"), "{answer:?}");
    }
    let plan = json!({ "plan": {} });
    let answer = host.client().call(McpEndpoint::Api, "", "apply_edit_plan", plan).unwrap();
    assert_eq!(answer.json()["error"]["code"], -32002, "{answer:?}");
    drop(host);
    assert!(!fixture.path("store.db").exists(), "a store that nobody needs");
}

#[test]
fn port_in_use_is_reported() {
    let fixture = StoreFixture::new();
    let (first, key) = (fixture.serve(&[]), fixture.create_key(&[]));
    let address = first.address.to_string();
    let (code, out, err) = run_command(&mut fixture.command(&["serve", "--http", &address]));
    assert_eq!((code, out.as_str()), (3, ""), "{err}");
    assert!(err.starts_with(&format!("error: cannot listen on {address}: Address already in use")), "{err}");
    let answer = first.client().call(McpEndpoint::Api, &key.text, "echo", json!({ "text": "x" })).unwrap();
    assert_eq!(answer.echo_text().as_deref(), Some("x"));
}
