//! Keys that may do less: read only, or one project only, or both.

use serde_json::{Value, json};
use server::{Principal, Scope};

use super::sample_calls::{is_write_tool, list_tools, samples, tools_with_samples};
use super::{
    ADA, REVISION, SampleProject, app, call_ok, call_refused, client, member_strings, read_resource,
    send_request,
};
use crate::harness::{TestClient, key_principal};

async fn client_with_key(app: &std::sync::Arc<server::App>, key: Principal) -> TestClient {
    TestClient::for_principal(app, key).initialize(REVISION, json!({})).await
}

async fn tool_names(client: &mut TestClient) -> Vec<String> {
    list_tools(client).await.iter().map(|tool| super::string_value(&tool["name"])).collect()
}

/// The names of the tools of a full key that pass a test.
async fn tool_names_where(client: &mut TestClient, is_wanted: impl Fn(&Value) -> bool) -> Vec<String> {
    list_tools(client)
        .await
        .iter()
        .filter(|tool| is_wanted(tool))
        .map(|tool| super::string_value(&tool["name"]))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn tool_list_depends_on_key_scope() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let reading = tool_names_where(&mut ada, |tool| !is_write_tool(tool)).await;
    let all_but_create = tool_names_where(&mut ada, |tool| tool["name"] != "create_project").await;
    assert!(reading.len() >= 7 && all_but_create.len() > reading.len());
    let project = Some(site.project.as_str());
    for (key, expected, interactive) in [
        (key_principal(ADA, Scope::Read, None), &reading, json!([])),
        (key_principal(ADA, Scope::Write, project), &all_but_create, json!(["delete_project"])),
        (key_principal(ADA, Scope::Read, project), &reading, json!([])),
    ] {
        let mut client = client_with_key(&app, key).await;
        assert_eq!(tool_names(&mut client).await, *expected);
        assert_eq!(
            send_request(&mut client, "capabilities", json!({})).await["result"]["tools"],
            interactive
        );
    }
}

#[tokio::test(start_paused = true)]
async fn read_key_reads_everything_and_writes_nothing() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let before = site.snapshot(&mut ada).await;
    let rows = tools_with_samples(&mut ada, &site).await;
    for key in [key_principal(ADA, Scope::Read, None), key_principal(ADA, Scope::Read, Some(&site.project))] {
        let mut reader = client_with_key(&app, key).await;
        for (name, tool, samples) in &rows {
            for sample in samples {
                if !is_write_tool(tool) {
                    call_ok(&mut reader, name, sample.clone()).await;
                    continue;
                }
                for dry_run in [false, true] {
                    let mut sample = sample.clone();
                    sample["dryRun"] = json!(dry_run);
                    let no = call_refused(&mut reader, name, sample).await;
                    assert_eq!(
                        (no.kind.as_str(), &no.details["needed"]),
                        ("forbidden", &json!("write")),
                        "{name}"
                    );
                }
            }
        }
        for tool in ["create_project", "delete_project"] {
            let start = send_request(&mut reader, "interaction.start", json!({ "toolName": tool })).await;
            assert_eq!(start["error"]["data"]["kind"], "forbidden", "{start}");
        }
        assert_eq!(site.snapshot(&mut reader).await, before);
    }
}

