//! Projects on a pipe and on the command line: `--toolsets projects`, `fluxway projects`.

mod bad_input;
mod calls;
mod over_http;

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{StdioServer, run};

/// A database of its own, and folders beside it.
pub(crate) struct ProjectsFixture(TempDir);

impl ProjectsFixture {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    pub(crate) fn database_url(&self, name: &str) -> String {
        format!("sqlite:{}", self.path(name))
    }

    pub(crate) fn start_server(&self, database: &str) -> StdioServer {
        StdioServer::start_initialized(&[
            "serve",
            "--toolsets",
            "projects",
            "--database",
            &self.database_url(database),
        ])
    }

    /// `fluxway projects …` on a database.
    pub(crate) fn run_projects(&self, database: &str, args: &[&str]) -> (i32, String, String) {
        let database = self.database_url(database);
        let all: Vec<&str> = ["projects"].into_iter().chain(args.iter().copied()).collect();
        run(&[all.as_slice(), &["--database", &database]].concat())
    }
}

pub(crate) fn call(server: &mut StdioServer, tool: &str, arguments: Value) -> Value {
    let answer = server.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
    assert!(answer["result"]["isError"].is_null() && answer["error"].is_null(), "{tool}: {answer}");
    answer["result"]["structuredContent"].clone()
}

/// A PNG, as far as anybody looks, and another one. In base64.
const IMAGES: [&str; 2] = ["iVBORw0KGgo=", "iVBORw0KGgoA"];

/// A project with a type of its own, an asset in a block, two versions, and a draft that has gone on.
pub(crate) fn create_sample_project(server: &mut StdioServer) -> String {
    let made = call(server, "create_project", json!({ "name": "My website", "template": "page" }));
    let id = made["id"].as_str().unwrap().to_owned();
    let mut edit = |tool: &str, mut arguments: Value| {
        arguments["projectId"] = json!(id);
        call(server, tool, arguments)
    };
    let image = json!({ "action": "put", "name": "a.png", "alt": "A dot", "content": IMAGES[0] });
    let asset = edit("edit_asset", image)["asset"]["id"].clone();
    let own = json!({ "type": "object", "properties": { "stars": { "type": "integer" } } });
    edit("edit_block_type", json!({ "name": "rating", "schema": own, "description": "Stars" }));
    let shown = json!({ "type": "image", "props": { "src": format!("asset:{}", asset.as_str().unwrap()), "alt": "x" } });
    let inside = json!([shown, { "type": "rating", "props": { "stars": 4 } }]);
    let page =
        json!({ "type": "page", "props": { "title": "Größe <b>", "path": "/more" }, "children": inside });
    edit("edit_blocks", json!({ "action": "create", "blocks": [page] }));
    edit(
        "edit_design_system",
        json!({ "changes": [{ "op": "set", "path": "color.ours", "type": "color", "value": "#0a7" }] }),
    );
    edit("publish_project", json!({ "note": "first" }));
    edit(
        "edit_asset",
        json!({ "action": "put", "assetId": asset, "name": "a.png", "alt": "A dot", "content": IMAGES[1] }),
    );
    edit("publish_project", json!({ "note": "second" }));
    edit(
        "update_project",
        json!({ "description": "for friends", "metadata": { "owner": ["Ada", 1, null] } }),
    );
    id
}

/// Everything that a caller sees of a project but its times and revisions.
fn project_view(server: &mut StdioServer, id: &str) -> Value {
    let all =
        ["name", "slug", "description", "metadata", "status", "publishedVersion", "hasChanges", "usage"];
    let project = call(server, "get_project", json!({ "projectId": id, "fields": all }));
    let mut tree = call(server, "get_blocks", json!({ "projectId": id, "depth": 32 }));
    let mut versions = call(server, "list_versions", json!({ "projectId": id, "from": 1, "to": 2 }));
    for version in versions["versions"].as_array_mut().unwrap() {
        version["revision"].take();
    }
    let tokens = call(server, "get_design_system", json!({ "projectId": id }))["tokens"].take();
    let types = call(server, "list_block_types", json!({ "projectId": id, "names": ["rating"] }));
    let assets = call(server, "list_assets", json!({ "projectId": id }))["assets"].take();
    let content =
        server.ask("resources/read", &json!({ "uri": assets[0]["uri"] }))["result"]["contents"].take();
    assert_eq!(content[0]["blob"], IMAGES[1]);
    let old =
        call(server, "get_blocks", json!({ "projectId": id, "version": 1, "depth": 32 }))["blocks"].take();
    let page = json!({ "projectId": id, "version": 1, "blockId": old[1]["id"], "format": "html" });
    let html = call(server, "get_blocks", page)["html"].take();
    json!([project, tree["blocks"].take(), versions, tokens, types, assets, content, old, html])
}

