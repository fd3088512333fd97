//! Projects without a network: `fluxway call`, and a pipe.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{ProjectsFixture, call, create_sample_project};
use crate::process::{StdioServer, fluxway, run_command};

const PROJECT_TOOLS: [&str; 15] = [
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
fn call_tool(fixture: &ProjectsFixture, tool: &str, rest: &[&str]) -> (i32, String, String) {
    let mut command = fluxway(&[&["call", tool, "--toolsets", "projects"], rest].concat());
    run_command(command.env("XDG_DATA_HOME", fixture.0.path()))
}

/// The same, with arguments that no word of a command line has room for.
fn call_tool_with_stdin(fixture: &ProjectsFixture, tool: &str, arguments: &Value) -> Value {
    let mut command = fluxway(&["call", tool, "--toolsets", "projects", "--json", "--args", "-"]);
    command.env("XDG_DATA_HOME", fixture.0.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(arguments.to_string().as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{tool}");
    serde_json::from_slice(&ended.stdout).unwrap()
}

fn call_tool_json(fixture: &ProjectsFixture, tool: &str, rest: &[&str]) -> Value {
    let (code, out, err) = call_tool(fixture, tool, &[rest, &["--json"]].concat());
    assert_eq!(code, 0, "{tool}: {err}");
    serde_json::from_str(&out).unwrap()
}

/// The first steps of docs/projects.md, each in a process of its own.
#[test]
fn first_project_walkthrough_works() {
    let place = ProjectsFixture::new();
    let made = call_tool_json(&place, "create_project", &["--name", "My website", "--template", "landing"]);
    let id = made["id"].as_str().unwrap();
    assert_eq!((&made["slug"], &made["revision"]), (&json!("my-website"), &json!(1)));
    let listed = call_tool_json(&place, "list_projects", &[]);
    assert_eq!(listed["projects"][0]["id"], id, "{listed}");
    let html = call_tool_json(&place, "get_blocks", &["--projectId", id, "--format", "html"]);
    assert!(html["html"].as_str().unwrap().contains("My website"), "{html}");
    let (code, out, err) = call_tool(&place, "list_projects", &[]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("My website") && out.contains(id), "{out}");
    // The owner of the store finds it in the same place, and whose it is.
    let (_, out, _) =
        run_command(fluxway(&["projects", "list", "--json"]).env("XDG_DATA_HOME", place.0.path()));
    let listed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&listed["projects"][0]["id"], &listed["projects"][0]["account"]),
        (&json!(id), &json!("local"))
    );
}

#[test]
fn list_arguments_can_be_repeated() {
    let place = ProjectsFixture::new();
    call_tool_json(&place, "create_project", &["--name", "My website", "--template", "empty"]);
    for fields in
        [&["--fields", "name", "--fields", "revision"][..], &["--fields", "[\"name\",\"revision\"]"]]
    {
        let listed = call_tool_json(&place, "list_projects", fields);
        let project = listed["projects"][0].as_object().unwrap();
        assert!(project.contains_key("name") && project.contains_key("revision"), "{fields:?}: {listed}");
        assert!(!project.contains_key("slug"), "{fields:?}: {listed}");
    }
}

#[test]
fn long_arguments_come_from_stdin_and_from_files() {
    let place = ProjectsFixture::new();
    let made = call_tool_json(&place, "create_project", &["--name", "My website", "--template", "empty"]);
    let put = |name: &str| json!({ "projectId": made["id"], "action": "put", "name": name, "content": "QUFB".repeat(100_000) });
    assert_eq!(call_tool_with_stdin(&place, "edit_asset", &put("a.txt"))["asset"]["bytes"], 300_000);
    let file = place.path("b.json");
    std::fs::write(&file, put("b.txt").to_string()).unwrap();
    let answer = call_tool_json(&place, "edit_asset", &["--args", &format!("@{file}")]);
    assert_eq!(answer["asset"]["bytes"], 300_000);
}

#[test]
fn project_table_fits_the_terminal() {
    let place = ProjectsFixture::new();
    for name in ["My website", "Our shop"] {
        call_tool_json(&place, "create_project", &["--name", name, "--template", "landing"]);
    }
    for (columns, hidden) in [("80", true), ("300", false)] {
        let mut command = fluxway(&["call", "list_projects", "--toolsets", "projects"]);
        command.env("XDG_DATA_HOME", place.0.path()).env("COLUMNS", columns);
        let (code, out, err) = run_command(&mut command);
        assert_eq!((code, err.as_str()), (0, ""));
        let rows: Vec<&str> = out.lines().skip(1).collect();
        assert!(rows[0].starts_with("  id ") && rows[0].contains("  name "), "{out}");
        assert!(rows[1].starts_with("  proj_") && rows[2].contains("Our shop"), "{out}");
        assert!(rows[..3].iter().all(|row| row.len() <= columns.parse::<usize>().unwrap()), "{out}");
        assert_eq!(rows.get(3).is_some_and(|row| row.ends_with("; --json has all")), hidden, "{out}");
    }
}

#[test]
fn tool_errors_are_printed_verbatim() {
    let place = ProjectsFixture::new();
    let made = call_tool_json(&place, "create_project", &["--name", "My website", "--template", "empty"]);
    let id = made["id"].as_str().unwrap();
    for (tool, rest, expected) in [
        ("get_project", vec![], "projectId is required"),
        ("get_project", vec!["--projectId", "proj_none"], "project `proj_none` not found"),
        ("get_project", vec!["--project", id], "unknown argument `project`"),
        ("update_project", vec!["--projectId", id], "nothing to change"),
        ("update_project", vec!["--projectId", id, "--slug", "A b"], "/slug: must be"),
        (
            "update_project",
            vec!["--projectId", id, "--name", "x", "--ifRevision", "7"],
            "is at revision 1, not 7",
        ),
        ("delete_project", vec!["--projectId", id], "--confirm"),
        (
            "delete_project",
            vec!["--projectId", id, "--confirm", "Your website"],
            "/confirm: is not the project's name",
        ),
        ("create_project", vec!["--name", "x", "--template", "blog"], "is not one of"),
    ] {
        let (code, out, err) = call_tool(&place, tool, &rest);
        assert_eq!((code, out.as_str()), (1, ""), "{tool} {rest:?}: {err}");
        assert!(err.starts_with("error: ") && err.contains(expected), "{tool} {rest:?}: {err}");
    }
    let kept = call_tool_json(&place, "get_project", &["--projectId", id]);
    assert_eq!(kept, made, "nothing has changed");
    let gone = call_tool_json(&place, "delete_project", &["--projectId", id, "--confirm", "My website"]);
    assert_eq!(gone["deleted"], true);
}

fn list_names(server: &mut StdioServer, method: &str, list: &str, name: &str) -> Vec<String> {
    let answer = server.ask(method, &json!({}));
    let entries = answer["result"][list].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
    entries.iter().map(|entry| entry[name].as_str().unwrap().to_owned()).collect()
}

/// On a pipe projects are there for who asks for them, and not otherwise.
#[test]
fn stdio_serves_projects_only_if_enabled() {
    let place = ProjectsFixture::new();
    let mut server = place.start_server("store.db");
    assert_eq!(list_names(&mut server, "tools/list", "tools", "name"), PROJECT_TOOLS);
    let templates = list_names(&mut server, "resources/templates/list", "resourceTemplates", "uriTemplate");
    assert!(templates.contains(&"codefluss://design-system/{projectId}".to_owned()), "{templates:?}");
    let id = create_sample_project(&mut server);
    let resources = list_names(&mut server, "resources/list", "resources", "uri");
    assert!(resources.contains(&format!("codefluss://design-system/{id}")), "{resources:?}");
    assert!(!resources.iter().any(|uri| uri.contains('{')), "a template is no resource: {resources:?}");
    let absent = server.ask("resources/read", &json!({ "uri": "codefluss://design-system/proj_none" }));
    assert_eq!(absent["error"]["code"], -32002);
    let absent = server
        .ask("tools/call", &json!({ "name": "get_project", "arguments": { "projectId": "proj_none" } }));
    assert_eq!(absent["result"]["isError"], true);

    let mut usual = StdioServer::start_initialized(&["serve", "--database", &place.database_url("store.db")]);
    let listed = list_names(&mut usual, "tools/list", "tools", "name");
    assert!(!listed.iter().any(|name| PROJECT_TOOLS.contains(&name.as_str())), "{listed:?}");
    let absent = usual.ask("resources/read", &json!({ "uri": "codefluss://projects" }));
    assert_eq!(absent["error"]["code"], -32002);
}

#[test]
fn read_only_stdio_lists_only_read_tools() {
    let place = ProjectsFixture::new();
    let id = create_sample_project(&mut place.start_server("store.db"));
    let database = place.database_url("store.db");
    let mut server = StdioServer::start_initialized(&[
        "serve",
        "--toolsets",
        "projects",
        "--read-only",
        "--database",
        &database,
    ]);
    let listed = list_names(&mut server, "tools/list", "tools", "name");
    assert!(listed.iter().all(|name| name.starts_with("list_") || name.starts_with("get_")), "{listed:?}");
    assert_eq!(listed.len(), 7);
    assert_eq!(call(&mut server, "get_project", json!({ "projectId": id }))["name"], "My website");
    let update = json!({ "name": "update_project", "arguments": { "projectId": id, "name": "x" } });
    assert_eq!(server.ask("tools/call", &update)["result"]["isError"], true);
}

/// What somebody writes is never kept where it would be lost without a word.
#[test]
fn unusable_store_is_an_error() {
    let place = ProjectsFixture::new();
    std::fs::write(place.path("no.db"), "this is a text, and a long one, which no database begins with")
        .unwrap();
    let mut server = place.start_server("no.db");
    let params = json!({ "name": "create_project", "arguments": { "name": "x", "description": "", "template": "empty" } });
    let error = server.ask("tools/call", &params)["error"].clone();
    assert_eq!(
        (&error["code"], &error["data"]["kind"]),
        (&json!(-32603), &json!("store_unavailable")),
        "{error}"
    );
    assert_eq!(server.ask("ping", &json!({}))["result"], json!({}), "and everything else goes on");
}
