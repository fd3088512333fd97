//! News: whoever watches a resource, or the list of them, hears when it changes, and nobody else does.

use std::sync::Arc;

use serde_json::{Value, json};
use server::{App, Principal, Scope};

use super::{
    ADA, EVE, REVISION, SampleProject, app, base64, call_ok, client, request, send_request, string_value,
};
use crate::harness::{TestClient, key_principal, stateless_meta};

fn resource_uris(sample: &SampleProject) -> [String; 4] {
    let project = &sample.project;
    [
        "codefluss://projects".to_owned(),
        format!("codefluss://design-system/{project}"),
        format!("codefluss://design-system/{project}/css"),
        format!("codefluss://assets/{project}/{}", sample.asset),
    ]
}

/// A client that watches everything of a site, as far as it may. One with a session hears of lists without
/// asking.
async fn session_subscriber(app: &Arc<App>, caller: Principal, sample: &SampleProject) -> TestClient {
    let mut client = TestClient::for_principal(app, caller).initialize(REVISION, json!({})).await;
    for uri in resource_uris(sample) {
        send_request(&mut client, "resources/subscribe", json!({ "uri": uri })).await;
    }
    client
}

/// The same without a session.
async fn stateless_subscriber(app: &Arc<App>, caller: Principal, sample: &SampleProject) -> TestClient {
    let mut client = TestClient::for_principal(app, caller);
    let wanted = json!({ "resourcesListChanged": true, "resourceSubscriptions": resource_uris(sample) });
    let params = json!({ "_meta": stateless_meta(json!({})), "notifications": wanted });
    let answers = client.exchange(&request("subscriptions/listen", params).to_string()).await;
    assert!(answers.len() == 1 && answers[0].contains("subscriptions/acknowledged"), "{answers:?}");
    client
}

/// What has been told since the last time, each by a letter: `P`rojects, `D`esign system, `C`SS of it,
/// `A`sset, `L`ist.
async fn received_notifications(client: &mut TestClient, sample: &SampleProject) -> String {
    let all = resource_uris(sample);
    let mut letters: Vec<&str> = Vec::new();
    for message in client.settle().await {
        let message: Value = serde_json::from_str(&message).unwrap();
        letters.push(match message["method"].as_str().unwrap() {
            "notifications/resources/list_changed" => "L",
            "notifications/resources/updated" => {
                let uri = message["params"]["uri"].as_str().unwrap();
                ["P", "D", "C", "A"][all.iter().position(|known| known == uri).unwrap()]
            }
            other => panic!("nobody asked for {other}"),
        });
    }
    letters.sort_unstable();
    letters.concat()
}

/// What is done, and what is told of it. In order, on one site.
fn writes_with_notifications(sample: &SampleProject) -> Vec<(&'static str, Value, &'static str)> {
    let SampleProject { project, page, heading, asset, .. } = sample;
    let token = json!([{ "op": "set", "path": "color.brand", "value": "#0a7b66" }]);
    vec![
        ("update_project", json!({ "projectId": project, "description": "New." }), "P"),
        ("update_project", json!({ "projectId": project, "name": "Borealis" }), "LP"),
        (
            "edit_blocks",
            json!({ "projectId": project, "action": "update", "blockId": heading, "props": { "text": "x" } }),
            "P",
        ),
        (
            "edit_blocks",
            json!({ "projectId": project, "action": "copy", "blockId": heading, "parentId": page }),
            "P",
        ),
        ("edit_block_type", json!({ "projectId": project, "name": "tag", "schema": {} }), "P"),
        ("edit_design_system", json!({ "projectId": project, "changes": token }), "CDP"),
        (
            "edit_asset",
            json!({ "projectId": project, "action": "put", "assetId": asset, "name": "a.txt", "content": base64("a") }),
            "AP",
        ),
        ("publish_project", json!({ "projectId": project }), "P"),
        ("publish_project", json!({ "projectId": project, "action": "restore", "version": 1 }), "ACDLP"),
        ("publish_project", json!({ "projectId": project, "action": "unpublish" }), "P"),
        ("get_project", json!({ "projectId": project }), ""),
        ("delete_project", json!({ "projectId": project, "confirm": "Aurora" }), "ACDLP"),
    ]
}

#[tokio::test(start_paused = true)]
async fn only_authorized_subscribers_are_notified() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let (site, other) = (SampleProject::build(&mut ada).await, SampleProject::build(&mut ada).await);
    let mut insiders = Vec::new();
    for caller in
        [key_principal(ADA, Scope::Read, None), key_principal(ADA, Scope::Read, Some(&site.project))]
    {
        insiders.push(session_subscriber(&app, caller.clone(), &site).await);
        insiders.push(stateless_subscriber(&app, caller, &site).await);
    }
    let mut outsiders = Vec::new();
    for caller in [
        key_principal(EVE, Scope::Admin, None),
        key_principal(EVE, Scope::Read, Some(&site.project)),
        key_principal(ADA, Scope::Write, Some(&other.project)),
    ] {
        outsiders.push(session_subscriber(&app, caller.clone(), &site).await);
        outsiders.push(stateless_subscriber(&app, caller, &site).await);
    }
    for (tool, arguments, expected) in writes_with_notifications(&site) {
        call_ok(&mut ada, tool, arguments.clone()).await;
        for insider in &mut insiders {
            assert_eq!(received_notifications(insider, &site).await, expected, "{tool} {arguments}");
        }
        for outsider in &mut outsiders {
            assert_eq!(outsider.settle().await, [""; 0], "{tool} {arguments}");
        }
    }
}

