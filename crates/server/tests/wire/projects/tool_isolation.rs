//! Nobody can tell whether somebody else's project exists: every tool, called in every way, answers as it
//! does for a project that nobody has, and nothing changes.

use std::sync::Arc;

use serde_json::{Value, json};
use server::{App, Principal, Scope};

use super::sample_calls::{list_tools, samples, tools_with_samples};
use super::{ADA, EVE, REVISION, SampleProject, app, call_ok, client, request};
use crate::harness::{TestClient, key_principal, stateless_meta};

/// The ways in which a client can call a tool.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CallMethod {
    /// `tools/call` of a client that cannot be asked.
    WithoutElicitation,
    /// `tools/call` of a client that can be asked: it must not be asked about what is not there.
    WithElicitation,
    /// `tools/call` of a client without a session, which can be asked.
    Stateless,
    Envelope,
    /// `interaction.start`, for interactive tools.
    Interaction,
}

const CALL_METHODS: [CallMethod; 5] = [
    CallMethod::WithoutElicitation,
    CallMethod::WithElicitation,
    CallMethod::Stateless,
    CallMethod::Envelope,
    CallMethod::Interaction,
];

/// Everything that comes back from a call, on a connection of its own.
async fn call_answer(
    app: &Arc<App>,
    caller: &Principal,
    way: CallMethod,
    tool: &str,
    arguments: &Value,
) -> String {
    let forms = json!({ "elicitation": {} });
    let mut client = TestClient::for_principal(app, caller.clone());
    let call = json!({ "name": tool, "arguments": arguments });
    let message = match way {
        CallMethod::WithoutElicitation | CallMethod::WithElicitation => {
            let capabilities = if way == CallMethod::WithoutElicitation { json!({}) } else { forms };
            client = client.initialize(REVISION, capabilities).await;
            request("tools/call", call)
        }
        CallMethod::Stateless => {
            let params = json!({ "name": tool, "arguments": arguments, "_meta": stateless_meta(forms) });
            request("tools/call", params)
        }
        CallMethod::Envelope => json!({ "type": "request", "id": "1", "tool": tool, "params": arguments }),
        CallMethod::Interaction => {
            request("interaction.start", json!({ "toolName": tool, "initialParams": arguments }))
        }
    };
    let answer = client.request_with_notifications(&message).await.0.to_string();
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
fn references_contents(site: &SampleProject, sample: &Value) -> bool {
    let text = sample.to_string();
    site.ids().into_iter().any(|(name, id)| name != "project" && text.contains(id))
}

/// Calls everything with what belongs to somebody else, and with what nobody has, in every way.
async fn assert_indistinguishable_from_missing(
    app: &Arc<App>,
    caller: &Principal,
    theirs: &SampleProject,
    ways: &[CallMethod],
) {
    let nobodys = SampleProject::nonexistent();
    let mut client = TestClient::for_principal(app, caller.clone()).initialize(REVISION, json!({})).await;
    let mut compared = 0;
    for (tool, _, samples_of_theirs) in tools_with_samples(&mut client, theirs).await {
        for (sample, absent) in samples_of_theirs.iter().zip(&samples(&tool, &nobodys).unwrap()) {
            for way in ways.iter().filter(|way| **way != CallMethod::Interaction || is_interactive(&tool)) {
                let found = theirs.mask_ids(&call_answer(app, caller, *way, &tool, sample).await);
                if sample == absent {
                    let is_told =
                        theirs.ids().into_iter().any(|(name, _)| found.contains(&format!("<{name}>")));
                    assert!(!is_told, "{tool} {sample} by {way:?} tells of somebody else's: {found}");
                    continue;
                }
                let missing = nobodys.mask_ids(&call_answer(app, caller, *way, &tool, absent).await);
                assert_eq!(found, missing, "{tool} {sample} by {way:?}");
                assert!(found.contains("project `<project>` not found"), "{tool} by {way:?}: {found}");
                compared += 1;
            }
        }
    }
    assert!(compared > 20 * ways.len(), "only {compared} calls were compared");
}

#[tokio::test(start_paused = true)]
async fn other_account_finds_and_changes_nothing() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let before = site.snapshot(&mut ada).await;
    for scope in [Scope::Write, Scope::Admin] {
        assert_indistinguishable_from_missing(&app, &key_principal(EVE, scope, None), &site, &CALL_METHODS)
            .await;
    }
    assert_eq!(site.snapshot(&mut ada).await, before);
    let all = call_answer(
        &app,
        &key_principal(EVE, Scope::Admin, None),
        CallMethod::WithoutElicitation,
        "list_projects",
        &json!({}),
    )
    .await;
    assert!(all.contains("From a template.") && !all.contains(SampleProject::NAME), "{all}");
}

