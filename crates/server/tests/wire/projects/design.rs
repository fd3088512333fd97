//! Design systems: tokens that are set, renamed, imported and exported without losing what they mean.

use serde_json::{Value, json};

use super::{ADA, app, call_ok, call_refused, client, member_strings, read_resource, string_value};
use crate::harness::TestClient;

/// A few tokens with aliases and a mode.
const TOKENS: &str = r##"{
  "palette": { "$type": "color", "ink": { "$value": "#111111" }, "paper": { "$value": "#ffffff" }, "grey": { "$value": "#999999" } },
  "color": {
    "$type": "color",
    "text": { "$value": "{palette.ink}", "$extensions": { "mode": { "dark": "{palette.paper}" } } },
    "background": { "$value": "{palette.paper}", "$extensions": { "mode": { "dark": "{palette.ink}" } } }
  },
  "space": { "$type": "dimension", "small": { "$value": { "value": 4, "unit": "px" } } }
}"##;

/// A project with these tokens; gives its id.
async fn create_project_with_tokens(client: &mut TestClient, source: &str) -> String {
    let project = string_value(
        &call_ok(client, "create_project", json!({ "name": "Design", "template": "bare" })).await["id"],
    );
    edit_tokens(client, &project, json!([{ "op": "import_dtcg", "source": source }])).await;
    project
}

async fn edit_tokens(client: &mut TestClient, project: &str, changes: Value) -> Value {
    call_ok(client, "edit_design_system", json!({ "projectId": project, "changes": changes })).await
}

async fn get_design_system(client: &mut TestClient, project: &str, mut arguments: Value) -> Value {
    arguments["projectId"] = json!(project);
    call_ok(client, "get_design_system", arguments).await
}

/// The final value of a token, as CSS says it.
async fn export_css(client: &mut TestClient, project: &str) -> String {
    string_value(
        &get_design_system(client, project, json!({ "view": "export", "format": "css" })).await["export"],
    )
}

#[tokio::test(start_paused = true)]
async fn tokens_are_set_and_changed() {
    let mut ada = client(&app(), ADA).await;
    let project = create_project_with_tokens(&mut ada, TOKENS).await;
    for (change_, touched, path, expected) in [
        (
            json!({ "op": "set", "path": "color.brand", "value": "#0a7b66" }),
            "color.brand",
            "color.brand",
            "#0a7b66",
        ),
        (
            json!({ "op": "set", "path": "color.brand", "value": "{palette.ink}" }),
            "color.brand",
            "color.brand",
            "{palette.ink}",
        ),
        (
            json!({ "op": "set", "path": "palette.ink", "value": "#222222", "description": "Text." }),
            "palette.ink",
            "palette.ink",
            "#222222",
        ),
    ] {
        let made = edit_tokens(&mut ada, &project, json!([change_])).await;
        assert_eq!((&made["touched"], &made["findings"]), (&json!([touched]), &json!([])), "{change_}");
        let token = get_design_system(&mut ada, &project, json!({ "path": path })).await;
        assert!(token["tokens"]["$value"].to_string().contains(expected), "{change_}: {token}");
        assert_eq!(token["revision"], made["revision"]);
    }
    let size = json!({ "op": "set", "path": "size.large", "type": "dimension", "value": { "value": 2, "unit": "rem" } });
    let dark = json!({ "op": "set", "path": "color.brand", "mode": "dark", "value": "{palette.grey}" });
    edit_tokens(&mut ada, &project, json!([size, dark])).await;
    let brand = |mode: Value| json!({ "view": "resolved", "path": "color.brand", "mode": mode });
    let (light, dark) = (
        get_design_system(&mut ada, &project, brand(Value::Null)).await,
        get_design_system(&mut ada, &project, brand(json!("dark"))).await,
    );
    assert!(light.to_string().contains("#222222") && dark.to_string().contains("#999999"), "{light} {dark}");
    assert_eq!(light["modes"], json!(["dark"]));
}

