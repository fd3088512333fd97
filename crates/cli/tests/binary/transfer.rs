//! Projects out of a database and into another one: whole or not at all, with their past, for nobody else to read.

mod interrupted;

use std::fs;
use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionbio;
use serde_json::{Value, json};

use crate::process::{StdioServer, fluxway};
use crate::projects::{ProjectsFixture, call, create_sample_project};

/// What the owner sees of a database.
fn list_projects(fixture: &ProjectsFixture, database: &str) -> Value {
    let (code, out, err) = fixture.run_projects(database, &["list", "--json"]);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str::<Value>(&out).unwrap()["projects"].take()
}

#[track_caller]
fn run_projects_ok(fixture: &ProjectsFixture, database: &str, args: &[&str]) -> (Vec<String>, String) {
    let (code, out, err) = fixture.run_projects(database, args);
    assert_eq!(code, 0, "{args:?}: {err}");
    (out.lines().map(str::to_owned).collect(), err)
}

#[test]
fn import_preserves_project_history() {
    let place = ProjectsFixture::new();
    let mut server = place.start_server("store.db");
    let id = create_sample_project(&mut server);
    call(&mut server, "publish_project", json!({ "projectId": id }));
    for gone in [3, 1] {
        let unpublish = json!({ "projectId": id, "action": "unpublish" });
        if gone == 3 {
            call(&mut server, "publish_project", unpublish);
        }
        call(&mut server, "publish_project", json!({ "projectId": id, "action": "delete", "version": gone }));
    }
    let site = place.path("site");
    run_projects_ok(&place, "store.db", &["export", &id, "--out", &site]);
    run_projects_ok(&place, "other.db", &["import", &site]);
    // Times, revisions and usage, too.
    assert_eq!(list_projects(&place, "other.db"), list_projects(&place, "store.db"));
    let mut other = place.start_server("other.db");
    let versions = |server: &mut StdioServer| call(server, "list_versions", json!({ "projectId": id }));
    assert_eq!(versions(&mut other), versions(&mut server));
    assert_eq!(versions(&mut other)["versions"].as_array().unwrap().len(), 1);
    // A number that was deleted there does not come again here.
    call(&mut other, "publish_project", json!({ "projectId": id }));
    assert_eq!(versions(&mut other)["versions"][0]["version"], 4);
    // What came from somewhere can go on from there.
    let again = place.path("again");
    run_projects_ok(&place, "other.db", &["export", &id, "--out", &again]);
    run_projects_ok(&place, "third.db", &["import", &again]);
    assert_eq!(list_projects(&place, "third.db"), list_projects(&place, "other.db"));
    // A copy is new, with the same past.
    let (copy, _) = run_projects_ok(&place, "other.db", &["import", &site, "--copy"]);
    let projects = list_projects(&place, "other.db");
    assert_eq!((&projects[1]["id"], projects[1]["slug"] == projects[0]["slug"]), (&json!(copy[0]), false));
    // As texts they cannot be compared: a second without a fraction comes after those with one.
    let created = |at: usize| projects[at]["createdAt"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(created(1) > created(0), "{projects}");
}

#[test]
fn backup_import_is_idempotent() {
    let place = ProjectsFixture::new();
    let mut server = place.start_server("store.db");
    let ids = [(); 3].map(|()| create_sample_project(&mut server));
    let backup = place.path("backup");
    run_projects_ok(&place, "store.db", &["backup", &backup]);
    let damaged = Path::new(&backup).join("local").join(&ids[1]).join("content.json");
    let content = fs::read(&damaged).unwrap();
    fs::write(&damaged, "{").unwrap();

    // One that is damaged keeps no other out.
    let (code, out, err) = place.run_projects("other.db", &["import", &backup]);
    assert_eq!((code, out.lines().count()), (1, 2), "{err}");
    assert!(err.contains("not imported: ") && err.contains(&ids[1]), "{err}");
    assert!(err.ends_with("error: 1 of 3 projects were not imported\n"), "{err}");
    // Once it is mended, the same command brings the rest.
    fs::write(&damaged, content).unwrap();
    let (out, err) = run_projects_ok(&place, "other.db", &["import", &backup]);
    assert_eq!((out.len(), err.matches("is there already, and the same").count()), (3, 2), "{err}");
    assert_eq!(list_projects(&place, "other.db"), list_projects(&place, "store.db"));

    // What somebody has worked on since is not touched.
    let mut other = place.start_server("other.db");
    call(&mut other, "update_project", json!({ "projectId": ids[0], "name": "Mine" }));
    let before = list_projects(&place, "other.db");
    let (code, _, err) = place.run_projects("other.db", &["import", &backup]);
    assert_eq!(code, 1);
    assert!(err.contains(&format!("{} is there already and not the same", ids[0])), "{err}");
    assert!(err.contains("import it with --copy"), "{err}");
    assert_eq!(list_projects(&place, "other.db"), before);
}

#[test]
fn empty_backup_can_be_imported() {
    let place = ProjectsFixture::new();
    call(&mut place.start_server("store.db"), "list_projects", json!({}));
    let backup = place.path("backup");
    let (_, err) = run_projects_ok(&place, "store.db", &["backup", &backup]);
    assert!(err.starts_with("Backed up 0 projects to "), "{err}");
    let (out, err) = run_projects_ok(&place, "other.db", &["import", &backup]);
    assert_eq!(
        (out.len(), err),
        (0, format!("{backup} is a backup without projects: there is nothing to import.\n"))
    );
    assert_eq!(list_projects(&place, "other.db"), json!([]));
}

#[test]
fn one_account_of_a_backup_can_be_imported() {
    let place = ProjectsFixture::new();
    let id = create_sample_project(&mut place.start_server("store.db"));
    let (site, backup) = (place.path("site"), place.path("backup"));
    run_projects_ok(&place, "store.db", &["export", &id, "--out", &site]);
    run_projects_ok(&place, "store.db", &["import", &site, "--copy", "--account", "acme"]);
    run_projects_ok(&place, "store.db", &["backup", &backup]);
    let (brought, _) = run_projects_ok(&place, "other.db", &["import", &format!("{backup}/local")]);
    assert_eq!(brought, [id]);
    // Backups of earlier versions have no file that says so.
    fs::remove_file(Path::new(&backup).join("backup.json")).unwrap();
    let (brought, _) = run_projects_ok(&place, "other.db", &["import", &backup]);
    assert_eq!(brought.len(), 2);
    assert_eq!(list_projects(&place, "other.db"), list_projects(&place, "store.db"));
}

fn permission_modes(folder: &Path) -> Vec<(String, u32)> {
    let mut found =
        vec![(folder.display().to_string(), folder.metadata().unwrap().permissions().mode() & 0o777)];
    if folder.is_dir() {
        for entry in fs::read_dir(folder).unwrap() {
            found.extend(permission_modes(&entry.unwrap().path()));
        }
    }
    found
}

#[test]
fn exports_are_private_to_their_owner() {
    let place = ProjectsFixture::new();
    let id = create_sample_project(&mut place.start_server("store.db"));
    let (site, backup) = (place.path("site"), place.path("backup"));
    run_projects_ok(&place, "store.db", &["export", &id, "--out", &site]);
    run_projects_ok(&place, "store.db", &["backup", &backup]);
    let found: Vec<_> =
        [site, backup].iter().flat_map(|folder| permission_modes(Path::new(folder))).collect();
    assert!(found.len() > 10);
    for (path, mode) in found {
        let expected = if Path::new(&path).is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, expected, "{path} has {mode:o}");
    }
}