/// A project that comes is heard of by the account alone, and not by those with a key for another project.
#[tokio::test(start_paused = true)]
async fn list_change_is_notified_when_a_project_is_created() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let mut whole = session_subscriber(&app, key_principal(ADA, Scope::Read, None), &site).await;
    let mut modern = stateless_subscriber(&app, key_principal(ADA, Scope::Read, None), &site).await;
    let mut bound =
        session_subscriber(&app, key_principal(ADA, Scope::Read, Some(&site.project)), &site).await;
    let mut stranger = session_subscriber(&app, key_principal(EVE, Scope::Read, None), &site).await;
    for arguments in [json!({ "name": "New" }), json!({ "name": "Copy", "copyOf": site.project })] {
        call_ok(&mut ada, "create_project", arguments).await;
        assert_eq!(received_notifications(&mut whole, &site).await, "LP");
        assert_eq!(received_notifications(&mut modern, &site).await, "LP");
        assert_eq!(bound.settle().await, [""; 0]);
        assert_eq!(stranger.settle().await, [""; 0]);
    }
}

/// Nothing is told of what was refused.
#[tokio::test(start_paused = true)]
async fn rejected_writes_are_not_notified() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let mut watcher = session_subscriber(&app, key_principal(ADA, Scope::Read, None), &site).await;
    for (tool, arguments, _) in
        writes_with_notifications(&site).into_iter().filter(|(tool, ..)| *tool != "get_project")
    {
        let mut arguments = arguments;
        arguments["ifRevision"] = json!(1);
        super::call_refused(&mut ada, tool, arguments).await;
    }
    super::call_refused(&mut ada, "create_project", json!({ "name": "" })).await;
    assert_eq!(watcher.settle().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn unsubscribed_clients_are_not_notified() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let mut old = session_subscriber(&app, key_principal(ADA, Scope::Read, None), &site).await;
    let mut new = stateless_subscriber(&app, key_principal(ADA, Scope::Read, None), &site).await;
    let [all, design, ..] = resource_uris(&site);
    for uri in [&all, &design, &design] {
        send_request(&mut old, "resources/unsubscribe", json!({ "uri": uri })).await;
    }
    let end = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    new.exchange(&end.to_string()).await;
    let token = json!([{ "op": "set", "path": "color.brand", "value": "#0a7b66" }]);
    call_ok(&mut ada, "edit_design_system", json!({ "projectId": site.project, "changes": token })).await;
    assert_eq!(received_notifications(&mut old, &site).await, "C");
    assert_eq!(new.settle().await, [""; 0]);
}

/// Older clients cannot subscribe by the word of the newest revision, nor it by theirs.
#[tokio::test(start_paused = true)]
async fn subscription_acknowledges_only_available_resources() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let [all, design, ..] = resource_uris(&site);
    let wanted = json!({ "resourcesListChanged": true, "resourceSubscriptions": [all, design, "codefluss://design-system/proj_0000000000000000", "codefluss://nothing"] });
    let params = json!({ "_meta": stateless_meta(json!({})), "notifications": wanted });
    let mut listener = TestClient::for_principal(&app, key_principal(ADA, Scope::Read, None));
    let answers = listener.exchange(&request("subscriptions/listen", params).to_string()).await;
    let acknowledged: Value = serde_json::from_str(&answers[0]).unwrap();
    let offered = json!({ "resourcesListChanged": true, "resourceSubscriptions": [all, design] });
    assert_eq!(acknowledged["params"]["notifications"], offered);
    call_ok(&mut ada, "update_project", json!({ "projectId": site.project, "name": "New" })).await;
    let told: Value = serde_json::from_str(&listener.settle().await[0]).unwrap();
    assert_eq!(
        told["params"],
        json!({ "uri": all, "_meta": { "io.modelcontextprotocol/subscriptionId": 1 } })
    );
}

/// Whoever could not keep up is told to look again at everything that they watch.
#[tokio::test(start_paused = true)]
async fn lagging_subscriber_is_notified_of_every_resource() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let mut old = session_subscriber(&app, key_principal(ADA, Scope::Read, None), &site).await;
    let mut new = stateless_subscriber(&app, key_principal(ADA, Scope::Read, None), &site).await;
    // More than waits for anybody, in one go: nobody has a turn to read it in between.
    let many = async {
        for n in 0..400 {
            let arguments = json!({ "projectId": site.project, "description": format!("{n}") });
            let call = json!({ "name": "update_project", "arguments": arguments });
            ada.send(request("tools/call", call).to_string().as_bytes());
        }
    };
    tokio::task::unconstrained(many).await;
    let answers = ada.settle().await;
    assert_eq!(answers.iter().filter(|answer| answer.contains("structuredContent")).count(), 400);
    let all = resource_uris(&site);
    for client in [&mut old, &mut new] {
        let told = client.settle().await.concat();
        assert!(all.iter().all(|uri| told.contains(&format!("\"{uri}\""))), "{told}");
        assert!(told.contains("notifications/resources/list_changed"), "{told}");
    }
}

/// A client of the newest revision must not go on with what it read before a write.
#[tokio::test(start_paused = true)]
async fn project_resources_are_not_cacheable() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let mut modern = TestClient::for_principal(&app, key_principal(ADA, Scope::Read, None));
    for uri in resource_uris(&site) {
        let answer = send_request(
            &mut modern,
            "resources/read",
            json!({ "uri": uri, "_meta": stateless_meta(json!({})) }),
        )
        .await;
        let hints = (&answer["result"]["ttlMs"], string_value(&answer["result"]["cacheScope"]));
        assert_eq!(hints, (&json!(0), "private".to_owned()), "{uri}");
    }
    let listed =
        send_request(&mut modern, "resources/list", json!({ "_meta": stateless_meta(json!({})) })).await;
    assert_eq!((&listed["result"]["ttlMs"], &listed["result"]["cacheScope"]), (&json!(0), &json!("private")));
}
