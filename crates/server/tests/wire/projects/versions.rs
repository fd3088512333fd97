//! Drafts and versions: what is published stays as it was, and can come back.

use serde_json::{Value, json};

use super::{ADA, SampleProject, app, call_ok, call_refused, client, member_strings, string_value};
use crate::harness::TestClient;

async fn publish(client: &mut TestClient, sample: &SampleProject, arguments: Value) -> Value {
    let mut arguments = arguments;
    arguments["projectId"] = json!(sample.project);
    call_ok(client, "publish_project", arguments).await
}

async fn get_project(client: &mut TestClient, sample: &SampleProject) -> Value {
    call_ok(client, "get_project", json!({ "projectId": sample.project })).await
}

async fn set_heading(client: &mut TestClient, sample: &SampleProject, words: &str) {
    let change = json!({ "projectId": sample.project, "action": "update", "blockId": sample.heading, "props": { "text": words } });
    call_ok(client, "edit_blocks", change).await;
}

async fn read_heading(client: &mut TestClient, sample: &SampleProject, version: Value) -> String {
    let block = json!({ "projectId": sample.project, "blockId": sample.heading, "version": version });
    string_value(&call_ok(client, "get_blocks", block).await["blocks"][0]["props"]["text"])
}

#[tokio::test(start_paused = true)]
async fn published_version_is_unchanged_by_draft_edits() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let state = get_project(&mut ada, &site).await;
    assert_eq!(
        (&state["status"], &state["publishedVersion"], &state["hasChanges"]),
        (&json!("published"), &json!(2), &json!(false))
    );
    set_heading(&mut ada, &site, "Borealis").await;
    assert_eq!(get_project(&mut ada, &site).await["hasChanges"], true);
    assert_eq!(read_heading(&mut ada, &site, Value::Null).await, "Borealis");
    assert_eq!(read_heading(&mut ada, &site, json!(2)).await, "Aurora");
    let made = publish(&mut ada, &site, json!({ "note": "The third." })).await;
    assert_eq!((&made["version"]["version"], &made["publishedVersion"]), (&json!(3), &json!(3)), "{made}");
    assert_eq!((&made["version"]["note"], &made["version"]["blocks"]), (&json!("The third."), &json!(5)));
    let back = publish(&mut ada, &site, json!({ "action": "restore", "version": 1 })).await;
    assert_eq!(back["publishedVersion"], 3, "what is published stays so");
    assert_eq!(read_heading(&mut ada, &site, Value::Null).await, "Aurora");
    assert_eq!(read_heading(&mut ada, &site, json!(3)).await, "Borealis");
    let after = publish(&mut ada, &site, json!({ "action": "unpublish" })).await;
    assert!(after.get("publishedVersion").is_none(), "{after}");
    assert_eq!(get_project(&mut ada, &site).await["status"], "draft");
}

