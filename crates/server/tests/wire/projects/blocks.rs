//! Pages and blocks: a tree that can be read in parts, changed in place, and never becomes anything but a
//! tree.

use serde_json::{Value, json};

use super::{ADA, SampleProject, app, call_ok, call_refused, client, member_strings, string_value};
use crate::harness::TestClient;

/// A call about the blocks of a site.
async fn edit_blocks(client: &mut TestClient, sample: &SampleProject, arguments: Value) -> Value {
    call_ok(client, "edit_blocks", with_project_id(sample, arguments)).await
}

async fn get_blocks(client: &mut TestClient, sample: &SampleProject, arguments: Value) -> Value {
    call_ok(client, "get_blocks", with_project_id(sample, arguments)).await
}

fn with_project_id(sample: &SampleProject, mut arguments: Value) -> Value {
    arguments["projectId"] = json!(sample.project);
    arguments
}

/// Five headings in the section, named by a letter each; gives their ids.
async fn create_lettered_headings(client: &mut TestClient, sample: &SampleProject) -> Vec<String> {
    let blocks: Vec<Value> = ["a", "b", "c", "d", "e"]
        .iter()
        .map(|decoded| json!({ "type": "heading", "props": { "text": decoded } }))
        .collect();
    let section = json!([{ "type": "section", "children": blocks }]);
    let made = edit_blocks(
        client,
        sample,
        json!({ "action": "create", "parentId": sample.page, "blocks": section }),
    )
    .await;
    member_strings(&made["blocks"], "id").into_iter().map(str::to_owned).collect()
}

/// What the headings inside of a block say, in order.
async fn heading_order(client: &mut TestClient, sample: &SampleProject, parent: &str) -> String {
    let tree = get_blocks(client, sample, json!({ "blockId": parent, "depth": 2 })).await;
    let words = tree["blocks"][0]["children"].as_array().into_iter().flatten();
    words.map(|block| block["props"]["text"].as_str().unwrap_or("?")).collect()
}

