//! Several who write to one project at the same time.

use std::sync::Mutex;
use std::thread;

use serde_json::{Value, json};

use super::{ACCOUNT, PROJECT_ID, ProjectCaller, insert_project, load_project, parse_text_content};
use crate::harness::HttpTestServer;

const WRITERS: u64 = 8;
const WRITES_PER_WRITER: u64 = 25;

fn start_server() -> HttpTestServer {
    let endpoint = HttpTestServer::start_with_keys(None);
    insert_project(&endpoint, ACCOUNT, PROJECT_ID, "Meine Website");
    endpoint
}

/// So many writers with a key each, all at once. Gives what each of them gave.
fn run_writers<T: Send>(
    endpoint: &HttpTestServer,
    writers: u64,
    write: impl Fn(&ProjectCaller<'_>, u64) -> T + Sync,
) -> Vec<T> {
    let (results, write) = (Mutex::new(Vec::new()), &write);
    thread::scope(|scope| {
        for writer in 0..writers {
            let (caller, results) = (ProjectCaller::with_write_key(endpoint), &results);
            scope.spawn(move || {
                let result = write(&caller, writer);
                results.lock().unwrap().push(result);
            });
        }
    });
    results.into_inner().unwrap()
}

/// Tries until nobody was faster. A refusal for any other reason is a mistake.
fn retry_on_conflict(mut attempt: impl FnMut() -> Result<Value, Value>) -> Value {
    loop {
        match attempt() {
            Ok(done) => return done,
            Err(error) => {
                let data = &error["data"];
                assert_eq!((&error["code"], &data["kind"]), (&json!(-32004), &json!("conflict")), "{error}");
                assert!(data["found"].as_u64() > data["expected"].as_u64(), "{error}");
            }
        }
    }
}

/// Reads a counter and adds one, by way of the revision that it was read at.
fn increment_counter(caller: &ProjectCaller<'_>) -> u64 {
    let written = retry_on_conflict(|| {
        let read = caller.call_tool_ok(
            "get_project",
            json!({ "projectId": PROJECT_ID, "fields": ["revision", "metadata"] }),
        );
        let count = read["metadata"]["count"].as_u64().unwrap_or(0);
        let change = json!({ "count": count + 1 });
        caller.call_tool(
            "update_project",
            json!({ "projectId": PROJECT_ID, "metadata": change, "ifRevision": read["revision"] }),
        )
    });
    written["revision"].as_u64().unwrap()
}

#[test]
fn writes_with_if_revision_lose_no_update() {
    let endpoint = start_server();
    let revisions = run_writers(&endpoint, WRITERS, |caller, _| {
        (0..WRITES_PER_WRITER).map(|_| increment_counter(caller)).collect::<Vec<_>>()
    });
    let project = load_project(&endpoint, ACCOUNT, PROJECT_ID);
    assert_eq!(project.fields.metadata["count"], WRITERS * WRITES_PER_WRITER, "every increment is in it");
    assert_eq!(
        project.revision,
        1 + WRITERS * WRITES_PER_WRITER,
        "a revision for each write that happened, and for no other"
    );
    let mut all = revisions.concat();
    all.sort_unstable();
    assert_eq!(all, (2..=project.revision).collect::<Vec<_>>(), "no two were told the same");
}

#[test]
fn writes_without_revision_succeed_and_last_wins() {
    let endpoint = start_server();
    let written = run_writers(&endpoint, WRITERS, |caller, writer| {
        let write = |n: u64| {
            let name = format!("{writer}-{n}");
            let change = json!({ "projectId": PROJECT_ID, "description": name, "metadata": { (name.as_str()): true } });
            (caller.call_tool_ok("update_project", change)["revision"].as_u64().unwrap(), name)
        };
        (0..WRITES_PER_WRITER).map(write).collect::<Vec<_>>()
    });
    let project = load_project(&endpoint, ACCOUNT, PROJECT_ID);
    let last = written.concat().into_iter().max().unwrap();
    assert_eq!((project.revision, &project.fields.description), (last.0, &last.1));
    assert_eq!(project.revision, 1 + WRITERS * WRITES_PER_WRITER, "every write counts");
    assert_eq!(
        project.fields.metadata.len() as u64,
        WRITERS * WRITES_PER_WRITER,
        "and what it alone wrote is there"
    );
}

/// Of those who read the same revision one is first, over whichever endpoint.
#[test]
fn one_writer_per_revision_succeeds() {
    let endpoint = start_server();
    for revision in 1..=10 {
        let won = run_writers(&endpoint, WRITERS, |caller, writer| {
            let arguments =
                json!({ "projectId": PROJECT_ID, "name": writer.to_string(), "ifRevision": revision });
            if writer % 2 == 0 {
                return caller.call_tool("update_project", arguments).is_ok();
            }
            let params = json!({ "name": "update_project", "arguments": arguments });
            caller.post_mcp("tools/call", params).json()["result"]["isError"].is_null()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "{won:?}");
        assert_eq!(load_project(&endpoint, ACCOUNT, PROJECT_ID).revision, revision + 1);
    }
}

/// Whatever is written, it is a write to the project.
#[test]
fn concurrent_writes_to_different_parts_succeed() {
    let endpoint = start_server();
    let kinds: [&(dyn Fn(u64) -> (&'static str, Value) + Sync); 5] = [
        &|n| {
            let page = json!({ "type": "page", "props": { "title": "x", "path": format!("/{n}") } });
            ("edit_blocks", json!({ "projectId": PROJECT_ID, "action": "create", "blocks": [page] }))
        },
        &|n| {
            let name = format!("{n}.txt");
            (
                "edit_asset",
                json!({ "projectId": PROJECT_ID, "action": "put", "name": name, "content": "eA==" }),
            )
        },
        &|n| {
            let change = json!({ "op": "set", "path": format!("color.c{n}"), "value": "#123456" });
            ("edit_design_system", json!({ "projectId": PROJECT_ID, "changes": [change] }))
        },
        &|n| {
            let schema = json!({ "type": "object" });
            (
                "edit_block_type",
                json!({ "projectId": PROJECT_ID, "name": format!("own-{n}"), "schema": schema }),
            )
        },
        &|n| ("publish_project", json!({ "projectId": PROJECT_ID, "note": n.to_string() })),
    ];
    run_writers(&endpoint, kinds.len() as u64, |caller, writer| {
        for n in 0..10 {
            let (tool, arguments) = kinds[usize::try_from(writer).unwrap()](n);
            caller.call_tool_ok(tool, arguments);
        }
    });
    let project = load_project(&endpoint, ACCOUNT, PROJECT_ID);
    let usage = project.usage;
    assert_eq!(project.revision, 51);
    assert_eq!((usage.blocks, usage.assets, usage.types, usage.versions), (10, 10, 10, 10));
    let tokens = ProjectCaller::with_write_key(&endpoint)
        .call_tool_ok("get_design_system", json!({ "projectId": PROJECT_ID }))["tokens"]
        .clone();
    assert_eq!(tokens["color"].as_object().unwrap().keys().filter(|name| name.starts_with('c')).count(), 10);
}

/// A content that is put in the place of another is a write like any other, and whoever reads finds one of them.
#[test]
fn concurrent_asset_replacements_succeed() {
    let endpoint = start_server();
    let caller = ProjectCaller::with_write_key(&endpoint);
    let put = |content: &str| json!({ "projectId": PROJECT_ID, "action": "put", "name": "log.txt", "content": content });
    let asset = caller.call_tool_ok("edit_asset", put("eHh4eAo="))["asset"].clone();
    run_writers(&endpoint, WRITERS, |caller, writer| {
        for _ in 0..10 {
            if writer % 2 == 0 {
                let read = caller.request_api("resources/read", &json!({ "uri": asset["uri"] }));
                assert!(read["result"]["contents"][0]["blob"].is_string(), "{read}");
                continue;
            }
            let mut again = put(if writer == 1 { "eHh4eAo=" } else { "eHkK" });
            again["assetId"] = asset["id"].clone();
            caller.call_tool_ok("edit_asset", again);
        }
    });
    assert_eq!(load_project(&endpoint, ACCOUNT, PROJECT_ID).revision, 2 + 40);
}

/// A part that is added is never lost to another that is added at the same time.
#[test]
fn concurrent_asset_appends_are_all_kept() {
    let endpoint = start_server();
    let caller = ProjectCaller::with_write_key(&endpoint);
    let put = json!({ "projectId": PROJECT_ID, "action": "put", "name": "log.txt", "content": "" });
    let empty = caller.call_tool("edit_asset", put).unwrap_err();
    assert_eq!(
        empty["data"]["errors"][0],
        json!({ "path": "/content", "message": "is empty; send the bytes of the file" })
    );
    // `eHh4eAo=` is `xxxx` and a line's end.
    let put = json!({ "projectId": PROJECT_ID, "action": "put", "name": "log.txt", "content": "eHh4eAo=" });
    let asset = caller.call_tool_ok("edit_asset", put)["asset"].clone();
    run_writers(&endpoint, 4, |caller, _| {
        for _ in 0..5 {
            retry_on_conflict(|| {
                let part = json!({ "projectId": PROJECT_ID, "action": "put", "assetId": asset["id"], "append": true, "content": "eHh4eAo=" });
                caller.call_tool("edit_asset", part)
            });
        }
    });
    let read = caller
        .post_mcp("tools/call", json!({ "name": "list_assets", "arguments": { "projectId": PROJECT_ID } }))
        .json();
    assert_eq!(parse_text_content(&read["result"])["assets"][0]["bytes"], 5 * 21);
}
