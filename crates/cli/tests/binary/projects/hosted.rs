//! Projects over HTTP, in the real program: keys that it made, a file that several share.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process::run_with;
use crate::serving::host::{Host, Site};
use crate::serving::http::{Client, Way};

/// A server as it is without any setting but its place, for callers in a hurry.
fn plain(site: &Site) -> Host {
    Host::start(&mut serve(site))
}

fn serve(site: &Site) -> Command {
    site.command(&["serve", "--http", "127.0.0.1:0", "--rate-limit", "0"])
}

fn call(client: &mut Client, key: &str, tool: &str, arguments: Value) -> Result<Value, Value> {
    let answer = client.call(Way::Api, key, tool, arguments).unwrap().json();
    match answer.get("error") {
        Some(error) => Err(error.clone()),
        None => Ok(serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap()),
    }
}

fn create(client: &mut Client, key: &str, name: &str) -> String {
    let wish = json!({ "name": name, "description": "", "template": "page" });
    call(client, key, "create_project", wish).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn keys_of_the_command_line_open_their_own_projects() {
    let site = Site::new();
    let [acme, other, reader] = [
        &["--scope", "write", "--tenant", "acme"][..],
        &["--scope", "write", "--tenant", "other"],
        &["--scope", "read", "--tenant", "acme"],
    ]
    .map(|args| site.key(args).text);
    let host = plain(&site);
    let mut client = host.client();
    let (first, second) = (create(&mut client, &acme, "First"), create(&mut client, &acme, "Second"));
    let bound = site.key(&["--scope", "write", "--tenant", "acme", "--project", &first]).text;
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
const WAITS: Duration = Duration::from_secs(5);

/// Reads a counter and adds one, again if somebody was faster, or on a busy disk took longer than anybody waits.
fn increment(client: &mut Client, key: &str, id: &str) {
    loop {
        let read = call(client, key, "get_project", json!({ "projectId": id })).unwrap();
        let count = read["metadata"]["count"].as_u64().unwrap_or(0) + 1;
        let write =
            json!({ "projectId": id, "metadata": { "count": count }, "ifRevision": read["revision"] });
        let start = Instant::now();
        match call(client, key, "update_project", write) {
            Ok(_) => return,
            Err(error) if error["data"]["kind"] == "store_unavailable" && start.elapsed() >= WAITS => {}
            Err(error) => assert_eq!(error["data"]["kind"], "conflict", "{error}"),
        }
    }
}

/// Replicas on one machine, and the owner with a command, have one store.
#[test]
fn several_processes_share_a_store() {
    let site = Site::new();
    let key = site.key(&["--scope", "write"]).text;
    let hosts = [plain(&site), plain(&site)];
    let [mut one, mut two] = hosts.each_ref().map(Host::client);
    let id = create(&mut one, &key, "Shared");
    thread::scope(|scope| {
        for client in [&mut one, &mut two] {
            let (key, id) = (&key, &id);
            scope.spawn(move || (0..20).for_each(|_| increment(client, key, id)));
        }
    });
    let read = call(&mut two, &key, "get_project", json!({ "projectId": id })).unwrap();
    assert_eq!((&read["metadata"]["count"], &read["revision"]), (&json!(40), &json!(41)));
    let out = site.path("export").display().to_string();
    let (code, _, err) = run_with(&mut site.command(&["projects", "export", &id, "--out", &out]));
    assert_eq!(code, 0, "{err}");
    let (code, copy, err) = run_with(&mut site.command(&["projects", "import", &out, "--copy"]));
    assert_eq!(code, 0, "{err}");
    let found = call(&mut one, &key, "get_project", json!({ "projectId": copy.trim_end() })).unwrap();
    assert_eq!(found["metadata"]["count"], 40, "what the owner brings in is served at once");
}

/// What was acknowledged is there after a power failure.
#[test]
fn a_write_that_was_answered_survives() {
    let site = Site::new();
    let key = site.key(&["--scope", "write"]).text;
    let mut host = plain(&site);
    let mut client = host.client();
    let id = create(&mut client, &key, "Kept");
    let mut revision = json!(1);
    for n in 0..20 {
        let write = json!({ "projectId": id, "metadata": { "n": n } });
        revision = call(&mut client, &key, "update_project", write).unwrap()["revision"].clone();
    }
    host.kill();
    let read = call(&mut plain(&site).client(), &key, "get_project", json!({ "projectId": id })).unwrap();
    assert_eq!((&read["revision"], &read["metadata"]["n"]), (&revision, &json!(19)));
}