#[tokio::test(start_paused = true)]
async fn tree_is_read_to_the_requested_depth() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let pages = get_blocks(&mut ada, &site, json!({ "depth": 1 })).await;
    assert_eq!(pages["revision"], SampleProject::REVISION);
    let page =
        json!({ "id": site.page, "type": "page", "props": { "title": "Aurora", "path": "/" }, "more": 2 });
    assert_eq!(pages["blocks"], json!([page]));
    let two = get_blocks(&mut ada, &site, json!({ "depth": 2 })).await;
    let inside = &two["blocks"][0]["children"];
    assert_eq!(member_strings(inside, "id"), [&site.section, &site.image]);
    assert_eq!((&inside[0]["more"], &inside[0]["parentId"]), (&json!(2), &json!(site.page)));
    assert!(two["blocks"][0].get("more").is_none(), "{two}");
    let usual = get_blocks(&mut ada, &site, json!({})).await;
    assert_eq!(member_strings(&usual["blocks"][0]["children"][0]["children"], "type"), ["heading", "badge"]);
    let one =
        get_blocks(&mut ada, &site, json!({ "blockId": site.section, "fields": ["props.title", "type"] }))
            .await;
    let names: Vec<&String> = one["blocks"][0].as_object().unwrap().keys().collect();
    assert_eq!(names, ["children", "id", "props", "type"], "{one}");
    // Whoever wants to see little still sees where it was cut.
    let cut = get_blocks(&mut ada, &site, json!({ "depth": 1, "fields": ["type"] })).await;
    assert_eq!(cut["blocks"], json!([{ "id": site.page, "type": "page", "more": 2 }]));
    for field in ["type.x", "props.", "props..title", "children.id"] {
        let no =
            call_refused(&mut ada, "get_blocks", with_project_id(&site, json!({ "fields": [field] }))).await;
        assert!(no.kind == "invalid" && no.text.contains("/fields/0: is not a field"), "{field}: {no:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn children_are_paginated() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let ids = create_lettered_headings(&mut ada, &site).await;
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    for expected in [2, 2, 1] {
        let wanted = json!({ "blockId": ids[0], "limit": 2, "cursor": cursor, "fields": ["props"] });
        let found = get_blocks(&mut ada, &site, wanted).await;
        assert_eq!(found["blocks"].as_array().unwrap().len(), expected);
        seen.extend(
            found["blocks"].as_array().unwrap().iter().map(|block| string_value(&block["props"]["text"])),
        );
        cursor = found["nextCursor"].clone();
        // What is written in between moves nobody else's place.
        edit_blocks(
            &mut ada,
            &site,
            json!({ "action": "update", "blockId": ids[1], "props": { "level": 3 } }),
        )
        .await;
    }
    assert_eq!((seen.concat().as_str(), cursor), ("abcde", Value::Null));
    let pages = get_blocks(&mut ada, &site, json!({ "limit": 5 })).await;
    assert_eq!(
        (member_strings(&pages["blocks"], "id"), &pages["blocks"][0]["more"]),
        (vec![site.page.as_str()], &json!(3))
    );
}

#[tokio::test(start_paused = true)]
async fn props_are_updated_by_merge_patch() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    for (patch, expected) in [
        (
            json!({ "description": "About", "meta": { "a": "1", "b": "2" } }),
            json!({ "title": "Aurora", "path": "/", "description": "About", "meta": { "a": "1", "b": "2" } }),
        ),
        (
            json!({ "meta": { "a": null, "c": "3" } }),
            json!({ "title": "Aurora", "path": "/", "description": "About", "meta": { "b": "2", "c": "3" } }),
        ),
        (
            json!({ "description": null, "meta": null, "path": "/start" }),
            json!({ "title": "Aurora", "path": "/start" }),
        ),
        (json!({}), json!({ "title": "Aurora", "path": "/start" })),
    ] {
        let changed =
            edit_blocks(&mut ada, &site, json!({ "action": "update", "blockId": site.page, "props": patch }))
                .await;
        assert_eq!(changed["blocks"][0]["props"], expected, "{patch}");
        let read = get_blocks(&mut ada, &site, json!({ "blockId": site.page, "depth": 1 })).await;
        assert_eq!((&read["blocks"][0]["props"], &read["revision"]), (&expected, &changed["revision"]));
    }
    let wrong = json!({ "action": "update", "blockId": site.page, "props": { "title": null, "colour": "red", "hidden": "no" } });
    let no = call_refused(&mut ada, "edit_blocks", with_project_id(&site, wrong)).await;
    let mut paths = member_strings(&no.details["errors"], "path");
    paths.sort_unstable();
    assert_eq!((no.kind.as_str(), paths), ("invalid", vec!["/props", "/props", "/props/hidden"]), "{no:?}");
    assert!(no.text.contains("title") && no.text.contains("colour"), "{}", no.text);
}

/// Each from the order a b c d e, inside of one section.
#[tokio::test(start_paused = true)]
async fn blocks_move_to_the_requested_position() {
    let app = app();
    for (moved, place, expected) in [
        ("a", json!({ "before": "d" }), "bcade"),
        ("e", json!({ "before": "a" }), "eabcd"),
        ("a", json!({ "after": "e" }), "bcdea"),
        ("d", json!({ "after": "a" }), "adbce"),
        ("c", json!({ "parentId": "section" }), "abdec"),
        ("c", json!({ "parentId": "section", "index": 0 }), "cabde"),
        ("c", json!({ "parentId": "section", "index": 2 }), "abcde"),
        ("c", json!({ "parentId": "section", "index": 3 }), "abdce"),
        ("c", json!({ "parentId": "section", "index": 99 }), "abdec"),
    ] {
        let mut client = client(&app, &format!("{moved} {place}")).await;
        let site = SampleProject::build(&mut client).await;
        let ids = create_lettered_headings(&mut client, &site).await;
        let id = |name: &str| "abcde".find(name).map_or(&ids[0], |at| &ids[at + 1]);
        let mut arguments = json!({ "action": "move", "blockId": id(moved) });
        for (name, value) in place.as_object().unwrap() {
            arguments[name] = value.as_str().map_or_else(|| value.clone(), |name| json!(id(name)));
        }
        edit_blocks(&mut client, &site, arguments).await;
        assert_eq!(heading_order(&mut client, &site, &ids[0]).await, expected, "{moved} {place}");
    }
}

