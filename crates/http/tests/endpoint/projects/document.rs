//! `POST /api/mcp`: what the CODEFLUSS document says about projects.

use std::fmt::Write as _;

use serde_json::{Value, json};
use server::Scope;
use server::tools::Toolset;

use super::{ACCOUNT, PROJECT_ID, ProjectCaller, insert_project, parse_text_content, request};
use crate::harness::{HttpTestResponse, HttpTestServer};

const GERMAN: (&str, &str) = ("Accept-Language", "de");

/// The examples of the document: a request and what answers it, but for the server's own name (contract row 7).
const EXAMPLES: [(&str, &str); 7] = [
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"my-client","version":"1.0.0"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{},"resources":{}},"serverInfo":{}}}"#,
    ),
    (
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[
            {"name":"list_projects","description":"Listet alle Projekte des Benutzers auf",
             "inputSchema":{"type":"object","properties":{},"required":[]}},
            {"name":"get_project","description":"Ruft Details eines spezifischen Projekts ab",
             "inputSchema":{"type":"object","properties":{"projectId":{"type":"string","description":"Die eindeutige Projekt-ID"}},"required":["projectId"]}}
        ]}}"#,
    ),
    (
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_projects","arguments":{}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"[{\"id\": \"proj_abc123\", \"name\": \"Meine Website\"}]"}],"isError":false}}"#,
    ),
    (
        r#"{"jsonrpc":"2.0","id":4,"method":"resources/list","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":4,"result":{"resources":[
            {"uri":"codefluss://projects","name":"Projects","description":"Alle Projekte des Benutzers","mimeType":"application/json"},
            {"uri":"codefluss://design-system/{projectId}","name":"Design System","description":"Design Tokens eines Projekts","mimeType":"application/json"}
        ]}}"#,
    ),
    (
        r#"{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"codefluss://projects"}}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":{"contents":[{"uri":"codefluss://projects","mimeType":"application/json","text":"[{\"id\": \"proj_abc123\", \"name\": \"Meine Website\"}]"}]}}"#,
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_project","arguments":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params","data":{"field":"projectId"}}}"#,
    ),
    (
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_projects","arguments":{}}}]"#,
        r#"[{"jsonrpc":"2.0","id":1,"result":{"tools":[{}]}},{"jsonrpc":"2.0","id":2,"result":{"content":[{}]}}]"#,
    ),
];

/// A server with the project of the document, and nothing but the tools for projects.
fn start_server() -> HttpTestServer {
    let endpoint = HttpTestServer::start_with_keys(None);
    endpoint.app.serve_toolsets(&[Toolset::Projects]);
    insert_project(&endpoint, ACCOUNT, PROJECT_ID, "Meine Website");
    endpoint
}

/// Whether everything that the document shows is there. There may be more: members, entries of a list.
fn contains_documented(found: &Value, documented: &Value) -> bool {
    match (found, documented) {
        (Value::Object(found), Value::Object(documented)) => documented
            .iter()
            .all(|(name, value)| found.get(name).is_some_and(|found| contains_documented(found, value))),
        (Value::Array(found), Value::Array(documented))
            if documented.first().is_some_and(Value::is_object) =>
        {
            let mut rest = found.iter();
            documented.iter().all(|entry| rest.any(|found| contains_documented(found, entry)))
        }
        (Value::String(found), Value::String(documented)) if documented.starts_with('[') => {
            let [found, documented] = [found, documented].map(|text| serde_json::from_str(text).unwrap());
            contains_documented(&found, &documented)
        }
        _ => found == documented,
    }
}

#[test]
fn documented_examples_are_answered_as_documented() {
    let endpoint = start_server();
    let caller = ProjectCaller::new(&endpoint, &endpoint.create_key(Scope::Read));
    for (question, answer) in EXAMPLES {
        let found = caller.post_api(&[GERMAN], question);
        let documented: Value = serde_json::from_str(answer).unwrap();
        assert_eq!(
            (found.status, found.header("content-type")),
            (200, Some("application/json")),
            "{found:?}"
        );
        assert!(contains_documented(&found.json(), &documented), "{question}\n{}\n{documented}", found.body);
    }
    let error = caller.call_tool("get_project", json!({})).unwrap_err();
    assert_eq!(error["data"]["error"], "Required field missing", "in English as the document has it");
}

