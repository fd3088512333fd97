//! What a key sees of projects, and what it may do to them.

use serde_json::{Value, json};
use server::Scope;
use server::tools::Toolset;

use super::{
    ACCOUNT, PROJECT_ID, ProjectCaller, insert_project, load_project, project_tool_calls, request,
    resource_uris, tool_names,
};
use crate::harness::HttpTestServer;
use crate::log::CapturedLog;
use crate::mcp_session::McpSessionClient;

const READ_TOOLS: [&str; 7] = [
    "list_projects",
    "get_project",
    "list_versions",
    "get_blocks",
    "list_block_types",
    "list_assets",
    "get_design_system",
];
const WRITE_TOOLS: [&str; 7] = [
    "update_project",
    "delete_project",
    "publish_project",
    "edit_blocks",
    "edit_block_type",
    "edit_asset",
    "edit_design_system",
];
const CREATE_TOOL: &str = "create_project";
/// Another account, and a project of it.
const OTHER_ACCOUNT: &str = "others";
const OTHER_PROJECT_ID: &str = "proj_theirs";
/// As long as that, and nobody's.
const ABSENT_PROJECT_ID: &str = "proj_absent";

fn start_server() -> HttpTestServer {
    let endpoint = HttpTestServer::start_with_keys(None);
    endpoint.app.serve_toolsets(&[Toolset::Projects]);
    insert_project(&endpoint, ACCOUNT, PROJECT_ID, "Meine Website");
    insert_project(&endpoint, ACCOUNT, "proj_second", "Noch eine");
    insert_project(&endpoint, OTHER_ACCOUNT, OTHER_PROJECT_ID, "Deine Website");
    endpoint
}

/// A key of our account, good for one project alone.
fn create_project_key(endpoint: &HttpTestServer, scope: Scope, project: &str) -> String {
    endpoint.create_key_with(scope, |record| record.project = Some(project.to_owned()))
}

#[test]
fn listed_tools_match_key_scope() {
    let endpoint = start_server();
    for (key, writes, creates) in [
        (endpoint.create_key(Scope::Read), false, false),
        (endpoint.create_key(Scope::Write), true, true),
        (endpoint.create_key(Scope::Admin), true, true),
        (create_project_key(&endpoint, Scope::Read, PROJECT_ID), false, false),
        (create_project_key(&endpoint, Scope::Write, PROJECT_ID), true, false),
    ] {
        let mut expected: Vec<&str> = READ_TOOLS.to_vec();
        expected.extend(WRITE_TOOLS.iter().filter(|_| writes));
        expected.extend(creates.then_some(CREATE_TOOL));
        expected.sort_unstable();
        let caller = ProjectCaller::new(&endpoint, &key);
        let session = McpSessionClient::with_key(&endpoint, "2025-11-25", Some(&key));
        for answer in [
            caller.request_api("tools/list", &json!({})),
            caller.post_mcp("tools/list", json!({})).json(),
            session.post(&request(1, "tools/list", &json!({})).to_string()).json(),
        ] {
            let mut listed = tool_names(&answer["result"]["tools"]);
            listed.sort_unstable();
            assert_eq!(listed, expected, "{writes} {creates}");
        }
    }
}