#[test]
fn invalid_account_names_are_rejected() {
    let place = ProjectsFixture::new();
    let id = create_sample_project(&mut place.start_server("store.db"));
    let site = place.path("site");
    run_projects_ok(&place, "store.db", &["export", &id, "--out", &site]);
    for account in ["", "a\u{1b}[2Jb", &"x".repeat(1001)] {
        for args in [&["list"][..], &["export", &id], &["import", &site, "--copy"]] {
            let (code, out, err) = place.run_projects("store.db", &[args, &["--account", account]].concat());
            assert_eq!((code, out.as_str()), (2, ""), "{args:?} {account:?}: {err}");
            assert!(err.starts_with("error: --account takes a name"), "{err}");
        }
    }
    // The tenant of a token may be long, and may hold what turns a line around.
    let long = format!("https://issuer.example {}\u{202e}", "x".repeat(256));
    let (_, told) = run_projects_ok(&place, "store.db", &["import", &site, "--copy", "--account", &long]);
    let (rows, _) = run_projects_ok(&place, "store.db", &["list"]);
    for shown in [told, rows.join("\n")] {
        assert!(shown.contains("x\\u{202e}") && !shown.contains('\u{202e}'), "{shown}");
    }
    let backup = place.path("backup");
    run_projects_ok(&place, "store.db", &["backup", &backup]);
    run_projects_ok(&place, "other.db", &["import", &backup]);
    assert_eq!(list_projects(&place, "other.db"), list_projects(&place, "store.db"));
}

