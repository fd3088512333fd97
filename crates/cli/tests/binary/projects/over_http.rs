//! Projects over HTTP, in the real program: keys that it made, a file that several share.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process::run_command;
use crate::serving::host::{HttpHost, StoreFixture};
use crate::serving::http::{McpEndpoint, RawHttpClient};

/// A server as it is without any setting but its place, for callers in a hurry.
fn start_host(fixture: &StoreFixture) -> HttpHost {
    HttpHost::start(&mut serve_command(fixture))
}

fn serve_command(fixture: &StoreFixture) -> Command {
    fixture.command(&["serve", "--http", "127.0.0.1:0", "--rate-limit", "0"])
}

fn call(client: &mut RawHttpClient, key: &str, tool: &str, arguments: Value) -> Result<Value, Value> {
    let answer = client.call(McpEndpoint::Api, key, tool, arguments).unwrap().json();
    match answer.get("error") {
        Some(error) => Err(error.clone()),
        None => Ok(serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap()),
    }
}

fn create_project(client: &mut RawHttpClient, key: &str, name: &str) -> String {
    let wish = json!({ "name": name, "description": "", "template": "page" });
    call(client, key, "create_project", wish).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn keys_access_only_their_own_projects() {
    let site = StoreFixture::new();
    let [acme, other, reader] = [
        &["--scope", "write", "--tenant", "acme"][..],
        &["--scope", "write", "--tenant", "other"],
        &["--scope", "read", "--tenant", "acme"],
    ]
    .map(|args| site.create_key(args).text);
    let host = start_host(&site);
    let mut client = host.client();
    let (first, second) =
        (create_project(&mut client, &acme, "First"), create_project(&mut client, &acme, "Second"));
    let bound = site.create_key(&["--scope", "write", "--tenant", "acme", "--project", &first]).text;
    let mut ids = |key: &str| -> Vec<Value> {
        let listed = call(&mut client, key, "list_projects", json!({})).unwrap();
        listed.as_array().unwrap().iter().map(|project| project["id"].clone()).collect()
    };
    assert_eq!(ids(&acme), [first.as_str(), &second]);
    assert_eq!(ids(&reader), [first.as_str(), &second]);
    assert_eq!(ids(&bound), [first.as_str()]);
    assert!(ids(&other).is_empty());
    for (key, id, expected) in [
        (&acme, &second, None),
        (&bound, &first, None),
        (&reader, &first, Some(-32002)),
        (&bound, &second, Some(-32003)),
        (&other, &first, Some(-32003)),
    ] {
        let answer = call(&mut client, key, "update_project", json!({ "projectId": id, "description": "x" }));
        assert_eq!(answer.err().map(|error| error["code"].clone()), expected.map(Value::from), "{key} {id}");
    }
}

/// How long a server waits for others that write to the file.
const STORE_BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads a counter and adds one, again if somebody was faster, or on a busy disk took longer than anybody waits.
fn increment(client: &mut RawHttpClient, key: &str, id: &str) {
    loop {
        let read = call(client, key, "get_project", json!({ "projectId": id })).unwrap();
        let count = read["metadata"]["count"].as_u64().unwrap_or(0) + 1;
        let write =
            json!({ "projectId": id, "metadata": { "count": count }, "ifRevision": read["revision"] });
        let start = Instant::now();
        match call(client, key, "update_project", write) {
            Ok(_) => return,
            Err(error)
                if error["data"]["kind"] == "store_unavailable" && start.elapsed() >= STORE_BUSY_TIMEOUT => {}
            Err(error) => assert_eq!(error["data"]["kind"], "conflict", "{error}"),
        }
    }
}

/// Replicas on one machine, and the owner with a command, have one store.
#[test]
fn several_processes_share_a_store() {
    let site = StoreFixture::new();
    let key = site.create_key(&["--scope", "write"]).text;
    let hosts = [start_host(&site), start_host(&site)];
    let [mut one, mut two] = hosts.each_ref().map(HttpHost::client);
    let id = create_project(&mut one, &key, "Shared");
    thread::scope(|scope| {
        for client in [&mut one, &mut two] {
            let (key, id) = (&key, &id);
            scope.spawn(move || (0..20).for_each(|_| increment(client, key, id)));
        }
    });
    let read = call(&mut two, &key, "get_project", json!({ "projectId": id })).unwrap();
    assert_eq!((&read["metadata"]["count"], &read["revision"]), (&json!(40), &json!(41)));
    let out = site.path("export").display().to_string();
    let (code, _, err) = run_command(&mut site.command(&["projects", "export", &id, "--out", &out]));
    assert_eq!(code, 0, "{err}");
    let (code, copy, err) = run_command(&mut site.command(&["projects", "import", &out, "--copy"]));
    assert_eq!(code, 0, "{err}");
    let found = call(&mut one, &key, "get_project", json!({ "projectId": copy.trim_end() })).unwrap();
    assert_eq!(found["metadata"]["count"], 40, "what the owner brings in is served at once");
}

/// What was acknowledged is there after a power failure.
#[test]
fn acknowledged_writes_survive_a_kill() {
    let site = StoreFixture::new();
    let key = site.create_key(&["--scope", "write"]).text;
    let mut host = start_host(&site);
    let mut client = host.client();
    let id = create_project(&mut client, &key, "Kept");
    let mut revision = json!(1);
    for n in 0..20 {
        let write = json!({ "projectId": id, "metadata": { "n": n } });
        revision = call(&mut client, &key, "update_project", write).unwrap()["revision"].clone();
    }
    host.kill();
    let read =
        call(&mut start_host(&site).client(), &key, "get_project", json!({ "projectId": id })).unwrap();
    assert_eq!((&read["revision"], &read["metadata"]["n"]), (&revision, &json!(19)));
}
