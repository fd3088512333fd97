//! Several who write to one project at the same time.

use std::sync::Mutex;
use std::thread;

use serde_json::{Value, json};

use super::{ACCOUNT, Caller, ID, place, said, stored};
use crate::harness::Endpoint;

const WRITERS: u64 = 8;
const WRITES: u64 = 25;

fn site() -> Endpoint {
    let endpoint = Endpoint::keyed(None);
    place(&endpoint, ACCOUNT, ID, "Meine Website");
    endpoint
}

/// So many writers with a key each, all at once. Gives what each of them gave.
fn together<T: Send>(
    endpoint: &Endpoint,
    writers: u64,
    write: impl Fn(&Caller<'_>, u64) -> T + Sync,
) -> Vec<T> {
    let (results, write) = (Mutex::new(Vec::new()), &write);
    thread::scope(|scope| {
        for writer in 0..writers {
            let (caller, results) = (Caller::writer(endpoint), &results);
            scope.spawn(move || {
                let result = write(&caller, writer);
                results.lock().unwrap().push(result);
            });
        }
    });
    results.into_inner().unwrap()
}

/// Tries until nobody was faster. A refusal for any other reason is a mistake.
fn until_nobody_was_faster(mut attempt: impl FnMut() -> Result<Value, Value>) -> Value {
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
fn increment(caller: &Caller<'_>) -> u64 {
    let written = until_nobody_was_faster(|| {
        let read = caller.done("get_project", json!({ "projectId": ID, "fields": ["revision", "metadata"] }));
        let count = read["metadata"]["count"].as_u64().unwrap_or(0);
        let change = json!({ "count": count + 1 });
        caller.call(
            "update_project",
            json!({ "projectId": ID, "metadata": change, "ifRevision": read["revision"] }),
        )
    });
    written["revision"].as_u64().unwrap()
}

#[test]
fn who_names_the_revision_loses_nothing() {
    let endpoint = site();
    let revisions =
        together(&endpoint, WRITERS, |caller, _| (0..WRITES).map(|_| increment(caller)).collect::<Vec<_>>());
    let project = stored(&endpoint, ACCOUNT, ID);
    assert_eq!(project.fields.metadata["count"], WRITERS * WRITES, "every increment is in it");
    assert_eq!(
        project.revision,
        1 + WRITERS * WRITES,
        "a revision for each write that happened, and for no other"
    );
    let mut all = revisions.concat();
    all.sort_unstable();
    assert_eq!(all, (2..=project.revision).collect::<Vec<_>>(), "no two were told the same");
}

#[test]
fn who_names_none_always_writes_and_the_last_one_wins() {
    let endpoint = site();
    let written = together(&endpoint, WRITERS, |caller, writer| {
        let write = |n: u64| {
            let name = format!("{writer}-{n}");
            let change =
                json!({ "projectId": ID, "description": name, "metadata": { (name.as_str()): true } });
            (caller.done("update_project", change)["revision"].as_u64().unwrap(), name)
        };
        (0..WRITES).map(write).collect::<Vec<_>>()
    });
    let project = stored(&endpoint, ACCOUNT, ID);
    let last = written.concat().into_iter().max().unwrap();
    assert_eq!((project.revision, &project.fields.description), (last.0, &last.1));
    assert_eq!(project.revision, 1 + WRITERS * WRITES, "every write counts");
    assert_eq!(project.fields.metadata.len() as u64, WRITERS * WRITES, "and what it alone wrote is there");
}

/// Of those who read the same revision one is first, over whichever endpoint.
#[test]
fn one_of_many_is_first() {
    let endpoint = site();
    for revision in 1..=10 {
        let won = together(&endpoint, WRITERS, |caller, writer| {
            let arguments = json!({ "projectId": ID, "name": writer.to_string(), "ifRevision": revision });
            if writer % 2 == 0 {
                return caller.call("update_project", arguments).is_ok();
            }
            let params = json!({ "name": "update_project", "arguments": arguments });
            caller.modern("tools/call", params).json()["result"]["isError"].is_null()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "{won:?}");
        assert_eq!(stored(&endpoint, ACCOUNT, ID).revision, revision + 1);
    }
}

/// Whatever is written, it is a write to the project.
#[test]
fn writers_of_different_things_get_along() {
    let endpoint = site();
    let kinds: [&(dyn Fn(u64) -> (&'static str, Value) + Sync); 5] = [
        &|n| {
            let page = json!({ "type": "page", "props": { "title": "x", "path": format!("/{n}") } });
            ("edit_blocks", json!({ "projectId": ID, "action": "create", "blocks": [page] }))
        },
        &|n| {
            let name = format!("{n}.txt");
            ("edit_asset", json!({ "projectId": ID, "action": "put", "name": name, "content": "eA==" }))
        },
        &|n| {
            let change = json!({ "op": "set", "path": format!("color.c{n}"), "value": "#123456" });
            ("edit_design_system", json!({ "projectId": ID, "changes": [change] }))
        },
        &|n| {
            let schema = json!({ "type": "object" });
            ("edit_block_type", json!({ "projectId": ID, "name": format!("own-{n}"), "schema": schema }))
        },
        &|n| ("publish_project", json!({ "projectId": ID, "note": n.to_string() })),
    ];
    together(&endpoint, kinds.len() as u64, |caller, writer| {
        for n in 0..10 {
            let (tool, arguments) = kinds[usize::try_from(writer).unwrap()](n);
            caller.done(tool, arguments);
        }
    });
    let project = stored(&endpoint, ACCOUNT, ID);
    let usage = project.usage;
    assert_eq!(project.revision, 51);
    assert_eq!((usage.blocks, usage.assets, usage.types, usage.versions), (10, 10, 10, 10));
    let tokens =
        Caller::writer(&endpoint).done("get_design_system", json!({ "projectId": ID }))["tokens"].clone();
    assert_eq!(tokens["color"].as_object().unwrap().keys().filter(|name| name.starts_with('c')).count(), 10);
}

/// A content that is put in the place of another is a write like any other, and whoever reads finds one of them.
#[test]
fn contents_replace_each_other() {
    let endpoint = site();
    let caller = Caller::writer(&endpoint);
    let put =
        |content: &str| json!({ "projectId": ID, "action": "put", "name": "log.txt", "content": content });
    let asset = caller.done("edit_asset", put("eHh4eAo="))["asset"].clone();
    together(&endpoint, WRITERS, |caller, writer| {
        for _ in 0..10 {
            if writer % 2 == 0 {
                let read = caller.ask("resources/read", &json!({ "uri": asset["uri"] }));
                assert!(read["result"]["contents"][0]["blob"].is_string(), "{read}");
                continue;
            }
            let mut again = put(if writer == 1 { "eHh4eAo=" } else { "eHkK" });
            again["assetId"] = asset["id"].clone();
            caller.done("edit_asset", again);
        }
    });
    assert_eq!(stored(&endpoint, ACCOUNT, ID).revision, 2 + 40);
}

/// A part that is added is never lost to another that is added at the same time.
#[test]
fn parts_that_are_added_at_once_are_all_there() {
    let endpoint = site();
    let caller = Caller::writer(&endpoint);
    let put = json!({ "projectId": ID, "action": "put", "name": "log.txt", "content": "" });
    let empty = caller.call("edit_asset", put).unwrap_err();
    assert_eq!(
        empty["data"]["errors"][0],
        json!({ "path": "/content", "message": "is empty; send the bytes of the file" })
    );
    // `eHh4eAo=` is `xxxx` and a line's end.
    let put = json!({ "projectId": ID, "action": "put", "name": "log.txt", "content": "eHh4eAo=" });
    let asset = caller.done("edit_asset", put)["asset"].clone();
    together(&endpoint, 4, |caller, _| {
        for _ in 0..5 {
            until_nobody_was_faster(|| {
                let part = json!({ "projectId": ID, "action": "put", "assetId": asset["id"], "append": true, "content": "eHh4eAo=" });
                caller.call("edit_asset", part)
            });
        }
    });
    let read = caller
        .modern("tools/call", json!({ "name": "list_assets", "arguments": { "projectId": ID } }))
        .json();
    assert_eq!(said(&read["result"])["assets"][0]["bytes"], 5 * 21);
}
