//! What every tool that writes takes: the revision that its caller knows, and a wish to try it first.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use server::tools::Toolset;
use server::{App, Observer, RequestRecord};

use super::sample_calls::{is_write_tool, list_tools, samples, tools_with_samples};
use super::{ADA, SampleProject, app, call_ok, call_refused, client, send_request};
use crate::harness::{self, TestClient};

#[tokio::test(start_paused = true)]
async fn every_write_tool_accepts_if_revision_and_dry_run() {
    let mut client = client(&app(), ADA).await;
    let mut writing = 0;
    for tool in list_tools(&mut client).await.iter().filter(|tool| is_write_tool(tool)) {
        writing += 1;
        for (argument, kind) in [("ifRevision", "integer"), ("dryRun", "boolean")] {
            let property = &tool["inputSchema"]["properties"][argument];
            assert_eq!(property["type"], kind, "{} has no {argument}", tool["name"]);
        }
    }
    assert!(writing > 5, "only {writing} tools write");
}

/// Somebody of the same account who hears of everything that can be heard.
async fn subscribed_client(app: &Arc<App>, account: &str, sample: &SampleProject) -> TestClient {
    let mut listener = client(app, account).await;
    let (design, asset) = (
        format!("codefluss://design-system/{}", sample.project),
        format!("codefluss://assets/{}/{}", sample.project, sample.asset),
    );
    for uri in ["codefluss://projects", &design, &asset] {
        send_request(&mut listener, "resources/subscribe", json!({ "uri": uri })).await;
    }
    listener
}

/// Each sample of a tool that writes, with a site, its owner and a listener of its own.
async fn for_each_write(judge: impl AsyncFn(&mut TestClient, &mut TestClient, &SampleProject, &str, Value)) {
    let app = app();
    let mut client = client(&app, ADA).await;
    let first = SampleProject::build(&mut client).await;
    let mut judged = 0;
    for (name, tool, of_first) in tools_with_samples(&mut client, &first).await {
        if !is_write_tool(&tool) {
            continue;
        }
        judged += of_first.len();
        for at in 0..of_first.len() {
            let account = format!("{name} {at}");
            let mut owner = super::client(&app, &account).await;
            let site = SampleProject::build(&mut owner).await;
            let mut listener = subscribed_client(&app, &account, &site).await;
            let sample = samples(&name, &site).unwrap().swap_remove(at);
            judge(&mut owner, &mut listener, &site, &name, sample).await;
        }
    }
    assert!(judged > 10, "only {judged} samples write");
}

fn with_argument(mut sample: Value, argument: &str, value: Value) -> Value {
    sample[argument] = value;
    sample
}

/// All of an account: what is in the site, and which projects there are.
async fn account_snapshot(owner: &mut TestClient, sample: &SampleProject) -> (Value, Value) {
    (sample.snapshot(owner).await, call_ok(owner, "list_projects", json!({})).await)
}

#[tokio::test(start_paused = true)]
async fn stale_revision_is_rejected() {
    for_each_write(async |owner, listener, site, tool, sample| {
        let before = account_snapshot(owner, site).await;
        for stale in [0, 1, SampleProject::REVISION - 1, SampleProject::REVISION + 1, u64::MAX] {
            let no =
                call_refused(owner, tool, with_argument(sample.clone(), "ifRevision", json!(stale))).await;
            if tool == "create_project" && sample.get("copyOf").is_none() {
                assert_eq!(no.kind, "invalid_argument", "{tool} {sample}: {no:?}");
                continue;
            }
            assert_eq!(no.kind, "conflict", "{tool} {sample}: {no:?}");
            assert_eq!(
                (&no.details["expected"], &no.details["found"]),
                (&json!(stale), &json!(SampleProject::REVISION))
            );
        }
        assert_eq!(account_snapshot(owner, site).await, before, "{tool} {sample}");
        assert_eq!(listener.settle().await, [""; 0], "{tool} {sample}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn matching_revision_is_incremented_by_one() {
    for_each_write(async |owner, listener, _, tool, sample| {
        let is_new = tool == "create_project";
        let guarded = is_new && sample.get("copyOf").is_none();
        let guard = if guarded { Value::Null } else { json!(SampleProject::REVISION) };
        let reply = call_ok(owner, tool, with_argument(sample.clone(), "ifRevision", guard)).await;
        assert_ne!(listener.settle().await, [""; 0], "{tool} {sample}");
        let revision = reply.get("revision").and_then(Value::as_u64);
        let expected = if is_new { 1 } else { SampleProject::REVISION + 1 };
        assert!(tool == "delete_project" || revision == Some(expected), "{tool} {sample}: {reply}");
    })
    .await;
}

/// A dry run answers as if it was done, and nothing is.
#[tokio::test(start_paused = true)]
async fn dry_run_changes_nothing_and_is_not_notified() {
    for_each_write(async |owner, listener, site, tool, sample| {
        let before = account_snapshot(owner, site).await;
        let tried = call_ok(owner, tool, with_argument(sample.clone(), "dryRun", json!(true))).await;
        assert_eq!(account_snapshot(owner, site).await, before, "{tool} {sample}");
        assert_eq!(listener.settle().await, [""; 0], "{tool} {sample}");
        assert_eq!(tried["dryRun"], true, "{tool} {sample}: {tried}");
        let in_earnest = call_ok(owner, tool, sample.clone()).await;
        assert!(in_earnest.get("dryRun").is_none(), "{tool} {sample}: {in_earnest}");
        assert_eq!(comparable(tried), comparable(in_earnest), "{tool} {sample}");
    })
    .await;
}

/// A reply without what must differ: new ids, and whether it was done.
fn comparable(mut reply: Value) -> Value {
    remove_ids(&mut reply);
    let members = reply.as_object_mut().unwrap();
    members.remove("dryRun");
    members.remove("deleted");
    reply
}

fn remove_ids(value: &mut Value) {
    let is_id = |word: &str| ["proj_", "blk_", "asset_"].iter().any(|kind| word.contains(kind));
    match value {
        Value::String(text) if is_id(text) => *value = Value::Null,
        Value::Array(items) => items.iter_mut().for_each(remove_ids),
        Value::Object(map) => map.values_mut().for_each(remove_ids),
        _ => {}
    }
}

/// Notes down what changed something.
#[derive(Default)]
struct ChangeRecorder(Mutex<Vec<(String, bool)>>);

impl Observer for ChangeRecorder {
    fn on_request_end(&self, record: &RequestRecord<'_>) {
        if record.tool.is_some() {
            self.0.lock().unwrap().push((record.method.to_owned(), record.is_mutating));
        }
    }
}

/// What is only tried is no change, in whatever way it was called.
#[tokio::test(start_paused = true)]
async fn observer_distinguishes_dry_runs_from_changes() {
    let audit = Arc::new(ChangeRecorder::default());
    let app = harness::app().toolsets(&[Toolset::Projects]).observer(Arc::clone(&audit) as _).build();
    let mut ada = client(&app, ADA).await;
    for dry_run in [true, false] {
        let arguments = json!({ "name": "Site", "description": "", "dryRun": dry_run });
        let call = json!({ "name": "create_project", "arguments": arguments });
        send_request(&mut ada, "tools/call", call).await;
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