#[tokio::test(start_paused = true)]
async fn rename_updates_every_alias() {
    let mut ada = client(&app(), ADA).await;
    let project = create_project_with_tokens(&mut ada, TOKENS).await;
    let before = get_design_system(&mut ada, &project, json!({ "view": "resolved", "path": "color" })).await;
    let made = edit_tokens(
        &mut ada,
        &project,
        json!([{ "op": "rename", "path": "palette", "to": "ground.colour" }]),
    )
    .await;
    assert!(made["touched"].to_string().contains("ground.colour"), "{made}");
    let text = get_design_system(&mut ada, &project, json!({ "path": "color.text" })).await;
    assert_eq!(text["tokens"]["$value"], "{ground.colour.ink}");
    assert_eq!(text["tokens"]["$extensions"]["mode"]["dark"], "{ground.colour.paper}");
    let after = get_design_system(&mut ada, &project, json!({ "view": "resolved", "path": "color" })).await;
    assert_eq!(after["resolved"], before["resolved"]);
    let no =
        call_refused(&mut ada, "get_design_system", json!({ "projectId": project, "path": "palette" })).await;
    assert_eq!((no.kind.as_str(), &no.details["resource"]), ("not_found", &json!("design token")));
}

/// Each of these leaves the design system as it was, also what stands before it in the same call.
#[tokio::test(start_paused = true)]
async fn design_changes_are_atomic() {
    let mut ada = client(&app(), ADA).await;
    let project = create_project_with_tokens(&mut ada, TOKENS).await;
    let before = get_design_system(&mut ada, &project, json!({})).await;
    for (wrong, kind, said) in [
        (
            json!({ "op": "delete", "path": "palette.ink" }),
            "in_use",
            "`palette.ink` is used by color.text, color.background",
        ),
        (json!({ "op": "delete", "path": "nothing" }), "not_found", "token or group `nothing` not found"),
        (
            json!({ "op": "rename", "path": "palette.ink", "to": "palette.paper" }),
            "design_refused",
            "already exists",
        ),
        (
            json!({ "op": "rename", "path": "nothing", "to": "x" }),
            "not_found",
            "token or group `nothing` not found",
        ),
        (
            json!({ "op": "set", "path": "palette.ink", "value": "{color.text}" }),
            "design_refused",
            "palette.ink",
        ),
        (
            json!({ "op": "set", "path": "color.x", "value": "{palette.none}" }),
            "design_refused",
            "palette.none",
        ),
        (json!({ "op": "set", "path": "color.x", "value": "reddish" }), "design_refused", "color.x"),
        (json!({ "op": "set", "path": "loose", "value": 4 }), "design_refused", "would have no type"),
        (json!({ "op": "set", "path": "color", "value": "#000000" }), "design_refused", "is a group"),
        (
            json!({ "op": "set", "path": "color.text.deep", "value": "#000000" }),
            "design_refused",
            "is a token",
        ),
        (
            json!({ "op": "set", "path": "a.{b}", "type": "number", "value": 4 }),
            "design_refused",
            "is not a valid path",
        ),
        (
            json!({ "op": "set", "path": "x", "type": "elephant", "value": 4 }),
            "invalid",
            "/changes/1/type: unknown type `elephant`",
        ),
        (json!({ "op": "set", "path": "x" }), "invalid_argument", "`changes.1.value`: is required"),
        (json!({ "op": "rename", "path": "x" }), "invalid_argument", "`changes.1.to`: is required"),
        (
            json!({ "op": "delete", "path": "x", "to": "y" }),
            "invalid_argument",
            "`changes.1.to`: does not apply to this change",
        ),
        (
            json!({ "op": "starter", "path": "x" }),
            "invalid_argument",
            "`changes.1.path`: does not apply to this change",
        ),
        (json!({ "op": "import_css" }), "invalid_argument", "`changes.1.source`: is required"),
        (json!({ "op": "import_dtcg", "source": "[" }), "import_failed", ""),
        (json!({ "op": "import_dtcg", "source": "7" }), "import_failed", ""),
        (json!({ "op": "import_dtcg", "source": "{\"name\":\"a-package\"}" }), "import_failed", "token"),
        (
            json!({ "op": "import_css", "source": "$brand: #0a7; not css {{{" }),
            "import_failed",
            "custom propert",
        ),
        (json!({ "op": "paint" }), "invalid_argument", "changes.1.op"),
        (
            json!({ "op": "set", "path": "x", "color": "red" }),
            "unknown_argument",
            "this tool takes description, force, mode",
        ),
    ] {
        let fine = json!({ "op": "set", "path": "color.first", "value": "#ff0000" });
        let arguments = json!({ "projectId": project, "changes": [fine, wrong] });
        let no = call_refused(&mut ada, "edit_design_system", arguments).await;
        assert!(no.kind == kind && no.text.contains(said), "{wrong}: {no:?}");
    }
    let odd = |kind: &str| json!({ "op": "set", "path": "x", "type": kind, "value": 4 });
    let arguments =
        json!({ "projectId": project, "changes": [odd("elephant"), odd("number"), odd("mouse")] });
    let no = call_refused(&mut ada, "edit_design_system", arguments).await;
    let is_told = |said: &str| no.text.contains(said);
    assert!(is_told("/changes/0/type: unknown type `elephant`"), "{no:?}");
    assert!(is_told("/changes/2/type: unknown type `mouse`") && !is_told("/changes/1"), "{no:?}");
    for changes in [json!([]), json!(vec![json!({ "op": "starter" }); 1001])] {
        let no =
            call_refused(&mut ada, "edit_design_system", json!({ "projectId": project, "changes": changes }))
                .await;
        assert_eq!(no.kind, "invalid_argument");
    }
    assert_eq!(get_design_system(&mut ada, &project, json!({})).await, before);
    let forced =
        edit_tokens(&mut ada, &project, json!([{ "op": "delete", "path": "palette.ink", "force": true }]))
            .await;
    assert!(forced["touched"].to_string().contains("color.text"), "{forced}");
}

