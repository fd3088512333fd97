//! What every tool that writes takes: the revision that its caller knows, and a wish to try it first.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use server::tools::Toolset;
use server::{App, Observer, Seen};

use super::samples::{listed, rows, samples, writes};
use super::{ADA, Site, app, ask, client, done, refused};
use crate::harness::{self, TestClient};

#[tokio::test(start_paused = true)]
async fn every_write_takes_a_revision_and_a_dry_run() {
    let mut client = client(&app(), ADA).await;
    let mut writing = 0;
    for tool in listed(&mut client).await.iter().filter(|tool| writes(tool)) {
        writing += 1;
        for (argument, kind) in [("ifRevision", "integer"), ("dryRun", "boolean")] {
            let property = &tool["inputSchema"]["properties"][argument];
            assert_eq!(property["type"], kind, "{} has no {argument}", tool["name"]);
        }
    }
    assert!(writing > 5, "only {writing} tools write");
}

/// Somebody of the same account who hears of everything that can be heard.
async fn listener(app: &Arc<App>, account: &str, site: &Site) -> TestClient {
    let mut listener = client(app, account).await;
    let (design, asset) = (
        format!("codefluss://design-system/{}", site.project),
        format!("codefluss://assets/{}/{}", site.project, site.asset),
    );
    for uri in ["codefluss://projects", &design, &asset] {
        ask(&mut listener, "resources/subscribe", json!({ "uri": uri })).await;
    }
    listener
}

/// Each sample of a tool that writes, with a site, its owner and a listener of its own.
async fn for_each_write(judge: impl AsyncFn(&mut TestClient, &mut TestClient, &Site, &str, Value)) {
    let app = app();
    let mut client = client(&app, ADA).await;
    let first = Site::build(&mut client).await;
    let mut judged = 0;
    for (name, tool, of_first) in rows(&mut client, &first).await {
        if !writes(&tool) {
            continue;
        }
        judged += of_first.len();
        for at in 0..of_first.len() {
            let account = format!("{name} {at}");
            let mut owner = super::client(&app, &account).await;
            let site = Site::build(&mut owner).await;
            let mut listener = listener(&app, &account, &site).await;
            let sample = samples(&name, &site).unwrap().swap_remove(at);
            judge(&mut owner, &mut listener, &site, &name, sample).await;
        }
    }
    assert!(judged > 10, "only {judged} samples write");
}

fn with(mut sample: Value, argument: &str, value: Value) -> Value {
    sample[argument] = value;
    sample
}

/// All of an account: what is in the site, and which projects there are.
async fn all(owner: &mut TestClient, site: &Site) -> (Value, Value) {
    (site.everything(owner).await, done(owner, "list_projects", json!({})).await)
}

