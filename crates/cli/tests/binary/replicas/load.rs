//! Callers who never stop, and what they got.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::serving::host::{HttpHost, StoreFixture};
use crate::serving::http::{McpEndpoint, RawHttpClient, RawHttpResponse};

/// How long a caller waits between two calls: eight of them make a few hundred calls a second.
const CALL_INTERVAL: Duration = Duration::from_millis(15);

/// One call: when it was sent, how long it took, and the status. No status: the connection broke.
#[derive(Debug)]
pub(crate) struct CallSample {
    pub(crate) sent: Instant,
    pub(crate) duration: Duration,
    pub(crate) status: Option<u16>,
}

/// Calls one server until told to stop. Every answer is the right one, which is counted, or says when to come again.
pub(crate) fn call_until_stopped(
    host: &HttpHost,
    endpoint: McpEndpoint,
    key: &str,
    stop: &AtomicBool,
    served: &AtomicUsize,
) -> Vec<CallSample> {
    let mut client = host.client();
    let mut samples = Vec::new();
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let text = format!("{endpoint:?} {number}");
        let sent = Instant::now();
        let status = match client.call(endpoint, key, "echo", json!({ "text": text })) {
            Ok(answer) => Some(check_response(endpoint, &text, &answer)),
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::InvalidData, "an answer broke off: {error}");
                None
            }
        };
        samples.push(CallSample { sent, duration: sent.elapsed(), status });
        served.fetch_add(usize::from(status == Some(200)), Ordering::Relaxed);
        std::thread::sleep(CALL_INTERVAL);
    }
    samples
}

fn check_response(endpoint: McpEndpoint, text: &str, answer: &RawHttpResponse) -> u16 {
    let unavailable = match endpoint {
        McpEndpoint::Api => 500,
        McpEndpoint::Modern => 503,
    };
    if answer.status == 200 {
        assert_eq!(answer.echo_text().as_deref(), Some(text), "a wrong answer: {answer:?}");
    } else {
        assert!([unavailable, 429].contains(&answer.status), "{endpoint:?}: {answer:?}");
        assert!(answer.header("retry-after").is_some(), "{endpoint:?}: {answer:?}");
        assert!(answer.json()["error"]["code"].is_i64(), "{endpoint:?}: {answer:?}");
    }
    answer.status
}

/// Makes keys until told to stop; those that were shown, and how many were not.
pub(crate) fn create_keys_until_stopped(fixture: &StoreFixture, stop: &AtomicBool) -> (Vec<String>, u32) {
    let (mut shown, mut failed) = (Vec::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        let (code, out, err) = fixture.run_keys(&["create"]);
        match (code, out.strip_suffix('\n')) {
            (0, Some(key)) => shown.push(key.to_owned()),
            (3, None) => failed += 1,
            // The database went away between the last look at it and the write, after the key was shown.
            (3, Some(_)) if err.contains("Do not use it") => failed += 1,
            _ => panic!("exit code {code}: {err}"),
        }
    }
    (shown, failed)
}

/// What the probes of a server said: each change of `/readyz`, and when.
pub(crate) fn probe_until_stopped(host: &HttpHost, stop: &AtomicBool) -> Vec<(Instant, u16)> {
    let (mut ready, mut healthy) = (host.client(), host.client());
    let mut changes: Vec<(Instant, u16)> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        assert_eq!(get_status(&mut healthy, "/healthz"), 200);
        let status = get_status(&mut ready, "/readyz");
        if changes.last().is_none_or(|(_, last)| *last != status) {
            changes.push((Instant::now(), status));
        }
        std::thread::sleep(CALL_INTERVAL);
    }
    changes
}

fn get_status(client: &mut RawHttpClient, path: &str) -> u16 {
    client.get(path).unwrap().status
}

/// How many of each status. 0 stands for a broken connection.
pub(crate) fn count_by_status(samples: &[CallSample]) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    for sample in samples {
        *counts.entry(sample.status.unwrap_or(0)).or_default() += 1;
    }
    counts
}
