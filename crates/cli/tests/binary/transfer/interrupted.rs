//! Commands that somebody stops in the middle.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{list_projects, run_projects_ok};
use crate::process::{TEST_TIMEOUT, fluxway};
use crate::projects::{ProjectsFixture, call, create_sample_project};

const SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::KILL];

/// A project with 16 assets of 2 MB.
fn create_large_project(fixture: &ProjectsFixture) -> String {
    let mut server = fixture.start_server("store.db");
    let made = call(&mut server, "create_project", json!({ "name": "Large", "template": "page" }));
    let rest = "QUFB".repeat(700_000);
    for decoded in "BCDEFGHIJKLMNOPQ".chars() {
        let put = json!({ "projectId": made["id"], "action": "put", "name": format!("{decoded}.txt"), "content": format!("QUF{decoded}{rest}") });
        call(&mut server, "edit_asset", put);
    }
    call(&mut server, "publish_project", json!({ "projectId": made["id"] }));
    made["id"].as_str().unwrap().to_owned()
}

/// Starts a command and stops it as soon as something can be seen of it, if it is not over by then.
fn run_and_interrupt(
    fixture: &ProjectsFixture,
    database: &str,
    args: &[&str],
    signal: Signal,
    is_seen: impl Fn() -> bool,
) -> ExitStatus {
    let database = fixture.database_url(database);
    let args = [&["projects"], args, &["--database", &database]].concat();
    let mut child = fluxway(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() && !is_seen() {
        assert!(start.elapsed() < TEST_TIMEOUT, "{args:?} goes on and on");
        thread::yield_now();
    }
    // One that is over cannot be stopped, and its number may be somebody else's by now.
    if child.try_wait().unwrap().is_none() {
        kill_process(Pid::from_child(&child), signal).unwrap();
    }
    child.wait().unwrap()
}

/// Rounds of which one must come into the middle of something: so many at least, and then until one has.
struct InterruptRounds {
    left: u32,
    hits: u32,
    began: Instant,
}

impl InterruptRounds {
    fn at_least(least: u32) -> Self {
        Self { left: least, hits: 0, began: Instant::now() }
    }

    /// Whether that was the last one.
    #[track_caller]
    fn is_done(&mut self, is_hit: bool) -> bool {
        self.left = self.left.saturating_sub(1);
        self.hits += u32::from(is_hit);
        let is_enough = self.left == 0 && self.hits > 0;
        assert!(
            is_enough || self.left > 0 || self.began.elapsed() < 4 * TEST_TIMEOUT,
            "nothing was stopped in the middle"
        );
        is_enough
    }
}

/// As if the signal had ended it, or done.
fn assert_exit_status(status: ExitStatus, signal: Signal) {
    let expected = if signal == Signal::KILL { None } else { Some(130) };
    assert!(status.success() || status.code() == expected, "{signal:?}: {status:?} {:?}", status.signal());
}

fn file_size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

#[test]
fn interrupted_import_is_atomic() {
    let place = ProjectsFixture::new();
    let id = create_large_project(&place);
    let site = place.path("site");
    run_projects_ok(&place, "store.db", &["export", &id, "--out", &site]);
    let whole = list_projects(&place, "store.db");
    let mut rounds = InterruptRounds::at_least(9);
    for (round, signal) in SIGNALS.into_iter().cycle().enumerate() {
        let database = format!("other-{round}.db");
        let log = PathBuf::from(place.path(&format!("{database}-wal")));
        let few = 2_000_000 * (round as u64 % 9 + 1);
        let status =
            run_and_interrupt(&place, &database, &["import", &site], signal, || file_size(&log) > few);
        assert_exit_status(status, signal);
        let found = list_projects(&place, &database);
        assert!(found == json!([]) || found == whole, "{signal:?}: {found}");
        // And nothing stands in its way.
        run_projects_ok(&place, &database, &["import", &site]);
        assert_eq!(list_projects(&place, &database), whole);
        if rounds.is_done(found == json!([])) {
            break;
        }
    }
}

/// What lies beside the database.
fn folder_entries(fixture: &ProjectsFixture) -> Vec<String> {
    let entries = fs::read_dir(fixture.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = entries.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with("store.db")).collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn interrupted_export_leaves_nothing() {
    let place = ProjectsFixture::new();
    let id = create_large_project(&place);
    let site = place.path("site");
    let mut rounds = InterruptRounds::at_least(6);
    for (round, signal) in [Signal::INT, Signal::TERM].into_iter().cycle().enumerate() {
        let args = if round % 3 == 0 { vec!["backup", &site] } else { vec!["export", &id, "--out", &site] };
        let begun = || folder_entries(&place).iter().any(|name| name.starts_with(".site."));
        let status = run_and_interrupt(&place, "store.db", &args, signal, begun);
        assert_exit_status(status, signal);
        if status.success() {
            fs::remove_dir_all(&site).unwrap();
        }
        assert_eq!(folder_entries(&place), Vec::<String>::new(), "{signal:?}");
        if rounds.is_done(!status.success()) {
            break;
        }
    }
}

/// Runs a command while somebody else writes, and stops it while it waits for that; what it says. Nothing has changed then.
fn interrupt_while_waiting(
    fixture: &ProjectsFixture,
    writer: &rusqlite::Connection,
    args: &[&str],
) -> String {
    let database = fixture.database_url("store.db");
    let found = || (list_projects(fixture, "store.db"), folder_entries(fixture));
    let mut patience = Duration::from_millis(50);
    // Longer, it would not wait itself.
    while patience < Duration::from_secs(4) {
        let before = found();
        writer.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut command = fluxway(&[args, &["--database", &database]].concat());
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        thread::sleep(patience);
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        // It hears of that before it can go on.
        thread::sleep(patience);
        writer.execute_batch("ROLLBACK").unwrap();
        let ended = child.wait_with_output().unwrap();
        if ended.status.code() == Some(130) {
            assert_eq!(found(), before, "{args:?}");
            return String::from_utf8(ended.stderr).unwrap();
        }
        // The signal came before anybody listened to signals, or was heard too late, when all was done.
        let _ = fs::remove_dir_all(fixture.path("free"));
        patience *= 2;
    }
    panic!("{args:?} does not listen to signals");
}

#[test]
fn interrupted_commands_report_the_consequences() {
    let place = ProjectsFixture::new();
    let id = create_sample_project(&mut place.start_server("store.db"));
    let (site, free) = (place.path("site"), place.path("free"));
    run_projects_ok(&place, "store.db", &["export", &id, "--out", &site]);
    let writer = rusqlite::Connection::open(place.path("store.db")).unwrap();
    for (args, expected) in [
        (vec!["projects", "list"], "nothing has changed"),
        (vec!["projects", "export", &id, "--out", &free], "the same command begins anew"),
        (vec!["projects", "backup", &free], "the same command begins anew"),
        (vec!["projects", "import", &site, "--account", "acme"], "the same command does the rest"),
        (vec!["projects", "import", &site, "--copy"], "the same command would copy all of it once more"),
        (vec!["keys", "create"], "works only if `fluxway keys list` shows it"),
        (vec!["keys", "list"], "nothing was changed"),
        (vec!["keys", "revoke", "key_x"], "run the command again to revoke it"),
        (vec!["keys", "rotate", "key_x"], "the same command makes a new one"),
    ] {
        let told = interrupt_while_waiting(&place, &writer, &args);
        assert!(told.starts_with("stopped: ") && told.contains(expected), "{args:?}: {told}");
    }
    assert_eq!(folder_entries(&place), ["site"]);
}
