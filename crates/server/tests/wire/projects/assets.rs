//! Assets: files that are what they say they are.

use serde_json::{Value, json};

use super::{ADA, PICTURE, Site, app, base64, client, done, each, read, refused, text};
use crate::harness::TestClient;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and more";

fn of(site: &Site, mut arguments: Value) -> Value {
    arguments["projectId"] = json!(site.project);
    arguments
}

async fn edit(client: &mut TestClient, site: &Site, arguments: Value) -> Value {
    done(client, "edit_asset", of(site, arguments)).await
}

#[tokio::test(start_paused = true)]
async fn what_is_put_can_be_read_as_bytes() {
    let mut ada = client(&app(), ADA).await;
    let site = Site::build(&mut ada).await;
    let put = json!({ "action": "put", "name": "dot.png", "alt": "A dot", "content": base64(PNG) });
    let asset = edit(&mut ada, &site, put).await["asset"].take();
    assert_eq!(
        (&asset["contentType"], &asset["bytes"], &asset["name"]),
        (&json!("image/png"), &json!(PNG.len()), &json!("dot.png"))
    );
    assert_eq!(asset["digest"], "d11b87214205af8d55504b3acbd1b8d23306fe8fb9c6202160cc7b797a7c9980");
    let held = read(&mut ada, asset["uri"].as_str().unwrap()).await;
    assert_eq!(held, json!({ "uri": asset["uri"], "mimeType": "image/png", "blob": base64(PNG) }));
    let again = json!({ "action": "put", "assetId": asset["id"], "name": "dot.txt", "content": base64("now a text") });
    let replaced = edit(&mut ada, &site, again).await["asset"].take();
    assert_eq!(
        (&replaced["id"], &replaced["contentType"], &replaced["alt"]),
        (&asset["id"], &json!("text/plain"), &json!("A dot"))
    );
    let held = read(&mut ada, asset["uri"].as_str().unwrap()).await;
    assert_eq!((&held["mimeType"], &held["blob"]), (&json!("text/plain"), &json!(base64("now a text"))));
    let described =
        edit(&mut ada, &site, json!({ "action": "update", "assetId": asset["id"], "alt": "Words" })).await;
    assert_eq!(
        (&described["asset"]["alt"], &described["asset"]["digest"]),
        (&json!("Words"), &replaced["digest"])
    );
    let list = done(&mut ada, "list_assets", of(&site, json!({ "fields": ["name", "alt"] }))).await;
    let mut names = each(&list["assets"], "name");
    names.sort_unstable();
    assert_eq!(names, ["Aurora.svg", "dot.txt"]);
    assert!(list["assets"][1].get("digest").is_none(), "{list}");
}

#[tokio::test(start_paused = true)]
async fn more_than_a_message_carries_comes_in_parts() {
    let mut ada = client(&app(), ADA).await;
    let site = Site::build(&mut ada).await;
    let part = "x".repeat(2_500_000);
    let first =
        edit(&mut ada, &site, json!({ "action": "put", "name": "long.txt", "content": base64(&part) })).await;
    let id = text(&first["asset"]["id"]);
    let append =
        |content: &str| json!({ "action": "put", "assetId": id, "append": true, "content": base64(content) });
    for parts in 2..=4_u32 {
        let grown = edit(&mut ada, &site, append(&part)).await;
        assert_eq!(
            (&grown["asset"]["bytes"], &grown["asset"]["name"]),
            (&json!(2_500_000 * parts), &json!("long.txt"))
        );
    }
    let before = done(&mut ada, "list_assets", of(&site, json!({ "assetId": id }))).await;
    let no = refused(&mut ada, "edit_asset", of(&site, append(&part))).await;
    assert_eq!((no.kind.as_str(), &no.details["limit"]), ("too_large", &json!(10 * 1024 * 1024)));
    assert!(no.text.contains("10485760 bytes in an asset"), "{}", no.text);
    assert_eq!(done(&mut ada, "list_assets", of(&site, json!({ "assetId": id }))).await, before);
    // What is added counts for what it is, too.
    let no = refused(
        &mut ada,
        "edit_asset",
        of(&site, json!({ "action": "put", "assetId": id, "append": true, "content": base64(b"\0") })),
    )
    .await;
    assert_eq!((no.kind.as_str(), each(&no.details["errors"], "path")), ("invalid", vec!["/content"]));
    let whole = json!({ "action": "put", "name": "same.txt", "content": base64("ab") });
    let whole = edit(&mut ada, &site, whole).await;
    let half =
        edit(&mut ada, &site, json!({ "action": "put", "name": "same.txt", "content": base64("a") })).await;
    let rest =
        json!({ "action": "put", "assetId": half["asset"]["id"], "append": true, "content": base64("b") });
    assert_eq!(edit(&mut ada, &site, rest).await["asset"]["digest"], whole["asset"]["digest"]);
}