#[tokio::test(start_paused = true)]
async fn problems_report_cycles_and_missing_tokens() {
    let mut ada = client(&app(), ADA).await;
    let broken = r##"{ "c": { "$type": "color", "a": { "$value": "{c.b}" }, "b": { "$value": "{c.a}" },
        "gone": { "$value": "{c.nowhere}" }, "odd": { "$value": "reddish" }, "fine": { "$value": "#ff0000" } },
        "d": { "$type": "dimension", "$value": "{c.fine}" } }"##;
    let project = string_value(
        &call_ok(&mut ada, "create_project", json!({ "name": "Broken", "template": "bare" })).await["id"],
    );
    let came = edit_tokens(&mut ada, &project, json!([{ "op": "import_dtcg", "source": broken }])).await;
    let found = get_design_system(&mut ada, &project, json!({ "view": "problems" })).await["findings"].take();
    // What comes in is told about at once, with what was renewed on the way.
    let told = came["findings"].as_array().unwrap();
    assert!(found.as_array().unwrap().iter().all(|one| told.contains(one)), "{came}");
    let said = |path: &str| -> String {
        let of_path =
            found.as_array().unwrap().iter().filter(|one| one["path"].as_str().unwrap().starts_with(path));
        let words = of_path
            .map(|one| format!("{}: {}", string_value(&one["severity"]), string_value(&one["message"])));
        words.collect::<Vec<_>>().join("; ")
    };
    assert!(said("c.a").contains("error:") && said("c.a").contains("c.b"), "{found}");
    assert!(said("c.gone").contains("nowhere"), "{found}");
    assert!(said("c.odd").contains("reddish"), "{found}");
    assert!(said("d").contains("dimension"), "{found}");
    assert_eq!(said("c.fine"), "", "{found}");
    // What is whole is resolved and exported all the same.
    let resolved = get_design_system(&mut ada, &project, json!({ "view": "resolved" })).await;
    assert!(member_strings(&resolved["resolved"], "path").contains(&"c.fine"), "{resolved}");
    let exported = get_design_system(&mut ada, &project, json!({ "view": "export", "format": "css" })).await;
    assert!(
        string_value(&exported["export"]).contains("--c-fine: #f")
            && !exported["findings"].as_array().unwrap().is_empty()
    );
    // And what is wrong can be mended.
    edit_tokens(
        &mut ada,
        &project,
        json!([
            { "op": "set", "path": "c.b", "value": "#00ff00" },
            { "op": "delete", "path": "c.gone" },
            { "op": "set", "path": "c.odd", "value": "#0000ff" },
            { "op": "delete", "path": "d" },
        ]),
    )
    .await;
    let mended = get_design_system(&mut ada, &project, json!({ "view": "problems" })).await;
    assert!(!mended["findings"].to_string().contains("\"error\""), "{mended}");
}

