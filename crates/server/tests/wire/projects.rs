//! Projects as clients see them: their own, and never those of somebody else.

mod assets;
mod blocks;
mod completion;
mod concurrent_writes;
mod conversations;
mod design;
mod hostile;
mod keys;
mod lifecycle;
mod notifications;
mod resource_isolation;
mod sample_calls;
mod tool_isolation;
mod versions;
mod write_options;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use server::tools::Toolset;
use server::{App, Scope};

use crate::harness::{self, TestClient, key_principal};

const REVISION: &str = "2025-11-25";
/// Whose projects most of these tests are about, and who must not see them.
const ADA: &str = "ada";
const EVE: &str = "eve";

/// A server that has nothing but projects.
fn app() -> Arc<App> {
    harness::app().toolsets(&[Toolset::Projects]).build()
}

/// A client that may do everything in an account and cannot be asked.
async fn client(app: &Arc<App>, account: &str) -> TestClient {
    TestClient::for_principal(app, key_principal(account, Scope::Write, None))
        .initialize(REVISION, json!({}))
        .await
}

fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// The answer to a request. What is told besides is not looked at.
async fn send_request(client: &mut TestClient, method: &str, params: Value) -> Value {
    client.request_with_notifications(&request(method, params)).await.0
}

/// What a tool gives.
async fn call_ok(client: &mut TestClient, tool: &str, arguments: Value) -> Value {
    let mut answer =
        send_request(client, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
    assert!(answer["result"]["structuredContent"].is_object(), "{tool} {arguments}: {answer}");
    answer["result"]["structuredContent"].take()
}

/// A refusal: what a model reads, and what the envelope has of it for programs.
#[derive(Debug)]
struct ToolRefusal {
    text: String,
    kind: String,
    details: Value,
}

/// What a tool says no with, in both ways in which it can say so.
async fn call_refused(client: &mut TestClient, tool: &str, arguments: Value) -> ToolRefusal {
    let answer = send_request(client, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
    let text = answer["result"]["content"][0]["text"].as_str();
    assert_eq!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}");
    let envelope = json!({ "type": "request", "id": "1", "tool": tool, "params": arguments });
    let (mut again, _) = client.request_with_notifications(&envelope).await;
    assert_eq!(again["error"]["message"].as_str(), text, "{tool} {arguments}");
    let details = again["error"]["details"].take();
    ToolRefusal {
        text: text.unwrap().to_owned(),
        kind: details["kind"].as_str().unwrap().to_owned(),
        details,
    }
}

/// What a resource holds.
async fn read_resource(client: &mut TestClient, uri: &str) -> Value {
    let mut answer = send_request(client, "resources/read", json!({ "uri": uri })).await;
    assert_eq!(answer["result"]["contents"][0]["uri"], uri, "{answer}");
    answer["result"]["contents"][0].take()
}

/// The values of a list, by a member of each.
fn member_strings<'a>(list: &'a Value, member: &str) -> Vec<&'a str> {
    let name = |entry: &'a Value| entry[member].as_str().unwrap_or_else(|| panic!("{member} in {entry}"));
    list.as_array().unwrap_or_else(|| panic!("a list: {list}")).iter().map(name).collect()
}

fn base64(content: impl AsRef<[u8]>) -> String {
    STANDARD.encode(content)
}

/// A picture that is as small as one can be.
const SVG: &str = r#"<svg xmlns="http://www.w3.org/2000/svg"><circle r="4"/></svg>"#;

/// A project with something of everything in it.
#[derive(Clone)]
struct SampleProject {
    project: String,
    page: String,
    section: String,
    heading: String,
    image: String,
    asset: String,
}

impl SampleProject {
    /// A word that stands in everything of it that can hold words.
    const NAME: &str = "Aurora";
    /// What it is at once it is built: it began at 1, and six writes have followed.
    const REVISION: u64 = 7;

    async fn build(client: &mut TestClient) -> Self {
        let about = json!({ "name": Self::NAME, "description": "The site of Aurora.", "template": "empty" });
        let project = string_value(&call_ok(client, "create_project", about).await["id"]);
        for name in ["badge", "stamp"] {
            let schema = json!({ "type": "object", "properties": { "label": { "type": "string" } } });
            let own =
                json!({ "projectId": project, "name": name, "schema": schema, "description": "Of Aurora." });
            call_ok(client, "edit_block_type", own).await;
        }
        let picture = json!({
            "projectId": project, "action": "put", "name": "Aurora.svg", "alt": "Aurora", "content": base64(SVG),
        });
        let asset = string_value(&call_ok(client, "edit_asset", picture).await["asset"]["id"]);
        let blocks = json!([{ "type": "page", "props": { "title": "Aurora", "path": "/" }, "children": [
            { "type": "section", "props": { "title": "Aurora" }, "children": [
                { "type": "heading", "props": { "text": "Aurora" } },
                { "type": "badge", "props": { "label": "Aurora" } },
            ] },
            { "type": "image", "props": { "src": format!("asset:{asset}") } },
        ] }]);
        let blocks = json!({ "projectId": project, "action": "create", "blocks": blocks });
        let made = call_ok(client, "edit_blocks", blocks).await["blocks"].take();
        for note in ["The first Aurora.", "The second Aurora."] {
            call_ok(client, "publish_project", json!({ "projectId": project, "note": note })).await;
        }
        let of_type = |kind: &str| {
            string_value(&made.as_array().unwrap().iter().find(|one| one["type"] == kind).unwrap()["id"])
        };
        let (page, section, heading) = (of_type("page"), of_type("section"), of_type("heading"));
        Self { project, page, section, heading, image: of_type("image"), asset }
    }

    /// A site that nobody has.
    fn nonexistent() -> Self {
        let id = |kind: &str| format!("{kind}_0000000000000000");
        let block = |n: u32| format!("blk_000000000000000{n}");
        Self {
            project: id("proj"),
            page: block(1),
            section: block(2),
            heading: block(3),
            image: block(4),
            asset: id("asset"),
        }
    }

    /// Its ids, each with a name.
    fn ids(&self) -> [(&'static str, &str); 6] {
        [
            ("project", &self.project),
            ("page", &self.page),
            ("section", &self.section),
            ("heading", &self.heading),
            ("image", &self.image),
            ("asset", &self.asset),
        ]
    }

    /// A text with names instead of its ids: what somebody reads who does not know them.
    fn mask_ids(&self, text: &str) -> String {
        let hide = |text: String, (name, id): (&str, &str)| text.replace(id, &format!("<{name}>"));
        self.ids().into_iter().fold(text.to_owned(), hide)
    }

    /// All that can be read of it, to compare it with what it was.
    async fn snapshot(&self, client: &mut TestClient) -> Value {
        let project = &self.project;
        let mut all = json!({ "asset": read_resource(client, &format!("codefluss://assets/{project}/{}", self.asset)).await });
        for (tool, arguments) in [
            ("get_project", json!({ "projectId": project })),
            ("get_blocks", json!({ "projectId": project, "depth": 32 })),
            ("list_assets", json!({ "projectId": project })),
            ("list_block_types", json!({ "projectId": project, "names": ["badge"] })),
            ("list_versions", json!({ "projectId": project, "from": 1 })),
            ("get_design_system", json!({ "projectId": project })),
        ] {
            all[tool] = call_ok(client, tool, arguments).await;
        }
        all
    }
}

fn string_value(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text: {value}")).to_owned()
}
