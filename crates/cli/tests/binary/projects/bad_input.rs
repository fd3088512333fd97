//! Commands that cannot work, and exports that somebody has been at.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{ProjectsFixture, call, create_sample_project};

/// What the owner sees of a database.
fn list_json(fixture: &ProjectsFixture, database: &str) -> String {
    fixture.run_projects(database, &["list", "--json"]).1
}

#[test]
fn invalid_commands_change_nothing() {
    let place = ProjectsFixture::new();
    let id = create_sample_project(&mut place.start_server("store.db"));
    let site = place.path("site");
    place.run_projects("store.db", &["export", &id, "--out", &site]);
    call(
        &mut place.start_server("store.db"),
        "update_project",
        json!({ "projectId": id, "name": "Gone on" }),
    );
    let (file, empty) = (place.path("file"), place.path("empty"));
    fs::write(&file, "x").unwrap();
    fs::create_dir(&empty).unwrap();
    let (below, missing, free) = (format!("{file}/below"), place.path("missing"), place.path("free"));
    let before = (list_json(&place, "store.db"), folder_entries(&place));
    for (args, code, expected) in [
        (vec!["export"], 2, "required arguments were not provided"),
        (vec!["export", "proj_none", "--out", &free], 1, "there is no project `proj_none`"),
        (vec!["export", "../../etc", "--out", &free], 1, "project `../../etc` not found"),
        (vec!["export", &id, "--account", "nobody", "--out", &free], 1, "there is no project"),
        (vec!["export", &id, "--out", ""], 2, "a value is required"),
        (vec!["export", &id, "--out", "/"], 2, "is there already"),
        (vec!["export", &id, "--out", &empty], 2, "is there already"),
        (vec!["export", &id, "--out", &below], 3, "cannot make"),
        (vec!["backup"], 2, "required arguments were not provided"),
        (vec!["backup", &file], 2, "is there already"),
        (vec!["backup", &below], 3, "cannot make"),
        (vec!["import"], 2, "required arguments were not provided"),
        (vec!["import", &missing], 1, "is neither an export nor a backup"),
        (vec!["import", &empty], 1, "is neither an export nor a backup"),
        (vec!["import", &file], 1, "is neither an export nor a backup"),
        (vec!["import", &site, "--account", "others"], 1, "import it with --copy"),
        (vec!["import", &site, "--copy", "--account", ""], 2, "--account"),
        (vec!["import", &site, "--copy", "--account", "\u{1b}[31m"], 2, "--account"),
        (vec!["nothing"], 2, "unrecognized subcommand"),
    ] {
        let (found, out, err) = place.run_projects("store.db", &args);
        assert_eq!((found, out.as_str()), (code, ""), "{args:?}: {err}");
        assert!(err.contains(expected), "{args:?}: {err}");
    }
    assert_eq!((list_json(&place, "store.db"), folder_entries(&place)), before);
}

