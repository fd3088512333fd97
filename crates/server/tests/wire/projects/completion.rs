//! What can be completed: ids, types and formats, in the arguments of tools and in templates.

use serde_json::{Value, json};

use super::{ADA, Site, app, ask, client};

fn tool(name: &str) -> Value {
    json!({ "type": "ref/tool", "name": name })
}

fn template(uri: &str) -> Value {
    json!({ "type": "ref/resource", "uri": uri })
}

const DESIGN: &str = "codefluss://design-system/{projectId}";
const EXPORT: &str = "codefluss://design-system/{projectId}/{format}";
const ASSET: &str = "codefluss://assets/{projectId}/{assetId}";
const FORMATS: [&str; 6] = ["css", "scss", "tailwind", "tailwind-v3", "json", "flat"];

#[tokio::test(start_paused = true)]
async fn ids_types_and_formats_are_completed() {
    let mut ada = client(&app(), ADA).await;
    let (first, site) = (Site::build(&mut ada).await, Site::build(&mut ada).await);
    let mut both = [first.project.as_str(), site.project.as_str()];
    both.sort_unstable();
    let Site { project, page, asset, .. } = &site;
    for (reference, argument, typed, expected) in [
        (tool("get_project"), "projectId", "", json!(both)),
        (tool("get_project"), "projectId", "proj_", json!(both)),
        (tool("get_project"), "projectId", project.as_str(), json!([project])),
        (tool("get_project"), "projectId", "x", json!([])),
        (tool("create_project"), "copyOf", project.as_str(), json!([project])),
        (tool("create_project"), "template", "", json!(["landing", "page", "empty", "bare"])),
        (tool("get_blocks"), "blockId", "", json!([page])),
        (tool("get_blocks"), "format", "h", json!(["html"])),
        (tool("edit_blocks"), "parentId", "blk_", json!([page])),
        (tool("edit_blocks"), "before", "blk_", json!([page])),
        (tool("edit_blocks"), "action", "", json!(["create", "update", "move", "copy", "delete"])),
        (tool("list_assets"), "assetId", "", json!([asset])),
        (tool("edit_asset"), "assetId", "asset_", json!([asset])),
        (tool("edit_block_type"), "name", "", json!(["badge", "stamp"])),
        (tool("list_block_types"), "names", "sta", json!(["stamp"])),
        (tool("list_block_types"), "names", "HE", json!(["hero", "heading"])),
        (tool("get_design_system"), "format", "", json!(FORMATS)),
        (tool("get_design_system"), "view", "c", json!(["contrast"])),
        (tool("get_design_system"), "mode", "", json!(["dark"])),
        (tool("edit_block_type"), "delete", "t", json!(["true"])),
        // Names are free, whatever block types there are.
        (tool("update_project"), "name", "", json!([])),
        (tool("edit_asset"), "name", "", json!([])),
        (template(DESIGN), "projectId", "", json!(both)),
        (template(EXPORT), "projectId", project.as_str(), json!([project])),
        (template(EXPORT), "format", "tail", json!(["tailwind", "tailwind-v3"])),
        (template(ASSET), "projectId", "proj_", json!(both)),
        (template(ASSET), "assetId", "", json!([asset])),
    ] {
        let context = json!({ "arguments": { "projectId": project } });
        let params =
            json!({ "ref": reference, "argument": { "name": argument, "value": typed }, "context": context });
        let answer = ask(&mut ada, "completion/complete", params).await;
        let found = &answer["result"]["completion"];
        assert_eq!(found["values"], expected, "{reference} {argument} {typed}: {answer}");
        assert_eq!(
            (&found["total"], &found["hasMore"]),
            (&json!(expected.as_array().unwrap().len()), &json!(false))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_project_only_what_needs_none_is_completed() {
    let mut ada = client(&app(), ADA).await;
    let site = Site::build(&mut ada).await;
    for (reference, argument, expected) in [
        (tool("list_assets"), "assetId", json!([])),
        (tool("get_blocks"), "blockId", json!([])),
        (template(ASSET), "assetId", json!([])),
        (tool("edit_block_type"), "name", json!([])),
        (template(EXPORT), "format", json!(FORMATS)),
        (tool("get_project"), "projectId", json!([site.project])),
    ] {
        let params = json!({ "ref": reference, "argument": { "name": argument, "value": "" } });
        let answer = ask(&mut ada, "completion/complete", params).await;
        assert_eq!(answer["result"]["completion"]["values"], expected, "{reference} {argument}");
    }
    let built_in = json!({ "ref": tool("list_block_types"), "argument": { "name": "names", "value": "co" } });
    let answer = ask(&mut ada, "completion/complete", built_in).await;
    assert_eq!(answer["result"]["completion"]["values"], json!(["columns", "column", "code"]));
}

#[tokio::test(start_paused = true)]
async fn what_there_is_not_is_named() {
    let mut ada = client(&app(), ADA).await;
    for (reference, argument, code, said) in [
        (tool("get_projects"), "projectId", -32602, "Unknown tool"),
        (tool("get_project"), "blockId", -32602, "has no argument `blockId`"),
        (template(DESIGN), "format", -32602, "has projectId"),
        (template(ASSET), "format", -32602, "has projectId, assetId"),
        (template("codefluss://nothing/{x}"), "x", -32002, "Resource not found"),
    ] {
        let params = json!({ "ref": reference, "argument": { "name": argument, "value": "" } });
        let answer = ask(&mut ada, "completion/complete", params).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(said), "{answer}");
    }
}

/// At most a hundred come back, and it is said that there are more.
#[tokio::test(start_paused = true)]
async fn a_crowd_is_cut_off() {
    let mut ada = client(&app(), ADA).await;
    for n in 0..105 {
        super::done(&mut ada, "create_project", json!({ "name": format!("Site {n}"), "template": "bare" }))
            .await;
    }
    let params = json!({ "ref": template(DESIGN), "argument": { "name": "projectId", "value": "" } });
    let answer = ask(&mut ada, "completion/complete", params).await;
    let found = &answer["result"]["completion"];
    assert_eq!((found["values"].as_array().unwrap().len(), &found["hasMore"]), (100, &json!(true)));
    assert!(found.get("total").is_none(), "nobody has counted them: {found}");
    let project = &found["values"][0];
    let page =
        |n: usize| json!({ "type": "page", "props": { "title": format!("{n}"), "path": format!("/{n}") } });
    let pages: Vec<Value> = (0..101).map(page).collect();
    let pages = json!({ "projectId": project, "action": "create", "blocks": pages });
    super::done(&mut ada, "edit_blocks", pages).await;
    let params = json!({ "ref": tool("get_blocks"), "argument": { "name": "blockId", "value": "" }, "context": { "arguments": { "projectId": project } } });
    let answer = ask(&mut ada, "completion/complete", params).await;
    let found = &answer["result"]["completion"];
    assert_eq!((found["values"].as_array().unwrap().len(), &found["hasMore"]), (100, &json!(true)));
}
