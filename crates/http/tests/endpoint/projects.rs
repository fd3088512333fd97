//! Projects over real sockets, kept in a database.

mod adversarial;
mod assets;
mod concurrent_writers;
mod document;
mod keys;
mod mcp;
mod outage;
mod rate_limits;

use design_tokens::TokenDocument;
use serde_json::{Value, json};
use server::projects::{Account, NewProject, NewProjectFields, Project, ProjectId};
use server::{Clock, Scope};

use crate::harness::{HttpTestResponse, HttpTestServer, block_on};
use crate::mcp_stateless::build_request;

/// The account of every key that says nothing else.
const ACCOUNT: &str = "main";
/// The project of the CODEFLUSS document.
const PROJECT_ID: &str = "proj_abc123";

/// Puts a project where keys of this account find it: with a known id, without blocks, with one design token.
fn insert_project(endpoint: &HttpTestServer, account: &str, id: &str, name: &str) {
    let tokens = r##"{"color":{"$type":"color","brand":{"$value":"#0a7"}}}"##;
    let fields =
        NewProjectFields { description: "Für Kunden".to_owned(), ..NewProjectFields::with_name(name) };
    let mut new = NewProject::empty(ProjectId::parse(id).unwrap(), fields);
    new.design = TokenDocument::parse(tokens).unwrap();
    let store = endpoint.store.as_ref().unwrap().projects();
    block_on(store.create_project(&Account::new(account), new, false, endpoint.clock.now())).unwrap();
}

/// What the store has, past every tool.
fn load_project(endpoint: &HttpTestServer, account: &str, id: &str) -> Project {
    let store = endpoint.store.as_ref().unwrap().projects();
    block_on(store.project(&Account::new(account), &ProjectId::parse(id).unwrap())).unwrap()
}

fn request(id: u32, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// Somebody with a key.
struct ProjectCaller<'a> {
    endpoint: &'a HttpTestServer,
    bearer: String,
}

impl<'a> ProjectCaller<'a> {
    fn new(endpoint: &'a HttpTestServer, key: &str) -> Self {
        Self { endpoint, bearer: format!("Bearer {key}") }
    }

    /// Who may write to all projects of the account.
    fn with_write_key(endpoint: &'a HttpTestServer) -> Self {
        Self::new(endpoint, &endpoint.create_key(Scope::Write))
    }

    /// `POST /api/mcp`, with these headers beside the key.
    fn post_api(&self, headers: &[(&str, &str)], body: &str) -> HttpTestResponse {
        let mut all = vec![("Authorization", self.bearer.as_str())];
        all.extend(headers);
        self.endpoint.request("POST /api/mcp", &all, body)
    }

    /// The answer to a request on `/api/mcp`, which is 200 whatever it says.
    fn request_api(&self, method: &str, params: &Value) -> Value {
        let answer = self.post_api(&[], &request(1, method, params).to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Calls a tool on `/api/mcp`: what its text says, or the error.
    fn call_tool(&self, tool: &str, arguments: Value) -> Result<Value, Value> {
        let answer = self.request_api("tools/call", &json!({ "name": tool, "arguments": arguments }));
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(parse_text_content(&answer["result"])),
        }
    }

    /// Calls a tool that must not refuse.
    fn call_tool_ok(&self, tool: &str, arguments: Value) -> Value {
        self.call_tool(tool, arguments).unwrap_or_else(|error| panic!("{tool}: {error}"))
    }

    /// A request to `/mcp` as of 2026-07-28.
    fn post_mcp(&self, method: &str, params: Value) -> HttpTestResponse {
        let (own, body) = build_request(method, params);
        let mut all: Vec<_> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
        all.push(("Authorization", self.bearer.as_str()));
        self.endpoint.request("POST /mcp", &all, &body)
    }
}

/// The text of a result, which is JSON.
fn parse_text_content(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"))
}

/// The names of the tools that a list has.
fn tool_names(tools: &Value) -> Vec<String> {
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.as_array().unwrap_or_else(|| panic!("{tools}")).iter().map(name).collect()
}

/// A call of every tool for projects that names one, with arguments that fit.
fn project_tool_calls(id: &str) -> Vec<(&'static str, Value)> {
    let page = json!({ "type": "page", "props": { "title": "x", "path": "/x" } });
    let change = json!({ "op": "set", "path": "color.x", "value": "#123456" });
    let all = [
        ("get_project", json!({})),
        ("update_project", json!({ "name": "x" })),
        ("delete_project", json!({ "confirm": "x" })),
        ("list_versions", json!({})),
        ("publish_project", json!({})),
        ("get_blocks", json!({})),
        ("edit_blocks", json!({ "action": "create", "blocks": [page] })),
        ("list_block_types", json!({})),
        ("edit_block_type", json!({ "name": "own", "schema": { "type": "object" } })),
        ("list_assets", json!({})),
        ("edit_asset", json!({ "action": "put", "name": "a.txt", "content": "eA==" })),
        ("get_design_system", json!({})),
        ("edit_design_system", json!({ "changes": [change] })),
    ];
    let named = all.into_iter().map(|(tool, mut arguments)| {
        arguments["projectId"] = json!(id);
        (tool, arguments)
    });
    named.chain([("create_project", json!({ "name": "x", "description": "", "copyOf": id }))]).collect()
}

/// Addresses of everything that a project has.
fn resource_uris(id: &str) -> Vec<String> {
    ["design-system/{id}", "design-system/{id}/css", "assets/{id}/asset_x"]
        .map(|path| format!("codefluss://{}", path.replace("{id}", id)))
        .to_vec()
}
