//! Where a server listens, whom it lets in, and what two of them share.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use super::host::{Host, Site};
use super::http::{Answer, Way};
use crate::process::run_with;

/// Calls at once, of which a tenth stays with whoever asked for them.
const BURST: u32 = 20;

/// Sends more calls than allowed to both servers at once, and counts those let in.
pub(crate) fn admitted(hosts: [&Host; 2], key: &str) -> u32 {
    let count = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for worker in 0..6_usize {
            let (count, host) = (&count, hosts[worker % 2]);
            scope.spawn(move || {
                let mut client = host.client();
                for _ in 0..20 {
                    let way = Way::BOTH[worker / 2 % 2];
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

fn assert_is_limited(way: Way, answer: &Answer) {
    let wait: u64 = answer.header("retry-after").unwrap_or_default().parse().unwrap_or_default();
    assert!(answer.status == 429 && wait > 0, "{answer:?}");
    let error = &answer.json()["error"];
    assert_eq!(error["data"]["retryAfter"], wait, "{answer:?}");
    if way == Way::Api {
        assert_eq!(error["code"], -32000, "{answer:?}");
    }
}

/// The flags for it: so slow that nothing comes in while a test runs.
pub(crate) const SLOW: [&str; 4] = ["--rate-limit", "1", "--rate-burst", "20"];

#[test]
fn two_servers_on_one_file_share_one_limit() {
    let site = Site::new();
    let (one, two) = (site.serve(&SLOW), site.serve(&SLOW));
    for round in 0..3 {
        let key = site.key(&[]);
        let count = admitted([&one, &two], &key.text);
        assert!((BURST - BURST / 10..=BURST).contains(&count), "{count} in round {round}");
    }
    // A server that is started anew does not begin to count anew.
    let key = site.key(&[]);
    admitted([&one, &two], &key.text);
    drop(two);
    let three = site.serve(&SLOW);
    assert!(admitted([&one, &three], &key.text) <= BURST / 10);
}

#[test]
fn only_loopback_is_served_without_a_key() {
    let site = Site::new();
    let refusal = |args: &[&str]| {
        let (code, out, err) = run_with(&mut site.command(&[&["serve"], args].concat()));
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        err
    };
    let everywhere = ["--http", "0.0.0.0:0"];
    let no_key = "there is no key yet, and without one the server listens on loopback alone, not on 0.0.0.0:0; \
                  make one with `fluxway keys create --scope read,write`";
    assert!(refusal(&everywhere).contains(no_key));
    // Keys that open nothing are no keys.
    site.key(&["--expires", "0m"]);
    let ended = site.key(&[]);
    assert_eq!(site.keys(&["revoke", &ended.id]).0, 0);
    assert!(refusal(&everywhere).contains(no_key));
    for address in ["0.0.0.0:0", "[::]:0"] {
        let err = refusal(&["--http", address, "--no-auth"]);
        assert!(err.contains("--no-auth is for loopback alone"), "{err}");
    }
    let key = site.key(&[]);
    let host = Host::start(&mut site.command(&["serve", "--toolsets", "diagnostics", "--http", "0.0.0.0:0"]));
    let mut client = super::http::Client::new(([127, 0, 0, 1], host.address.port()).into());
    let answer = client.call(Way::Api, &key.text, "echo", json!({ "text": "x" })).unwrap();
    assert_eq!(answer.echoed().as_deref(), Some("x"), "{answer:?}");
}

#[test]
fn without_keys_everybody_on_this_machine_reads_and_nobody_writes() {
    let site = Site::new();
    let host = site.serve(&["--no-auth", "--toolsets", "integrate"]);
    for way in Way::BOTH {
        let answer = host.client().call(way, "", "echo", json!({ "text": "x" })).unwrap();
        assert_eq!(answer.echoed().as_deref(), Some("x"), "{answer:?}");
    }
    let plan = json!({ "plan": {} });
    let answer = host.client().call(Way::Api, "", "apply_edit_plan", plan).unwrap();
    assert_eq!(answer.json()["error"]["code"], -32002, "{answer:?}");
    drop(host);
    assert!(!site.path("store.db").exists(), "a store that nobody needs");
}

#[test]
fn a_port_that_is_taken_is_said() {
    let site = Site::new();
    let (first, key) = (site.serve(&[]), site.key(&[]));
    let address = first.address.to_string();
    let (code, out, err) = run_with(&mut site.command(&["serve", "--http", &address]));
    assert_eq!((code, out.as_str()), (3, ""), "{err}");
    assert!(err.starts_with(&format!("error: cannot listen on {address}: Address already in use")), "{err}");
    let answer = first.client().call(Way::Api, &key.text, "echo", json!({ "text": "x" })).unwrap();
    assert_eq!(answer.echoed().as_deref(), Some("x"));
}
