//! Projects on `/mcp`, in MCP's own manner: in a session, and where every request stands for itself.

use std::fmt::Write as _;

use serde_json::{Value, json};
use server::Scope;
use server::tools::Toolset;

use super::{ACCOUNT, PROJECT_ID, ProjectCaller, insert_project, request};
use crate::harness::{HttpTestResponse, HttpTestServer};
use crate::mcp_session::McpSessionClient;

fn start_server() -> HttpTestServer {
    let endpoint = HttpTestServer::start_with_keys(None);
    endpoint.app.serve_toolsets(&[Toolset::Projects]);
    insert_project(&endpoint, ACCOUNT, PROJECT_ID, "Meine Website");
    endpoint
}

fn tool_call(tool: &str, arguments: Value) -> (&'static str, Value) {
    ("tools/call", json!({ "name": tool, "arguments": arguments }))
}

fn conversation() -> Vec<(&'static str, Value)> {
    let read = |uri: &str| ("resources/read", json!({ "uri": uri }));
    let completion = |template: &str, typed: &str| {
        let argument = json!({ "name": "projectId", "value": typed });
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/resource", "uri": template }, "argument": argument }),
        )
    };
    vec![
        tool_call("list_projects", json!({})),
        tool_call("get_project", json!({ "projectId": PROJECT_ID, "fields": ["name", "usage.blocks"] })),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        completion("codefluss://design-system/{projectId}", "proj_a"),
        read("codefluss://projects"),
        read("codefluss://design-system/proj_abc123"),
        read("codefluss://design-system/proj_abc123/tailwind"),
        // A model reads what went wrong, and calls again.
        tool_call("get_project", json!({})),
        tool_call("get_project", json!({ "projectId": "proj_none" })),
        tool_call("update_project", json!({ "projectId": PROJECT_ID, "name": "", "slug": "No Slug" })),
        tool_call("update_project", json!({ "projectId": PROJECT_ID, "name": "x", "ifRevision": 9 })),
        // The program reads these.
        read("codefluss://design-system/proj_none"),
        read("codefluss://design-system/{projectId}"),
        read("codefluss://assets/proj_abc123/asset_none"),
        tool_call("no_such_tool", json!({})),
    ]
}

/// An answer as a reader would note it down.
fn render_response(answer: &HttpTestResponse) -> String {
    let mut body = answer.json();
    for (list, name) in [("resources", "uri"), ("resourceTemplates", "uriTemplate")] {
        let entries = body.pointer_mut(&format!("/result/{list}")).and_then(Value::as_array_mut);
        let is_of_projects = |entry: &Value| entry[name].as_str().unwrap().starts_with("codefluss:");
        if let Some(entries) = entries {
            entries.retain(is_of_projects);
        }
    }
    if let Some(names) = body.pointer_mut("/error/data/availableTools") {
        *names = json!("…");
    }
    format!("{} {body}", answer.status)
}

fn transcript(
    ask: impl Fn(&str, Value) -> HttpTestResponse,
    reader: impl Fn(&str, Value) -> HttpTestResponse,
) -> String {
    let mut text = String::new();
    let mut note = |method: &str, params: &Value, answer: &HttpTestResponse| {
        write!(text, "> {method} {params}\n< {}\n\n", render_response(answer)).unwrap();
    };
    for (method, params) in conversation() {
        note(method, &params, &ask(method, params.clone()));
    }
    let (method, params) = tool_call("update_project", json!({ "projectId": PROJECT_ID, "name": "x" }));
    let answer = reader(method, params.clone());
    write!(text, "With a key that only reads:\n\n> {method} {params}\n< {}\n", render_response(&answer))
        .unwrap();
    text
}

#[test]
fn session_transcript_matches() {
    let endpoint = start_server();
    let [writer, reader] = [Scope::Write, Scope::Read]
        .map(|scope| McpSessionClient::with_key(&endpoint, "2025-11-25", Some(&endpoint.create_key(scope))));
    let ask = |client: &McpSessionClient<'_>, method: &str, params: Value| {
        client.post(&request(1, method, &params).to_string())
    };
    insta::assert_snapshot!(transcript(
        |method, params| ask(&writer, method, params),
        |method, params| ask(&reader, method, params),
    ));
}