/// What clients of the document send, one line each.
fn conversation() -> Vec<String> {
    let call = |tool: &str, arguments: Value| ("tools/call", json!({ "name": tool, "arguments": arguments }));
    let read = |uri: &str| ("resources/read", json!({ "uri": uri }));
    let hello = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "my-client", "version": "1.0.0" } });
    let all = [
        ("initialize", hello),
        ("tools/list", json!({})),
        call("list_projects", json!({})),
        call("list_projects", json!({ "limit": 1, "fields": ["name"] })),
        call("get_project", json!({ "projectId": PROJECT_ID })),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        read("codefluss://projects"),
        read("codefluss://design-system/proj_abc123"),
        read("codefluss://design-system/proj_abc123/css"),
        // The arguments do not fit the schema.
        call("get_project", json!({})),
        call("get_project", json!({ "projectId": 5 })),
        call("get_project", json!({ "projectId": PROJECT_ID, "id": PROJECT_ID })),
        call("list_projects", json!({ "limit": 0 })),
        // What is not there.
        call("get_project", json!({ "projectId": "proj_none" })),
        call("get_blocks", json!({ "projectId": PROJECT_ID, "blockId": "block_none" })),
        call("list_assets", json!({ "projectId": PROJECT_ID, "assetId": "asset_none" })),
        call("publish_project", json!({ "projectId": PROJECT_ID, "action": "restore", "version": 7 })),
        read("codefluss://design-system/proj_none"),
        read("codefluss://design-system/{projectId}"),
        read("codefluss://design-system/proj_abc123/pdf"),
        read("codefluss://assets/proj_abc123/asset_none"),
        // They fit, and a rule says no.
        call("update_project", json!({ "projectId": PROJECT_ID, "name": "", "slug": "No Slug" })),
        call("update_project", json!({ "projectId": PROJECT_ID, "name": "x", "ifRevision": 9 })),
        call("list_projects", json!({ "fields": ["colour"] })),
        call(
            "edit_asset",
            json!({ "projectId": PROJECT_ID, "action": "put", "name": "a.png", "content": "AAAA" }),
        ),
        call("delete_project", json!({ "projectId": PROJECT_ID })),
        call("delete_project", json!({ "projectId": PROJECT_ID, "confirm": "Deine Website" })),
    ];
    let numbered = (1..).zip(all).map(|(id, (method, params))| request(id, method, &params).to_string());
    numbered.collect()
}

/// Several of them at once, with notifications between them.
fn batch() -> String {
    let call = |id: u32, tool: &str, arguments: Value| {
        request(id, "tools/call", &json!({ "name": tool, "arguments": arguments }))
    };
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let silent = json!({ "jsonrpc": "2.0", "method": "tools/call", "params": { "name": "no_such_tool" } });
    let read = json!({ "uri": "codefluss://design-system/proj_abc123" });
    json!([
        call(1, "get_project", json!({ "projectId": "proj_none" })),
        note,
        call(2, "list_projects", json!({ "fields": ["name"] })),
        request(3, "resources/read", &read),
        silent,
        call(4, "update_project", json!({ "projectId": PROJECT_ID, "name": "x", "ifRevision": 9 })),
        call(5, "get_project", json!({})),
        call(6, "update_project", json!({ "projectId": PROJECT_ID, "slug": "-" })),
        note,
    ])
    .to_string()
}

/// An answer as a reader would note it down: of the tools, those of the document.
fn render_response(answer: &HttpTestResponse) -> String {
    let mut body = answer.json();
    if let Some(tools) = body.pointer_mut("/result/tools").and_then(Value::as_array_mut) {
        tools.iter_mut().skip(2).for_each(|tool| *tool = tool["name"].take());
    }
    if let Some(resources) = body.pointer_mut("/result/resources").and_then(Value::as_array_mut) {
        resources.retain(|resource| resource["uri"].as_str().unwrap().starts_with("codefluss:"));
    }
    format!("{} {body}", answer.status)
}

