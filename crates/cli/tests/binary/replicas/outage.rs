//! The database goes away and comes back; a server goes away and does not.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::load::{Sample, call, create, probe, tally};
use super::{alone, pair, shared};
use crate::process::DEADLINE;
use crate::serving::host::{Host, Site, eventually};
use crate::serving::http::Way;

/// The guide allows this much from the return of the database to that of the service.
const RECOVERY: Duration = Duration::from_secs(5);
/// Longer than this nobody waits for any answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// For how many seconds the database stays away: long enough for everybody to notice. Probes look twice a second.
const AWAY: &str = "2";
/// So much that nobody reaches it, and so little that everybody asks the database again and again.
const BRISK: [&str; 4] = ["--rate-limit", "600000", "--rate-burst", "1000"];

/// Four callers of one server, two for each way.
fn callers<'scope>(
    scope: &'scope Scope<'scope, '_>,
    host: &'scope Host,
    key: &'scope str,
    stop: &'scope AtomicBool,
    served: &'scope AtomicUsize,
) -> Vec<ScopedJoinHandle<'scope, Vec<Sample>>> {
    (0..4).map(|number| scope.spawn(move || call(host, Way::BOTH[number % 2], key, stop, served))).collect()
}

fn all(callers: Vec<ScopedJoinHandle<'_, Vec<Sample>>>) -> Vec<Sample> {
    callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
}

/// Lets everything run for a while, and until so many more calls were served.
fn let_run(time: Duration, served: &AtomicUsize, more: usize) {
    let enough = served.load(Ordering::Relaxed) + more;
    std::thread::sleep(time);
    eventually("calls are served", DEADLINE, || (served.load(Ordering::Relaxed) >= enough).then_some(()));
}

/// Whatever happens, the others are told to stop.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn assert_all_kept(site: &Site, shown: &[String]) {
    let kept = site.prefixes();
    for key in shown {
        assert!(kept.iter().any(|prefix| key.starts_with(prefix)), "{} is lost", &key[..key.len() - 43]);
    }
}

fn slowest(samples: &[Sample]) -> Duration {
    samples.iter().map(|sample| sample.took).max().unwrap_or_default()
}

#[expect(clippy::print_stdout, reason = "figures for whoever looks")]
fn tell(what: &str, samples: &[Sample], shown: usize, failed: u32) {
    let (counts, slowest) = (tally(samples), slowest(samples));
    println!("{what}: {counts:?}, slowest {slowest:?}; {shown} keys made, {failed} refused");
}

/// O01 of the guide.
#[test]
fn a_database_that_is_restarted_is_an_outage_and_no_more() {
    let Some((_turn, site, restart)) = alone() else { return };
    let (hosts, key) = (pair(&site, &BRISK), site.key(&[]).text);
    let (stop, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (samples, probes, (shown, failed), back) = std::thread::scope(|scope| {
        let stopping = Stop(&stop);
        let load: Vec<_> = hosts.iter().flat_map(|host| callers(scope, host, &key, &stop, &served)).collect();
        let probes: Vec<_> = hosts.iter().map(|host| scope.spawn(|| probe(host, &stop))).collect();
        let keys = scope.spawn(|| create(&site, &stop));
        let mut back = Vec::new();
        for _ in 0..2 {
            let_run(Duration::from_millis(1500), &served, 40);
            let went = Instant::now();
            assert!(Command::new(&restart).arg(AWAY).status().unwrap().success());
            back.push((went, Instant::now()));
        }
        let_run(RECOVERY, &served, 0);
        let_run(Duration::from_secs(1), &served, 40);
        drop(stopping);
        let probes: Vec<_> = probes.into_iter().map(|probe| probe.join().unwrap()).collect();
        (all(load), probes, keys.join().unwrap(), back)
    });
    tell("restart", &samples, shown.len(), failed);
    let (first, last) = (back[0].0, back[1].1);
    let before: Vec<_> = samples.iter().filter(|sample| sample.sent + sample.took < first).collect();
    assert!(before.len() > 20 && before.iter().all(|sample| sample.status == Some(200)));
    let refused = samples.iter().filter(|sample| sample.status != Some(200));
    let recovered = refused.map(|sample| (sample.sent + sample.took).saturating_duration_since(last)).max();
    assert!(recovered.is_some_and(|after| after < RECOVERY), "{recovered:?}");
    let after: Vec<_> = samples.iter().filter(|sample| sample.sent > last + RECOVERY).collect();
    assert!(after.len() > 10 && after.iter().all(|sample| sample.status == Some(200)), "it does not recover");
    assert!(samples.iter().all(|sample| sample.status.is_some()), "a connection broke");
    assert!(
        tally(&samples).keys().any(|status| *status >= 500),
        "nobody noticed: is this the right database?"
    );
    assert!(slowest(&samples) < PATIENCE, "{:?}", slowest(&samples));
    for changes in probes {
        let statuses: Vec<u16> = changes.iter().map(|(_, status)| *status).collect();
        assert!(statuses.contains(&503) && statuses.ends_with(&[200]), "{statuses:?}");
        assert!(changes.last().unwrap().0 < last + RECOVERY, "ready too late");
    }
    assert!(!shown.is_empty());
    assert_all_kept(&site, &shown);
}

#[test]
fn a_server_that_is_killed_takes_nobody_with_it() {
    let Some((_turn, site)) = shared() else { return };
    let ([doomed, other], key) = (pair(&site, &BRISK), site.key(&[]).text);
    let (stop, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    let of_doomed = AtomicUsize::new(0);
    let (lost, samples, (shown, failed), killed) = std::thread::scope(|scope| {
        let stopping = Stop(&stop);
        let lost = callers(scope, &doomed, &key, &stop, &of_doomed);
        let load = callers(scope, &other, &key, &stop, &served);
        let keys = scope.spawn(|| create(&site, &stop));
        let_run(Duration::from_secs(1), &served, 20);
        let killed = Instant::now();
        doomed.signal(Signal::KILL);
        let_run(Duration::from_secs(2), &served, 20);
        drop(stopping);
        (all(lost), all(load), keys.join().unwrap(), killed)
    });
    tell("killed", &lost, 0, 0);
    tell("other", &samples, shown.len(), failed);
    assert!(lost.iter().any(|sample| sample.status == Some(200)), "it served nothing before it was killed");
    assert!(lost.iter().all(|sample| sample.sent > killed
        || sample.sent + sample.took > killed
        || sample.status == Some(200)));
    assert!(samples.len() > 20 && samples.iter().all(|sample| sample.status == Some(200)));
    assert!(slowest(&samples) < PATIENCE, "{:?}", slowest(&samples));
    assert!(!shown.is_empty() && failed == 0, "{failed} keys were not made");
    assert_all_kept(&site, &shown);
    // Who comes back is one of two again.
    let again = site.serve(&BRISK);
    let answer = again.client().call(Way::Api, &shown[0], "echo", json!({ "text": "x" })).unwrap();
    assert_eq!(answer.echoed().as_deref(), Some("x"), "{answer:?}");
}
