//! Assets: files that are what they say they are.

use serde_json::{Value, json};

use super::{
    ADA, SVG, SampleProject, app, base64, call_ok, call_refused, client, member_strings, read_resource,
    string_value,
};
use crate::harness::TestClient;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and more";

fn with_project_id(sample: &SampleProject, mut arguments: Value) -> Value {
    arguments["projectId"] = json!(sample.project);
    arguments
}

async fn edit_asset(client: &mut TestClient, sample: &SampleProject, arguments: Value) -> Value {
    call_ok(client, "edit_asset", with_project_id(sample, arguments)).await
}

#[tokio::test(start_paused = true)]
async fn uploaded_asset_is_readable_as_bytes() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let put = json!({ "action": "put", "name": "dot.png", "alt": "A dot", "content": base64(PNG) });
    let asset = edit_asset(&mut ada, &site, put).await["asset"].take();
    assert_eq!(
        (&asset["contentType"], &asset["bytes"], &asset["name"]),
        (&json!("image/png"), &json!(PNG.len()), &json!("dot.png"))
    );
    assert_eq!(asset["digest"], "d11b87214205af8d55504b3acbd1b8d23306fe8fb9c6202160cc7b797a7c9980");
    let held = read_resource(&mut ada, asset["uri"].as_str().unwrap()).await;
    assert_eq!(held, json!({ "uri": asset["uri"], "mimeType": "image/png", "blob": base64(PNG) }));
    let again = json!({ "action": "put", "assetId": asset["id"], "name": "dot.txt", "content": base64("now a text") });
    let replaced = edit_asset(&mut ada, &site, again).await["asset"].take();
    assert_eq!(
        (&replaced["id"], &replaced["contentType"], &replaced["alt"]),
        (&asset["id"], &json!("text/plain"), &json!("A dot"))
    );
    let held = read_resource(&mut ada, asset["uri"].as_str().unwrap()).await;
    assert_eq!((&held["mimeType"], &held["blob"]), (&json!("text/plain"), &json!(base64("now a text"))));
    let described =
        edit_asset(&mut ada, &site, json!({ "action": "update", "assetId": asset["id"], "alt": "Words" }))
            .await;
    assert_eq!(
        (&described["asset"]["alt"], &described["asset"]["digest"]),
        (&json!("Words"), &replaced["digest"])
    );
    let list =
        call_ok(&mut ada, "list_assets", with_project_id(&site, json!({ "fields": ["name", "alt"] }))).await;
    let mut names = member_strings(&list["assets"], "name");
    names.sort_unstable();
    assert_eq!(names, ["Aurora.svg", "dot.txt"]);
    assert!(list["assets"][1].get("digest").is_none(), "{list}");
}

#[tokio::test(start_paused = true)]
async fn large_asset_is_uploaded_by_appending() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let part = "x".repeat(2_500_000);
    let first =
        edit_asset(&mut ada, &site, json!({ "action": "put", "name": "long.txt", "content": base64(&part) }))
            .await;
    let id = string_value(&first["asset"]["id"]);
    let append =
        |content: &str| json!({ "action": "put", "assetId": id, "append": true, "content": base64(content) });
    for parts in 2..=4_u32 {
        let grown = edit_asset(&mut ada, &site, append(&part)).await;
        assert_eq!(
            (&grown["asset"]["bytes"], &grown["asset"]["name"]),
            (&json!(2_500_000 * parts), &json!("long.txt"))
        );
    }
    let before = call_ok(&mut ada, "list_assets", with_project_id(&site, json!({ "assetId": id }))).await;
    let no = call_refused(&mut ada, "edit_asset", with_project_id(&site, append(&part))).await;
    assert_eq!((no.kind.as_str(), &no.details["limit"]), ("too_large", &json!(10 * 1024 * 1024)));
    assert!(no.text.contains("10485760 bytes in an asset"), "{}", no.text);
    assert_eq!(
        call_ok(&mut ada, "list_assets", with_project_id(&site, json!({ "assetId": id }))).await,
        before
    );
    // What is added counts for what it is, too.
    let no = call_refused(
        &mut ada,
        "edit_asset",
        with_project_id(
            &site,
            json!({ "action": "put", "assetId": id, "append": true, "content": base64(b"\0") }),
        ),
    )
    .await;
    assert_eq!(
        (no.kind.as_str(), member_strings(&no.details["errors"], "path")),
        ("invalid", vec!["/content"])
    );
    let whole = json!({ "action": "put", "name": "same.txt", "content": base64("ab") });
    let whole = edit_asset(&mut ada, &site, whole).await;
    let half =
        edit_asset(&mut ada, &site, json!({ "action": "put", "name": "same.txt", "content": base64("a") }))
            .await;
    let rest =
        json!({ "action": "put", "assetId": half["asset"]["id"], "append": true, "content": base64("b") });
    assert_eq!(edit_asset(&mut ada, &site, rest).await["asset"]["digest"], whole["asset"]["digest"]);
}

