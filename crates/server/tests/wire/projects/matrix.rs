//! Nobody can tell whether somebody else's project exists: every tool, called in every way, answers as it does for a
//! project that nobody has, and nothing changes.

use std::sync::Arc;

use serde_json::{Value, json};
use server::{App, Principal, Scope};

use super::samples::{listed, rows, samples};
use super::{ADA, EVE, REVISION, Site, app, client, done, request};
use crate::harness::{TestClient, holder, stateless};

/// The ways in which a client can call a tool.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// `tools/call` of a client that cannot be asked.
    Plain,
    /// `tools/call` of a client that can be asked: it must not be asked about what is not there.
    Asked,
    /// `tools/call` of a client without a session, which can be asked.
    Stateless,
    Envelope,
    /// `interaction.start`, for interactive tools.
    Interaction,
}

const WAYS: [Way; 5] = [Way::Plain, Way::Asked, Way::Stateless, Way::Envelope, Way::Interaction];

/// Everything that comes back from a call, on a connection of its own.
async fn answer(app: &Arc<App>, caller: &Principal, way: Way, tool: &str, arguments: &Value) -> String {
    let forms = json!({ "elicitation": {} });
    let mut client = TestClient::of(app, caller.clone());
    let call = json!({ "name": tool, "arguments": arguments });
    let message = match way {
        Way::Plain | Way::Asked => {
            let capabilities = if way == Way::Plain { json!({}) } else { forms };
            client = client.greet(REVISION, capabilities).await;
            request("tools/call", call)
        }
        Way::Stateless => {
            let params = json!({ "name": tool, "arguments": arguments, "_meta": stateless(forms) });
            request("tools/call", params)
        }
        Way::Envelope => json!({ "type": "request", "id": "1", "tool": tool, "params": arguments }),
        Way::Interaction => {
            request("interaction.start", json!({ "toolName": tool, "initialParams": arguments }))
        }
    };
    let answer = client.request_and_news(&message).await.0.to_string();
    // A session of MCP Flow has a name of its own, which is told whatever came of it.
    let parsed: Value = serde_json::from_str(&answer).unwrap();
    match parsed["result"]["sessionId"].as_str() {
        Some(session) => answer.replace(session, "<session>"),
        None => answer,
    }
}

fn is_interactive(tool: &str) -> bool {
    matches!(tool, "create_project" | "delete_project")
}

/// Whether something of the site is named, besides the project.
fn names_inside(site: &Site, sample: &Value) -> bool {
    let text = sample.to_string();
    site.ids().into_iter().any(|(name, id)| name != "project" && text.contains(id))
}

/// Calls everything with what belongs to somebody else, and with what nobody has, in every way.
async fn judge(app: &Arc<App>, caller: &Principal, theirs: &Site, ways: &[Way]) {
    let nobodys = Site::absent();
    let mut client = TestClient::of(app, caller.clone()).greet(REVISION, json!({})).await;
    let mut compared = 0;
    for (tool, _, samples_of_theirs) in rows(&mut client, theirs).await {
        for (sample, absent) in samples_of_theirs.iter().zip(&samples(&tool, &nobodys).unwrap()) {
            for way in ways.iter().filter(|way| **way != Way::Interaction || is_interactive(&tool)) {
                let found = theirs.hidden(&answer(app, caller, *way, &tool, sample).await);
                if sample == absent {
                    let is_told =
                        theirs.ids().into_iter().any(|(name, _)| found.contains(&format!("<{name}>")));
                    assert!(!is_told, "{tool} {sample} by {way:?} tells of somebody else's: {found}");
                    continue;
                }
                let missing = nobodys.hidden(&answer(app, caller, *way, &tool, absent).await);
                assert_eq!(found, missing, "{tool} {sample} by {way:?}");
                assert!(found.contains("there is no project `<project>`"), "{tool} by {way:?}: {found}");
                compared += 1;
            }
        }
    }
    assert!(compared > 20 * ways.len(), "only {compared} calls were compared");
}