#[tokio::test(start_paused = true)]
async fn a_write_from_another_revision_is_refused() {
    for_each_write(async |owner, listener, site, tool, sample| {
        let before = all(owner, site).await;
        for stale in [0, 1, Site::REVISION - 1, Site::REVISION + 1, u64::MAX] {
            let no = refused(owner, tool, with(sample.clone(), "ifRevision", json!(stale))).await;
            if tool == "create_project" && sample.get("copyOf").is_none() {
                assert_eq!(no.kind, "invalid_argument", "{tool} {sample}: {no:?}");
                continue;
            }
            assert_eq!(no.kind, "conflict", "{tool} {sample}: {no:?}");
            assert_eq!(
                (&no.details["expected"], &no.details["found"]),
                (&json!(stale), &json!(Site::REVISION))
            );
        }
        assert_eq!(all(owner, site).await, before, "{tool} {sample}");
        assert_eq!(listener.settle().await, [""; 0], "{tool} {sample}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_write_from_the_right_revision_is_one_step() {
    for_each_write(async |owner, listener, _, tool, sample| {
        let is_new = tool == "create_project";
        let guarded = is_new && sample.get("copyOf").is_none();
        let guard = if guarded { Value::Null } else { json!(Site::REVISION) };
        let reply = done(owner, tool, with(sample.clone(), "ifRevision", guard)).await;
        assert_ne!(listener.settle().await, [""; 0], "{tool} {sample}");
        let revision = reply.get("revision").and_then(Value::as_u64);
        let expected = if is_new { 1 } else { Site::REVISION + 1 };
        assert!(tool == "delete_project" || revision == Some(expected), "{tool} {sample}: {reply}");
    })
    .await;
}

/// A dry run answers as if it was done, and nothing is.
#[tokio::test(start_paused = true)]
async fn a_dry_run_changes_nothing_and_is_not_told() {
    for_each_write(async |owner, listener, site, tool, sample| {
        let before = all(owner, site).await;
        let tried = done(owner, tool, with(sample.clone(), "dryRun", json!(true))).await;
        assert_eq!(all(owner, site).await, before, "{tool} {sample}");
        assert_eq!(listener.settle().await, [""; 0], "{tool} {sample}");
        assert_eq!(tried["dryRun"], true, "{tool} {sample}: {tried}");
        let in_earnest = done(owner, tool, sample.clone()).await;
        assert!(in_earnest.get("dryRun").is_none(), "{tool} {sample}: {in_earnest}");
        assert_eq!(comparable(tried), comparable(in_earnest), "{tool} {sample}");
    })
    .await;
}

/// A reply without what must differ: new ids, and whether it was done.
fn comparable(mut reply: Value) -> Value {
    forget_ids(&mut reply);
    let members = reply.as_object_mut().unwrap();
    members.remove("dryRun");
    members.remove("deleted");
    reply
}

fn forget_ids(value: &mut Value) {
    let is_id = |word: &str| ["proj_", "blk_", "asset_"].iter().any(|kind| word.contains(kind));
    match value {
        Value::String(text) if is_id(text) => *value = Value::Null,
        Value::Array(items) => items.iter_mut().for_each(forget_ids),
        Value::Object(map) => map.values_mut().for_each(forget_ids),
        _ => {}
    }
}

/// Notes down what changed something.
#[derive(Default)]
struct Audit(Mutex<Vec<(String, bool)>>);

impl Observer for Audit {
    fn seen(&self, seen: &Seen<'_>) {
        if seen.tool.is_some() {
            self.0.lock().unwrap().push((seen.method.to_owned(), seen.changes));
        }
    }
}

/// What is only tried is no change, in whatever way it was called.
#[tokio::test(start_paused = true)]
async fn an_audit_tells_tries_from_changes() {
    let audit = Arc::new(Audit::default());
    let app = harness::app().toolsets(&[Toolset::Projects]).observer(Arc::clone(&audit) as _).build();
    let mut ada = client(&app, ADA).await;
    for dry_run in [true, false] {
        let arguments = json!({ "name": "Site", "description": "", "dryRun": dry_run });
        let call = json!({ "name": "create_project", "arguments": arguments });
        ask(&mut ada, "tools/call", call).await;
        let whole = json!({ "name": "Site", "description": "", "template": "bare", "dryRun": dry_run });
        let mut session = Value::Null;
        for (method, mut params) in [
            ("interaction.start", json!({ "toolName": "create_project", "initialParams": whole })),
            ("interaction.start", json!({ "toolName": "create_project", "initialParams": arguments })),
            ("interaction.respond", json!({ "response": { "value": "bare" } })),
        ] {
            params["sessionId"] = session;
            let messages = ada.exchange(&super::request(method, params).to_string()).await;
            let mut parsed = messages.iter().map(|message| serde_json::from_str::<Value>(message).unwrap());
            let answer = parsed.find(|message| message["id"] == 1).unwrap();
            session = answer["result"]["sessionId"].clone();
        }
    }
    let seen = audit.0.lock().unwrap();
    let changes: Vec<bool> = seen.iter().map(|(_, changes)| *changes).collect();
    assert_eq!(changes, [false, false, false, false, true, true, true, true], "{seen:?}");
}