#[test]
fn stateless_transcript_matches() {
    let endpoint = start_server();
    let [writer, reader] =
        [Scope::Write, Scope::Read].map(|scope| ProjectCaller::new(&endpoint, &endpoint.create_key(scope)));
    insta::assert_snapshot!(transcript(
        |method, params| writer.post_mcp(method, params),
        |method, params| reader.post_mcp(method, params),
    ));
}

/// Arguments that do not fit are the program's business in older revisions, and the model's since.
#[test]
fn invalid_arguments_are_reported_per_revision() {
    let endpoint = start_server();
    let key = endpoint.create_key(Scope::Write);
    for (revision, is_for_the_model) in
        [("2024-11-05", false), ("2025-03-26", false), ("2025-06-18", false), ("2025-11-25", true)]
    {
        let client = McpSessionClient::with_key(&endpoint, revision, Some(&key));
        let (method, params) = tool_call("get_project", json!({}));
        let answer = client.post(&request(1, method, &params).to_string()).json();
        if is_for_the_model {
            assert_eq!(answer["result"]["isError"], true, "{revision}: {answer}");
        } else {
            assert_eq!(answer["error"]["code"], -32602, "{revision}: {answer}");
        }
    }
}

/// A list on `/mcp` has pages: what is always there first, then one entry for each project, each once.
#[test]
fn resources_are_listed_in_pages() {
    let endpoint = start_server();
    let expected: Vec<String> = (0..250).map(|n| format!("proj_{n:03}")).collect();
    for id in &expected {
        insert_project(&endpoint, ACCOUNT, id, "Noch eine");
    }
    let caller = ProjectCaller::with_write_key(&endpoint);
    let (mut found, mut params, mut pages) = (Vec::new(), json!({}), 0);
    loop {
        let result = caller.post_mcp("resources/list", params).json()["result"].clone();
        let uris = result["resources"].as_array().unwrap().iter().map(|entry| entry["uri"].as_str().unwrap());
        found
            .extend(uris.filter_map(|uri| uri.strip_prefix("codefluss://design-system/").map(str::to_owned)));
        pages += 1;
        match result.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => break,
        }
    }
    assert_eq!(pages, 3);
    assert_eq!((found.len(), found.contains(&"{projectId}".to_owned())), (251, false));
    found.retain(|id| id != PROJECT_ID);
    assert_eq!(found, expected, "in order, and none twice");
}

/// The same question and the same confirmation, in the words of a client that can be asked.
#[test]
fn deletion_requires_project_name_confirmation() {
    let endpoint = start_server();
    let caller = ProjectCaller::with_write_key(&endpoint);
    let arguments = json!({ "projectId": PROJECT_ID });
    let asked =
        caller.post_mcp("tools/call", json!({ "name": "delete_project", "arguments": arguments })).json();
    let question = &asked["result"]["inputRequests"]["question"]["params"]["message"];
    assert!(question.as_str().is_some_and(|text| text.contains("Meine Website")), "{asked}");
    let field =
        asked["result"]["inputRequests"]["question"]["params"]["requestedSchema"]["required"][0].clone();
    let reply = |name: &str| {
        let answer = json!({ "action": "accept", "content": { (field.as_str().unwrap()): name } });
        caller.post_mcp(
            "tools/call",
            json!({
                "name": "delete_project", "arguments": arguments,
                "requestState": asked["result"]["requestState"], "inputResponses": { "question": answer },
            }),
        )
    };
    let wrong = reply("Deine Website").json();
    assert_eq!(wrong["result"]["resultType"], "input_required", "{wrong}");
    assert_eq!(super::load_project(&endpoint, ACCOUNT, PROJECT_ID).revision, 1, "still there");
    let gone = reply("Meine Website").json();
    assert_eq!(gone["result"]["structuredContent"]["deleted"], true, "{gone}");
    let again = reply("Meine Website").json();
    assert!(again["result"]["structuredContent"].is_null(), "an answer counts once: {again}");
    assert_eq!(caller.call_tool_ok("list_projects", json!({})), json!([]));
}