#[tokio::test(start_paused = true)]
async fn another_account_finds_nothing_and_changes_nothing() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = Site::build(&mut ada).await;
    let before = site.everything(&mut ada).await;
    for scope in [Scope::Write, Scope::Admin] {
        judge(&app, &holder(EVE, scope, None), &site, &WAYS).await;
    }
    assert_eq!(site.everything(&mut ada).await, before);
    let all = answer(&app, &holder(EVE, Scope::Admin, None), Way::Plain, "list_projects", &json!({})).await;
    assert!(all.contains("From a template.") && !all.contains(Site::MARK), "{all}");
}

/// A key is for a project of its own account; one that names somebody else's opens nothing.
#[tokio::test(start_paused = true)]
async fn a_key_for_somebody_elses_project_finds_nothing() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = Site::build(&mut ada).await;
    let before = site.everything(&mut ada).await;
    judge(&app, &holder(EVE, Scope::Write, Some(&site.project)), &site, &WAYS).await;
    assert_eq!(site.everything(&mut ada).await, before);
}

#[tokio::test(start_paused = true)]
async fn a_key_for_one_project_finds_no_other() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let (own, other) = (Site::build(&mut ada).await, Site::build(&mut ada).await);
    let before = (own.everything(&mut ada).await, other.everything(&mut ada).await);
    judge(&app, &holder(ADA, Scope::Write, Some(&own.project)), &other, &WAYS).await;
    assert_eq!((own.everything(&mut ada).await, other.everything(&mut ada).await), before);
}

/// Whoever has a project finds nothing in it that belongs to another: neither blocks nor assets.
#[tokio::test(start_paused = true)]
async fn what_is_inside_of_a_project_is_not_inside_of_another() {
    let app = app();
    let (mut ada, mut eve) = (client(&app, ADA).await, client(&app, EVE).await);
    let (theirs, own) = (Site::build(&mut ada).await, Site::build(&mut eve).await);
    let before = (theirs.everything(&mut ada).await, own.everything(&mut eve).await);
    let mixed = Site { project: own.project.clone(), ..theirs.clone() };
    let nobodys = Site { project: own.project.clone(), ..Site::absent() };
    let caller = holder(EVE, Scope::Write, None);
    let mut judged = 0;
    for (tool, _, samples_of_mixed) in rows(&mut eve, &mixed).await {
        for (sample, absent) in samples_of_mixed.iter().zip(&samples(&tool, &nobodys).unwrap()) {
            if !names_inside(&mixed, sample) {
                continue;
            }
            let found = mixed.hidden(&answer(&app, &caller, Way::Plain, &tool, sample).await);
            let missing = nobodys.hidden(&answer(&app, &caller, Way::Plain, &tool, absent).await);
            assert_eq!(found, missing, "{tool} {sample}");
            assert!(
                found.contains("there is no block") || found.contains("there is no asset"),
                "{tool}: {found}"
            );
            judged += 1;
        }
    }
    assert!(judged > 8, "{judged} samples name blocks and assets");
    let picture = |asset: &str| json!({ "type": "image", "props": { "src": format!("asset:{asset}") } });
    let put = |asset: &str| json!({ "projectId": own.project, "action": "create", "parentId": own.page, "blocks": [picture(asset)] });
    let found = answer(&app, &caller, Way::Plain, "edit_blocks", &put(&theirs.asset)).await;
    let missing = answer(&app, &caller, Way::Plain, "edit_blocks", &put(&nobodys.asset)).await;
    assert_eq!(theirs.hidden(&found), nobodys.hidden(&missing));
    assert!(found.contains("/0/props/src: there is no asset"), "{found}");
    assert_eq!((theirs.everything(&mut ada).await, own.everything(&mut eve).await), before);
}

