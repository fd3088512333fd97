//! Projects without a network: `fluxway call`, and a pipe.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{Place, call, prepared};
use crate::process::{Server, fluxway, run_with};

const TOOLS: [&str; 15] = [
    "list_projects",
    "get_project",
    "create_project",
    "update_project",
    "delete_project",
    "list_versions",
    "publish_project",
    "get_blocks",
    "edit_blocks",
    "list_block_types",
    "edit_block_type",
    "list_assets",
    "edit_asset",
    "get_design_system",
    "edit_design_system",
];

/// `fluxway call TOOL --toolsets projects …`, with what is kept in a data folder of its own.
fn typed(place: &Place, tool: &str, rest: &[&str]) -> (i32, String, String) {
    let mut command = fluxway(&[&["call", tool, "--toolsets", "projects"], rest].concat());
    run_with(command.env("XDG_DATA_HOME", place.0.path()))
}

/// The same, with arguments that no word of a command line has room for.
fn piped(place: &Place, tool: &str, arguments: &Value) -> Value {
    let mut command = fluxway(&["call", tool, "--toolsets", "projects", "--json", "--args", "-"]);
    command.env("XDG_DATA_HOME", place.0.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(arguments.to_string().as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{tool}");
    serde_json::from_slice(&ended.stdout).unwrap()
}

fn typed_json(place: &Place, tool: &str, rest: &[&str]) -> Value {
    let (code, out, err) = typed(place, tool, &[rest, &["--json"]].concat());
    assert_eq!(code, 0, "{tool}: {err}");
    serde_json::from_str(&out).unwrap()
}

/// The first steps of docs/projects.md, each in a process of its own.
#[test]
fn a_first_project() {
    let place = Place::new();
    let made = typed_json(&place, "create_project", &["--name", "My website", "--template", "landing"]);
    let id = made["id"].as_str().unwrap();
    assert_eq!((&made["slug"], &made["revision"]), (&json!("my-website"), &json!(1)));
    let listed = typed_json(&place, "list_projects", &[]);
    assert_eq!(listed["projects"][0]["id"], id, "{listed}");
    let html = typed_json(&place, "get_blocks", &["--projectId", id, "--format", "html"]);
    assert!(html["html"].as_str().unwrap().contains("My website"), "{html}");
    let (code, out, err) = typed(&place, "list_projects", &[]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("My website") && out.contains(id), "{out}");
    // The owner of the store finds it in the same place, and whose it is.
    let (_, out, _) = run_with(fluxway(&["projects", "list", "--json"]).env("XDG_DATA_HOME", place.0.path()));
    let listed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&listed["projects"][0]["id"], &listed["projects"][0]["account"]),
        (&json!(id), &json!("local"))
    );
}

#[test]
fn lists_are_typed_one_by_one() {
    let place = Place::new();
    typed_json(&place, "create_project", &["--name", "My website", "--template", "empty"]);
    for fields in
        [&["--fields", "name", "--fields", "revision"][..], &["--fields", "[\"name\",\"revision\"]"]]
    {
        let listed = typed_json(&place, "list_projects", fields);
        let project = listed["projects"][0].as_object().unwrap();
        assert!(project.contains_key("name") && project.contains_key("revision"), "{fields:?}: {listed}");
        assert!(!project.contains_key("slug"), "{fields:?}: {listed}");
    }
}

#[test]
fn long_arguments_come_from_stdin_and_from_files() {
    let place = Place::new();
    let made = typed_json(&place, "create_project", &["--name", "My website", "--template", "empty"]);
    let put = |name: &str| json!({ "projectId": made["id"], "action": "put", "name": name, "content": "QUFB".repeat(100_000) });
    assert_eq!(piped(&place, "edit_asset", &put("a.txt"))["asset"]["bytes"], 300_000);
    let file = place.path("b.json");
    std::fs::write(&file, put("b.txt").to_string()).unwrap();
    let answer = typed_json(&place, "edit_asset", &["--args", &format!("@{file}")]);
    assert_eq!(answer["asset"]["bytes"], 300_000);
}

#[test]
fn a_list_fits_the_terminal() {
    let place = Place::new();
    for name in ["My website", "Our shop"] {
        typed_json(&place, "create_project", &["--name", name, "--template", "landing"]);
    }
    for (columns, hidden) in [("80", true), ("300", false)] {
        let mut command = fluxway(&["call", "list_projects", "--toolsets", "projects"]);
        command.env("XDG_DATA_HOME", place.0.path()).env("COLUMNS", columns);
        let (code, out, err) = run_with(&mut command);
        assert_eq!((code, err.as_str()), (0, ""));
        let rows: Vec<&str> = out.lines().skip(1).collect();
        assert!(rows[0].starts_with("  id ") && rows[0].contains("  name "), "{out}");
        assert!(rows[1].starts_with("  proj_") && rows[2].contains("Our shop"), "{out}");
        assert!(rows[..3].iter().all(|row| row.len() <= columns.parse().unwrap()), "{out}");
        assert_eq!(rows.get(3).is_some_and(|row| row.ends_with("; --json has all")), hidden, "{out}");
    }
}