/// A key is for a project of its own account; one that names somebody else's opens nothing.
#[tokio::test(start_paused = true)]
async fn key_for_a_foreign_project_finds_nothing() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let before = site.snapshot(&mut ada).await;
    assert_indistinguishable_from_missing(
        &app,
        &key_principal(EVE, Scope::Write, Some(&site.project)),
        &site,
        &CALL_METHODS,
    )
    .await;
    assert_eq!(site.snapshot(&mut ada).await, before);
}

#[tokio::test(start_paused = true)]
async fn project_key_finds_no_other_project() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let (own, other) = (SampleProject::build(&mut ada).await, SampleProject::build(&mut ada).await);
    let before = (own.snapshot(&mut ada).await, other.snapshot(&mut ada).await);
    assert_indistinguishable_from_missing(
        &app,
        &key_principal(ADA, Scope::Write, Some(&own.project)),
        &other,
        &CALL_METHODS,
    )
    .await;
    assert_eq!((own.snapshot(&mut ada).await, other.snapshot(&mut ada).await), before);
}

/// Whoever has a project finds nothing in it that belongs to another: neither blocks nor assets.
#[tokio::test(start_paused = true)]
async fn contents_of_other_projects_are_not_found() {
    let app = app();
    let (mut ada, mut eve) = (client(&app, ADA).await, client(&app, EVE).await);
    let (theirs, own) = (SampleProject::build(&mut ada).await, SampleProject::build(&mut eve).await);
    let before = (theirs.snapshot(&mut ada).await, own.snapshot(&mut eve).await);
    let mixed = SampleProject { project: own.project.clone(), ..theirs.clone() };
    let nobodys = SampleProject { project: own.project.clone(), ..SampleProject::nonexistent() };
    let caller = key_principal(EVE, Scope::Write, None);
    let mut judged = 0;
    for (tool, _, samples_of_mixed) in tools_with_samples(&mut eve, &mixed).await {
        for (sample, absent) in samples_of_mixed.iter().zip(&samples(&tool, &nobodys).unwrap()) {
            if !references_contents(&mixed, sample) {
                continue;
            }
            let found = mixed
                .mask_ids(&call_answer(&app, &caller, CallMethod::WithoutElicitation, &tool, sample).await);
            let missing = nobodys
                .mask_ids(&call_answer(&app, &caller, CallMethod::WithoutElicitation, &tool, absent).await);
            assert_eq!(found, missing, "{tool} {sample}");
            assert!(found.contains("` not found; list"), "{tool}: {found}");
            judged += 1;
        }
    }
    assert!(judged > 8, "{judged} samples name blocks and assets");
    let picture = |asset: &str| json!({ "type": "image", "props": { "src": format!("asset:{asset}") } });
    let put = |asset: &str| json!({ "projectId": own.project, "action": "create", "parentId": own.page, "blocks": [picture(asset)] });
    let found =
        call_answer(&app, &caller, CallMethod::WithoutElicitation, "edit_blocks", &put(&theirs.asset)).await;
    let missing =
        call_answer(&app, &caller, CallMethod::WithoutElicitation, "edit_blocks", &put(&nobodys.asset)).await;
    assert_eq!(theirs.mask_ids(&found), nobodys.mask_ids(&missing));
    assert!(found.contains("/0/props/src: asset `"), "{found}");
    assert_eq!((theirs.snapshot(&mut ada).await, own.snapshot(&mut eve).await), before);
}

