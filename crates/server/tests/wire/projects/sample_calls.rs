//! What to call each tool with. Every tool has a row here, and every argument and choice of it a sample:
//! whatever is added to the list without one is named by a test, and is then part of all that is tested of
//! every tool.

use serde_json::{Value, json};

use super::{SampleProject, base64, client, send_request};
use crate::harness::TestClient;

/// What tests add to samples themselves: the guards of every write, and cursors, which belong to one list
/// each.
const TEST_SUPPLIED_ARGUMENTS: [&str; 3] = ["ifRevision", "dryRun", "cursor"];

/// Calls that whoever owns the site can make, each on its own, right after it was built. `None`: there is no
/// row.
pub(super) fn samples(tool: &str, sample: &SampleProject) -> Option<Vec<Value>> {
    let SampleProject { project, page, section, heading, image, asset } = sample;
    let rows = match tool {
        "list_projects" => {
            return Some(vec![json!({}), json!({ "limit": 1, "fields": ["name", "usage.blocks"] })]);
        }
        "create_project" => return Some(create_project_samples(project)),
        "list_block_types" => {
            return Some(vec![json!({}), json!({ "projectId": project, "names": ["badge"] })]);
        }
        "get_project" => json!([{}, { "fields": ["name", "metadata"] }]),
        "update_project" => json!([
            { "name": "Borealis", "slug": "borealis", "description": "Another." },
            { "metadata": { "team": "north" } },
        ]),
        "delete_project" => json!([{ "confirm": SampleProject::NAME }]),
        "list_versions" => json!([
            {},
            { "limit": 1 },
            { "from": 1 },
            { "from": 1, "to": 2 },
        ]),
        "publish_project" => json!([
            { "action": "publish", "note": "The third." },
            { "action": "unpublish" },
            { "action": "restore", "version": 1 },
            { "action": "delete", "version": 1 },
        ]),
        "get_blocks" => json!([
            {},
            { "blockId": section, "depth": 2, "format": "json", "fields": ["type", "props.title"] },
            { "limit": 1, "blockId": page },
            { "find": "the", "limit": 2 },
            { "format": "html" },
            { "format": "html", "version": 1, "blockId": page },
        ]),
        "edit_blocks" => json!([
            { "action": "create", "parentId": page, "index": 0, "blocks": [{ "type": "divider" }] },
            { "action": "create", "before": image, "blocks": [{ "type": "image", "props": { "src": format!("asset:{asset}") } }] },
            { "action": "update", "blockId": heading, "props": { "text": "Borealis" } },
            { "action": "move", "blockId": image, "parentId": section, "index": 0 },
            { "action": "copy", "blockId": section, "after": image },
            { "action": "delete", "blockId": section },
        ]),
        "edit_block_type" => json!([
            { "name": "badge", "schema": { "type": "object" }, "description": "Any.", "children": ["text"] },
            { "name": "stamp", "delete": true },
        ]),
        "list_assets" => {
            json!([{}, { "assetId": asset }, { "limit": 1, "fields": ["name"] }])
        }
        "edit_asset" => json!([
            { "action": "put", "name": "note.txt", "alt": "A note", "contentType": "text/plain", "content": base64("Hello") },
            { "action": "put", "assetId": asset, "append": true, "content": base64("<!-- more -->") },
            { "action": "update", "assetId": asset, "name": "north.svg" },
            { "action": "delete", "assetId": asset, "force": true },
        ]),
        "get_design_system" => design_system_view_samples(),
        "edit_design_system" => json!([
            { "changes": [
                { "op": "set", "path": "color.brand", "type": "color", "value": "#0a7b66", "description": "Ours." },
                { "op": "set", "path": "color.brand", "mode": "dark", "value": "#a9d7e0" },
            ] },
            { "changes": [{ "op": "rename", "path": "palette.teal", "to": "palette.sea" }] },
            { "changes": [{ "op": "delete", "path": "palette.teal.600", "force": true }] },
            { "changes": [{ "op": "import_dtcg", "source": r##"{"a":{"$type":"color","$value":"#ff0000"}}"## }] },
            { "changes": [{ "op": "import_css", "source": ":root { --gap: 4px }" }] },
            { "changes": [{ "op": "starter" }] },
        ]),
        _ => return None,
    };
    let mut rows = rows.as_array().cloned().unwrap();
    for row in &mut rows {
        row["projectId"] = json!(project);
    }
    Some(rows)
}

fn create_project_samples(original: &str) -> Vec<Value> {
    let template =
        |template: &str| json!({ "name": "New", "description": "From a template.", "template": template });
    let mut rows: Vec<Value> = ["landing", "page", "empty", "bare"].map(template).into();
    rows.push(json!({ "name": "Copy", "description": "Of another.", "slug": "copied", "copyOf": original }));
    rows
}

fn design_system_view_samples() -> Value {
    let mut rows = json!([
        { "view": "tokens", "path": "color.text" },
        { "view": "resolved", "mode": "dark", "path": "space", "limit": 2 },
        { "view": "problems", "version": 1 },
        { "view": "contrast", "pairs": [{ "text": "color.text.primary", "background": "color.background.page" }] },
    ]);
    for format in ["css", "scss", "tailwind", "tailwind-v3", "json", "flat"] {
        let export = json!({ "view": "export", "format": format, "prefix": "x" });
        rows.as_array_mut().unwrap().push(export);
    }
    rows
}

/// The tools as a client sees them.
pub(super) async fn list_tools(client: &mut TestClient) -> Vec<Value> {
    let mut answer = send_request(client, "tools/list", json!({})).await;
    assert!(answer["result"].get("nextCursor").is_none(), "a list in one piece");
    match answer["result"]["tools"].take() {
        Value::Array(tools) => tools,
        other => panic!("tools: {other}"),
    }
}

/// The tools, each with its samples. A tool without any is named.
pub(super) async fn tools_with_samples(
    client: &mut TestClient,
    sample: &SampleProject,
) -> Vec<(String, Value, Vec<Value>)> {
    let tools = list_tools(client).await.into_iter().map(|tool| {
        let name = tool["name"].as_str().unwrap().to_owned();
        let samples =
            samples(&name, sample).unwrap_or_else(|| panic!("{name} needs a row in sample_calls.rs"));
        (name, tool, samples)
    });
    tools.collect()
}

pub(super) fn is_write_tool(tool: &Value) -> bool {
    tool["annotations"]["readOnlyHint"] != true
}

/// The arguments and choices of a schema that no sample has.
fn missing_samples(schema: &Value, samples: &[&Value]) -> Vec<String> {
    let mut gaps = Vec::new();
    for (name, property) in schema["properties"].as_object().unwrap() {
        let given: Vec<&Value> = samples.iter().filter_map(|sample| sample.get(name)).collect();
        if given.is_empty() && !TEST_SUPPLIED_ARGUMENTS.contains(&name.as_str()) {
            gaps.push(name.clone());
        }
        let constants = property["oneOf"].as_array().into_iter().flatten().map(|option| &option["const"]);
        let choices = property["enum"].as_array().into_iter().flatten().chain(constants);
        gaps.extend(
            choices.filter(|choice| !given.contains(choice)).map(|choice| format!("{name}={choice}")),
        );
        if property["items"]["properties"].is_object() {
            let inner: Vec<&Value> = given.iter().filter_map(|list| list.as_array()).flatten().collect();
            gaps.extend(
                self::missing_samples(&property["items"], &inner)
                    .into_iter()
                    .map(|gap| format!("{name}.{gap}")),
            );
        }
    }
    gaps
}

#[tokio::test(start_paused = true)]
async fn every_argument_and_every_choice_has_a_sample() {
    let mut client = client(&super::app(), super::ADA).await;
    let site = SampleProject::build(&mut client).await;
    for (name, tool, samples) in tools_with_samples(&mut client, &site).await {
        let missing = missing_samples(&tool["inputSchema"], &samples.iter().collect::<Vec<_>>());
        assert!(missing.is_empty(), "{name} has no sample for {missing:?}");
    }
}

/// Every sample does what it says, for whoever may: one that always failed would prove nothing about walls.
/// What comes back has no member that the tool has not promised.
#[tokio::test(start_paused = true)]
async fn every_sample_succeeds_for_its_owner() {
    let app = super::app();
    let mut client = client(&app, super::ADA).await;
    let first = SampleProject::build(&mut client).await;
    for (name, tool, of_first) in tools_with_samples(&mut client, &first).await {
        let promised = tool["outputSchema"]["properties"].as_object().unwrap();
        for at in 0..of_first.len() {
            let mut owner = super::client(&app, &format!("{name} {at}")).await;
            let site = SampleProject::build(&mut owner).await;
            let sample = samples(&name, &site).unwrap().swap_remove(at);
            let reply = super::call_ok(&mut owner, &name, sample).await;
            let unknown: Vec<_> =
                reply.as_object().unwrap().keys().filter(|name| !promised.contains_key(*name)).collect();
            assert!(unknown.is_empty(), "{name} gives {unknown:?}");
        }
    }
}
