//! The database goes away and comes back; a server goes away and does not.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::load::{
    CallSample, call_until_stopped, count_by_status, create_keys_until_stopped, probe_until_stopped,
};
use super::{exclusive_database, shared_database, start_pair};
use crate::process::TEST_TIMEOUT;
use crate::serving::host::{HttpHost, StoreFixture, eventually};
use crate::serving::http::McpEndpoint;

/// The guide allows this much from the return of the database to that of the service.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer than this nobody waits for any answer.
const MAX_RESPONSE_TIME: Duration = Duration::from_secs(5);
/// For how many seconds the database stays away: long enough for everybody to notice. Probes look twice a second.
const OUTAGE_SECONDS: &str = "2";
/// So much that nobody reaches it, and so little that everybody asks the database again and again.
const HIGH_RATE_LIMIT: [&str; 4] = ["--rate-limit", "600000", "--rate-burst", "1000"];

/// Four callers of one server, two for each way.
fn spawn_callers<'scope>(
    scope: &'scope Scope<'scope, '_>,
    host: &'scope HttpHost,
    key: &'scope str,
    stop: &'scope AtomicBool,
    served: &'scope AtomicUsize,
) -> Vec<ScopedJoinHandle<'scope, Vec<CallSample>>> {
    (0..4)
        .map(|number| {
            scope.spawn(move || call_until_stopped(host, McpEndpoint::ALL[number % 2], key, stop, served))
        })
        .collect()
}

fn join_all(callers: Vec<ScopedJoinHandle<'_, Vec<CallSample>>>) -> Vec<CallSample> {
    callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
}

/// Lets everything run for a while, and until so many more calls were served.
fn run_until_served(time: Duration, served: &AtomicUsize, more: usize) {
    let enough = served.load(Ordering::Relaxed) + more;
    std::thread::sleep(time);
    eventually("calls are served", TEST_TIMEOUT, || (served.load(Ordering::Relaxed) >= enough).then_some(()));
}

/// Whatever happens, the others are told to stop.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn assert_keys_stored(fixture: &StoreFixture, shown: &[String]) {
    let kept = fixture.key_prefixes();
    for key in shown {
        assert!(kept.iter().any(|prefix| key.starts_with(prefix)), "{} is lost", &key[..key.len() - 43]);
    }
}

fn slowest(samples: &[CallSample]) -> Duration {
    samples.iter().map(|sample| sample.duration).max().unwrap_or_default()
}

#[expect(clippy::print_stdout, reason = "figures for whoever looks")]
fn print_summary(what: &str, samples: &[CallSample], shown: usize, failed: u32) {
    let (counts, slowest) = (count_by_status(samples), slowest(samples));
    println!("{what}: {counts:?}, slowest {slowest:?}; {shown} keys made, {failed} refused");
}