/// The content decides what an asset is; a claim that is not true is refused.
#[tokio::test(start_paused = true)]
async fn an_asset_is_what_its_content_is() {
    let mut ada = client(&app(), ADA).await;
    let site = Site::build(&mut ada).await;
    for (content, claim, expected) in [
        (PNG, None, Ok("image/png")),
        (PNG, Some("image/png"), Ok("image/png")),
        (PNG, Some("image/jpeg"), Err("is image/png and not image/jpeg")),
        (PNG, Some("text/plain"), Err("is image/png and not text/plain")),
        (b"GIF89a....", None, Ok("image/gif")),
        (b"%PDF-1.7", Some("application/pdf"), Ok("application/pdf")),
        (b"plain words", None, Ok("text/plain")),
        (b"plain words", Some("TEXT/PLAIN; charset=utf-8"), Ok("text/plain")),
        (b"plain words", Some("image/png"), Err("is not image/png")),
        (b"a { color: red }", Some("text/css"), Ok("text/css")),
        (b"{\"a\": 1}", Some("application/json"), Ok("application/json")),
        (b"{\"a\": ", Some("application/json"), Err("is not usable JSON")),
        (b"\xff\xfe\0\x01", None, Err("is of no known type")),
        (b"MZ\x90\0", None, Err("is of no known type")),
        (b"", None, Err("is empty")),
        (b"x", Some("text/html"), Err("is none that is taken; there are image/png")),
        (b"x", Some("application/javascript"), Err("is none that is taken; there are image/png")),
        (PICTURE.as_bytes(), None, Ok("image/svg+xml")),
        (PICTURE.as_bytes(), Some("image/svg+xml"), Ok("image/svg+xml")),
    ] {
        let put = of(
            &site,
            json!({ "action": "put", "name": "file", "content": base64(content), "contentType": claim }),
        );
        match expected {
            Ok(kind) => assert_eq!(done(&mut ada, "edit_asset", put).await["asset"]["contentType"], kind),
            Err(said) => {
                let no = refused(&mut ada, "edit_asset", put).await;
                assert!(no.text.contains(said), "{claim:?}: {}", no.text);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pictures_that_act_are_refused() {
    let mut ada = client(&app(), ADA).await;
    let site = Site::build(&mut ada).await;
    let before = site.everything(&mut ada).await;
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
        let put = of(
            &site,
            json!({ "action": "put", "name": "x.svg", "contentType": "image/svg+xml", "content": base64(&hostile) }),
        );
        let no = refused(&mut ada, "edit_asset", put).await;
        assert_eq!(
            (no.kind.as_str(), each(&no.details["errors"], "path")),
            ("invalid", vec!["/content"]),
            "{hostile}"
        );
    }
    assert_eq!(site.everything(&mut ada).await, before);
}

#[tokio::test(start_paused = true)]
async fn what_blocks_use_is_not_deleted_by_accident() {
    let mut ada = client(&app(), ADA).await;
    let site = Site::build(&mut ada).await;
    let Site { asset, image, heading, .. } = &site;
    let words = json!({ "projectId": site.project, "action": "create", "parentId": site.page,
        "blocks": [{ "type": "text", "props": { "format": "markdown", "text": format!("see ![it](asset:{asset})") } }] });
    let made = done(&mut ada, "edit_blocks", words).await;
    let mut users = vec![text(&made["blocks"][0]["id"]), image.clone()];
    users.sort();
    let shown = done(&mut ada, "list_assets", of(&site, json!({ "assetId": asset }))).await;
    assert_eq!(shown["usedBy"], json!(users));
    let delete = |force: bool| of(&site, json!({ "action": "delete", "assetId": asset, "force": force }));
    let no = refused(&mut ada, "edit_asset", delete(false)).await;
    assert_eq!((no.kind.as_str(), &no.details["usedBy"]), ("in_use", &json!(users)), "{no:?}");
    let gone = done(&mut ada, "edit_asset", delete(true)).await;
    assert_eq!(gone["deleted"], true);
    let missing = super::ask(&mut ada, "resources/read", json!({ "uri": gone["asset"]["uri"] })).await;
    assert_eq!(missing["error"]["code"], -32002, "{missing}");
    // The version that was published has it still.
    let html = json!({ "projectId": site.project, "version": 1, "format": "html" });
    assert!(text(&done(&mut ada, "get_blocks", html).await["html"]).contains("<img"));
    // What names it can be changed all the same, and nothing new may name it.
    let block = |id: &str, props: Value| json!({ "projectId": site.project, "action": "update", "blockId": id, "props": props });
    done(&mut ada, "edit_blocks", block(image, json!({ "alt": "gone" }))).await;
    let new = json!({ "projectId": site.project, "action": "create", "before": heading, "blocks": [{ "type": "image", "props": { "src": format!("asset:{asset}") } }] });
    assert_eq!(refused(&mut ada, "edit_blocks", new).await.kind, "invalid");
}

#[tokio::test(start_paused = true)]
async fn what_an_action_does_not_take_is_refused() {
    let mut ada = client(&app(), ADA).await;
    let site = Site::build(&mut ada).await;
    let asset = &site.asset;
    let before = site.everything(&mut ada).await;
    for (arguments, kind, said) in [
        (json!({ "action": "put", "name": "x" }), "invalid_argument", "`content`: is needed"),
        (json!({ "action": "put", "content": "eA==" }), "invalid_argument", "`name`: is needed"),
        (json!({ "action": "put", "name": "x", "content": "not base64!" }), "invalid", "not base64"),
        (json!({ "action": "put", "name": "x", "content": "eA" }), "invalid", "not base64"),
        (
            json!({ "action": "put", "append": true, "content": "eA==" }),
            "invalid_argument",
            "`append` is not for this new asset",
        ),
        (
            json!({ "action": "put", "append": true, "assetId": "asset_none", "content": "eA==" }),
            "not_found",
            "no asset `asset_none`",
        ),
        (
            json!({ "action": "put", "assetId": "../x", "name": "x", "content": "eA==" }),
            "not_found",
            "no asset `../x`",
        ),
        (json!({ "action": "put", "name": "a/b", "content": "eA==" }), "invalid", "/name"),
        (json!({ "action": "put", "name": "..", "content": "eA==" }), "invalid", "/name"),
        (json!({ "action": "put", "name": "a\u{0}b", "content": "eA==" }), "invalid", "/name"),
        (json!({ "action": "put", "name": "x".repeat(201), "content": "eA==" }), "invalid", "may have 200"),
        (
            json!({ "action": "put", "name": "x", "alt": "x".repeat(1001), "content": "eA==" }),
            "invalid",
            "may have 1000",
        ),
        (json!({ "action": "update" }), "invalid_argument", "`assetId`: is needed"),
        (json!({ "action": "update", "assetId": asset }), "invalid", "nothing is to change"),
        (
            json!({ "action": "update", "assetId": asset, "content": "eA==" }),
            "invalid_argument",
            "`content`: is not for this action",
        ),
        (json!({ "action": "delete", "assetId": "asset_none" }), "not_found", "no asset `asset_none`"),
    ] {
        let no = refused(&mut ada, "edit_asset", of(&site, arguments.clone())).await;
        assert!(no.kind == kind && no.text.contains(said), "{arguments}: {no:?}");
    }
    assert_eq!(site.everything(&mut ada).await, before);
}

/// What only a claim tells from other texts stays claimed as long as it can be true.
#[tokio::test(start_paused = true)]
async fn another_content_is_of_the_same_kind_if_it_can_be() {
    let mut ada = client(&app(), ADA).await;
    let site = Site::build(&mut ada).await;
    for (claim, first, second, expected) in [
        ("application/json", "{\"a\": 1}".as_bytes(), "[2]".as_bytes(), "application/json"),
        ("application/json", b"{\"a\": 1}", b"no JSON", "text/plain"),
        ("application/json", b"{\"a\": 1}", PNG, "image/png"),
        ("text/css", b"a { color: red }", b"b { color: blue }", "text/css"),
        ("text/css", b"a { color: red }", PNG, "image/png"),
        ("text/plain", b"words", PICTURE.as_bytes(), "image/svg+xml"),
    ] {
        let put = json!({ "action": "put", "name": "file", "content": base64(first), "contentType": claim });
        let made = edit(&mut ada, &site, put).await;
        let again = json!({ "action": "put", "assetId": made["asset"]["id"], "content": base64(second) });
        let after = edit(&mut ada, &site, again).await;
        assert_eq!(after["asset"]["contentType"], expected, "{claim}: {after}");
    }
}
