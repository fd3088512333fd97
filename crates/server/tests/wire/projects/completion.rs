//! What can be completed: ids, types and formats, in the arguments of tools and in templates.

use serde_json::{Value, json};

use super::{ADA, SampleProject, app, client, send_request};

fn tool_reference(name: &str) -> Value {
    json!({ "type": "ref/tool", "name": name })
}

fn template_reference(uri: &str) -> Value {
    json!({ "type": "ref/resource", "uri": uri })
}

const DESIGN: &str = "codefluss://design-system/{projectId}";
const EXPORT: &str = "codefluss://design-system/{projectId}/{format}";
const ASSET: &str = "codefluss://assets/{projectId}/{assetId}";
const FORMATS: [&str; 6] = ["css", "scss", "tailwind", "tailwind-v3", "json", "flat"];

#[tokio::test(start_paused = true)]
async fn ids_types_and_formats_are_completed() {
    let mut ada = client(&app(), ADA).await;
    let (first, site) = (SampleProject::build(&mut ada).await, SampleProject::build(&mut ada).await);
    let mut both = [first.project.as_str(), site.project.as_str()];
    both.sort_unstable();
    let SampleProject { project, page, asset, .. } = &site;
    for (reference, argument, typed, expected) in [
        (tool_reference("get_project"), "projectId", "", json!(both)),
        (tool_reference("get_project"), "projectId", "proj_", json!(both)),
        (tool_reference("get_project"), "projectId", project.as_str(), json!([project])),
        (tool_reference("get_project"), "projectId", "x", json!([])),
        (tool_reference("create_project"), "copyOf", project.as_str(), json!([project])),
        (tool_reference("create_project"), "template", "", json!(["landing", "page", "empty", "bare"])),
        (tool_reference("get_blocks"), "blockId", "", json!([page])),
        (tool_reference("get_blocks"), "format", "h", json!(["html"])),
        (tool_reference("edit_blocks"), "parentId", "blk_", json!([page])),
        (tool_reference("edit_blocks"), "before", "blk_", json!([page])),
        (tool_reference("edit_blocks"), "action", "", json!(["create", "update", "move", "copy", "delete"])),
        (tool_reference("list_assets"), "assetId", "", json!([asset])),
        (tool_reference("edit_asset"), "assetId", "asset_", json!([asset])),
        (tool_reference("edit_block_type"), "name", "", json!(["badge", "stamp"])),
        (tool_reference("list_block_types"), "names", "sta", json!(["stamp"])),
        (tool_reference("list_block_types"), "names", "HE", json!(["hero", "heading"])),
        (tool_reference("get_design_system"), "format", "", json!(FORMATS)),
        (tool_reference("get_design_system"), "view", "c", json!(["contrast"])),
        (tool_reference("get_design_system"), "mode", "", json!(["dark"])),
        (tool_reference("edit_block_type"), "delete", "t", json!(["true"])),
        // Names are free, whatever block types there are.
        (tool_reference("update_project"), "name", "", json!([])),
        (tool_reference("edit_asset"), "name", "", json!([])),
        (template_reference(DESIGN), "projectId", "", json!(both)),
        (template_reference(EXPORT), "projectId", project.as_str(), json!([project])),
        (template_reference(EXPORT), "format", "tail", json!(["tailwind", "tailwind-v3"])),
        (template_reference(ASSET), "projectId", "proj_", json!(both)),
        (template_reference(ASSET), "assetId", "", json!([asset])),
    ] {
        let context = json!({ "arguments": { "projectId": project } });
        let params =
            json!({ "ref": reference, "argument": { "name": argument, "value": typed }, "context": context });
        let answer = send_request(&mut ada, "completion/complete", params).await;
        let found = &answer["result"]["completion"];
        assert_eq!(found["values"], expected, "{reference} {argument} {typed}: {answer}");
        assert_eq!(
            (&found["total"], &found["hasMore"]),
            (&json!(expected.as_array().unwrap().len()), &json!(false))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_project_only_independent_arguments_are_completed() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    for (reference, argument, expected) in [
        (tool_reference("list_assets"), "assetId", json!([])),
        (tool_reference("get_blocks"), "blockId", json!([])),
        (template_reference(ASSET), "assetId", json!([])),
        (tool_reference("edit_block_type"), "name", json!([])),
        (template_reference(EXPORT), "format", json!(FORMATS)),
        (tool_reference("get_project"), "projectId", json!([site.project])),
    ] {
        let params = json!({ "ref": reference, "argument": { "name": argument, "value": "" } });
        let answer = send_request(&mut ada, "completion/complete", params).await;
        assert_eq!(answer["result"]["completion"]["values"], expected, "{reference} {argument}");
    }
    let built_in =
        json!({ "ref": tool_reference("list_block_types"), "argument": { "name": "names", "value": "co" } });
    let answer = send_request(&mut ada, "completion/complete", built_in).await;
    assert_eq!(answer["result"]["completion"]["values"], json!(["columns", "column", "code"]));
}

#[tokio::test(start_paused = true)]
async fn unknown_completion_reference_is_rejected() {
    let mut ada = client(&app(), ADA).await;
    for (reference, argument, code, said) in [
        (tool_reference("get_projects"), "projectId", -32602, "Unknown tool"),
        (tool_reference("get_project"), "blockId", -32602, "has no argument `blockId`"),
        (template_reference(DESIGN), "format", -32602, "has projectId"),
        (template_reference(ASSET), "format", -32602, "has projectId, assetId"),
        (template_reference("codefluss://nothing/{x}"), "x", -32002, "Resource not found"),
    ] {
        let params = json!({ "ref": reference, "argument": { "name": argument, "value": "" } });
        let answer = send_request(&mut ada, "completion/complete", params).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(said), "{answer}");
    }
}

/// At most a hundred come back, and it is said that there are more.
#[tokio::test(start_paused = true)]
async fn completions_are_truncated_at_one_hundred() {
    let mut ada = client(&app(), ADA).await;
    for n in 0..105 {
        super::call_ok(
            &mut ada,
            "create_project",
            json!({ "name": format!("Site {n}"), "template": "bare" }),
        )
        .await;
    }
    let params =
        json!({ "ref": template_reference(DESIGN), "argument": { "name": "projectId", "value": "" } });
    let answer = send_request(&mut ada, "completion/complete", params).await;
    let found = &answer["result"]["completion"];
    assert_eq!((found["values"].as_array().unwrap().len(), &found["hasMore"]), (100, &json!(true)));
    assert!(found.get("total").is_none(), "nobody has counted them: {found}");
    let project = &found["values"][0];
    let page =
        |n: usize| json!({ "type": "page", "props": { "title": format!("{n}"), "path": format!("/{n}") } });
    let pages: Vec<Value> = (0..101).map(page).collect();
    let pages = json!({ "projectId": project, "action": "create", "blocks": pages });
    super::call_ok(&mut ada, "edit_blocks", pages).await;
    let params = json!({ "ref": tool_reference("get_blocks"), "argument": { "name": "blockId", "value": "" }, "context": { "arguments": { "projectId": project } } });
    let answer = send_request(&mut ada, "completion/complete", params).await;
    let found = &answer["result"]["completion"];
    assert_eq!((found["values"].as_array().unwrap().len(), &found["hasMore"]), (100, &json!(true)));
}