/// Lists that are long enough to be cut, each with what it is cut by.
fn cut_lists(site: &Site) -> [(&'static str, Value); 5] {
    let project = &site.project;
    [
        ("list_projects", json!({ "limit": 1 })),
        ("list_versions", json!({ "projectId": project, "limit": 1 })),
        ("get_blocks", json!({ "projectId": project, "blockId": site.page, "limit": 1 })),
        ("list_assets", json!({ "projectId": project, "limit": 1 })),
        ("get_design_system", json!({ "projectId": project, "view": "resolved", "limit": 1 })),
    ]
}

/// A cursor says where to go on, never what may be seen: somebody else's is of no use.
#[tokio::test(start_paused = true)]
async fn a_cursor_opens_nothing() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let (site, other) = (Site::build(&mut ada).await, Site::build(&mut ada).await);
    let note =
        json!({ "projectId": site.project, "action": "put", "name": "a.txt", "content": super::base64("a") });
    done(&mut ada, "edit_asset", note).await;
    let with_cursors: Vec<String> = listed(&mut ada)
        .await
        .iter()
        .filter(|tool| tool["inputSchema"]["properties"].get("cursor").is_some())
        .map(|tool| super::text(&tool["name"]))
        .collect();
    let rows = cut_lists(&site);
    for tool in &with_cursors {
        assert!(rows.iter().any(|(row, _)| row == tool), "{tool} needs a row in cut_lists");
    }
    for (tool, mut arguments) in rows {
        let cursor = done(&mut ada, tool, arguments.clone()).await["nextCursor"].take();
        assert!(cursor.is_string(), "{tool} is cut");
        arguments["cursor"] = cursor;
        done(&mut ada, tool, arguments.clone()).await;
        for caller in [holder(EVE, Scope::Write, None), holder(ADA, Scope::Write, Some(&other.project))] {
            let found = answer(&app, &caller, Way::Plain, tool, &arguments).await;
            let is_absent = found.contains("there is no project");
            assert!(is_absent || tool == "list_projects", "{tool}: {found}");
            let without_project = found.replace(&format!("`{}`", site.project), "");
            assert_eq!(without_project, site.hidden(&without_project), "{tool}: {found}");
        }
    }
}

/// An id is what it is, letter for letter; nothing that a store or an address might take for it finds it.
#[tokio::test(start_paused = true)]
async fn other_spellings_of_an_id_find_nothing() {
    let spellings: [fn(&str) -> String; 9] = [
        str::to_uppercase,
        |id| id.replace('_', "%5F"),
        |id| id.replace('_', "%255f"),
        |id| format!("{id}\0"),
        |id| format!("{id}%00"),
        |id| format!(" {id}"),
        |id| format!("{id}/../{id}"),
        |id| format!("{id}' OR '1'='1"),
        |id| format!("{id}\u{200b}"),
    ];
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = Site::build(&mut ada).await;
    let before = site.everything(&mut ada).await;
    for spell in spellings {
        let spelled = |site: &Site| Site { project: spell(&site.project), ..Site::absent() };
        let (theirs, nobodys) = (spelled(&site), spelled(&Site::absent()));
        for (tool, _, samples_of_theirs) in rows(&mut ada, &theirs).await {
            for (sample, absent) in samples_of_theirs.iter().zip(&samples(&tool, &nobodys).unwrap()) {
                if sample == absent {
                    continue;
                }
                // Not even their owner finds them so.
                for account in [EVE, ADA] {
                    let caller = holder(account, Scope::Write, None);
                    let found = answer(&app, &caller, Way::Plain, &tool, sample).await;
                    let missing = answer(&app, &caller, Way::Plain, &tool, absent).await;
                    // The id stands in JSON, as JSON has it.
                    let hide = |text: &str, site: &Site| text.replace(&escaped(&site.project), "<project>");
                    assert_eq!(hide(&found, &theirs), hide(&missing, &nobodys), "{tool} {sample}");
                    assert!(found.contains("there is no project"), "{tool} {sample}: {found}");
                }
            }
        }
    }
    assert_eq!(site.everything(&mut ada).await, before);
}

/// A text as it stands within a JSON string.
fn escaped(text: &str) -> String {
    json!(text).to_string().trim_matches('"').to_owned()
}