/// O01 of the guide.
#[test]
fn database_restart_is_a_temporary_outage() {
    let Some((_turn, site, restart)) = exclusive_database() else { return };
    let (hosts, key) = (start_pair(&site, &HIGH_RATE_LIMIT), site.create_key(&[]).text);
    let (stop, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (samples, probes, (shown, failed), back) = std::thread::scope(|scope| {
        let stopping = StopOnDrop(&stop);
        let load: Vec<_> =
            hosts.iter().flat_map(|host| spawn_callers(scope, host, &key, &stop, &served)).collect();
        let probes: Vec<_> =
            hosts.iter().map(|host| scope.spawn(|| probe_until_stopped(host, &stop))).collect();
        let keys = scope.spawn(|| create_keys_until_stopped(&site, &stop));
        let mut back = Vec::new();
        for _ in 0..2 {
            run_until_served(Duration::from_millis(1500), &served, 40);
            let went = Instant::now();
            assert!(Command::new(&restart).arg(OUTAGE_SECONDS).status().unwrap().success());
            back.push((went, Instant::now()));
        }
        run_until_served(RECOVERY_TIMEOUT, &served, 0);
        run_until_served(Duration::from_secs(1), &served, 40);
        drop(stopping);
        let probes: Vec<_> = probes.into_iter().map(|probe| probe.join().unwrap()).collect();
        (join_all(load), probes, keys.join().unwrap(), back)
    });
    print_summary("restart", &samples, shown.len(), failed);
    let (first, last) = (back[0].0, back[1].1);
    let before: Vec<_> = samples.iter().filter(|sample| sample.sent + sample.duration < first).collect();
    assert!(before.len() > 20 && before.iter().all(|sample| sample.status == Some(200)));
    let refused = samples.iter().filter(|sample| sample.status != Some(200));
    let recovered =
        refused.map(|sample| (sample.sent + sample.duration).saturating_duration_since(last)).max();
    assert!(recovered.is_some_and(|after| after < RECOVERY_TIMEOUT), "{recovered:?}");
    let after: Vec<_> = samples.iter().filter(|sample| sample.sent > last + RECOVERY_TIMEOUT).collect();
    assert!(after.len() > 10 && after.iter().all(|sample| sample.status == Some(200)), "it does not recover");
    assert!(samples.iter().all(|sample| sample.status.is_some()), "a connection broke");
    assert!(
        count_by_status(&samples).keys().any(|status| *status >= 500),
        "nobody noticed: is this the right database?"
    );
    assert!(slowest(&samples) < MAX_RESPONSE_TIME, "{:?}", slowest(&samples));
    for changes in probes {
        let statuses: Vec<u16> = changes.iter().map(|(_, status)| *status).collect();
        assert!(statuses.contains(&503) && statuses.ends_with(&[200]), "{statuses:?}");
        assert!(changes.last().unwrap().0 < last + RECOVERY_TIMEOUT, "ready too late");
    }
    assert!(!shown.is_empty());
    assert_keys_stored(&site, &shown);
}

#[test]
fn killed_replica_does_not_affect_the_other() {
    let Some((_turn, site)) = shared_database() else { return };
    let ([doomed, other], key) = (start_pair(&site, &HIGH_RATE_LIMIT), site.create_key(&[]).text);
    let (stop, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    let of_doomed = AtomicUsize::new(0);
    let (lost, samples, (shown, failed), killed) = std::thread::scope(|scope| {
        let stopping = StopOnDrop(&stop);
        let lost = spawn_callers(scope, &doomed, &key, &stop, &of_doomed);
        let load = spawn_callers(scope, &other, &key, &stop, &served);
        let keys = scope.spawn(|| create_keys_until_stopped(&site, &stop));
        run_until_served(Duration::from_secs(1), &served, 20);
        let killed = Instant::now();
        doomed.signal(Signal::KILL);
        run_until_served(Duration::from_secs(2), &served, 20);
        drop(stopping);
        (join_all(lost), join_all(load), keys.join().unwrap(), killed)
    });
    print_summary("killed", &lost, 0, 0);
    print_summary("other", &samples, shown.len(), failed);
    assert!(lost.iter().any(|sample| sample.status == Some(200)), "it served nothing before it was killed");
    assert!(lost.iter().all(|sample| sample.sent > killed
        || sample.sent + sample.duration > killed
        || sample.status == Some(200)));
    assert!(samples.len() > 20 && samples.iter().all(|sample| sample.status == Some(200)));
    assert!(slowest(&samples) < MAX_RESPONSE_TIME, "{:?}", slowest(&samples));
    assert!(!shown.is_empty() && failed == 0, "{failed} keys were not made");
    assert_keys_stored(&site, &shown);
    // Who comes back is one of two again.
    let again = site.serve(&HIGH_RATE_LIMIT);
    let answer = again.client().call(McpEndpoint::Api, &shown[0], "echo", json!({ "text": "x" })).unwrap();
    assert_eq!(answer.echo_text().as_deref(), Some("x"), "{answer:?}");
}
