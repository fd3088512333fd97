//! The life of a project: it is created, changed, copied, published, restored and deleted.

use serde_json::{Value, json};

use super::{
    ADA, SampleProject, app, call_ok, call_refused, client, member_strings, read_resource, send_request,
    string_value,
};
use crate::harness::TestClient;

async fn create_project(client: &mut TestClient, arguments: Value) -> Value {
    call_ok(client, "create_project", arguments).await
}

#[tokio::test(start_paused = true)]
async fn each_template_creates_its_blocks() {
    let mut ada = client(&app(), ADA).await;
    for (template, blocks, has_tokens) in [
        (json!("landing"), 12, true),
        (json!("page"), 2, true),
        (json!("empty"), 0, true),
        (json!("bare"), 0, false),
        (json!(null), 0, true),
    ] {
        let made = create_project(&mut ada, json!({ "name": "My website", "template": template })).await;
        assert_eq!((&made["revision"], &made["status"]), (&json!(1), &json!("draft")), "{made}");
        assert_eq!(made["usage"]["blocks"], blocks, "{made}");
        let tokens = read_resource(&mut ada, made["designSystem"].as_str().unwrap()).await;
        assert_eq!(string_value(&tokens["text"]).trim() != "{}", has_tokens, "{template}: {tokens}");
        let html = json!({ "projectId": made["id"], "format": "html" });
        let html = string_value(&call_ok(&mut ada, "get_blocks", html).await["html"]);
        assert_eq!(html.contains("My website"), blocks > 0, "{template}: {html}");
        // What a template gives is good enough to be published.
        call_ok(&mut ada, "publish_project", json!({ "projectId": made["id"] })).await;
    }
}

#[tokio::test(start_paused = true)]
async fn slugs_are_derived_from_names_and_unique() {
    let mut ada = client(&app(), ADA).await;
    let first = create_project(&mut ada, json!({ "name": "Größe & Form" })).await;
    let second = create_project(&mut ada, json!({ "name": "Größe & Form" })).await;
    assert_eq!(first["slug"], "groesse-form");
    assert!(string_value(&second["slug"]).starts_with("groesse-form-"), "{second}");
    for (tool, arguments) in [
        ("create_project", json!({ "name": "Other", "slug": "groesse-form" })),
        ("update_project", json!({ "projectId": second["id"], "slug": "groesse-form" })),
    ] {
        let no = call_refused(&mut ada, tool, arguments).await;
        assert_eq!((no.kind.as_str(), &no.details["field"]), ("taken", &json!("slug")), "{no:?}");
    }
    let other_account =
        create_project(&mut client(&app(), "other").await, json!({ "name": "x", "slug": "groesse-form" }))
            .await;
    assert_eq!(other_account["slug"], "groesse-form");
}

#[tokio::test(start_paused = true)]
async fn project_fields_can_be_updated() {
    let mut ada = client(&app(), ADA).await;
    let made = create_project(&mut ada, json!({ "name": "Site" })).await;
    let id = &made["id"];
    for (change, member, expected) in [
        (json!({ "name": "Neue Seite" }), "name", json!("Neue Seite")),
        (json!({ "slug": "neu" }), "slug", json!("neu")),
        (json!({ "description": "Two\nlines" }), "description", json!("Two\nlines")),
        (json!({ "description": "" }), "description", json!("")),
        (
            json!({ "metadata": { "a": { "b": 1, "c": 2 }, "d": [1] } }),
            "metadata",
            json!({ "a": { "b": 1, "c": 2 }, "d": [1] }),
        ),
        (
            json!({ "metadata": { "a": { "b": null }, "d": [2] } }),
            "metadata",
            json!({ "a": { "c": 2 }, "d": [2] }),
        ),
        (json!({ "metadata": { "a": null } }), "metadata", json!({ "d": [2] })),
    ] {
        let mut arguments = change.clone();
        arguments["projectId"] = id.clone();
        let after = call_ok(&mut ada, "update_project", arguments).await;
        assert_eq!(after[member], expected, "{change}");
        assert_eq!(call_ok(&mut ada, "get_project", json!({ "projectId": id })).await, after);
    }
    let no = call_refused(&mut ada, "update_project", json!({ "projectId": id })).await;
    assert_eq!(no.kind, "invalid", "{no:?}");
}

