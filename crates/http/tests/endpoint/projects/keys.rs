//! What a key sees of projects, and what it may do to them.

use serde_json::{Value, json};
use server::Scope;
use server::tools::Toolset;

use super::{ACCOUNT, Caller, ID, addresses, calls, names, place, request, stored};
use crate::harness::Endpoint;
use crate::log::Log;
use crate::mcp_session::Client;

const READING: [&str; 7] = [
    "list_projects",
    "get_project",
    "list_versions",
    "get_blocks",
    "list_block_types",
    "list_assets",
    "get_design_system",
];
const WRITING: [&str; 7] = [
    "update_project",
    "delete_project",
    "publish_project",
    "edit_blocks",
    "edit_block_type",
    "edit_asset",
    "edit_design_system",
];
const CREATING: &str = "create_project";
/// Another account, and a project of it.
const OTHERS: &str = "others";
const THEIRS: &str = "proj_theirs";
/// As long as that, and nobody's.
const ABSENT: &str = "proj_absent";

fn site() -> Endpoint {
    let endpoint = Endpoint::keyed(None);
    endpoint.app.serve_toolsets(&[Toolset::Projects]);
    place(&endpoint, ACCOUNT, ID, "Meine Website");
    place(&endpoint, ACCOUNT, "proj_second", "Noch eine");
    place(&endpoint, OTHERS, THEIRS, "Deine Website");
    endpoint
}

/// A key of our account, good for one project alone.
fn bound(endpoint: &Endpoint, scope: Scope, project: &str) -> String {
    endpoint.key_with(scope, |record| record.project = Some(project.to_owned()))
}

#[test]
fn a_key_is_shown_what_it_may_do() {
    let endpoint = site();
    for (key, writes, creates) in [
        (endpoint.key(Scope::Read), false, false),
        (endpoint.key(Scope::Write), true, true),
        (endpoint.key(Scope::Admin), true, true),
        (bound(&endpoint, Scope::Read, ID), false, false),
        (bound(&endpoint, Scope::Write, ID), true, false),
    ] {
        let mut expected: Vec<&str> = READING.to_vec();
        expected.extend(WRITING.iter().filter(|_| writes));
        expected.extend(creates.then_some(CREATING));
        expected.sort_unstable();
        let caller = Caller::new(&endpoint, &key);
        let session = Client::with_key(&endpoint, "2025-11-25", Some(&key));
        for answer in [
            caller.ask("tools/list", &json!({})),
            caller.modern("tools/list", json!({})).json(),
            session.post(&request(1, "tools/list", &json!({})).to_string()).json(),
        ] {
            let mut listed = names(&answer["result"]["tools"]);
            listed.sort_unstable();
            assert_eq!(listed, expected, "{writes} {creates}");
        }
    }
}

/// What is not shown is not done either, by whichever door, and says what it would need.
#[test]
fn a_key_that_reads_changes_nothing() {
    let endpoint = site();
    let caller = Caller::new(&endpoint, &endpoint.key(Scope::Read));
    let mut tried = 0;
    for (tool, arguments) in calls(ID) {
        let answer = caller.call(tool, arguments.clone());
        if READING.contains(&tool) {
            answer.unwrap_or_else(|error| panic!("{tool}: {error}"));
            continue;
        }
        tried += 1;
        let error = answer.unwrap_err();
        let data = &error["data"];
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(-32002), &json!("Authorization failed")),
            "{tool}"
        );
        assert_eq!(
            (&data["kind"], &data["needed"], &data["has"]),
            (&json!("forbidden"), &json!("write"), &json!("read"))
        );
        let told = caller.modern("tools/call", json!({ "name": tool, "arguments": arguments })).json();
        let text = told["result"]["content"][0]["text"].as_str().unwrap();
        assert!(
            told["result"]["isError"] == true && text.contains("needs the scope `write`"),
            "{tool}: {told}"
        );
    }
    assert_eq!(tried, WRITING.len() + 1, "every tool that changes something was tried");
    assert_eq!(stored(&endpoint, ACCOUNT, ID).revision, 1);
}

