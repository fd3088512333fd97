//! What is opened to a program, and what is said about it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::confinement::Confinement;
use super::super::environment::ProgramEnvironment;
use super::super::file_access::{AccessRight, allowed_access, collect_excluding, collect_world_readable};
use super::super::process::{Isolation, Namespaces};
use super::super::program::{find_program, required_paths};
use super::super::temp_home::TempHome;
use super::{SandboxFixture, write};

#[test]
fn user_home_and_server_files_are_never_exposed() {
    let site = SandboxFixture::new();
    let home = TempHome::create(Some(&site.tree)).unwrap();
    let mut environment = ProgramEnvironment::collect(&site.tree, home.path());
    // As if the user's home and all that is in it were on the path, and named as toolchains.
    let real_home = site.outside.join("home/user");
    let database = real_home.join("tools/data/database");
    write(&database, "", 0o600);
    write(&real_home.join("tools/bin/tool"), "#!/bin/sh\n", 0o755);
    write(&real_home.join("tools/data/other"), "", 0o600);
    let _open = fs::File::open(&database).unwrap();
    environment.user_home = Some(real_home.clone());
    environment.toolchains = vec![real_home.clone(), real_home.join("tools")];
    environment.path.extend([PathBuf::from("/"), site.outside.clone(), real_home.clone()]);
    let places = allowed_access(&site.tree, &home, Path::new("/bin/sh"), &environment);
    let may = |path: &Path| places.iter().any(|place| path.starts_with(&place.0));
    for (path, expected) in [
        (site.outside.clone(), false),
        (real_home.clone(), false),
        (real_home.join(".ssh/id"), false),
        (real_home.join("tools"), false),
        (real_home.join("tools/bin/tool"), true),
        (real_home.join("tools/data/other"), true),
        (database, false),
        (PathBuf::from("/"), false),
        (PathBuf::from("/proc/1/environ"), false),
        (PathBuf::from("/var/lib"), false),
        (PathBuf::from("/usr/bin/env"), true),
        (PathBuf::from("/etc/passwd"), true),
        (PathBuf::from("/etc/shadow"), false),
    ] {
        assert_eq!(may(&path), expected, "{}", path.display());
    }
    let writable: Vec<_> =
        places.iter().filter(|place| place.1 == AccessRight::Full).map(|place| place.0.as_path()).collect();
    assert_eq!(writable, [site.tree.as_path(), home.path()]);
}

/// Only what everyone may read; a folder as one if that is all of it.
#[test]
fn only_world_readable_settings_are_exposed() {
    let site = SandboxFixture::new();
    let at = |path: &str| site.tree.join(path);
    write(&at("open/a"), "", 0o644);
    write(&at("open/deep/b"), "", 0o644);
    write(&at("mixed/c"), "", 0o644);
    write(&at("mixed/key"), "", 0o640);
    write(&at("mixed/ours"), "", 0o644);
    symlink("/etc/shadow", at("mixed/link")).unwrap();
    let mut found = Vec::new();
    assert!(!collect_world_readable(&site.tree, &[at("mixed/ours")], &mut found));
    found.sort();
    assert_eq!(found, [at("mixed/c"), at("open")]);
    let mut found = Vec::new();
    collect_excluding(&site.tree, &[at("mixed/ours"), at("mixed/c")], &mut found);
    found.sort();
    assert_eq!(found, [at("mixed/key"), at("open")]);
}

#[test]
fn required_paths_of_programs_are_found() {
    let site = SandboxFixture::new();
    let at = |path: &str| site.outside.join(path);
    write(&at("base/bin/python3"), "", 0o755);
    write(&at("env/bin/tool"), "#!/usr/bin/env -S python3 -u\n", 0o755);
    write(&at("env/pyvenv.cfg"), &format!("version = 3\nhome = {}\n", at("base/bin").display()), 0o644);
    write(&at("script"), &format!("#! {} -x\n", at("env/bin/tool").display()), 0o755);
    write(&at("plain/python3"), "", 0o644);
    symlink("b", at("a")).unwrap();
    symlink("a", at("b")).unwrap();
    let path = [at("none"), at("plain"), at("base/bin")];
    assert_eq!(find_program("python3", &site.tree, &path).unwrap(), at("base/bin/python3"));
    let libraries = |program: &str| {
        let mut all: Vec<_> =
            required_paths(&at(program), &path).into_iter().filter(|it| it.ends_with("lib")).collect();
        all.sort();
        all.dedup();
        all
    };
    for (program, expected) in [
        ("base/bin/python3", vec![at("base/lib")]),
        ("env/bin/tool", vec![at("base/lib"), at("env/lib")]),
        ("script", vec![at("base/lib"), at("env/lib")]),
        ("plain/python3", vec![]),
        ("secret", vec![]),
        ("a", vec![]),
    ] {
        assert_eq!(libraries(program), expected, "{program}");
    }
    assert!(required_paths(&at("secret"), &path).is_empty());
}

#[test]
fn description_matches_the_confinement() {
    let minutes = Duration::from_mins(3);
    for (landlock, namespaces, has, lacks) in [
        (
            0,
            Namespaces::Shared,
            &["no sandbox", "all permissions", "may leave processes behind"][..],
            &["it can read only"][..],
        ),
        (0, Namespaces::UserAndPid, &["no sandbox", "leaves no process behind"], &["cannot see other"]),
        (
            1,
            Namespaces::UserAndPid,
            &["in a sandbox", "truncating other files", "cannot see other processes"],
            &["no sandbox", "all permissions"],
        ),
        (
            3,
            Namespaces::Shared,
            &["can terminate them", "may leave processes behind", "local sockets"],
            &["truncating"],
        ),
        (6, Namespaces::Shared, &["cannot reach other processes", "may leave"], &["can terminate them"]),
        (
            7,
            Namespaces::PidOnly,
            &["cannot see other processes", "The network and local sockets remain accessible"],
            &["may leave"],
        ),
        (
            9,
            Namespaces::UserAndPid,
            &["cannot see other processes", "The network remains accessible"],
            &["sockets", "truncating"],
        ),
    ] {
        let isolation = Isolation { landlock: landlock > 0, namespaces };
        let sentence = Confinement { landlock_version: landlock, isolation }.describe(minutes);
        for part in has {
            assert!(sentence.contains(part), "{landlock} {namespaces:?}: {sentence}");
        }
        for part in lacks {
            assert!(!sentence.contains(part), "{landlock} {namespaces:?}: {sentence}");
        }
        assert!(sentence.contains("stopped after 3 minutes"), "{sentence}");
    }
    for (seconds, text) in [(60, "1 minute."), (90, "90 seconds."), (1, "1 second."), (300, "5 minutes.")] {
        let isolation = Isolation { landlock: true, namespaces: Namespaces::UserAndPid };
        let sentence = Confinement { landlock_version: 7, isolation }.describe(Duration::from_secs(seconds));
        assert!(sentence.contains(&format!("after {text}")), "{sentence}");
    }
}