#[test]
fn projects_persist_across_processes() {
    let fixture = ProjectsFixture::new();
    let id = create_sample_project(&mut fixture.start_server("store.db"));
    let mut server = fixture.start_server("store.db");
    let listed = call(&mut server, "list_projects", json!({}));
    assert_eq!(listed["projects"][0]["id"], json!(id));
    assert_eq!(project_view(&mut server, &id)[0]["status"], "published");
}

#[test]
fn projects_can_be_listed_exported_and_imported() {
    let fixture = ProjectsFixture::new();
    let mut server = fixture.start_server("store.db");
    call(&mut server, "list_projects", json!({}));
    let (code, out, err) = fixture.run_projects("store.db", &["list"]);
    assert_eq!((code, out.as_str()), (0, ""));
    assert!(err.starts_with("There are no projects."), "{err}");
    let id = create_sample_project(&mut server);
    let (code, out, _) = fixture.run_projects("store.db", &["list"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("ID ") && out.contains(&id) && out.contains("published, changed since"), "{out}");
    let (_, out, _) = fixture.run_projects("store.db", &["list", "--json", "--account", "local"]);
    let listed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&listed["projects"][0]["account"], &listed["projects"][0]["name"]),
        (&json!("local"), &json!("My website"))
    );

    let export = fixture.path("site");
    let (code, out, err) = fixture.run_projects("store.db", &["export", &id, "--out", &export]);
    assert_eq!((code, out.trim_end()), (0, export.as_str()), "{err}");
    let (code, _, err) = fixture.run_projects("store.db", &["export", &id, "--out", &export]);
    assert_eq!(code, 2);
    assert!(err.contains("is there already"), "{err}");
    let (code, _, err) =
        fixture.run_projects("store.db", &["export", "proj_none", "--out", &fixture.path("none")]);
    assert_eq!(code, 1);
    assert!(err.starts_with("error: there is no project `proj_none`"), "{err}");
    assert!(!Path::new(&fixture.path("none")).exists());

    // Into another database it comes as it was; there is no second one of its id, but there are copies.
    let (code, out, err) = fixture.run_projects("other.db", &["import", &export]);
    assert_eq!((code, out.trim_end()), (0, id.as_str()), "{err}");
    let mut other = fixture.start_server("other.db");
    assert_eq!(project_view(&mut other, &id), project_view(&mut server, &id));
    let (code, out, err) = fixture.run_projects("other.db", &["import", &export]);
    assert_eq!((code, out.trim_end()), (0, id.as_str()), "{err}");
    assert!(err.contains("is there already, and the same"), "{err}");
    let (code, copy, err) = fixture.run_projects("other.db", &["import", &export, "--copy"]);
    assert_eq!(code, 0, "{err}");
    assert_ne!(copy.trim_end(), id);
}

#[test]
fn backup_contains_every_project() {
    let fixture = ProjectsFixture::new();
    let mut server = fixture.start_server("store.db");
    let ids = [create_sample_project(&mut server), create_sample_project(&mut server)];
    let backup = fixture.path("backup");
    let (code, out, err) = fixture.run_projects("store.db", &["backup", &backup]);
    assert_eq!((code, out.trim_end()), (0, backup.as_str()), "{err}");
    let (code, out, err) = fixture.run_projects("other.db", &["import", &backup]);
    assert_eq!(code, 0, "{err}");
    let mut brought: Vec<&str> = out.lines().collect();
    brought.sort_unstable();
    let mut expected = ids.each_ref().map(String::as_str);
    expected.sort_unstable();
    assert_eq!(brought, expected);
    let mut other = fixture.start_server("other.db");
    for id in &ids {
        assert_eq!(project_view(&mut other, id), project_view(&mut server, id));
    }
}
