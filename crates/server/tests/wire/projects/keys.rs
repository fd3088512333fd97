//! Keys that may do less: read only, or one project only, or both.

use serde_json::{Value, json};
use server::{Principal, Scope};

use super::samples::{listed, rows, samples, writes};
use super::{ADA, REVISION, Site, app, ask, client, done, each, read, refused};
use crate::harness::{TestClient, holder};

async fn with_key(app: &std::sync::Arc<server::App>, key: Principal) -> TestClient {
    TestClient::of(app, key).greet(REVISION, json!({})).await
}

async fn names(client: &mut TestClient) -> Vec<String> {
    listed(client).await.iter().map(|tool| super::text(&tool["name"])).collect()
}

/// The names of the tools of a full key that pass a test.
async fn names_where(client: &mut TestClient, is_wanted: impl Fn(&Value) -> bool) -> Vec<String> {
    listed(client)
        .await
        .iter()
        .filter(|tool| is_wanted(tool))
        .map(|tool| super::text(&tool["name"]))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn each_key_is_shown_what_it_may_use() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = Site::build(&mut ada).await;
    let reading = names_where(&mut ada, |tool| !writes(tool)).await;
    let all_but_create = names_where(&mut ada, |tool| tool["name"] != "create_project").await;
    assert!(reading.len() >= 7 && all_but_create.len() > reading.len());
    let project = Some(site.project.as_str());
    for (key, expected, interactive) in [
        (holder(ADA, Scope::Read, None), &reading, json!([])),
        (holder(ADA, Scope::Write, project), &all_but_create, json!(["delete_project"])),
        (holder(ADA, Scope::Read, project), &reading, json!([])),
    ] {
        let mut client = with_key(&app, key).await;
        assert_eq!(names(&mut client).await, *expected);
        assert_eq!(ask(&mut client, "capabilities", json!({})).await["result"]["tools"], interactive);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reading_key_reads_everything_and_writes_nothing() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = Site::build(&mut ada).await;
    let before = site.everything(&mut ada).await;
    let rows = rows(&mut ada, &site).await;
    for key in [holder(ADA, Scope::Read, None), holder(ADA, Scope::Read, Some(&site.project))] {
        let mut reader = with_key(&app, key).await;
        for (name, tool, samples) in &rows {
            for sample in samples {
                if !writes(tool) {
                    done(&mut reader, name, sample.clone()).await;
                    continue;
                }
                for dry_run in [false, true] {
                    let mut sample = sample.clone();
                    sample["dryRun"] = json!(dry_run);
                    let no = refused(&mut reader, name, sample).await;
                    assert_eq!(
                        (no.kind.as_str(), &no.details["needed"]),
                        ("forbidden", &json!("write")),
                        "{name}"
                    );
                }
            }
        }
        for tool in ["create_project", "delete_project"] {
            let start = ask(&mut reader, "interaction.start", json!({ "toolName": tool })).await;
            assert_eq!(start["error"]["data"]["kind"], "forbidden", "{start}");
        }
        assert_eq!(site.everything(&mut reader).await, before);
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_for_one_project_has_that_one_alone() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let (other, site) = (Site::build(&mut ada).await, Site::build(&mut ada).await);
    for scope in [Scope::Read, Scope::Write] {
        let mut bound = with_key(&app, holder(ADA, scope, Some(&site.project))).await;
        for limit in [json!({}), json!({ "limit": 1 }), json!({ "limit": 1000 })] {
            let list = done(&mut bound, "list_projects", limit).await;
            assert_eq!(each(&list["projects"], "id"), [&site.project]);
            assert!(list.get("nextCursor").is_none(), "{list}");
        }
        let listed = ask(&mut bound, "resources/list", json!({})).await;
        let uris = each(&listed["result"]["resources"], "uri");
        let own = format!("codefluss://design-system/{}", site.project);
        let owned: Vec<_> = uris.into_iter().filter(|uri| uri.starts_with("codefluss://")).collect();
        assert_eq!(owned, ["codefluss://projects", &own]);
        let all = read(&mut bound, "codefluss://projects").await;
        assert_eq!(
            each(&serde_json::from_str(all["text"].as_str().unwrap()).unwrap(), "id"),
            [&site.project]
        );
        let context = json!({ "ref": { "type": "ref/tool", "name": "get_project" }, "argument": { "name": "projectId", "value": "" } });
        let found = ask(&mut bound, "completion/complete", context).await;
        assert_eq!(found["result"]["completion"]["values"], json!([site.project]), "{found}");
    }
    let before = other.everything(&mut ada).await;
    let mut bound = with_key(&app, holder(ADA, Scope::Write, Some(&site.project))).await;
    for (name, tool, _) in rows(&mut bound, &site).await {
        for sample in samples(&name, &site).unwrap() {
            if !writes(&tool) {
                done(&mut bound, &name, sample).await;
            }
        }
    }
    done(&mut bound, "update_project", json!({ "projectId": site.project, "name": "Mine" })).await;
    done(&mut bound, "delete_project", json!({ "projectId": site.project, "confirm": "Mine" })).await;
    // What it was good for is gone, and nothing else has come in its place.
    assert_eq!(done(&mut bound, "list_projects", json!({})).await["projects"], json!([]));
    assert_eq!(read(&mut bound, "codefluss://projects").await["text"], "[]");
    assert_eq!(other.everything(&mut ada).await, before);
}

#[tokio::test(start_paused = true)]
async fn a_key_for_one_project_creates_none() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = Site::build(&mut ada).await;
    let before = done(&mut ada, "list_projects", json!({})).await;
    let mut bound = with_key(&app, holder(ADA, Scope::Write, Some(&site.project))).await;
    for sample in samples("create_project", &site).unwrap() {
        assert_eq!(refused(&mut bound, "create_project", sample).await.kind, "bound_to_project");
    }
    let start = ask(&mut bound, "interaction.start", json!({ "toolName": "create_project" })).await;
    assert_eq!(start["error"]["data"]["kind"], "bound_to_project", "{start}");
    assert_eq!(done(&mut ada, "list_projects", json!({})).await, before);
}

/// Slugs are unique in an account, so whoever may try them would learn of other projects.
#[tokio::test(start_paused = true)]
async fn a_key_for_one_project_learns_nothing_from_slugs() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = Site::build(&mut ada).await;
    done(&mut ada, "create_project", json!({ "name": "Secret", "slug": "merger", "template": "bare" })).await;
    let mut bound = with_key(&app, holder(ADA, Scope::Write, Some(&site.project))).await;
    for slug in ["merger", "picnic"] {
        let change = json!({ "projectId": site.project, "slug": slug, "dryRun": true });
        assert_eq!(refused(&mut bound, "update_project", change).await.kind, "bound_to_project", "{slug}");
    }
}

/// However many projects there are before it.
#[tokio::test(start_paused = true)]
async fn a_key_for_one_project_has_it_completed_in_a_crowd() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let mut ids = Vec::new();
    for n in 0..120 {
        let new = json!({ "name": format!("Site {n}"), "template": "bare" });
        ids.push(super::text(&done(&mut ada, "create_project", new).await["id"]));
    }
    ids.sort();
    let last = ids.last().unwrap();
    let mut bound = with_key(&app, holder(ADA, Scope::Read, Some(last))).await;
    for reference in [
        json!({ "type": "ref/tool", "name": "get_project" }),
        json!({ "type": "ref/resource", "uri": "codefluss://design-system/{projectId}" }),
    ] {
        let params = json!({ "ref": reference, "argument": { "name": "projectId", "value": "proj_" } });
        let found = ask(&mut bound, "completion/complete", params).await;
        assert_eq!(found["result"]["completion"]["values"], json!([last]), "{found}");
    }
}