#[test]
fn a_key_for_one_project_sees_no_other() {
    let endpoint = site();
    let caller = Caller::new(&endpoint, &bound(&endpoint, Scope::Write, ID));
    let ids =
        |answer: &Value| answer.as_array().unwrap().iter().map(|one| one["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&caller.done("list_projects", json!({}))), [ID]);
    let read = caller.ask("resources/read", &json!({ "uri": "codefluss://projects" }));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert_eq!(ids(&serde_json::from_str(text).unwrap()), [ID]);
    let listed = caller.ask("resources/list", &json!({}))["result"]["resources"].to_string();
    assert!(listed.contains(ID) && !listed.contains("proj_second"), "{listed}");
    let completion = json!({
        "ref": { "type": "ref/resource", "uri": "codefluss://design-system/{projectId}" },
        "argument": { "name": "projectId", "value": "proj_" },
    });
    assert_eq!(caller.ask("completion/complete", &completion)["result"]["completion"]["values"], json!([ID]));

    caller.done("update_project", json!({ "projectId": ID, "name": "Andere Website" }));
    let error = caller.call(CREATING, json!({ "name": "x", "description": "" })).unwrap_err();
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32002), &json!("bound_to_project")));
    assert_eq!(stored(&endpoint, ACCOUNT, "proj_second").revision, 1);
}

/// What an endpoint says about a project, whatever it is called.
fn said_about(caller: &Caller<'_>, id: &str) -> Vec<String> {
    let tools = calls(id)
        .into_iter()
        .map(|(tool, arguments)| ("tools/call", json!({ "name": tool, "arguments": arguments })));
    let reads = addresses(id).into_iter().map(|uri| ("resources/read", json!({ "uri": uri })));
    let completion = json!({
        "ref": { "type": "ref/resource", "uri": "codefluss://assets/{projectId}/{assetId}" },
        "argument": { "name": "assetId", "value": "" }, "context": { "arguments": { "projectId": id } },
    });
    let all = tools.chain(reads).chain([("completion/complete", completion)]);
    let said = all.map(|(method, params)| {
        let old = caller.post(&[], &request(1, method, &params).to_string());
        let new = caller.modern(method, params.clone());
        let answers =
            [&old, &new].map(|answer| format!("{} {}", answer.status, answer.body.replace(id, "ID")));
        format!("{method} {}: {}", params.to_string().replace(id, "ID"), answers.join(" | "))
    });
    said.collect()
}

/// Nobody can tell a project of somebody else from one that is not there.
#[test]
fn another_s_project_is_absent_in_the_same_words() {
    let endpoint = site();
    let whole_account = Caller::writer(&endpoint);
    // `create_project` alone is not among these: who is bound to a project may not use it at all.
    let bound_to_another = Caller::new(&endpoint, &bound(&endpoint, Scope::Write, ID));
    let bound_to_theirs = Caller::new(&endpoint, &bound(&endpoint, Scope::Write, THEIRS));
    let mut expected = [names(&whole_account.ask("tools/list", &json!({}))["result"]["tools"])].concat();
    expected.retain(|name| name != "list_projects");
    let mut tried: Vec<&str> = calls(ID).iter().map(|(tool, _)| *tool).collect();
    expected.sort_unstable();
    tried.sort_unstable();
    assert_eq!(tried, expected, "every tool is among them");
    for (caller, id) in
        [(&whole_account, THEIRS), (&bound_to_another, "proj_second"), (&bound_to_theirs, THEIRS)]
    {
        assert_eq!(said_about(caller, id), said_about(caller, ABSENT));
    }
    for (tool, arguments) in calls(THEIRS) {
        let error = whole_account.call(tool, arguments).unwrap_err();
        let data = &error["data"];
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(-32003), &json!("Resource not found")),
            "{tool}"
        );
        assert_eq!(
            (&data["kind"], &data["resource"], &data["id"]),
            (&json!("not_found"), &json!("project"), &json!(THEIRS))
        );
    }
    assert_eq!(stored(&endpoint, OTHERS, THEIRS).revision, 1, "and nothing has happened to it");
    assert_eq!(bound_to_theirs.done("list_projects", json!({})), json!([]));
}