#[tokio::test(start_paused = true)]
async fn project_key_sees_only_its_project() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let (other, site) = (SampleProject::build(&mut ada).await, SampleProject::build(&mut ada).await);
    for scope in [Scope::Read, Scope::Write] {
        let mut bound = client_with_key(&app, key_principal(ADA, scope, Some(&site.project))).await;
        for limit in [json!({}), json!({ "limit": 1 }), json!({ "limit": 1000 })] {
            let list = call_ok(&mut bound, "list_projects", limit).await;
            assert_eq!(member_strings(&list["projects"], "id"), [&site.project]);
            assert!(list.get("nextCursor").is_none(), "{list}");
        }
        let listed = send_request(&mut bound, "resources/list", json!({})).await;
        let uris = member_strings(&listed["result"]["resources"], "uri");
        let own = format!("codefluss://design-system/{}", site.project);
        let owned: Vec<_> = uris.into_iter().filter(|uri| uri.starts_with("codefluss://")).collect();
        assert_eq!(owned, ["codefluss://projects", &own]);
        let all = read_resource(&mut bound, "codefluss://projects").await;
        assert_eq!(
            member_strings(&serde_json::from_str(all["text"].as_str().unwrap()).unwrap(), "id"),
            [&site.project]
        );
        let context = json!({ "ref": { "type": "ref/tool", "name": "get_project" }, "argument": { "name": "projectId", "value": "" } });
        let found = send_request(&mut bound, "completion/complete", context).await;
        assert_eq!(found["result"]["completion"]["values"], json!([site.project]), "{found}");
    }
    let before = other.snapshot(&mut ada).await;
    let mut bound = client_with_key(&app, key_principal(ADA, Scope::Write, Some(&site.project))).await;
    for (name, tool, _) in tools_with_samples(&mut bound, &site).await {
        for sample in samples(&name, &site).unwrap() {
            if !is_write_tool(&tool) {
                call_ok(&mut bound, &name, sample).await;
            }
        }
    }
    call_ok(&mut bound, "update_project", json!({ "projectId": site.project, "name": "Mine" })).await;
    call_ok(&mut bound, "delete_project", json!({ "projectId": site.project, "confirm": "Mine" })).await;
    // What it was good for is gone, and nothing else has come in its place.
    assert_eq!(call_ok(&mut bound, "list_projects", json!({})).await["projects"], json!([]));
    assert_eq!(read_resource(&mut bound, "codefluss://projects").await["text"], "[]");
    assert_eq!(other.snapshot(&mut ada).await, before);
}

#[tokio::test(start_paused = true)]
async fn project_key_cannot_create_projects() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let before = call_ok(&mut ada, "list_projects", json!({})).await;
    let mut bound = client_with_key(&app, key_principal(ADA, Scope::Write, Some(&site.project))).await;
    for sample in samples("create_project", &site).unwrap() {
        assert_eq!(call_refused(&mut bound, "create_project", sample).await.kind, "bound_to_project");
    }
    let start = send_request(&mut bound, "interaction.start", json!({ "toolName": "create_project" })).await;
    assert_eq!(start["error"]["data"]["kind"], "bound_to_project", "{start}");
    assert_eq!(call_ok(&mut ada, "list_projects", json!({})).await, before);
}

/// Slugs are unique in an account, so whoever may try them would learn of other projects.
#[tokio::test(start_paused = true)]
async fn project_key_cannot_probe_slugs() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = SampleProject::build(&mut ada).await;
    call_ok(&mut ada, "create_project", json!({ "name": "Secret", "slug": "merger", "template": "bare" }))
        .await;
    let mut bound = client_with_key(&app, key_principal(ADA, Scope::Write, Some(&site.project))).await;
    for slug in ["merger", "picnic"] {
        let change = json!({ "projectId": site.project, "slug": slug, "dryRun": true });
        assert_eq!(
            call_refused(&mut bound, "update_project", change).await.kind,
            "bound_to_project",
            "{slug}"
        );
    }
}

/// However many projects there are before it.
#[tokio::test(start_paused = true)]
async fn project_key_completes_its_id_among_many_projects() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let mut ids = Vec::new();
    for n in 0..120 {
        let new = json!({ "name": format!("Site {n}"), "template": "bare" });
        ids.push(super::string_value(&call_ok(&mut ada, "create_project", new).await["id"]));
    }
    ids.sort();
    let last = ids.last().unwrap();
    let mut bound = client_with_key(&app, key_principal(ADA, Scope::Read, Some(last))).await;
    for reference in [
        json!({ "type": "ref/tool", "name": "get_project" }),
        json!({ "type": "ref/resource", "uri": "codefluss://design-system/{projectId}" }),
    ] {
        let params = json!({ "ref": reference, "argument": { "name": "projectId", "value": "proj_" } });
        let found = send_request(&mut bound, "completion/complete", params).await;
        assert_eq!(found["result"]["completion"]["values"], json!([last]), "{found}");
    }
}