#[tokio::test(start_paused = true)]
async fn copy_gets_new_ids_and_a_new_page_path() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let ids = create_lettered_headings(&mut ada, &site).await;
    let made = edit_blocks(
        &mut ada,
        &site,
        json!({ "action": "copy", "blockId": ids[0], "parentId": ids[0], "index": 2 }),
    )
    .await;
    let copies = member_strings(&made["blocks"], "id");
    assert!(copies.len() == 6 && copies.iter().all(|copy| !ids.contains(&(*copy).to_owned())), "{made}");
    assert_eq!(heading_order(&mut ada, &site, &ids[0]).await, "ab?cde");
    assert_eq!(heading_order(&mut ada, &site, copies[0]).await, "abcde");
    let page = edit_blocks(&mut ada, &site, json!({ "action": "copy", "blockId": site.page })).await;
    let copy = get_blocks(&mut ada, &site, json!({ "blockId": page["blocks"][0]["id"], "depth": 1 })).await;
    let path = string_value(&copy["blocks"][0]["props"]["path"]);
    assert!(path.starts_with("/copy-"), "{path}");
    let gone =
        edit_blocks(&mut ada, &site, json!({ "action": "delete", "blockId": page["blocks"][0]["id"] })).await;
    assert_eq!(
        (&gone["deleted"], &gone["blocks"]),
        (&json!(page["blocks"].as_array().unwrap().len()), &json!([]))
    );
}

/// Nothing of this is done, and the tree stays as it was.
#[tokio::test(start_paused = true)]
async fn invalid_tree_edits_are_rejected() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let SampleProject { page, section, heading, image, .. } = &site;
    let before = site.snapshot(&mut ada).await;
    let divider = json!([{ "type": "divider" }]);
    for (arguments, kind, said) in [
        (json!({ "action": "move", "blockId": section, "parentId": section }), "invalid", "into itself"),
        (json!({ "action": "move", "blockId": page, "parentId": section }), "invalid", "into itself"),
        (json!({ "action": "move", "blockId": section, "before": heading }), "invalid", "into itself"),
        (json!({ "action": "move", "blockId": heading, "after": heading }), "invalid", "next to itself"),
        (json!({ "action": "move", "blockId": heading, "index": 0 }), "invalid", "only a `page` can"),
        (
            json!({ "action": "move", "blockId": heading, "parentId": image }),
            "invalid",
            "a `image` cannot contain blocks",
        ),
        (json!({ "action": "create", "blocks": divider }), "invalid", "only a `page` can"),
        (
            json!({ "action": "create", "parentId": page, "blocks": [{ "type": "column" }] }),
            "invalid",
            "it belongs in `columns`",
        ),
        (
            json!({ "action": "create", "blocks": [{ "type": "page", "props": { "title": "B", "path": "/" } }] }),
            "invalid",
            "another page has the path `/`",
        ),
        (
            json!({ "action": "create", "parentId": "blk_none", "blocks": divider }),
            "not_found",
            "block `blk_none` not found",
        ),
        (
            json!({ "action": "update", "blockId": "blk_none", "props": {} }),
            "not_found",
            "block `blk_none` not found",
        ),
        (json!({ "action": "delete", "blockId": "../" }), "not_found", "block `../` not found"),
        (
            json!({ "action": "update", "blockId": page, "blocks": divider, "props": {} }),
            "invalid_argument",
            "`blocks`: does not apply to this action",
        ),
        (json!({ "action": "update", "blockId": page }), "invalid_argument", "`props`: is required"),
        (json!({ "action": "create" }), "invalid_argument", "`blocks`: is required"),
        (json!({ "action": "move", "blockId": heading }), "invalid_argument", "pass a destination"),
        (json!({ "action": "move", "parentId": page }), "invalid_argument", "`blockId`: is required"),
        (
            json!({ "action": "delete", "blockId": heading, "index": 1 }),
            "invalid_argument",
            "`index`: does not apply to this action",
        ),
        (
            json!({ "action": "move", "blockId": heading, "before": image, "parentId": page }),
            "invalid_argument",
            "pass only one place",
        ),
        (json!({ "action": "move", "blockId": heading, "index": -1 }), "invalid_argument", "index"),
        (json!({ "action": "turn", "blockId": heading }), "invalid_argument", "action"),
        (
            json!({ "action": "create", "parentId": page, "blocks": ["divider"] }),
            "invalid_argument",
            "blocks.0",
        ),
    ] {
        let no = call_refused(&mut ada, "edit_blocks", with_project_id(&site, arguments.clone())).await;
        assert_eq!(no.kind, kind, "{arguments}: {no:?}");
        assert!(no.text.contains(said), "{arguments}: {}", no.text);
    }
    assert_eq!(site.snapshot(&mut ada).await, before);
}