#[tokio::test(start_paused = true)]
async fn every_export_format_contains_the_tokens_and_is_a_resource() {
    let mut ada = client(&app(), ADA).await;
    let project = create_project_with_tokens(&mut ada, TOKENS).await;
    for (format, mime_type, words) in [
        ("css", "text/css", ["--palette-ink: #111", "--color-text: var(--palette-ink)", "4px"]),
        ("scss", "text/x-scss", ["$palette-ink: #111", "$color-text: ", "4px"]),
        ("tailwind", "text/css", ["@theme", "#111", "4px"]),
        ("tailwind-v3", "application/json", ["colors", "#111", "4px"]),
        ("json", "application/json", ["\"$type\"", "{palette.ink}", "\"px\""]),
        ("flat", "application/json", ["\"color.text\"", "#111", "\"space.small\""]),
    ] {
        let exported =
            get_design_system(&mut ada, &project, json!({ "view": "export", "format": format })).await;
        let said = string_value(&exported["export"]);
        assert!(words.iter().all(|word| said.contains(word)), "{format}: {said}");
        let told = |exported: &Value| member_strings(&exported["findings"], "message").join("; ");
        let has_modes = !matches!(format, "tailwind-v3" | "flat");
        assert_eq!(told(&exported).contains("no modes"), !has_modes, "{format}: {exported}");
        let resource =
            read_resource(&mut ada, &format!("codefluss://design-system/{project}/{format}")).await;
        assert_eq!((&resource["text"], &resource["mimeType"]), (&json!(said), &json!(mime_type)));
        let again = json!({ "view": "export", "format": format, "prefix": "my" });
        let prefixed = get_design_system(&mut ada, &project, again).await;
        let has_prefix = matches!(format, "css" | "scss");
        assert_eq!(string_value(&prefixed["export"]).contains("my-palette-ink"), has_prefix, "{prefixed}");
        assert_eq!(told(&prefixed).contains("no prefix"), !has_prefix, "{prefixed}");
    }
    let no =
        call_refused(&mut ada, "get_design_system", json!({ "projectId": project, "view": "export" })).await;
    assert_eq!(no.kind, "invalid_argument");
    let no = call_refused(
        &mut ada,
        "get_design_system",
        json!({ "projectId": project, "view": "export", "format": "less" }),
    )
    .await;
    assert!(no.text.contains("tailwind-v3"), "names what there is: {}", no.text);
    let written: Value = serde_json::from_str(&string_value(
        &read_resource(&mut ada, &format!("codefluss://design-system/{project}")).await["text"],
    ))
    .unwrap();
    assert_eq!(written, get_design_system(&mut ada, &project, json!({})).await["tokens"]);
}

#[tokio::test(start_paused = true)]
async fn exported_tokens_can_be_imported() {
    let mut ada = client(&app(), ADA).await;
    let project = create_project_with_tokens(&mut ada, TOKENS).await;
    let before = export_css(&mut ada, &project).await;
    let file = string_value(
        &get_design_system(&mut ada, &project, json!({ "view": "export", "format": "json" })).await["export"],
    );
    let made = edit_tokens(&mut ada, &project, json!([{ "op": "import_dtcg", "source": file }])).await;
    assert_eq!(
        (&made["touched"], &made["findings"]),
        (&json!([]), &json!([])),
        "a round trip changes nothing"
    );
    let made = edit_tokens(&mut ada, &project, json!([{ "op": "import_css", "source": before }])).await;
    assert_eq!(made["touched"], json!([]), "nor does one through a stylesheet");
    assert_eq!(export_css(&mut ada, &project).await, before);
    let made = edit_tokens(&mut ada, &project, json!([{ "op": "starter" }])).await;
    assert_eq!(made["findings"], json!([]));
    assert!(export_css(&mut ada, &project).await.contains("--color-action-primary"));
}