/// The content decides what an asset is; a claim that is not true is refused.
#[tokio::test(start_paused = true)]
async fn asset_content_type_is_detected_from_content() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    for (content, claim, expected) in [
        (PNG, None, Ok("image/png")),
        (PNG, Some("image/png"), Ok("image/png")),
        (PNG, Some("image/jpeg"), Err("is image/png, not image/jpeg")),
        (PNG, Some("text/plain"), Err("is image/png, not text/plain")),
        (b"GIF89a....", None, Ok("image/gif")),
        (b"%PDF-1.7", Some("application/pdf"), Ok("application/pdf")),
        (b"plain words", None, Ok("text/plain")),
        (b"plain words", Some("TEXT/PLAIN; charset=utf-8"), Ok("text/plain")),
        (b"plain words", Some("image/png"), Err("is not image/png")),
        (b"a { color: red }", Some("text/css"), Ok("text/css")),
        (b"{\"a\": 1}", Some("application/json"), Ok("application/json")),
        (b"{\"a\": ", Some("application/json"), Err("is not valid JSON")),
        (b"\xff\xfe\0\x01", None, Err("has an unknown type")),
        (b"MZ\x90\0", None, Err("has an unknown type")),
        (b"", None, Err("is empty")),
        (b"x", Some("text/html"), Err("is not supported; use one of image/png")),
        (b"x", Some("application/javascript"), Err("is not supported; use one of image/png")),
        (SVG.as_bytes(), None, Ok("image/svg+xml")),
        (SVG.as_bytes(), Some("image/svg+xml"), Ok("image/svg+xml")),
    ] {
        let put = with_project_id(
            &site,
            json!({ "action": "put", "name": "file", "content": base64(content), "contentType": claim }),
        );
        match expected {
            Ok(kind) => assert_eq!(call_ok(&mut ada, "edit_asset", put).await["asset"]["contentType"], kind),
            Err(said) => {
                let no = call_refused(&mut ada, "edit_asset", put).await;
                assert!(no.text.contains(said), "{claim:?}: {}", no.text);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn svg_with_active_content_is_rejected() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let before = site.snapshot(&mut ada).await;
    let svg = |inside: &str| {
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{inside}</svg>"#
        )
    };
    for hostile in [
        svg("<script>alert(1)</script>"),
        svg("<SCRIPT>alert(1)</SCRIPT>"),
        svg(r#"<circle onload="alert(1)"/>"#),
        svg(r#"<circle onLoad="alert(1)"/>"#),
        svg("<foreignObject><body xmlns='http://www.w3.org/1999/xhtml'/></foreignObject>"),
        svg(r#"<a xlink:href="javascript:alert(1)"><circle r="1"/></a>"#),
        svg(r#"<a href="&#106;avascript:alert(1)"><circle r="1"/></a>"#),
        svg(r#"<image href="https://example.com/track.png"/>"#),
        svg(r#"<use href="data:image/svg+xml;base64,PHN2Zz4="/>"#),
        svg("<style>@import url(https://example.com/x.css);</style>"),
        svg(r#"<set attributeName="href" to="javascript:alert(1)"/>"#),
        format!("<!DOCTYPE svg [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>{}", svg("<text>&x;</text>")),
        format!("<?xml-stylesheet href='https://example.com/x.css'?>{}", svg("")),
        svg("<circle>"),
    ] {
        let put = with_project_id(
            &site,
            json!({ "action": "put", "name": "x.svg", "contentType": "image/svg+xml", "content": base64(&hostile) }),
        );
        let no = call_refused(&mut ada, "edit_asset", put).await;
        assert_eq!(
            (no.kind.as_str(), member_strings(&no.details["errors"], "path")),
            ("invalid", vec!["/content"]),
            "{hostile}"
        );
    }
    assert_eq!(site.snapshot(&mut ada).await, before);
}

#[tokio::test(start_paused = true)]
async fn asset_in_use_is_deleted_only_with_force() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let SampleProject { asset, image, heading, .. } = &site;
    let words = json!({ "projectId": site.project, "action": "create", "parentId": site.page,
        "blocks": [{ "type": "text", "props": { "format": "markdown", "text": format!("see ![it](asset:{asset})") } }] });
    let made = call_ok(&mut ada, "edit_blocks", words).await;
    let mut users = vec![string_value(&made["blocks"][0]["id"]), image.clone()];
    users.sort();
    let shown = call_ok(&mut ada, "list_assets", with_project_id(&site, json!({ "assetId": asset }))).await;
    assert_eq!(shown["usedBy"], json!(users));
    let delete =
        |force: bool| with_project_id(&site, json!({ "action": "delete", "assetId": asset, "force": force }));
    let no = call_refused(&mut ada, "edit_asset", delete(false)).await;
    assert_eq!((no.kind.as_str(), &no.details["usedBy"]), ("in_use", &json!(users)), "{no:?}");
    let gone = call_ok(&mut ada, "edit_asset", delete(true)).await;
    assert_eq!(gone["deleted"], true);
    let missing =
        super::send_request(&mut ada, "resources/read", json!({ "uri": gone["asset"]["uri"] })).await;
    assert_eq!(missing["error"]["code"], -32002, "{missing}");
    // The version that was published has it still.
    let html = json!({ "projectId": site.project, "version": 1, "format": "html" });
    assert!(string_value(&call_ok(&mut ada, "get_blocks", html).await["html"]).contains("<img"));
    // What names it can be changed all the same, and nothing new may name it.
    let block = |id: &str, props: Value| json!({ "projectId": site.project, "action": "update", "blockId": id, "props": props });
    call_ok(&mut ada, "edit_blocks", block(image, json!({ "alt": "gone" }))).await;
    let new = json!({ "projectId": site.project, "action": "create", "before": heading, "blocks": [{ "type": "image", "props": { "src": format!("asset:{asset}") } }] });
    assert_eq!(call_refused(&mut ada, "edit_blocks", new).await.kind, "invalid");
}

#[tokio::test(start_paused = true)]
async fn invalid_asset_arguments_are_rejected() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let asset = &site.asset;
    let before = site.snapshot(&mut ada).await;
    for (arguments, kind, said) in [
        (json!({ "action": "put", "name": "x" }), "invalid_argument", "`content`: is required"),
        (json!({ "action": "put", "content": "eA==" }), "invalid_argument", "`name`: is required"),
        (
            json!({ "action": "put", "name": "x", "content": "not base64!" }),
            "invalid",
            "is not padded base64",
        ),
        (json!({ "action": "put", "name": "x", "content": "eA" }), "invalid", "is not padded base64"),
        (
            json!({ "action": "put", "append": true, "content": "eA==" }),
            "invalid_argument",
            "`append` does not apply to this new asset",
        ),
        (
            json!({ "action": "put", "append": true, "assetId": "asset_none", "content": "eA==" }),
            "not_found",
            "asset `asset_none` not found",
        ),
        (
            json!({ "action": "put", "assetId": "../x", "name": "x", "content": "eA==" }),
            "not_found",
            "asset `../x` not found",
        ),
        (json!({ "action": "put", "name": "a/b", "content": "eA==" }), "invalid", "/name"),
        (json!({ "action": "put", "name": "..", "content": "eA==" }), "invalid", "/name"),
        (json!({ "action": "put", "name": "a\u{0}b", "content": "eA==" }), "invalid", "/name"),
        (
            json!({ "action": "put", "name": "x".repeat(201), "content": "eA==" }),
            "invalid",
            "the limit is 200",
        ),
        (
            json!({ "action": "put", "name": "x", "alt": "x".repeat(1001), "content": "eA==" }),
            "invalid",
            "the limit is 1000",
        ),
        (json!({ "action": "update" }), "invalid_argument", "`assetId`: is required"),
        (json!({ "action": "update", "assetId": asset }), "invalid", "nothing to change"),
        (
            json!({ "action": "update", "assetId": asset, "content": "eA==" }),
            "invalid_argument",
            "`content`: does not apply to this action",
        ),
        (json!({ "action": "delete", "assetId": "asset_none" }), "not_found", "asset `asset_none` not found"),
    ] {
        let no = call_refused(&mut ada, "edit_asset", with_project_id(&site, arguments.clone())).await;
        assert!(no.kind == kind && no.text.contains(said), "{arguments}: {no:?}");
    }
    assert_eq!(site.snapshot(&mut ada).await, before);
}

/// What only a claim tells from other texts stays claimed as long as it can be true.
#[tokio::test(start_paused = true)]
async fn replaced_content_keeps_its_type_if_valid() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    for (claim, first, second, expected) in [
        ("application/json", "{\"a\": 1}".as_bytes(), "[2]".as_bytes(), "application/json"),
        ("application/json", b"{\"a\": 1}", b"no JSON", "text/plain"),
        ("application/json", b"{\"a\": 1}", PNG, "image/png"),
        ("text/css", b"a { color: red }", b"b { color: blue }", "text/css"),
        ("text/css", b"a { color: red }", PNG, "image/png"),
        ("text/plain", b"words", SVG.as_bytes(), "image/svg+xml"),
    ] {
        let put = json!({ "action": "put", "name": "file", "content": base64(first), "contentType": claim });
        let made = edit_asset(&mut ada, &site, put).await;
        let again = json!({ "action": "put", "assetId": made["asset"]["id"], "content": base64(second) });
        let after = edit_asset(&mut ada, &site, again).await;
        assert_eq!(after["asset"]["contentType"], expected, "{claim}: {after}");
    }
}