#[tokio::test(start_paused = true)]
async fn versions_are_listed_newest_first_and_numbers_are_not_reused() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    for note in ["three", "four"] {
        publish(&mut ada, &site, json!({ "note": note })).await;
    }
    let gone = publish(&mut ada, &site, json!({ "action": "delete", "version": 3 })).await;
    assert_eq!((&gone["version"]["version"], &gone["publishedVersion"]), (&json!(3), &json!(4)));
    let no = call_refused(
        &mut ada,
        "publish_project",
        json!({ "projectId": site.project, "action": "delete", "version": 4 }),
    )
    .await;
    assert_eq!((no.kind.as_str(), &no.details["version"]), ("published", &json!(4)), "{no:?}");
    publish(&mut ada, &site, json!({ "action": "unpublish" })).await;
    publish(&mut ada, &site, json!({ "action": "delete", "version": 4 })).await;
    let made = publish(&mut ada, &site, json!({})).await;
    assert_eq!(made["version"]["version"], 5);
    let first = call_ok(&mut ada, "list_versions", json!({ "projectId": site.project, "limit": 2 })).await;
    let rest = json!({ "projectId": site.project, "limit": 2, "cursor": first["nextCursor"] });
    let rest = call_ok(&mut ada, "list_versions", rest).await;
    let numbers = |list: &Value| -> Vec<u64> {
        list["versions"].as_array().unwrap().iter().map(|one| one["version"].as_u64().unwrap()).collect()
    };
    assert_eq!((numbers(&first), numbers(&rest)), (vec![5, 2], vec![1]));
    assert!(rest.get("nextCursor").is_none(), "{rest}");
    for (tool, arguments) in [
        ("publish_project", json!({ "action": "restore", "version": 3 })),
        ("publish_project", json!({ "action": "delete", "version": 9 })),
        ("list_versions", json!({ "from": 3 })),
        ("list_versions", json!({ "from": 1, "to": 4 })),
        ("get_blocks", json!({ "version": 3 })),
        ("get_design_system", json!({ "version": 0 })),
    ] {
        let mut arguments = arguments;
        arguments["projectId"] = json!(site.project);
        let no = call_refused(&mut ada, tool, arguments.clone()).await;
        assert_eq!(
            (no.kind.as_str(), &no.details["resource"]),
            ("not_found", &json!("version")),
            "{arguments}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_publish_arguments_are_rejected() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    for (tool, arguments) in [
        ("publish_project", json!({ "action": "restore" })),
        ("publish_project", json!({ "action": "delete" })),
        ("publish_project", json!({ "action": "publish", "version": 1 })),
        ("publish_project", json!({ "action": "unpublish", "version": 1 })),
        ("publish_project", json!({ "action": "forget" })),
        ("list_versions", json!({ "to": 1 })),
        ("list_versions", json!({ "from": -1 })),
    ] {
        let mut arguments = arguments;
        arguments["projectId"] = json!(site.project);
        let no = call_refused(&mut ada, tool, arguments.clone()).await;
        assert_eq!(no.kind, "invalid_argument", "{tool} {arguments}: {no:?}");
    }
}

/// Everything that came, went, changed and moved, between two versions or up to the draft.
#[tokio::test(start_paused = true)]
async fn differences_report_every_change() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let SampleProject { project, page, section, heading, image, asset } = &site;
    let same = call_ok(&mut ada, "list_versions", json!({ "projectId": project, "from": 1, "to": 2 })).await;
    assert_eq!(same["differences"]["same"], true, "{same}");
    for (tool, arguments) in [
        ("update_project", json!({ "name": "Borealis" })),
        ("edit_block_type", json!({ "name": "stamp", "delete": true })),
        ("edit_block_type", json!({ "name": "ribbon", "schema": { "type": "object" } })),
        ("edit_block_type", json!({ "name": "badge", "schema": { "type": "object" } })),
        ("edit_blocks", json!({ "action": "update", "blockId": heading, "props": { "text": "Borealis" } })),
        ("edit_blocks", json!({ "action": "move", "blockId": heading, "parentId": page })),
        ("edit_blocks", json!({ "action": "create", "parentId": page, "blocks": [{ "type": "divider" }] })),
        ("edit_blocks", json!({ "action": "delete", "blockId": image })),
        ("edit_asset", json!({ "action": "update", "assetId": asset, "alt": "Borealis" })),
        (
            "edit_design_system",
            json!({ "changes": [
            { "op": "set", "path": "color.brand", "value": "#0a7b66" },
            { "op": "set", "path": "space.4", "value": { "value": 2, "unit": "rem" } },
            { "op": "rename", "path": "palette.teal", "to": "palette.sea" },
            { "op": "delete", "path": "motion", "force": true },
        ] }),
        ),
    ] {
        let mut arguments = arguments;
        arguments["projectId"] = json!(project);
        call_ok(&mut ada, tool, arguments).await;
    }
    publish(&mut ada, &site, json!({})).await;
    for arguments in [json!({ "from": 1 }), json!({ "from": 1, "to": 3 })] {
        let mut arguments = arguments;
        arguments["projectId"] = json!(project);
        let found = call_ok(&mut ada, "list_versions", arguments).await["differences"].take();
        assert_eq!(found["same"], false);
        assert_eq!(found["fields"], json!([{ "field": "name", "before": "Aurora", "after": "Borealis" }]));
        assert_eq!(
            found["blockTypes"],
            json!({ "added": ["ribbon"], "removed": ["stamp"], "changed": ["badge"] })
        );
        assert_eq!(member_strings(&found["blocks"]["added"], "type"), ["divider"]);
        assert_eq!(member_strings(&found["blocks"]["removed"], "id"), [image]);
        assert_eq!(
            found["blocks"]["changed"],
            json!([{ "id": heading, "before": { "text": "Aurora" }, "after": { "text": "Borealis" } }])
        );
        assert_eq!(found["blocks"]["moved"], json!([{ "id": heading, "from": section, "to": page }]));
        assert_eq!(found["assets"], json!({ "added": [], "removed": [], "changed": [asset] }));
        let tokens = &found["tokens"];
        assert_eq!(member_strings(&tokens["added"], "path"), ["color.brand"], "{tokens}");
        let removed = member_strings(&tokens["removed"], "path");
        assert!(!removed.is_empty() && removed.iter().all(|path| path.starts_with("motion.")), "{tokens}");
        assert_eq!(tokens["changed"][0]["after"]["path"], "space.4", "{tokens}");
        assert_eq!(
            tokens["renamed"][0],
            json!({ "from": "palette.teal.200", "to": "palette.sea.200" }),
            "{tokens}"
        );
    }
}