/// What lies in the folder of a test.
fn folder_entries(fixture: &ProjectsFixture) -> Vec<String> {
    let entries = fs::read_dir(fixture.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    // A database that is open has more files than one.
    names.retain(|name| !name.starts_with("store.db"));
    names.sort();
    names
}

/// Puts other values into a file of JSON.
fn patch_json_file(file: &Path, changes: Value) {
    let mut value: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    for (name, changed) in changes.as_object().unwrap() {
        value[name] = changed.clone();
    }
    fs::write(file, value.to_string()).unwrap();
}

fn first_asset(site: &Path) -> std::path::PathBuf {
    fs::read_dir(site.join("assets")).unwrap().next().unwrap().unwrap().path()
}

/// A name, what is done to an export, and what is said about it.
type ExportDamage = (&'static str, fn(&Path), &'static str);

const EXPORT_DAMAGES: &[ExportDamage] = &[
    ("no description", |site| fs::remove_file(site.join("project.json")).unwrap(), "has no project.json"),
    ("a broken description", |site| fs::write(site.join("project.json"), "{").unwrap(), "project.json: EOF"),
    ("no text", |site| fs::write(site.join("project.json"), b"\xff").unwrap(), "project.json is no text"),
    (
        "a newer form",
        |site| patch_json_file(&site.join("project.json"), json!({ "form": 99 })),
        "by a newer fluxway",
    ),
    (
        "an id that is a path",
        |site| patch_json_file(&site.join("project.json"), json!({ "id": "../../x" })),
        "no usable id",
    ),
    (
        "nobody's",
        |site| patch_json_file(&site.join("project.json"), json!({ "account": "" })),
        "no usable account",
    ),
    (
        "a name for terminals",
        |site| patch_json_file(&site.join("project.json"), json!({ "account": "\u{1b}[2J" })),
        "no usable account",
    ),
    ("no draft", |site| fs::remove_file(site.join("content.json")).unwrap(), "content.json is missing"),
    ("half a draft", |site| fs::write(site.join("content.json"), "{").unwrap(), "content.json: "),
    ("another draft", |site| fs::write(site.join("content.json"), "{}").unwrap(), "content.json: "),
    ("half a version", |site| fs::write(site.join("versions/1.json"), "{").unwrap(), "1.json: EOF"),
    (
        "an empty version",
        |site| patch_json_file(&site.join("versions/2.json"), json!({ "content": "" })),
        "2.json: ",
    ),
    ("a lost version", |site| fs::remove_file(site.join("versions/1.json")).unwrap(), "1.json is missing"),
    (
        "a version under another number",
        |site| patch_json_file(&site.join("versions/2.json"), json!({ "number": 1 })),
        "2.json has the version 1",
    ),
    ("no revision", |site| patch_json_file(&site.join("project.json"), json!({ "revision": 0 })), "revision"),
    (
        "a number that would come twice",
        |site| patch_json_file(&site.join("project.json"), json!({ "nextVersion": 2 })),
        "ersion",
    ),
    (
        "a version that was never made",
        |site| {
            patch_json_file(
                &site.join("project.json"),
                json!({ "published": { "version": 9, "revision": 3 } }),
            );
        },
        "ublished",
    ),
    ("a lost asset", |site| fs::remove_file(first_asset(site)).unwrap(), "the export lacks the content"),
    (
        "another asset",
        |site| fs::write(first_asset(site), "somebody was here").unwrap(),
        "is damaged in the export",
    ),
    (
        "an asset that is a folder",
        |site| {
            let asset = first_asset(site);
            fs::remove_file(&asset).unwrap();
            fs::create_dir(&asset).unwrap();
        },
        "is no file of an export",
    ),
];

#[test]
fn damaged_export_is_rejected_without_traces() {
    let place = ProjectsFixture::new();
    let id = create_sample_project(&mut place.start_server("store.db"));
    for (at, (what, damage, expected)) in EXPORT_DAMAGES.iter().enumerate() {
        let site = place.path(&format!("site-{at}"));
        assert_eq!(place.run_projects("store.db", &["export", &id, "--out", &site]).0, 0);
        damage(Path::new(&site));
        let (code, out, err) = place.run_projects("other.db", &["import", &site]);
        assert_eq!((code, out.as_str()), (1, ""), "{what}: {err}");
        assert!(err.starts_with("error: ") && err.contains(expected), "{what}: {err}");
        assert!(!err.chars().any(|c| c.is_control() && c != '\n'), "{what}: {err:?}");
        assert_eq!(list_json(&place, "other.db"), "{\"projects\":[]}\n", "{what}");
    }
    // Nothing of all that stands in the way of a good one.
    let site = place.path("site");
    place.run_projects("store.db", &["export", &id, "--out", &site]);
    assert_eq!(place.run_projects("other.db", &["import", &site]).0, 0);
}

/// A database that is none is told as with every command, and no folder is begun.
#[test]
fn non_database_file_is_rejected() {
    let place = ProjectsFixture::new();
    fs::write(place.path("no.db"), "this is a text, and a long one, which no database begins with").unwrap();
    for args in
        [&["list"][..], &["export", "proj_x", "--out", &place.path("a")], &["backup", &place.path("b")]]
    {
        let (code, out, err) = place.run_projects("no.db", args);
        assert_eq!((code, out.as_str()), (3, ""), "{args:?}: {err}");
        assert!(
            err.contains("is not a database") && err.contains("hint: name another one with --database"),
            "{args:?}: {err}"
        );
    }
    assert_eq!(folder_entries(&place), ["no.db"]);
}

/// Who reads has a database: one that is not there is a slip of the pen, and no empty one is made of it.
#[test]
fn missing_database_is_reported_not_created() {
    let place = ProjectsFixture::new();
    for database in ["typo.db", "folder/typo.db"] {
        let (site, backup) = (place.path("site"), place.path("backup"));
        for args in
            [&["list"][..], &["list", "--json"], &["export", "proj_x", "--out", &site], &["backup", &backup]]
        {
            let (code, out, err) = place.run_projects(database, args);
            assert_eq!((code, out.as_str()), (1, ""), "{args:?}: {err}");
            let expected = format!("error: there is no database {}, and none was made", place.path(database));
            assert!(err.starts_with(&expected), "{args:?}: {err}");
        }
    }
    assert_eq!(folder_entries(&place), Vec::<String>::new());
}