#[tokio::test(start_paused = true)]
async fn all_field_errors_are_reported_together() {
    let mut ada = client(&app(), ADA).await;
    let made = create_project(&mut ada, json!({ "name": "Site" })).await;
    let wrong = json!({ "projectId": made["id"], "name": " ", "slug": "No!", "description": "\u{1}", "metadata": { "a": "\0" } });
    let no = call_refused(&mut ada, "update_project", wrong).await;
    assert_eq!(no.kind, "invalid");
    assert_eq!(
        member_strings(&no.details["errors"], "path"),
        ["/name", "/slug", "/description", "/metadata/a"]
    );
    assert!(no.text.contains("/slug: must be 1 to 63 characters of a-z, 0-9 and -"), "{}", no.text);
    assert_eq!(call_ok(&mut ada, "get_project", json!({ "projectId": made["id"] })).await, made);
    let new = json!({ "name": " ", "slug": "No!", "description": "\u{1}" });
    let no = call_refused(&mut ada, "create_project", new).await;
    assert_eq!(
        (no.kind.as_str(), member_strings(&no.details["errors"], "path")),
        ("invalid", vec!["/name", "/slug", "/description"])
    );
    for (wrong, said) in [
        (json!({ "name": "" }), "/name: must not be empty"),
        (json!({ "name": "x".repeat(201) }), "/name: has 201 characters, but the limit is 200"),
        (json!({ "slug": "-" }), "/slug: must be 1 to 63"),
    ] {
        let no = call_refused(&mut ada, "create_project", wrong).await;
        assert!(no.kind == "invalid" && no.text.contains(said), "{no:?}");
    }
    assert_eq!(call_ok(&mut ada, "list_projects", json!({})).await["projects"], json!([made]));
}

#[tokio::test(start_paused = true)]
async fn copy_is_independent_of_the_original() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let before = site.snapshot(&mut ada).await;
    let copy = create_project(&mut ada, json!({ "name": "Copy", "copyOf": site.project })).await;
    assert_eq!(
        (&copy["revision"], &copy["status"], &copy["usage"]["versions"]),
        (&json!(1), &json!("draft"), &json!(0))
    );
    assert_eq!(copy["description"], "The site of Aurora.");
    assert_eq!(site.snapshot(&mut ada).await, before);
    let copied = string_value(&copy["id"]);
    call_ok(&mut ada, "delete_project", json!({ "projectId": site.project, "confirm": "Aurora" })).await;
    let tree = call_ok(&mut ada, "get_blocks", json!({ "projectId": copied, "depth": 32 })).await;
    assert_eq!(tree["blocks"], before["get_blocks"]["blocks"]);
    let picture = read_resource(&mut ada, &format!("codefluss://assets/{copied}/{}", site.asset)).await;
    assert_eq!(picture["blob"], before["asset"]["blob"]);
    let types =
        call_ok(&mut ada, "list_block_types", json!({ "projectId": copied, "names": ["badge"] })).await;
    assert_eq!(types, before["list_block_types"]);
}