#[test]
fn what_a_tool_refuses_is_told_in_its_words() {
    let place = Place::new();
    let made = typed_json(&place, "create_project", &["--name", "My website", "--template", "empty"]);
    let id = made["id"].as_str().unwrap();
    for (tool, rest, expected) in [
        ("get_project", vec![], "projectId is required"),
        ("get_project", vec!["--projectId", "proj_none"], "there is no project `proj_none`"),
        ("get_project", vec!["--project", id], "unknown argument `project`"),
        ("update_project", vec!["--projectId", id], "nothing is to change"),
        ("update_project", vec!["--projectId", id, "--slug", "A b"], "/slug: must have"),
        (
            "update_project",
            vec!["--projectId", id, "--name", "x", "--ifRevision", "7"],
            "is at revision 1 and not 7",
        ),
        ("delete_project", vec!["--projectId", id], "`confirm`"),
        (
            "delete_project",
            vec!["--projectId", id, "--confirm", "Your website"],
            "/confirm: is not the name of the project",
        ),
        ("create_project", vec!["--name", "x", "--template", "blog"], "is not one of"),
    ] {
        let (code, out, err) = typed(&place, tool, &rest);
        assert_eq!((code, out.as_str()), (1, ""), "{tool} {rest:?}: {err}");
        assert!(err.starts_with("error: ") && err.contains(expected), "{tool} {rest:?}: {err}");
    }
    let kept = typed_json(&place, "get_project", &["--projectId", id]);
    assert_eq!(kept, made, "nothing has changed");
    let gone = typed_json(&place, "delete_project", &["--projectId", id, "--confirm", "My website"]);
    assert_eq!(gone["deleted"], true);
}

fn names(server: &mut Server, method: &str, list: &str, name: &str) -> Vec<String> {
    let answer = server.ask(method, &json!({}));
    let entries = answer["result"][list].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
    entries.iter().map(|entry| entry[name].as_str().unwrap().to_owned()).collect()
}

/// On a pipe projects are there for who asks for them, and not otherwise.
#[test]
fn a_pipe_serves_them_when_asked_to() {
    let place = Place::new();
    let mut server = place.server("store.db");
    assert_eq!(names(&mut server, "tools/list", "tools", "name"), TOOLS);
    let templates = names(&mut server, "resources/templates/list", "resourceTemplates", "uriTemplate");
    assert!(templates.contains(&"codefluss://design-system/{projectId}".to_owned()), "{templates:?}");
    let id = prepared(&mut server);
    let resources = names(&mut server, "resources/list", "resources", "uri");
    assert!(resources.contains(&format!("codefluss://design-system/{id}")), "{resources:?}");
    assert!(!resources.iter().any(|uri| uri.contains('{')), "a template is no resource: {resources:?}");
    let absent = server.ask("resources/read", &json!({ "uri": "codefluss://design-system/proj_none" }));
    assert_eq!(absent["error"]["code"], -32002);
    let absent = server
        .ask("tools/call", &json!({ "name": "get_project", "arguments": { "projectId": "proj_none" } }));
    assert_eq!(absent["result"]["isError"], true);

    let mut usual = Server::greeted(&["serve", "--database", &place.database("store.db")]);
    let listed = names(&mut usual, "tools/list", "tools", "name");
    assert!(!listed.iter().any(|name| TOOLS.contains(&name.as_str())), "{listed:?}");
    let absent = usual.ask("resources/read", &json!({ "uri": "codefluss://projects" }));
    assert_eq!(absent["error"]["code"], -32002);
}

#[test]
fn a_pipe_that_only_reads() {
    let place = Place::new();
    let id = prepared(&mut place.server("store.db"));
    let database = place.database("store.db");
    let mut server =
        Server::greeted(&["serve", "--toolsets", "projects", "--read-only", "--database", &database]);
    let listed = names(&mut server, "tools/list", "tools", "name");
    assert!(listed.iter().all(|name| name.starts_with("list_") || name.starts_with("get_")), "{listed:?}");
    assert_eq!(listed.len(), 7);
    assert_eq!(call(&mut server, "get_project", json!({ "projectId": id }))["name"], "My website");
    let update = json!({ "name": "update_project", "arguments": { "projectId": id, "name": "x" } });
    assert_eq!(server.ask("tools/call", &update)["result"]["isError"], true);
}

/// What somebody writes is never kept where it would be lost without a word.
#[test]
fn a_store_that_cannot_be_opened_is_an_error() {
    let place = Place::new();
    std::fs::write(place.path("no.db"), "this is a text, and a long one, which no database begins with")
        .unwrap();
    let mut server = place.server("no.db");
    let params = json!({ "name": "create_project", "arguments": { "name": "x", "description": "", "template": "empty" } });
    let error = server.ask("tools/call", &params)["error"].clone();
    assert_eq!(
        (&error["code"], &error["data"]["kind"]),
        (&json!(-32603), &json!("store_unavailable")),
        "{error}"
    );
    assert_eq!(server.ask("ping", &json!({}))["result"], json!({}), "and everything else goes on");
}
