//! What was acknowledged is there, whoever is killed.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::host::StoreFixture;
use super::http::McpEndpoint;

/// How long a command waits for others that use the file.
const STORE_BUSY_TIMEOUT: Duration = Duration::from_secs(5);

fn spawn_key_creation(fixture: &StoreFixture) -> Child {
    let mut command = fixture.command(&["keys", "create"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// What a creation printed before its end. Half a line is no acknowledgement.
fn printed_key(mut child: Child) -> Option<String> {
    let out = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    child.wait().unwrap();
    out.strip_suffix('\n').map(str::to_owned)
}

/// How long a creation takes here, when nobody is in its way.
fn typical_creation_time(fixture: &StoreFixture) -> Duration {
    printed_key(spawn_key_creation(fixture)).unwrap();
    let began = Instant::now();
    printed_key(spawn_key_creation(fixture)).unwrap();
    began.elapsed()
}

#[test]
fn printed_keys_survive_kills() {
    const ROUNDS: u32 = 30;
    let site = StoreFixture::new();
    let usual = typical_creation_time(&site);
    let mut host = site.serve(&[]);
    let mut shown = Vec::new();
    let mut delay = Duration::ZERO;
    for round in 0..ROUNDS {
        let mut child = spawn_key_creation(&site);
        // Later each time, until it was done before it was killed. How fast the machine is just now does not matter.
        std::thread::sleep(delay);
        let is_done = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        delay = if is_done { Duration::ZERO } else { delay + delay / 4 + usual / 20 };
        shown.extend(printed_key(child));
        if round % 10 == 9 {
            host.kill();
            host = site.serve(&[]);
        }
    }
    assert!(!shown.is_empty() && shown.len() < ROUNDS as usize, "{} of {ROUNDS} were shown", shown.len());
    let kept = site.key_prefixes();
    let mut client = host.client();
    for key in &shown {
        let prefix = &key[..key.len() - 43];
        assert!(kept.iter().any(|known| known == prefix), "{prefix} is lost");
        let answer = client.call(McpEndpoint::Api, key, "echo", json!({ "text": "x" })).unwrap();
        assert_eq!(answer.echo_text().as_deref(), Some("x"), "{prefix}: {answer:?}");
    }
}

#[test]
fn concurrently_created_keys_are_all_stored() {
    let site = StoreFixture::new();
    let began = Instant::now();
    let all: Vec<Child> = (0..8).map(|_| spawn_key_creation(&site)).collect();
    let shown: Vec<Option<String>> = all.into_iter().map(printed_key).collect();
    let again = || {
        // On a busy disk the others may have taken longer than anybody waits for them.
        assert!(began.elapsed() >= STORE_BUSY_TIMEOUT, "it did not wait for the others");
        printed_key(spawn_key_creation(&site)).unwrap()
    };
    let shown: Vec<String> = shown.into_iter().map(|shown| shown.unwrap_or_else(again)).collect();
    let kept = site.key_prefixes();
    assert_eq!(kept.len(), 8);
    assert!(shown.iter().all(|key| kept.iter().any(|prefix| key.starts_with(prefix))));
    let host = site.serve(&[]);
    for key in &shown {
        let answer = host.client().call(McpEndpoint::Modern, key, "echo", json!({ "text": "x" })).unwrap();
        assert_eq!(answer.echo_text().as_deref(), Some("x"), "one secret for all: {answer:?}");
    }
}