#[tokio::test(start_paused = true)]
async fn deleted_project_is_not_found_anywhere() {
    let mut ada = client(&app(), ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let project = &site.project;
    let before = site.snapshot(&mut ada).await;
    let no = call_refused(&mut ada, "delete_project", json!({ "projectId": project })).await;
    assert_eq!((no.kind.as_str(), &no.details["missing_param"]), ("input_needed", &json!("confirm")));
    assert!(no.text.contains("(blocks: 5, assets: 1, versions: 2)"), "{}", no.text);
    for wrong in ["", "aurora", "Aurora ", "yes", "true", project] {
        let no =
            call_refused(&mut ada, "delete_project", json!({ "projectId": project, "confirm": wrong })).await;
        assert!(
            no.kind == "invalid" && no.text.contains("/confirm: is not the project's name"),
            "{wrong:?}: {no:?}"
        );
    }
    assert_eq!(site.snapshot(&mut ada).await, before);
    let tried = call_ok(&mut ada, "delete_project", json!({ "projectId": project, "dryRun": true })).await;
    assert_eq!(
        (&tried["deleted"], &tried["blocks"], &tried["assets"], &tried["versions"]),
        (&json!(false), &json!(5), &json!(1), &json!(2))
    );
    assert_eq!(tried["dryRun"], true);
    let gone =
        call_ok(&mut ada, "delete_project", json!({ "projectId": project, "confirm": "Aurora" })).await;
    assert_eq!(gone["deleted"], true);
    for (tool, arguments) in [
        ("get_project", json!({ "projectId": project })),
        ("get_blocks", json!({ "projectId": project, "version": 1 })),
        ("list_versions", json!({ "projectId": project })),
        ("delete_project", json!({ "projectId": project, "confirm": "Aurora" })),
    ] {
        let no = call_refused(&mut ada, tool, arguments).await;
        assert_eq!(
            (no.kind.as_str(), &no.details["resource"], &no.details["id"]),
            ("not_found", &json!("project"), &json!(project))
        );
    }
    assert_eq!(call_ok(&mut ada, "list_projects", json!({})).await["projects"], json!([]));
    let listed = send_request(&mut ada, "resources/list", json!({})).await.to_string();
    assert!(!listed.contains(project.as_str()), "{listed}");
}

#[tokio::test(start_paused = true)]
async fn pagination_is_stable_while_projects_are_updated() {
    let mut ada = client(&app(), ADA).await;
    let mut all = Vec::new();
    for n in 0..7 {
        all.push(string_value(&create_project(&mut ada, json!({ "name": format!("Site {n}") })).await["id"]));
    }
    let whole = call_ok(&mut ada, "list_projects", json!({})).await;
    let order: Vec<String> =
        member_strings(&whole["projects"], "id").into_iter().map(str::to_owned).collect();
    assert_eq!(order.len(), 7);
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    for (page, expected) in [3, 3, 1].into_iter().enumerate() {
        let wanted = json!({ "limit": 3, "cursor": cursor, "fields": ["name", "usage.blocks"] });
        let found = call_ok(&mut ada, "list_projects", wanted).await;
        assert_eq!(found["projects"].as_array().unwrap().len(), expected, "page {page}");
        seen.extend(member_strings(&found["projects"], "id").into_iter().map(str::to_owned));
        let one = &found["projects"][0];
        assert_eq!(one.as_object().unwrap().keys().collect::<Vec<_>>(), ["id", "name", "usage"], "{one}");
        cursor = found["nextCursor"].clone();
        call_ok(
            &mut ada,
            "update_project",
            json!({ "projectId": order[0], "description": format!("{page}") }),
        )
        .await;
    }
    assert_eq!((seen, cursor), (order, Value::Null));
    for (arguments, kind) in [
        (json!({ "cursor": "nonsense" }), "invalid"),
        (json!({ "cursor": "" }), "invalid"),
        (json!({ "limit": 0 }), "invalid_argument"),
        (json!({ "limit": 1001 }), "invalid_argument"),
        (json!({ "fields": ["secret"] }), "invalid"),
        (json!({ "fields": ["usage.nope"] }), "invalid"),
        (json!({ "fields": ["usage."] }), "invalid"),
        (json!({ "fields": ["usage.blocks.x"] }), "invalid"),
        (json!({ "fields": ["name.x"] }), "invalid"),
        (json!({ "fields": ["metadata..x"] }), "invalid"),
        (json!({ "fields": vec!["name"; 51] }), "too_large"),
    ] {
        assert_eq!(
            call_refused(&mut ada, "list_projects", arguments.clone()).await.kind,
            kind,
            "{arguments}"
        );
    }
}

/// The document has a bare array in the text; what programs read is an object.
#[tokio::test(start_paused = true)]
async fn project_list_text_is_a_bare_array() {
    let mut ada = client(&app(), ADA).await;
    create_project(&mut ada, json!({ "name": "Site" })).await;
    let answer = send_request(&mut ada, "tools/call", json!({ "name": "list_projects" })).await;
    let result = &answer["result"];
    let shown: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(shown, result["structuredContent"]["projects"]);
    let resource = read_resource(&mut ada, "codefluss://projects").await;
    assert_eq!(serde_json::from_str::<Value>(resource["text"].as_str().unwrap()).unwrap(), shown);
    assert_eq!(resource["mimeType"], "application/json");
}

/// Nothing is cut that nobody asked to be cut: it is all of them, however many pages the store gives, or a
/// refusal.
#[tokio::test(start_paused = true)]
async fn unlimited_list_is_complete_or_rejected() {
    let mut ada = client(&app(), ADA).await;
    // Two thousand characters of four bytes each, and almost 16 KiB of notes.
    let about = json!({ "name": "Site", "template": "bare", "description": "😀".repeat(2000) });
    let first = create_project(&mut ada, about).await;
    let notes = json!({ "projectId": first["id"], "metadata": { "notes": "x".repeat(16_000) } });
    call_ok(&mut ada, "update_project", notes).await;
    let copy = json!({ "name": "Site", "copyOf": first["id"] });
    for _ in 0..450 {
        create_project(&mut ada, copy.clone()).await;
    }
    let whole = call_ok(&mut ada, "list_projects", json!({})).await;
    assert!(whole.get("nextCursor").is_none());
    let whole = member_strings(&whole["projects"], "id").into_iter().map(str::to_owned).collect::<Vec<_>>();
    let resource = read_resource(&mut ada, "codefluss://projects").await;
    let resource: Value = serde_json::from_str(resource["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        (whole.len(), member_strings(&resource, "id")),
        (451, whole.iter().map(String::as_str).collect())
    );
    let part = call_ok(&mut ada, "list_projects", json!({ "limit": 201, "fields": ["id"] })).await;
    let rest = json!({ "limit": 1000, "cursor": part["nextCursor"], "fields": ["id"] });
    let rest = call_ok(&mut ada, "list_projects", rest).await;
    let parts = [member_strings(&part["projects"], "id"), member_strings(&rest["projects"], "id")];
    assert_eq!((parts[0].len(), parts.concat()), (201, whole.iter().map(String::as_str).collect()));
    for _ in 0..270 {
        create_project(&mut ada, copy.clone()).await;
    }
    let no = call_refused(&mut ada, "list_projects", json!({})).await;
    assert!(no.kind == "too_large" && no.text.contains("request less"), "{no:?}");
    let answer = send_request(&mut ada, "resources/read", json!({ "uri": "codefluss://projects" })).await;
    assert_eq!(answer["error"]["data"]["kind"], "too_large");
    let part = call_ok(&mut ada, "list_projects", json!({ "limit": 500 })).await;
    assert!(part["projects"].as_array().unwrap().len() == 500 && part["nextCursor"].is_string());
}