#[tokio::test(start_paused = true)]
async fn all_errors_of_a_subtree_are_reported_with_pointers() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let before = site.snapshot(&mut ada).await;
    let blocks = json!([
        { "type": "section", "children": [{ "type": "nope" }, { "type": "heading", "props": { "level": 9 } }] },
        { "type": "image", "props": { "src": "asset:gone" } },
        { "type": "button", "props": { "label": "x", "href": "javascript:alert(1)" } },
        { "type": "badge", "props": { "label": 7 } },
        { "type": "text", "props": { "text": "fine" } },
    ]);
    let wrong = json!({ "action": "create", "parentId": site.page, "blocks": blocks });
    let no = call_refused(&mut ada, "edit_blocks", with_project_id(&site, wrong)).await;
    let expected = [
        "/blocks/0/children/0/type",
        "/blocks/0/children/1/props",
        "/blocks/0/children/1/props/level",
        "/blocks/1/props/src",
        "/blocks/2/props/href",
        "/blocks/3/props/label",
    ];
    assert_eq!(
        (no.kind.as_str(), member_strings(&no.details["errors"], "path")),
        ("invalid", expected.to_vec())
    );
    assert!(expected.iter().all(|path| no.text.contains(path)), "{}", no.text);
    let shape = json!({ "action": "create", "parentId": site.page, "blocks": [{ "kind": "text" }, { "type": "text", "props": [], "children": 1 }] });
    let no = call_refused(&mut ada, "edit_blocks", with_project_id(&site, shape)).await;
    assert_eq!(
        member_strings(&no.details["errors"], "path"),
        ["/blocks/0/kind", "/blocks/0", "/blocks/1/children", "/blocks/1/props"]
    );
    assert_eq!(site.snapshot(&mut ada).await, before);
}

#[tokio::test(start_paused = true)]
async fn custom_block_types_are_validated() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let builtin = call_ok(&mut ada, "list_block_types", json!({})).await;
    assert!(builtin["types"].as_array().unwrap().len() >= 12, "{builtin}");
    let all = call_ok(&mut ada, "list_block_types", with_project_id(&site, json!({}))).await;
    let own: Vec<_> = all["types"].as_array().unwrap().iter().filter(|one| one["builtIn"] == false).collect();
    assert_eq!(own.iter().map(|one| one["name"].as_str().unwrap()).collect::<Vec<_>>(), ["badge", "stamp"]);
    let price = json!({ "type": "object", "required": ["amount"], "properties": { "amount": { "type": "number", "minimum": 0 } } });
    let define = json!({ "name": "price", "schema": price, "description": "A price.", "children": ["text"] });
    call_ok(&mut ada, "edit_block_type", with_project_id(&site, define)).await;
    let shown =
        call_ok(&mut ada, "list_block_types", with_project_id(&site, json!({ "names": ["price", "text"] })))
            .await;
    assert_eq!((&shown["types"][0]["schema"], &shown["types"][0]["children"]), (&price, &json!(["text"])));
    assert!(shown["types"][1]["schema"].is_object() && shown["types"][1]["builtIn"] == true, "{shown}");
    let put = |children: Value| json!({ "action": "create", "parentId": site.page, "blocks": [{ "type": "price", "props": { "amount": 4 }, "children": children }] });
    let no =
        call_refused(&mut ada, "edit_blocks", with_project_id(&site, put(json!([{ "type": "divider" }]))))
            .await;
    assert_eq!(member_strings(&no.details["errors"], "path"), ["/blocks/0/children/0/type"]);
    let made =
        edit_blocks(&mut ada, &site, put(json!([{ "type": "text", "props": { "text": "each" } }]))).await;
    let html =
        get_blocks(&mut ada, &site, json!({ "blockId": made["blocks"][0]["id"], "format": "html" })).await;
    assert!(string_value(&html["html"]).contains("each"), "{html}");
    let no = call_refused(
        &mut ada,
        "edit_block_type",
        with_project_id(&site, json!({ "name": "price", "delete": true })),
    )
    .await;
    assert_eq!((no.kind.as_str(), &no.details["usedBy"]), ("in_use", &json!([made["blocks"][0]["id"]])));
    for (arguments, kind, said) in [
        (json!({ "name": "text", "schema": {} }), "invalid", "built-in"),
        (json!({ "name": "Price!", "schema": {} }), "invalid", "/name"),
        (json!({ "name": "loop", "schema": { "$ref": "#" } }), "invalid", "$ref"),
        (json!({ "name": "odd", "schema": { "type": "elephant" } }), "invalid", "not a valid JSON Schema"),
        (json!({ "name": "odd", "schema": { "pattern": "(" } }), "invalid", "not a valid JSON Schema"),
        (json!({ "name": "odd" }), "invalid_argument", "`schema`: is required"),
        (
            json!({ "name": "odd", "schema": {}, "delete": true }),
            "invalid_argument",
            "`schema`: does not apply to this deletion",
        ),
        (
            json!({ "name": "badge", "description": "x", "children": [], "delete": true }),
            "invalid_argument",
            "`description`: does not apply to this deletion; leave it out; `children` does not apply to this deletion",
        ),
        (json!({ "name": "odd", "delete": true }), "not_found", "block type `odd` not found"),
    ] {
        let no = call_refused(&mut ada, "edit_block_type", with_project_id(&site, arguments.clone())).await;
        assert!(no.kind == kind && no.text.contains(said), "{arguments}: {no:?}");
    }
    let no =
        call_refused(&mut ada, "list_block_types", with_project_id(&site, json!({ "names": ["odd"] }))).await;
    assert_eq!(no.kind, "not_found");
}