fn transcript(caller: &ProjectCaller<'_>, headers: &[(&str, &str)], bodies: &[String]) -> String {
    let mut text = String::new();
    for body in bodies {
        write!(text, "> {body}\n< {}\n\n", render_response(&caller.post_api(headers, body))).unwrap();
    }
    text
}

/// A conversation in one language: as somebody who writes, then as somebody who only reads.
fn full_transcript(headers: &[(&str, &str)]) -> String {
    let endpoint = start_server();
    let spoken = transcript(&ProjectCaller::with_write_key(&endpoint), headers, &conversation());
    let reader = ProjectCaller::new(&endpoint, &endpoint.create_key(Scope::Read));
    let update = json!({ "name": "update_project", "arguments": { "projectId": PROJECT_ID, "name": "x" } });
    let refused = transcript(&reader, headers, &[request(1, "tools/call", &update).to_string(), batch()]);
    format!("{spoken}With a key that only reads:\n\n{refused}")
}

#[test]
fn project_transcript_matches_in_english() {
    insta::assert_snapshot!(full_transcript(&[]));
}

#[test]
fn project_transcript_matches_in_german() {
    insta::assert_snapshot!(full_transcript(&[GERMAN]));
}

/// Answers stand in the order of the requests, and notifications leave no gap, however long each takes.
#[test]
fn batch_is_answered_in_request_order() {
    let endpoint = start_server();
    let writer = ProjectCaller::with_write_key(&endpoint);
    insta::assert_snapshot!(transcript(&writer, &[], &[batch()]));
    for _ in 0..20 {
        let answer = writer.post_api(&[], &batch()).json();
        let ids: Vec<&Value> = answer.as_array().unwrap().iter().map(|one| &one["id"]).collect();
        assert_eq!(ids, (1..=6).collect::<Vec<_>>());
    }
}

/// Nothing is cut unless somebody asks for pages (contract row 15a).
#[test]
fn lists_are_complete_without_paging() {
    let endpoint = start_server();
    for n in 0..120 {
        insert_project(&endpoint, ACCOUNT, &format!("proj_{n:03}"), "Noch eine");
    }
    let caller = ProjectCaller::with_write_key(&endpoint);
    assert_eq!(caller.call_tool_ok("list_projects", json!({})).as_array().unwrap().len(), 121);
    let listed = caller.request_api("resources/list", &json!({}))["result"].clone();
    let is_concrete = |uri: &str| uri.starts_with("codefluss://design-system/proj_");
    let entries = listed["resources"].as_array().unwrap().iter();
    assert_eq!(entries.filter(|entry| is_concrete(entry["uri"].as_str().unwrap())).count(), 121);
    assert!(listed.get("nextCursor").is_none(), "{listed}");
}

/// Who asks for a part gets it, and where to go on stands beside it.
#[test]
fn list_can_be_paged_with_cursor() {
    let endpoint = start_server();
    for n in 0..20 {
        insert_project(&endpoint, ACCOUNT, &format!("proj_{n:03}"), "Noch eine");
    }
    let caller = ProjectCaller::with_write_key(&endpoint);
    let whole = caller.call_tool_ok("list_projects", json!({}));
    let (mut arguments, mut parts) = (json!({ "limit": 7 }), Vec::new());
    loop {
        let call = json!({ "name": "list_projects", "arguments": arguments });
        let result = caller.request_api("tools/call", &call)["result"].clone();
        parts.push(parse_text_content(&result).as_array().unwrap().clone());
        assert_eq!(result["structuredContent"]["projects"], json!(parts.last().unwrap()));
        match result["structuredContent"].get("nextCursor") {
            Some(next) => arguments["cursor"] = next.clone(),
            None => break,
        }
    }
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [7, 7, 7]);
    assert_eq!(Value::Array(parts.concat()), whole);
}
