//! What was acknowledged is there, whoever is killed.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::host::Site;
use super::http::Way;

/// How long a command waits for others that use the file.
const WAITS: Duration = Duration::from_secs(5);

fn creation(site: &Site) -> Child {
    let mut command = site.command(&["keys", "create"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// What a creation printed before its end. Half a line is no acknowledgement.
fn acknowledged(mut child: Child) -> Option<String> {
    let out = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    child.wait().unwrap();
    out.strip_suffix('\n').map(str::to_owned)
}

/// How long a creation takes here, when nobody is in its way.
fn usual_time(site: &Site) -> Duration {
    acknowledged(creation(site)).unwrap();
    let began = Instant::now();
    acknowledged(creation(site)).unwrap();
    began.elapsed()
}

#[test]
fn a_key_that_was_shown_survives_whoever_is_killed() {
    const ROUNDS: u32 = 30;
    let site = Site::new();
    let usual = usual_time(&site);
    let mut host = site.serve(&[]);
    let mut shown = Vec::new();
    let mut delay = Duration::ZERO;
    for round in 0..ROUNDS {
        let mut child = creation(&site);
        // Later each time, until it was done before it was killed. How fast the machine is just now does not matter.
        std::thread::sleep(delay);
        let is_done = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        delay = if is_done { Duration::ZERO } else { delay + delay / 4 + usual / 20 };
        shown.extend(acknowledged(child));
        if round % 10 == 9 {
            host.kill();
            host = site.serve(&[]);
        }
    }
    assert!(!shown.is_empty() && shown.len() < ROUNDS as usize, "{} of {ROUNDS} were shown", shown.len());
    let kept = site.prefixes();
    let mut client = host.client();
    for key in &shown {
        let prefix = &key[..key.len() - 43];
        assert!(kept.iter().any(|known| known == prefix), "{prefix} is lost");
        let answer = client.call(Way::Api, key, "echo", json!({ "text": "x" })).unwrap();
        assert_eq!(answer.echoed().as_deref(), Some("x"), "{prefix}: {answer:?}");
    }
}

#[test]
fn creations_at_once_are_all_kept() {
    let site = Site::new();
    let began = Instant::now();
    let all: Vec<Child> = (0..8).map(|_| creation(&site)).collect();
    let shown: Vec<Option<String>> = all.into_iter().map(acknowledged).collect();
    let again = || {
        // On a busy disk the others may have taken longer than anybody waits for them.
        assert!(began.elapsed() >= WAITS, "it did not wait for the others");
        acknowledged(creation(&site)).unwrap()
    };
    let shown: Vec<String> = shown.into_iter().map(|shown| shown.unwrap_or_else(again)).collect();
    let kept = site.prefixes();
    assert_eq!(kept.len(), 8);
    assert!(shown.iter().all(|key| kept.iter().any(|prefix| key.starts_with(prefix))));
    let host = site.serve(&[]);
    for key in &shown {
        let answer = host.client().call(Way::Modern, key, "echo", json!({ "text": "x" })).unwrap();
        assert_eq!(answer.echoed().as_deref(), Some("x"), "one secret for all: {answer:?}");
    }
}