/// A draft may hold what does not fit any more; publishing tells all of it, with the blocks it is about.
#[tokio::test(start_paused = true)]
async fn invalid_draft_is_not_published() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let SampleProject { project, image, asset, .. } = &site;
    let strict = json!({ "type": "object", "required": ["colour"] });
    call_ok(&mut ada, "edit_block_type", json!({ "projectId": project, "name": "badge", "schema": strict }))
        .await;
    call_ok(
        &mut ada,
        "edit_asset",
        json!({ "projectId": project, "action": "delete", "assetId": asset, "force": true }),
    )
    .await;
    for dry_run in [true, false] {
        let no =
            call_refused(&mut ada, "publish_project", json!({ "projectId": project, "dryRun": dry_run }))
                .await;
        assert_eq!(
            (no.kind.as_str(), member_strings(&no.details["errors"], "path")),
            ("invalid", vec!["/props", "/props/src"]),
            "{no:?}"
        );
        assert_eq!(no.details["errors"][1]["blockId"], json!(image));
        assert!(no.text.contains("colour") && no.text.contains("` not found; upload it"), "{}", no.text);
    }
    let list = call_ok(&mut ada, "list_versions", json!({ "projectId": project })).await;
    assert_eq!(list["versions"].as_array().unwrap().len(), 2);
    // The version still has what the draft has lost, and brings it back.
    call_ok(&mut ada, "publish_project", json!({ "projectId": project, "action": "restore", "version": 2 }))
        .await;
    call_ok(&mut ada, "publish_project", json!({ "projectId": project })).await;
}