/// The account is the key's, and whatever a project is called there, it is theirs.
#[test]
fn accounts_share_nothing() {
    let endpoint = site();
    let ours = Caller::writer(&endpoint);
    let theirs = Caller::new(
        &endpoint,
        &endpoint.key_with(Scope::Write, |record| OTHERS.clone_into(&mut record.tenant)),
    );
    let named = |caller: &Caller<'_>| names(&caller.done("list_projects", json!({ "fields": ["name"] })));
    assert_eq!((named(&ours).len(), named(&theirs)), (2, vec!["Deine Website".to_owned()]));
    let wish = json!({ "name": "Same", "slug": "same", "description": "" });
    let [mine, yours] = [&ours, &theirs].map(|caller| caller.done(CREATING, wish.clone()));
    assert_eq!((&mine["slug"], &yours["slug"]), (&json!("same"), &json!("same")));
    let taken = ours.call(CREATING, wish).unwrap_err();
    assert_eq!((&taken["code"], &taken["data"]["kind"]), (&json!(-32004), &json!("taken")), "{taken}");
}

/// Who changed what is written down; what it says is nobody's business.
#[test]
fn logs_and_figures_hold_no_content() {
    let log = Log::begin();
    let endpoint = site();
    let caller = Caller::writer(&endpoint);
    let secret = "Geheim7Sache";
    let page = json!({ "type": "page", "props": { "title": secret, "path": "/x" } });
    let token = json!({ "op": "set", "path": format!("color.{secret}"), "value": "#123456" });
    for (tool, arguments) in [
        ("update_project", json!({ "projectId": ID, "name": secret, "metadata": { secret: secret } })),
        ("update_project", json!({ "projectId": ID, "slug": secret })),
        ("get_project", json!({ "projectId": secret })),
        ("get_project", json!({ secret: secret })),
        ("edit_blocks", json!({ "projectId": ID, "action": "create", "blocks": [page] })),
        ("edit_blocks", json!({ "projectId": ID, "action": "create", "blocks": [{ "type": secret }] })),
        (
            "edit_asset",
            json!({ "projectId": ID, "action": "put", "name": format!("{secret}.txt"), "content": "eA==" }),
        ),
        ("edit_design_system", json!({ "projectId": ID, "changes": [token] })),
        ("delete_project", json!({ "projectId": ID, "confirm": secret })),
    ] {
        let _ = caller.call(tool, arguments.clone());
        caller.modern("tools/call", json!({ "name": tool, "arguments": arguments }));
    }
    caller.ask("resources/read", &json!({ "uri": format!("codefluss://design-system/{secret}") }));
    let text = log.text();
    for event in [
        r#"event="changed" "#,
        r#"event="not_changed" "#,
        r#"tool="update_project" outcome="ok""#,
        r#"tool="delete_project" outcome="not_found""#,
        r#"tenant="main""#,
    ] {
        assert!(text.contains(event), "the audit log has no {event}");
    }
    let lines = text.lines().filter(|line| line.contains(secret)).collect::<Vec<_>>();
    assert_eq!(lines, Vec::<&str>::new());
    let admin = format!("Bearer {}", endpoint.key(Scope::Admin));
    let figures = endpoint.request("GET /metrics", &[("Authorization", &admin)], "").body;
    assert!(figures.contains(r#"tool="update_project",outcome="ok""#), "{figures}");
    assert!(!figures.contains(secret) && !figures.contains(ID), "{figures}");
}