/// Lists that are long enough to be cut, each with what it is cut by.
fn paginated_lists(sample: &SampleProject) -> [(&'static str, Value); 5] {
    let project = &sample.project;
    [
        ("list_projects", json!({ "limit": 1 })),
        ("list_versions", json!({ "projectId": project, "limit": 1 })),
        ("get_blocks", json!({ "projectId": project, "blockId": sample.page, "limit": 1 })),
        ("list_assets", json!({ "projectId": project, "limit": 1 })),
        ("get_design_system", json!({ "projectId": project, "view": "resolved", "limit": 1 })),
    ]
}

/// A cursor says where to go on, never what may be seen: somebody else's is of no use.
#[tokio::test(start_paused = true)]
async fn foreign_cursor_reveals_nothing() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let (site, other) = (SampleProject::build(&mut ada).await, SampleProject::build(&mut ada).await);
    let note =
        json!({ "projectId": site.project, "action": "put", "name": "a.txt", "content": super::base64("a") });
    call_ok(&mut ada, "edit_asset", note).await;
    let with_cursors: Vec<String> = list_tools(&mut ada)
        .await
        .iter()
        .filter(|tool| tool["inputSchema"]["properties"].get("cursor").is_some())
        .map(|tool| super::string_value(&tool["name"]))
        .collect();
    let rows = paginated_lists(&site);
    for tool in &with_cursors {
        assert!(rows.iter().any(|(row, _)| row == tool), "{tool} needs a row in cut_lists");
    }
    for (tool, mut arguments) in rows {
        let cursor = call_ok(&mut ada, tool, arguments.clone()).await["nextCursor"].take();
        assert!(cursor.is_string(), "{tool} is cut");
        arguments["cursor"] = cursor;
        call_ok(&mut ada, tool, arguments.clone()).await;
        for caller in
            [key_principal(EVE, Scope::Write, None), key_principal(ADA, Scope::Write, Some(&other.project))]
        {
            let found = call_answer(&app, &caller, CallMethod::WithoutElicitation, tool, &arguments).await;
            let is_absent = found.contains("` not found; list");
            assert!(is_absent || tool == "list_projects", "{tool}: {found}");
            let without_project = found.replace(&format!("`{}`", site.project), "");
            assert_eq!(without_project, site.mask_ids(&without_project), "{tool}: {found}");
        }
    }
}

/// An id is what it is, letter for letter; nothing that a store or an address might take for it finds it.
#[tokio::test(start_paused = true)]
async fn other_spellings_of_an_id_are_not_found() {
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
    let site = SampleProject::build(&mut ada).await;
    let before = site.snapshot(&mut ada).await;
    for spell in spellings {
        let spelled = |site: &SampleProject| SampleProject {
            project: spell(&site.project),
            ..SampleProject::nonexistent()
        };
        let (theirs, nobodys) = (spelled(&site), spelled(&SampleProject::nonexistent()));
        for (tool, _, samples_of_theirs) in tools_with_samples(&mut ada, &theirs).await {
            for (sample, absent) in samples_of_theirs.iter().zip(&samples(&tool, &nobodys).unwrap()) {
                if sample == absent {
                    continue;
                }
                // Not even their owner finds them so.
                for account in [EVE, ADA] {
                    let caller = key_principal(account, Scope::Write, None);
                    let found =
                        call_answer(&app, &caller, CallMethod::WithoutElicitation, &tool, sample).await;
                    let missing =
                        call_answer(&app, &caller, CallMethod::WithoutElicitation, &tool, absent).await;
                    // The id stands in JSON, as JSON has it.
                    let hide = |text: &str, site: &SampleProject| {
                        text.replace(&json_escape(&site.project), "<project>")
                    };
                    assert_eq!(hide(&found, &theirs), hide(&missing, &nobodys), "{tool} {sample}");
                    assert!(found.contains("` not found; list"), "{tool} {sample}: {found}");
                }
            }
        }
    }
    assert_eq!(site.snapshot(&mut ada).await, before);
}

/// A text as it stands within a JSON string.
fn json_escape(text: &str) -> String {
    json!(text).to_string().trim_matches('"').to_owned()
}