/// What is not shown is not done either, by whichever door, and says what it would need.
#[test]
fn read_key_cannot_change_projects() {
    let endpoint = start_server();
    let caller = ProjectCaller::new(&endpoint, &endpoint.create_key(Scope::Read));
    let mut tried = 0;
    for (tool, arguments) in project_tool_calls(PROJECT_ID) {
        let answer = caller.call_tool(tool, arguments.clone());
        if READ_TOOLS.contains(&tool) {
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
        let told = caller.post_mcp("tools/call", json!({ "name": tool, "arguments": arguments })).json();
        let text = told["result"]["content"][0]["text"].as_str().unwrap();
        assert!(
            told["result"]["isError"] == true && text.contains("requires the scope `write`"),
            "{tool}: {told}"
        );
    }
    assert_eq!(tried, WRITE_TOOLS.len() + 1, "every tool that changes something was tried");
    assert_eq!(load_project(&endpoint, ACCOUNT, PROJECT_ID).revision, 1);
}

#[test]
fn project_key_sees_only_its_project() {
    let endpoint = start_server();
    let caller = ProjectCaller::new(&endpoint, &create_project_key(&endpoint, Scope::Write, PROJECT_ID));
    let ids =
        |answer: &Value| answer.as_array().unwrap().iter().map(|one| one["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&caller.call_tool_ok("list_projects", json!({}))), [PROJECT_ID]);
    let read = caller.request_api("resources/read", &json!({ "uri": "codefluss://projects" }));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert_eq!(ids(&serde_json::from_str(text).unwrap()), [PROJECT_ID]);
    let listed = caller.request_api("resources/list", &json!({}))["result"]["resources"].to_string();
    assert!(listed.contains(PROJECT_ID) && !listed.contains("proj_second"), "{listed}");
    let completion = json!({
        "ref": { "type": "ref/resource", "uri": "codefluss://design-system/{projectId}" },
        "argument": { "name": "projectId", "value": "proj_" },
    });
    assert_eq!(
        caller.request_api("completion/complete", &completion)["result"]["completion"]["values"],
        json!([PROJECT_ID])
    );

    caller.call_tool_ok("update_project", json!({ "projectId": PROJECT_ID, "name": "Andere Website" }));
    let error = caller.call_tool(CREATE_TOOL, json!({ "name": "x", "description": "" })).unwrap_err();
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32002), &json!("bound_to_project")));
    assert_eq!(load_project(&endpoint, ACCOUNT, "proj_second").revision, 1);
}

/// What an endpoint says about a project, whatever it is called.
fn responses_about(caller: &ProjectCaller<'_>, id: &str) -> Vec<String> {
    let tools = project_tool_calls(id)
        .into_iter()
        .map(|(tool, arguments)| ("tools/call", json!({ "name": tool, "arguments": arguments })));
    let reads = resource_uris(id).into_iter().map(|uri| ("resources/read", json!({ "uri": uri })));
    let completion = json!({
        "ref": { "type": "ref/resource", "uri": "codefluss://assets/{projectId}/{assetId}" },
        "argument": { "name": "assetId", "value": "" }, "context": { "arguments": { "projectId": id } },
    });
    let all = tools.chain(reads).chain([("completion/complete", completion)]);
    let said = all.map(|(method, params)| {
        let old = caller.post_api(&[], &request(1, method, &params).to_string());
        let new = caller.post_mcp(method, params.clone());
        let answers =
            [&old, &new].map(|answer| format!("{} {}", answer.status, answer.body.replace(id, "ID")));
        format!("{method} {}: {}", params.to_string().replace(id, "ID"), answers.join(" | "))
    });
    said.collect()
}

/// Nobody can tell a project of somebody else from one that is not there.
#[test]
fn foreign_project_is_indistinguishable_from_absent_one() {
    let endpoint = start_server();
    let whole_account = ProjectCaller::with_write_key(&endpoint);
    // `create_project` alone is not among these: who is bound to a project may not use it at all.
    let bound_to_another =
        ProjectCaller::new(&endpoint, &create_project_key(&endpoint, Scope::Write, PROJECT_ID));
    let bound_to_theirs =
        ProjectCaller::new(&endpoint, &create_project_key(&endpoint, Scope::Write, OTHER_PROJECT_ID));
    let mut expected =
        [tool_names(&whole_account.request_api("tools/list", &json!({}))["result"]["tools"])].concat();
    expected.retain(|name| name != "list_projects");
    let mut tried: Vec<&str> = project_tool_calls(PROJECT_ID).iter().map(|(tool, _)| *tool).collect();
    expected.sort_unstable();
    tried.sort_unstable();
    assert_eq!(tried, expected, "every tool is among them");
    for (caller, id) in [
        (&whole_account, OTHER_PROJECT_ID),
        (&bound_to_another, "proj_second"),
        (&bound_to_theirs, OTHER_PROJECT_ID),
    ] {
        assert_eq!(responses_about(caller, id), responses_about(caller, ABSENT_PROJECT_ID));
    }
    for (tool, arguments) in project_tool_calls(OTHER_PROJECT_ID) {
        let error = whole_account.call_tool(tool, arguments).unwrap_err();
        let data = &error["data"];
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(-32003), &json!("Resource not found")),
            "{tool}"
        );
        assert_eq!(
            (&data["kind"], &data["resource"], &data["id"]),
            (&json!("not_found"), &json!("project"), &json!(OTHER_PROJECT_ID))
        );
    }
    assert_eq!(
        load_project(&endpoint, OTHER_ACCOUNT, OTHER_PROJECT_ID).revision,
        1,
        "and nothing has happened to it"
    );
    assert_eq!(bound_to_theirs.call_tool_ok("list_projects", json!({})), json!([]));
}