/// While somebody writes: every export is of one moment, and a backup has what is there from its beginning to its end.
#[test]
fn exports_are_consistent_during_writes() {
    let place = ProjectsFixture::new();
    let mut server = place.start_server("store.db");
    let id = create_sample_project(&mut server);
    let put = json!({ "projectId": id, "action": "put", "name": "x.txt", "content": "QUFB" });
    let asset = call(&mut server, "edit_asset", put)["asset"]["id"].take();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut rested = Instant::now();
            let mut edit = |tool: &str, mut arguments: Value| {
                if tool != "create_project" && arguments["projectId"].is_null() {
                    arguments["projectId"] = json!(id);
                }
                // Whoever opens the database waits for a pause of the writer, and on a busy disk there would be none: SQLite
                // looks ten times a second, and gives up after 5.
                if rested.elapsed() > Duration::from_secs(1) {
                    thread::sleep(Duration::from_millis(300));
                    rested = Instant::now();
                }
                call(&mut server, tool, arguments)
            };
            for round in 3_u32.. {
                edit("edit_asset", json!({ "action": "put", "assetId": asset, "name": "x.txt", "content": "QUFB".repeat(round as usize) }));
                edit("publish_project", json!({ "note": round.to_string() }));
                edit("publish_project", json!({ "action": "delete", "version": round - 1 }));
                let passing = edit("create_project", json!({ "name": "Passing", "template": "page" }));
                edit("delete_project", json!({ "projectId": passing["id"], "confirm": "Passing" }));
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        // It is over also if something of this fails.
        let _end = EndWriterOnDrop(&is_over);
        for round in 0..15 {
            let (site, backup) =
                (place.path(&format!("site-{round}")), place.path(&format!("backup-{round}")));
            run_projects_ok(&place, "store.db", &["export", &id, "--out", &site]);
            run_projects_ok(&place, "store.db", &["backup", &backup]);
            // Whatever does not belong together is refused here.
            run_projects_ok(&place, &format!("{round}.db"), &["import", &site]);
            run_projects_ok(&place, &format!("{round}-all.db"), &["import", &backup]);
        }
    });
}

struct EndWriterOnDrop<'a>(&'a AtomicBool);

impl Drop for EndWriterOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A pipe that nobody can write to as long as nobody reads.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    ioctl_fionbio(&writer, true).unwrap();
    while writer.write(&[0; 4096]).is_ok() {}
    ioctl_fionbio(&writer, false).unwrap();
    (reader, writer)
}

/// The most memory that an import has had, in kilobytes. It is done, and cannot print that: so it is there to be looked at.
fn peak_import_memory(fixture: &ProjectsFixture, site: &str, database: &str) -> u64 {
    let (reader, writer) = full_pipe();
    let mut import = fluxway(&["projects", "import", site, "--database", &fixture.database_url(database)]);
    let mut child = import.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    assert!(line.starts_with("Imported "), "{line}");
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    // Whoever has nobody to print for is done.
    drop(reader);
    assert!(child.wait().unwrap().success());
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

/// However many versions there are, only one of them is in memory.
#[test]
#[cfg(target_os = "linux")]
fn import_keeps_one_version_in_memory() {
    let place = ProjectsFixture::new();
    let mut server = place.start_server("store.db");
    let made = call(&mut server, "create_project", json!({ "name": "Long", "template": "page" }));
    let id = made["id"].clone();
    let text = json!({ "type": "text", "props": { "text": "x".repeat(45_000) } });
    let page =
        json!({ "type": "page", "props": { "title": "T", "path": "/long" }, "children": vec![text; 65] });
    call(&mut server, "edit_blocks", json!({ "projectId": id, "action": "create", "blocks": [page] }));
    let mut peaks = Vec::new();
    for (round, versions) in [1, 39].into_iter().enumerate() {
        for _ in 0..versions {
            call(&mut server, "publish_project", json!({ "projectId": id }));
        }
        let site = place.path(&format!("site-{round}"));
        run_projects_ok(&place, "store.db", &["export", id.as_str().unwrap(), "--out", &site]);
        peaks.push(peak_import_memory(&place, &site, &format!("other-{round}.db")));
    }
    // All of them would be 120 MB.
    assert!(peaks[1] < peaks[0] + 50_000, "{peaks:?}");
}