#[tokio::test(start_paused = true)]
async fn resolved_tokens_respect_mode_and_are_paginated() {
    let mut ada = client(&app(), ADA).await;
    let project = create_project_with_tokens(&mut ada, TOKENS).await;
    let whole = get_design_system(&mut ada, &project, json!({ "view": "resolved" })).await;
    let order: Vec<String> =
        member_strings(&whole["resolved"], "path").into_iter().map(str::to_owned).collect();
    assert_eq!(
        order,
        ["palette.ink", "palette.paper", "palette.grey", "color.text", "color.background", "space.small"]
    );
    assert_eq!(member_strings(&whole["resolved"], "type")[5], "dimension");
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    for expected in [4, 2] {
        let page = get_design_system(
            &mut ada,
            &project,
            json!({ "view": "resolved", "mode": "dark", "limit": 4, "cursor": cursor }),
        )
        .await;
        assert_eq!(page["resolved"].as_array().unwrap().len(), expected);
        seen.extend(member_strings(&page["resolved"], "path").into_iter().map(str::to_owned));
        cursor = page["nextCursor"].clone();
    }
    assert_eq!((seen, cursor), (order, Value::Null));
    let one = get_design_system(
        &mut ada,
        &project,
        json!({ "view": "resolved", "mode": "dark", "path": "color.text" }),
    )
    .await;
    assert!(one["resolved"][0]["value"].to_string().contains("#ffffff"), "{one}");
    for (arguments, kind, said) in [
        (json!({ "view": "resolved", "mode": "sepia" }), "invalid", "available modes: [\"dark\"]"),
        (json!({ "view": "resolved", "path": "colo" }), "not_found", "design token `colo` not found"),
        (
            json!({ "view": "tokens", "path": "color.none" }),
            "not_found",
            "design token `color.none` not found",
        ),
        (json!({ "view": "resolved", "limit": 0 }), "invalid_argument", "limit"),
        (json!({ "view": "colours" }), "invalid_argument", "contrast"),
    ] {
        let mut arguments = arguments;
        arguments["projectId"] = json!(project);
        let no = call_refused(&mut ada, "get_design_system", arguments.clone()).await;
        assert!(no.kind == kind && no.text.contains(said), "{arguments}: {no:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn contrast_is_measured_in_every_mode() {
    let mut ada = client(&app(), ADA).await;
    let project = create_project_with_tokens(&mut ada, TOKENS).await;
    let pair = |text: &str, background: &str| json!({ "text": text, "background": background });
    let pairs = json!([pair("color.text", "color.background"), pair("palette.grey", "palette.paper")]);
    let found =
        get_design_system(&mut ada, &project, json!({ "view": "contrast", "pairs": pairs })).await["contrast"].take();
    let rows: Vec<(Option<&str>, &str, &str, &str)> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let word = |name: &str| row[name].as_str().unwrap();
            (row["mode"].as_str(), word("ratio"), word("normal"), word("large"))
        })
        .collect();
    assert!(rows.contains(&(None, "18.88:1", "AAA", "AAA")), "{rows:?}");
    assert!(rows.contains(&(Some("dark"), "18.88:1", "AAA", "AAA")), "{rows:?}");
    assert!(rows.contains(&(None, "2.84:1", "fail", "fail")), "{rows:?}");
    // Without pairs, those that names suggest.
    edit_tokens(&mut ada, &project, json!([{ "op": "starter" }])).await;
    let suggested =
        get_design_system(&mut ada, &project, json!({ "view": "contrast" })).await["contrast"].take();
    assert!(member_strings(&suggested, "text").contains(&"color.action.on-primary"), "{suggested}");
    assert!(member_strings(&suggested, "normal").iter().all(|level| *level != "fail"), "{suggested}");
}

#[tokio::test(start_paused = true)]
async fn unmeasured_contrast_pairs_are_reported() {
    let mut ada = client(&app(), ADA).await;
    let colors = |count: usize| {
        let colors = (0..count).map(|at| (format!("c{at}"), json!({ "$value": "#000000" })));
        Value::Object(colors.collect())
    };
    let tokens =
        |count: usize| json!({ "$type": "color", "text": colors(count), "background": colors(count) });
    for (count, left_out) in [(20, None), (30, Some("400 pairs were not measured"))] {
        let project = create_project_with_tokens(&mut ada, &tokens(count).to_string()).await;
        let told = get_design_system(&mut ada, &project, json!({ "view": "contrast" })).await;
        let message = told["findings"][0]["message"].as_str();
        assert_eq!(message.is_some(), left_out.is_some(), "{message:?}");
        assert!(message.unwrap_or_default().contains(left_out.unwrap_or_default()), "{message:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn mode_value_of_a_token_can_be_deleted() {
    let mut ada = client(&app(), ADA).await;
    let project = create_project_with_tokens(&mut ada, TOKENS).await;
    let modes = async |ada: &mut TestClient| {
        get_design_system(ada, &project, json!({ "view": "problems" })).await["modes"].take()
    };
    let set = json!([{ "op": "set", "path": "palette.ink", "value": "#111111", "mode": "drak" }]);
    edit_tokens(&mut ada, &project, set).await;
    assert_eq!(modes(&mut ada).await, json!(["drak", "dark"]));
    edit_tokens(&mut ada, &project, json!([{ "op": "delete", "path": "palette.ink", "mode": "drak" }])).await;
    assert_eq!(modes(&mut ada).await, json!(["dark"]));
    let again = json!([{ "op": "delete", "path": "palette.ink", "mode": "drak" }]);
    let again = json!({ "projectId": project, "changes": again });
    let no = call_refused(&mut ada, "edit_design_system", again).await;
    assert!(no.kind == "design_refused" && no.text.contains("drak"), "{no:?}");
}