/// The account is the key's, and whatever a project is called there, it is theirs.
#[test]
fn accounts_are_isolated() {
    let endpoint = start_server();
    let ours = ProjectCaller::with_write_key(&endpoint);
    let theirs = ProjectCaller::new(
        &endpoint,
        &endpoint.create_key_with(Scope::Write, |record| OTHER_ACCOUNT.clone_into(&mut record.tenant)),
    );
    let named = |caller: &ProjectCaller<'_>| {
        tool_names(&caller.call_tool_ok("list_projects", json!({ "fields": ["name"] })))
    };
    assert_eq!((named(&ours).len(), named(&theirs)), (2, vec!["Deine Website".to_owned()]));
    let wish = json!({ "name": "Same", "slug": "same", "description": "" });
    let [mine, yours] = [&ours, &theirs].map(|caller| caller.call_tool_ok(CREATE_TOOL, wish.clone()));
    assert_eq!((&mine["slug"], &yours["slug"]), (&json!("same"), &json!("same")));
    let taken = ours.call_tool(CREATE_TOOL, wish).unwrap_err();
    assert_eq!((&taken["code"], &taken["data"]["kind"]), (&json!(-32004), &json!("taken")), "{taken}");
}

/// Who changed what is written down; what it says is nobody's business.
#[test]
fn logs_and_metrics_contain_no_project_content() {
    let log = CapturedLog::install();
    let endpoint = start_server();
    let caller = ProjectCaller::with_write_key(&endpoint);
    let secret = "Geheim7Sache";
    let page = json!({ "type": "page", "props": { "title": secret, "path": "/x" } });
    let token = json!({ "op": "set", "path": format!("color.{secret}"), "value": "#123456" });
    for (tool, arguments) in [
        (
            "update_project",
            json!({ "projectId": PROJECT_ID, "name": secret, "metadata": { secret: secret } }),
        ),
        ("update_project", json!({ "projectId": PROJECT_ID, "slug": secret })),
        ("get_project", json!({ "projectId": secret })),
        ("get_project", json!({ secret: secret })),
        ("edit_blocks", json!({ "projectId": PROJECT_ID, "action": "create", "blocks": [page] })),
        (
            "edit_blocks",
            json!({ "projectId": PROJECT_ID, "action": "create", "blocks": [{ "type": secret }] }),
        ),
        (
            "edit_asset",
            json!({ "projectId": PROJECT_ID, "action": "put", "name": format!("{secret}.txt"), "content": "eA==" }),
        ),
        ("edit_design_system", json!({ "projectId": PROJECT_ID, "changes": [token] })),
        ("delete_project", json!({ "projectId": PROJECT_ID, "confirm": secret })),
    ] {
        let _ = caller.call_tool(tool, arguments.clone());
        caller.post_mcp("tools/call", json!({ "name": tool, "arguments": arguments }));
    }
    caller.request_api("resources/read", &json!({ "uri": format!("codefluss://design-system/{secret}") }));
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
    let admin = format!("Bearer {}", endpoint.create_key(Scope::Admin));
    let figures = endpoint.request("GET /metrics", &[("Authorization", &admin)], "").body;
    assert!(figures.contains(r#"tool="update_project",outcome="ok""#), "{figures}");
    assert!(!figures.contains(secret) && !figures.contains(PROJECT_ID), "{figures}");
}