#[tokio::test(start_paused = true)]
async fn html_escapes_block_content() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let script = "<script>alert('x')</script>";
    let blocks = json!([
        { "type": "heading", "props": { "text": script } },
        { "type": "text", "props": { "format": "markdown", "text": format!("**bold** {script} [x](javascript:alert(1)) ![y](data:text/html,x)") } },
        { "type": "badge", "props": { "label": format!("\"{script}") } },
        { "type": "button", "props": { "label": "Go", "href": "https://example.com/?a=\"b\"&c" } },
    ]);
    let refused_href = call_refused(
        &mut ada,
        "edit_blocks",
        with_project_id(&site, json!({ "action": "create", "parentId": site.page, "blocks": blocks })),
    )
    .await;
    assert_eq!(member_strings(&refused_href.details["errors"], "path"), ["/blocks/3/props/href"]);
    // What is wrong with a place is told of the argument that named it.
    for (place, path) in [
        (json!({ "parentId": site.section }), "/parentId"),
        (json!({ "before": site.page }), "/before"),
        (json!({ "index": 0 }), "/index"),
    ] {
        let mut into_itself = place.clone();
        (into_itself["action"], into_itself["blockId"]) = (json!("move"), json!(site.section));
        let no = call_refused(&mut ada, "edit_blocks", with_project_id(&site, into_itself)).await;
        assert_eq!(member_strings(&no.details["errors"], "path"), [path], "{place}");
    }
    let mut blocks = blocks;
    blocks[3]["props"]["href"] = json!("https://example.com/?a=b&c");
    edit_blocks(&mut ada, &site, json!({ "action": "create", "parentId": site.page, "blocks": blocks }))
        .await;
    edit_blocks(&mut ada, &site, json!({ "action": "update", "blockId": site.page, "props": { "title": format!("</title>{script}"), "description": "\"><img src=x>" } })).await;
    let html = string_value(&get_blocks(&mut ada, &site, json!({ "format": "html" })).await["html"]);
    assert!(
        html.starts_with("<!doctype html>\n<html lang=\"en\">") && html.contains("--color-text-primary"),
        "{html}"
    );
    for word in ["<script", "<img src=x", "javascript:", "data:text", "\"<"] {
        assert!(!html.contains(word), "{word} in {html}");
    }
    for word in ["&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;", "<strong>bold</strong>", "?a=b&amp;c"] {
        assert!(html.contains(word), "{word} in {html}");
    }
    // A picture is shown by the name that blocks have for it, with its own words.
    assert!(html.contains(&format!("src=\"asset:{}\" alt=\"Aurora\"", site.asset)), "{html}");
    let part = string_value(
        &get_blocks(&mut ada, &site, json!({ "blockId": site.section, "format": "html" })).await["html"],
    );
    assert!(part.starts_with("<section class=\"b-section\">") && !part.contains("<html"), "{part}");
}
