use crate::import::json;
use crate::{TokenFinding, TokenKind, resolve};

/// Imports a file. Returns `path type value` for each token, followed by the findings.
fn check_import(file: &str, expected: &[&str]) {
    let imported = json(file).unwrap();
    let resolved = resolve(&imported.document, None);
    let tokens = resolved
        .tokens()
        .iter()
        .map(|token| format!("{} {} {}", token.path, token.kind.map_or("?", TokenKind::as_str), token.value));
    // Findings about converted values do not depend on the origin of the file.
    let is_told = |finding: &&TokenFinding| {
        (finding.path.is_empty() || finding.is_error()) && !finding.message.contains("in a legacy format")
    };
    let told = imported.findings.iter().filter(is_told).map(ToString::to_string);
    let found: Vec<_> = tokens.chain(told).collect();
    assert_eq!(found.len(), expected.len(), "{file}\n{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected), "{file}\n{found}\n{expected}");
    }
    // Converted documents are not converted again.
    let again = json(&imported.document.to_string()).unwrap();
    assert_eq!(again.document, imported.document, "{file}");
    assert!(!again.findings.iter().any(|finding| finding.path.is_empty()), "{:?}", again.findings);
}

#[test]
fn members_without_dollar_are_renamed() {
    let renewed = "1 tokens had `value`";
    for (file, expected) in [
        (r##"{"a":{"value":"#111111","type":"color"}}"##, vec!["a color", renewed]),
        // A dimension is an object with a `value`, and so is a group with a token of that name.
        (
            r#"{"a":{"value":{"value":5,"unit":"ms"},"type":"duration"}}"#,
            vec![r#"a duration {"value":5,"unit":"ms"}"#, renewed],
        ),
        (
            r#"{"a":{"value":{"value":"5ms","type":"duration"}}}"#,
            vec![r#"a.value duration {"value":5,"unit":"ms"}"#, renewed],
        ),
        (
            r#"{"a":{"type":"duration","value":{"$value":"5ms","$type":"duration"}}}"#,
            vec!["a.value duration", "error: a.type: the members of a group must be objects"],
        ),
        // Legacy references end with `.value`.
        (
            r#"{"a":{"value":"1px","type":"dimension"},"b":{"value":"{a.value}"}}"#,
            vec!["a dimension", r#"b dimension {"value":1,"unit":"px"}"#, "2 tokens had `value`"],
        ),
        (
            r#"{"a":{"value":{"value":1,"type":"number"}},"b":{"value":"{a.value}"}}"#,
            vec!["a.value number 1", "b number 1", "2 tokens had `value`"],
        ),
    ] {
        check_import(file, &expected);
    }
}

#[test]
fn types_of_other_tools_are_converted() {
    for (kind, value, expected) in [
        ("cubic-bezier", "[0,0,1,1]", "a cubicBezier [0,0,1,1]"),
        ("font-weight", "700", "a fontWeight 700"),
        ("border-radius", r#""2px""#, r#"a dimension {"value":2,"unit":"px"}"#),
        ("time", r#""2s""#, r#"a duration {"value":2,"unit":"s"}"#),
        ("lineHeights", r#""150%""#, "a number 1.5"),
        ("lineHeights", r#""24px""#, r#"a dimension {"value":24,"unit":"px"}"#),
        ("opacity", r#""4%""#, "a number 0.04"),
    ] {
        let file = format!(r#"{{"a":{{"$type":"{kind}","$value":{value}}}}}"#);
        check_import(&file, &[expected, "1 types were specific to another tool"]);
    }
    check_import(r#"{"a":{"$type":"other","$value":"x"}}"#, &["a ? \"x\"", "unknown type `other`"]);
}

#[test]
fn css_values_are_converted() {
    for (kind, value, expected) in [
        ("shadow", "0 1px 2px #000", r#"a shadow {"color""#),
        ("cubicBezier", "cubic-bezier(0.2, 0, 0, 1)", "a cubicBezier [0.2,0,0,1]"),
        ("gradient", "linear-gradient(red, blue)", r#"a gradient [{"color""#),
        ("fontFamily", "'Fira Sans', serif", r#"a fontFamily ["Fira Sans","serif"]"#),
        ("fontWeight", "SemiBold", "a fontWeight \"semi-bold\""),
    ] {
        let file = format!(r#"{{"a":{{"$type":"{kind}","$value":"{value}"}}}}"#);
        check_import(&file, &[expected, "1 values were written as CSS or with other names"]);
    }
    for (kind, value, expected) in [
        ("color", "linear-gradient(red, blue)", vec!["a color", "error: a: "]),
        ("shadow", "0 1px 2px var(--x)", vec!["a shadow", "error: a: "]),
        ("fontFamily", "Fira Sans", vec!["a fontFamily \"Fira Sans\""]),
    ] {
        check_import(&format!(r#"{{"a":{{"$type":"{kind}","$value":"{value}"}}}}"#), &expected);
    }
}

#[test]
fn untyped_legacy_tokens_get_inferred_types() {
    for (name, value, expected) in [
        ("a", r##""#0af""##, "a color"),
        ("a", r#""rgba(0, 0, 0, 0.5)""#, "a color"),
        ("a", r#""transparent""#, "a color"),
        ("a", r#""1.5rem""#, "a dimension"),
        ("a", r#""0.2s""#, "a duration"),
        ("a", "1.5", "a number 1.5"),
        ("weight", "600", "weight fontWeight 600"),
        ("a", r#""0 1px 2px #000""#, "a shadow"),
    ] {
        let file = format!(r#"{{"{name}":{{"value":{value}}}}}"#);
        check_import(&file, &[expected, "1 tokens had `value`", "1 tokens had no type"]);
    }
    // A word could be a colour or a weight, and 2025.10 does not guess either.
    check_import(
        r#"{"a":{"value":"black"}}"#,
        &["a ? \"black\"", "1 tokens had", "error: a: the token has no type"],
    );
    check_import(r##"{"a":{"$value":"#0af"}}"##, &["a ? \"#0af\"", "error: a: the token has no type"]);
}

#[test]
fn build_output_is_moved_to_extensions() {
    let file = r##"{"a":{"$value":"#00aaff","$type":"color","filePath":"a.json","name":"a","path":["a"],
        "original":{"$value":"{b}"}}}"##;
    check_import(file, &["a color", "1 tokens contained build output"]);
    let document = json(file).unwrap().document;
    let origin = document.get("a.$extensions.origin").unwrap();
    let names: Vec<_> = origin.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["filePath", "name", "path", "original"]);
    // Without these hints it is a token inside a token, which only its author can fix.
    check_import(
        r##"{"a":{"$value":"#00aaff","$type":"color","name":{"$value":1,"$type":"number"}}}"##,
        &["a color", "a token cannot contain other tokens"],
    );
}

#[test]
fn tokens_studio_typography_is_completed() {
    let file = r#"{"a":{"type":"typography","value":{"fontFamily":"Fira Sans, serif","fontSize":"16px","fontWeight":"700",
        "lineHeight":"150%","textCase":"uppercase"}}}"#;
    let value = r#"a typography {"fontFamily":["Fira Sans","serif"],"fontSize":{"value":16,"unit":"px"},"fontWeight":700"#;
    check_import(file, &[value, "1 tokens had `value`"]);
    let document = json(file).unwrap().document;
    assert_eq!(
        document.get("a.$extensions.origin").unwrap().get("textCase").unwrap().as_str(),
        Some("uppercase")
    );
    let text = document.get("a").unwrap().get("$value").unwrap().as_object().unwrap();
    assert_eq!(text.get("lineHeight").unwrap().to_string(), "1.5");
    assert_eq!(text.get("letterSpacing").unwrap().to_string(), r#"{"value":0,"unit":"px"}"#);
    // A DTCG file must be complete.
    let partial = r#"{"a":{"$type":"typography","$value":{"fontFamily":"x","fontSize":{"value":1,"unit":"px"},
        "fontWeight":400,"lineHeight":1}}}"#;
    check_import(partial, &["a typography", "the typography is missing letterSpacing"]);
}

#[test]
fn sets_and_themes_are_merged_into_one_document() {
    let file = |order: &str, themes: &str| {
        format!(
            r#"{{"$metadata":{{"tokenSetOrder":{order}}},"$themes":[{themes}],
            "core":{{"a":{{"$type":"number","$value":1}}}},"dark":{{"a":{{"$type":"number","$value":2}}}},
            "big":{{"b":{{"$type":"number","$value":9}}}},"small":{{"b":{{"$type":"number","$value":8}}}}}}"#
        )
    };
    let theme = |name: &str, group: &str, set: &str| {
        format!(r#"{{"name":"{name}","group":"{group}","selectedTokenSets":{{"{set}":"enabled"}}}}"#)
    };
    let all = r#"["core","dark","big","small"]"#;
    let groups = [
        theme("light", "mode", "core"),
        theme("dark", "mode", "dark"),
        theme("big", "size", "big"),
        theme("small", "size", "small"),
    ]
    .join(",");
    for (text, mode, expected) in [
        // Themes of one group are alternatives; themes of different groups are combined.
        (file(all, &groups), None, "a=1 b=9"),
        (file(all, &groups), Some("mode-dark"), "a=2 b=9"),
        (file(all, &groups), Some("size-small"), "a=1 b=8"),
        // Unlisted sets are last, and a repeated one counts once.
        (file(r#"["dark"]"#, ""), None, "a=1 b=8"),
        (file(r#"["core","dark","core"]"#, ""), None, "a=2 b=8"),
    ] {
        let imported = json(&text).unwrap();
        let resolved = resolve(&imported.document, mode);
        let found: Vec<_> =
            resolved.tokens().iter().map(|token| format!("{}={}", token.path, token.value)).collect();
        assert_eq!(found.join(" "), expected, "{text}");
    }
    // More themes than allowed modes: all sets are merged without modes.
    let many: Vec<_> = (0..40).map(|at| theme(&format!("t{at}"), "mode", "core")).collect();
    let imported = json(&file(all, &many.join(","))).unwrap();
    assert_eq!(imported.document.modes(), Vec::<String>::new());
    assert!(!imported.findings[0].message.contains("modes"), "{:?}", imported.findings);
}

#[test]
fn weight_names_and_font_lists_are_converted() {
    check_import(
        r#"{"a":{"value":"Inter","type":"fontFamily"},"b":{"value":["{a.value}","serif"],"type":"fontFamily"}}"#,
        &["a fontFamily", r#"b fontFamily ["Inter","serif"]"#, "2 tokens had `value`"],
    );
    check_import(r##"{"a":{"$type":"color-é","$value":"#00aaff"}}"##, &["a ?", "unknown type `color-é`"]);
    // Files of other tools may contain arbitrary members.
    let more: Vec<_> = (0..20_000).map(|at| format!(r#""x{at}":1"#)).collect();
    let start = std::time::Instant::now();
    let file = format!(r#"{{"a":{{"value":1,"type":"number",{}}}}}"#, more.join(","));
    assert!(json(&file).unwrap().document.get("a.$extensions.origin").unwrap().contains("x19999"));
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn lengths_without_a_unit_are_pixels() {
    let px = |value: u8| format!(r#"a dimension {{"value":{value},"unit":"px"}}"#);
    let unitless = "1 tokens had lengths without a unit";
    for (kind, value, expected) in [
        ("spacing", r#""8""#, px(8)),
        ("sizing", "24", px(24)),
        ("borderRadius", r#"" 4 ""#, px(4)),
        ("fontSizes", r#""18""#, px(18)),
        ("letterSpacing", r#""0%""#, px(0)),
        ("dimension", "16", px(16)),
    ] {
        let file = format!(r#"{{"a":{{"value":{value},"type":"{kind}"}}}}"#);
        let renamed = (kind != "dimension").then_some("1 types were specific to another tool");
        let told = std::iter::once("1 tokens had `value`").chain(renamed).chain([unitless]);
        check_import(&file, &std::iter::once(expected.as_str()).chain(told).collect::<Vec<_>>());
    }
    check_import(
        r#"{"a":{"$value":"8","$type":"spacing"}}"#,
        &[&px(8), "1 types were specific to another tool", unitless],
    );
    // The format itself requires a unit, and a percentage is not a length.
    check_import(r#"{"a":{"$value":"8","$type":"dimension"}}"#, &["a dimension \"8\"", "error: a: "]);
    check_import(
        r#"{"a":{"value":"-2%","type":"letterSpacing"}}"#,
        &["a dimension \"-2%\"", "1 tokens had `value`", "1 types were specific", "error: a: "],
    );
}

#[test]
fn tokens_studio_parts_are_converted() {
    check_import(
        r##"{"a":{"value":{"color":"#000000","width":"1","style":"solid"},"type":"border"}}"##,
        &[
            r#""width":{"value":1,"unit":"px"}"#,
            "1 tokens had `value`",
            "1 tokens had lengths without a unit",
        ],
    );
    check_import(
        r#"{"a":{"type":"typography","value":{"fontFamily":"Inter","fontSize":"16","fontWeight":"Semi Bold","lineHeight":"150%",
            "letterSpacing":"0%"}}}"#,
        &[
            r#"a typography {"fontFamily":"Inter","fontSize":{"value":16,"unit":"px"},"fontWeight":600,"letterSpacing":{"value":0,"unit":"px"},"lineHeight":1.5}"#,
            "1 tokens had `value`",
            "1 tokens had lengths without a unit",
        ],
    );
}

#[test]
fn ignored_modify_is_reported() {
    let file = |modify: &str| {
        format!(
            r##"{{"a":{{"$type":"color","$value":"#00aaff"}},"b":{{"$type":"color","$value":"{{a}}",
            "$extensions":{{"studio.tokens":{{{modify}}}}}}}}}"##
        )
    };
    let told =
        |file: &str| -> Vec<_> { json(file).unwrap().findings.into_iter().map(|one| one.message).collect() };
    let modified = told(&file(r#""modify":{"type":"lighten","value":"0.1","space":"lch"}"#));
    assert!(modified.iter().any(|one| one.starts_with("1 tokens have a `modify`")), "{modified:?}");
    assert!(!told(&file("")).iter().any(|one| one.contains("modify")));
}
