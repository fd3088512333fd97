//! Files that are no store of ours, or that cannot be used.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rusqlite::Connection;

use super::host::StoreFixture;
use crate::process::{BINARY, run_command};

const STORE_COMMANDS: [&[&str]; 3] =
    [&["keys", "create"], &["keys", "list"], &["serve", "--http", "127.0.0.1:0"]];

/// Every command refuses with this text, and leaves the file as it is.
fn assert_refused(fixture: &StoreFixture, expected: &str) {
    let before = std::fs::read(fixture.path("store.db")).unwrap();
    for args in STORE_COMMANDS {
        let (code, out, err) = run_command(&mut fixture.command(args));
        assert_eq!((code, out.as_str()), (3, ""), "{args:?}: {err}");
        assert!(err.contains("error: sqlite:") && err.contains(expected), "{args:?}: {err}");
        assert!(err.ends_with("hint: name another one with --database URL\n"), "{args:?}: {err}");
    }
    assert!(before == std::fs::read(fixture.path("store.db")).unwrap(), "the file was changed");
}

#[test]
fn a_newer_schema_is_refused() {
    let site = StoreFixture::new();
    let key = site.create_key(&[]);
    let file = Connection::open(site.path("store.db")).unwrap();
    file.pragma_update(None, "user_version", 7).unwrap();
    file.pragma_update(None, "wal_checkpoint", "TRUNCATE").ok();
    drop(file);
    assert_refused(&site, "was made by a newer fluxway (schema 7, this one supports 4); use that version or");
    // The version that made it finds everything there.
    let file = Connection::open(site.path("store.db")).unwrap();
    file.pragma_update(None, "user_version", 4).unwrap();
    drop(file);
    assert_eq!(site.key_prefixes(), [key.prefix()]);
}

#[test]
fn non_database_file_is_rejected() {
    for (bytes, expected) in [
        ("Dear diary, today nothing happened.\n".repeat(100), "is not a database; use another file"),
        ("SQLite format 3\0".to_owned() + &"\0".repeat(4080), "is not a database"),
    ] {
        let site = StoreFixture::new();
        std::fs::write(site.path("store.db"), bytes).unwrap();
        assert_refused(&site, expected);
    }
}

#[test]
fn the_database_of_another_program_is_refused() {
    let site = StoreFixture::new();
    let file = Connection::open(site.path("store.db")).unwrap();
    file.execute_batch("CREATE TABLE songs (title TEXT)").unwrap();
    drop(file);
    assert_refused(&site, "belongs to another program");
}

/// Whoever copies the file of a server that has ended has copied everything.
#[test]
fn clean_shutdown_leaves_a_single_file() {
    let site = StoreFixture::new();
    let key = site.create_key(&[]);
    let host = site.serve(&[]);
    assert_eq!(host.client().get("/readyz").unwrap().status, 200);
    host.shut_down();
    let copy = StoreFixture::new();
    std::fs::copy(site.path("store.db"), copy.path("store.db")).unwrap();
    assert_eq!(copy.key_prefixes(), [key.prefix()]);
    assert!(!site.path("store.db-wal").exists(), "the log is still there");
}

/// A command as somebody whom permissions hold back. Root is not: it becomes nobody.
fn unprivileged_command(fixture: &StoreFixture, args: &[&str]) -> Option<Command> {
    if !rustix::process::geteuid().is_root() {
        return Some(fixture.command(args));
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", BINARY]).args(args);
    command.env("FLUXWAY_DATABASE", &fixture.url).env("XDG_CONFIG_HOME", "/nonexistent");
    let mut probe = Command::new("setpriv");
    let probed =
        probe.args(["--reuid=65534", "--regid=65534", "--clear-groups", BINARY, "--version"]).output();
    probed.is_ok_and(|output| output.status.success()).then_some(command)
}

#[test]
fn unwritable_folder_is_reported() {
    for has_store in [false, true] {
        let site = StoreFixture::new();
        let mut kept = Vec::new();
        if has_store {
            site.create_key(&[]);
            std::fs::set_permissions(site.path("store.db"), Permissions::from_mode(0o444)).unwrap();
            kept = std::fs::read(site.path("store.db")).unwrap();
        }
        std::fs::set_permissions(site.folder.path(), Permissions::from_mode(0o555)).unwrap();
        for args in STORE_COMMANDS {
            let Some(mut command) = unprivileged_command(&site, args) else {
                return print_skipped("setpriv cannot be used");
            };
            let (code, out, err) = run_command(&mut command);
            assert_eq!((code, out.as_str()), (3, ""), "{args:?} {has_store}: {err}");
            assert!(err.contains("sqlite:") && err.contains("--database URL"), "{args:?}: {err}");
            let reasons = ["Permission denied", "readonly database", "unable to open database file"];
            assert!(reasons.iter().any(|reason| err.contains(reason)), "{args:?} {has_store}: {err}");
        }
        std::fs::set_permissions(site.folder.path(), Permissions::from_mode(0o755)).unwrap();
        let left = std::fs::read(site.path("store.db")).unwrap_or_default();
        assert!(left == kept, "the file was changed");
    }
}

#[expect(clippy::print_stdout, reason = "there is no protocol here")]
pub(crate) fn print_skipped(why: &str) {
    println!("not run: {why}");
}
