//! How programs end, and what is left of them.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tree::Budget;

use super::super::environment::Environment;
use super::super::home::Home;
use super::super::places;
use super::super::process::{Namespaces, Order, Running};
use super::super::run_in;
use super::{Site, confinement, isolations, minute};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn codes() {
    for isolation in isolations() {
        for (text, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)] {
            let site = Site::new();
            site.script("it", &format!("#!/bin/sh\n{text}\n"));
            let ended = site.run_as("./it", isolation);
            assert_eq!(
                (ended.code, ended.timed_out),
                (Some(code), false),
                "{text} {isolation:?}: {}",
                ended.output
            );
        }
    }
}

#[test]
fn what_does_not_start() {
    let site = Site::new();
    site.file("plain", "echo").file("sub/it", "");
    for (program, kind) in [
        ("no-such-program", io::ErrorKind::NotFound),
        ("./no-such-program", io::ErrorKind::NotFound),
        ("sub", io::ErrorKind::NotFound),
        ("./sub", io::ErrorKind::NotFound),
        ("./plain", io::ErrorKind::PermissionDenied),
    ] {
        let error = run_in(&site.tree, &words(&[program]), &minute(), confinement().isolation).unwrap_err();
        assert_eq!(error.kind(), kind, "{program}");
    }
    assert!(run_in(&site.tree, &[], &minute(), confinement().isolation).is_err());
}

/// Words reach the program as they are: shells start it, but interpret nothing of it.
#[test]
fn words_are_not_interpreted() {
    let odd = ["a b", "$(echo x)", "`id`", "$HOME", "'", "\"", "\\", "*", "-c", "--", ";", "\n", ""];
    for isolation in isolations() {
        let site = Site::new();
        site.script("it", "#!/bin/sh\nfor word do printf '<%s>' \"$word\"; done\n");
        let command: Vec<String> = words(&["./it"]).into_iter().chain(words(&odd)).collect();
        let ended = run_in(&site.tree, &command, &minute(), isolation).unwrap();
        assert_eq!(ended.output, odd.map(|word| format!("<{word}>")).concat(), "{isolation:?}");
    }
}

#[test]
fn the_end_of_the_output_is_kept() {
    let much = "yes 0123456789 | head -c 3000000";
    for isolation in isolations() {
        for (text, length, end) in [
            (format!("{much}\necho END"), 16 * 1024, "END\n"),
            (format!("{{ {much}\necho END\n}} >&2"), 16 * 1024, "END\n"),
            ("echo first; echo last".to_owned(), 11, "first\nlast\n"),
            ("echo first >&2; echo last >&2".to_owned(), 11, "first\nlast\n"),
            (r"printf '\377'".to_owned(), 3, "\u{fffd}"),
        ] {
            let site = Site::new();
            site.script("it", &format!("#!/bin/sh\n{text}\n"));
            let output = site.run_as("./it", isolation).output;
            assert!(output.len() == length && output.ends_with(end), "{text} {isolation:?}: {output}");
        }
        let site = Site::new();
        site.script("it", "#!/bin/sh\necho OUT\necho ERR >&2\n");
        let output = site.run_as("./it", isolation).output;
        assert!(output.contains("OUT\n") && output.contains("ERR\n"), "{isolation:?}: {output}");
    }
}

/// Time is up, or the call is cancelled: all is ended, also what left the group and what ignores signals.
#[test]
fn nothing_outlives_the_run() {
    type Case = (&'static str, fn() -> Budget, bool);
    let leaver =
        "trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM HUP; sleep 543; :' & setsid sleep 543 & ";
    let over = || Budget::unlimited().within(Duration::from_millis(400));
    let stopped = || {
        let looks = Arc::new(AtomicBool::new(false));
        // The second look finds the call cancelled.
        Budget::unlimited().until(move || looks.swap(true, Ordering::Relaxed))
    };
    let budgets: [Case; 3] =
        [("exit 0", minute, false), ("sleep 543", over, true), ("sleep 543", stopped, true)];
    for isolation in isolations() {
        for (last, budget, is_ended) in budgets {
            let site = Site::new();
            site.script("it", &format!("#!/bin/sh\n{leaver}{last}\n"));
            let ended = run_in(&site.tree, &words(&["./it"]), &budget(), isolation);
            let left = processes_in(&site.tree);
            // Before anything can fail: they would stay for a day, and with them all that they hold open.
            for process in &left {
                let _ = rustix::process::kill_process(*process, rustix::process::Signal::KILL);
            }
            let ended = ended.unwrap();
            assert_eq!((ended.timed_out, ended.code.is_none()), (is_ended, is_ended), "{last} {isolation:?}");
            if isolation.namespaces == Namespaces::Shared {
                println!("not tested: without namespaces a process can leave");
            } else {
                assert!(left.is_empty(), "{last} {isolation:?}: {left:?}");
            }
        }
    }
}

/// The processes that run in a folder.
fn processes_in(folder: &Path) -> Vec<rustix::process::Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let in_folder =
        processes.filter(|it| fs::read_link(it.path().join("cwd")).is_ok_and(|cwd| cwd == folder));
    let number = |it: fs::DirEntry| it.file_name().to_str()?.parse().ok();
    in_folder.filter_map(number).filter_map(rustix::process::Pid::from_raw).collect()
}

/// Should the server be killed, its end of the pipe is closed, and the first process inside ends all others.
#[test]
fn a_run_ends_with_the_server() {
    let isolation = confinement().isolation;
    if isolation.namespaces == Namespaces::Shared {
        println!("not tested: there are no namespaces here");
        return;
    }
    let site = Site::new();
    site.script("it", "#!/bin/sh\nsetsid sleep 543 &\nsleep 543\n");
    let home = Home::create(Some(&site.tree)).unwrap();
    let environment = Environment::gather(&site.tree, home.path());
    let program = site.tree.join("it");
    let order = Order {
        program: &program,
        arguments: &[],
        folder: &site.tree,
        environment: &environment.variables,
        places: &places::allowed(&site.tree, &home, &program, &environment),
        isolation,
    };
    // At once, so that sometimes the program has not started yet.
    for _ in 0..10 {
        let mut running = Running::start(&order).unwrap();
        running.let_go();
        assert_eq!(running.finish(&minute()).unwrap().code, Some(137));
        assert!(processes_in(&site.tree).is_empty());
    }
}

#[test]
fn the_home_is_removed() {
    let fill = "mkdir -p $HOME/a/b $TMPDIR/x\ntouch $HOME/a/b/c\nln -s / $HOME/a/root\nchmod 000 $HOME/a/b\nchmod 555 $HOME/a";
    for isolation in isolations() {
        for last in ["exit 0", "exit 1", "kill -9 $$"] {
            let site = Site::new();
            site.script("it", &format!("#!/bin/sh\necho $HOME\n{fill}\n{last}\n"));
            let output = site.run_as("./it", isolation).output;
            let home = Path::new(output.lines().next().unwrap());
            assert!(home.is_absolute() && !home.exists(), "{last}: {output}");
        }
    }
}