/// A level that is too wide for one answer is read page by page, of a version as of the draft.
#[tokio::test(start_paused = true)]
async fn version_blocks_are_paginated() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let dividers = json!(vec![json!({ "type": "divider" }); 700]);
    let wide =
        json!({ "projectId": site.project, "action": "create", "parentId": site.page, "blocks": dividers });
    call_ok(&mut ada, "edit_blocks", wide).await;
    let whole = json!({ "projectId": site.project, "blockId": site.page, "limit": 500 });
    let draft = call_ok(&mut ada, "get_blocks", whole.clone()).await;
    publish(&mut ada, &site, json!({})).await;
    set_heading(&mut ada, &site, "Borealis").await;
    call_ok(
        &mut ada,
        "edit_blocks",
        json!({ "projectId": site.project, "action": "delete", "blockId": site.section }),
    )
    .await;
    let of = |cursor: &Value| {
        let mut page = whole.clone();
        (page["version"], page["cursor"]) = (json!(3), cursor.clone());
        page
    };
    let first = call_ok(&mut ada, "get_blocks", of(&Value::Null)).await;
    assert_eq!(first["blocks"], draft["blocks"]);
    let rest = call_ok(&mut ada, "get_blocks", of(&first["nextCursor"])).await;
    assert_eq!((rest["blocks"].as_array().unwrap().len(), rest.get("nextCursor")), (202, None));
    // A place in the draft is none in a version.
    assert_eq!(call_refused(&mut ada, "get_blocks", of(&draft["nextCursor"])).await.kind, "invalid");
    let pages = json!({ "projectId": site.project, "version": 1, "limit": 1 });
    let pages = call_ok(&mut ada, "get_blocks", pages).await;
    assert_eq!(
        (member_strings(&pages["blocks"], "id"), &pages["blocks"][0]["more"]),
        (vec![&*site.page], &json!(2))
    );
    let absent = json!({ "projectId": site.project, "version": 1, "limit": 1, "blockId": "blk_none" });
    assert_eq!(call_refused(&mut ada, "get_blocks", absent).await.kind, "not_found");
}

/// A page shows without its design system, so a broken one is published, and told.
#[tokio::test(start_paused = true)]
async fn broken_design_system_is_published_with_findings() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let fine = publish(&mut ada, &site, json!({ "dryRun": true })).await;
    assert!(fine.get("findings").is_none(), "{fine}");
    let broken = "{\"a\":{\"$type\":\"color\",\"$value\":\"{gone}\"}}";
    let import = json!({ "projectId": site.project, "changes": [{ "op": "import_dtcg", "source": broken }] });
    call_ok(&mut ada, "edit_design_system", import).await;
    for dry_run in [true, false] {
        let made = publish(&mut ada, &site, json!({ "dryRun": dry_run })).await;
        assert_eq!(made["publishedVersion"], 3, "{made}");
        assert_eq!(
            (member_strings(&made["findings"], "path"), member_strings(&made["findings"], "severity")),
            (vec!["a"], vec!["error"]),
            "{made}"
        );
    }
    let back = publish(&mut ada, &site, json!({ "action": "unpublish" })).await;
    assert!(back.get("findings").is_none(), "{back}");
}

/// The first two hundred of each kind, and how many more there are.
#[tokio::test(start_paused = true)]
async fn long_difference_lists_are_truncated() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let dividers = json!(vec![json!({ "type": "divider" }); 250]);
    let wide =
        json!({ "projectId": site.project, "action": "create", "parentId": site.page, "blocks": dividers });
    call_ok(&mut ada, "edit_blocks", wide).await;
    let set = |n: usize| json!({ "op": "set", "path": format!("many.n{n}"), "type": "number", "value": n });
    let changes: Vec<Value> = (0..230).map(set).collect();
    let made =
        call_ok(&mut ada, "edit_design_system", json!({ "projectId": site.project, "changes": changes }))
            .await;
    assert_eq!((made["touched"].as_array().unwrap().len(), &made["moreTouched"]), (200, &json!(30)));
    let found = call_ok(&mut ada, "list_versions", json!({ "projectId": site.project, "from": 2 })).await;
    let (blocks, tokens) = (&found["differences"]["blocks"], &found["differences"]["tokens"]);
    assert_eq!((blocks["added"].as_array().unwrap().len(), &blocks["moreAdded"]), (200, &json!(50)));
    assert_eq!((tokens["added"].as_array().unwrap().len(), &tokens["moreAdded"]), (200, &json!(30)));
    assert!(blocks.get("moreRemoved").is_none() && made.get("moreFindings").is_none(), "{blocks}");
}
