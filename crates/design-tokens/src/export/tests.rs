use super::*;
use crate::{Json, TokenDocument, starter_document};

fn parse(text: &str) -> TokenDocument {
    TokenDocument::parse(text).unwrap()
}

/// A token of every type, aliases, a mode, and tokens with findings.
const ALL_TYPES_DOCUMENT: &str = r##"{
  "color": { "$type": "color",
    "brand": { "$root": { "$value": { "colorSpace": "srgb", "components": [0, 0.4, 0.8], "hex": "#0066cc" }, "$description": "Ours." },
      "glow": { "$value": { "colorSpace": "display-p3", "components": [0.1, 0.5, 1], "alpha": 0.5 } } },
    "link": { "$value": "{color.brand.$root}", "$deprecated": "use action",
      "$extensions": { "mode": { "dark": { "colorSpace": "oklch", "components": [0.8, 0.1, "none"] } } } },
    "action": { "$value": "{color.link}" } },
  "space": { "$type": "dimension", "md": { "$value": { "value": 1, "unit": "rem" } } },
  "radius": { "$type": "dimension", "sm": { "$value": { "value": 4, "unit": "px" } } },
  "font": { "$type": "fontFamily", "body": { "$value": ["Fira Sans", "system-ui", "sans-serif"] } },
  "weight": { "$type": "fontWeight", "strong": { "$value": "semi-bold" } },
  "leading": { "$type": "number", "tight": { "$value": 1.25 } },
  "time": { "$type": "duration", "fast": { "$value": { "value": 120, "unit": "ms" } } },
  "ease": { "$type": "cubicBezier", "out": { "$value": [0, 0, 0.5, 1] } },
  "stroke": { "$type": "strokeStyle", "dots": { "$value": { "dashArray": ["{radius.sm}"], "lineCap": "round" } } },
  "edge": { "$type": "border", "thin": { "$value": { "color": "{color.link}", "width": { "value": 1, "unit": "px" }, "style": "{stroke.dots}" } } },
  "move": { "$type": "transition", "in": { "$value": { "duration": "{time.fast}", "delay": { "value": 0, "unit": "ms" }, "timingFunction": "{ease.out}" } } },
  "shadow": { "$type": "shadow",
    "one": { "$value": { "color": "{color.brand.glow}", "offsetX": { "value": 0, "unit": "px" }, "offsetY": "{radius.sm}", "blur": { "value": 8, "unit": "px" }, "spread": { "value": -1, "unit": "px" } } },
    "two": { "$value": ["{shadow.one}", { "color": "{color.link}", "offsetX": { "value": 0, "unit": "px" }, "offsetY": { "value": 1, "unit": "px" }, "blur": { "value": 0, "unit": "px" }, "spread": { "value": 0, "unit": "px" }, "inset": true }] } },
  "fade": { "$type": "gradient", "$value": [] , "x": {} },
  "sky": { "$type": "gradient", "$value": [{ "color": "{color.link}", "position": 0 }, { "color": "{color.brand.glow}", "position": 0.75 }] },
  "text": { "body": { "$type": "typography", "$value": { "fontFamily": "{font.body}", "fontSize": "{space.md}", "fontWeight": "{weight.strong}", "letterSpacing": { "value": 0, "unit": "px" }, "lineHeight": "{leading.tight}" } },
    "hint": { "$value": "{text.body}" } }
}"##;

#[test]
fn every_type_is_exported() {
    let document = parse(ALL_TYPES_DOCUMENT);
    let options = ExportOptions { prefix: "acme".to_owned(), omit_comments: false };
    insta::assert_snapshot!("everything.css", css(&document, &options).text);
    insta::assert_snapshot!("everything.scss", scss(&document, &ExportOptions::default()).text);
    insta::assert_snapshot!(
        "everything.tailwind4.css",
        tailwind_v4(&document, &ExportOptions::default()).text
    );
    insta::assert_snapshot!("everything.tailwind3.json", tailwind_v3(&document).text);
    insta::assert_snapshot!("everything.flat.json", resolved_json(&document, Some("dark")).text);
    let findings = css(&document, &options).findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].path, "fade");
}

#[test]
fn starter_document_is_exported() {
    let options = ExportOptions { prefix: String::new(), omit_comments: true };
    insta::assert_snapshot!("starter.css", css(&starter_document(), &options).text);
    let plain = dtcg_json(&starter_document());
    assert_eq!(TokenDocument::parse(&plain.text).unwrap(), starter_document());
}

#[test]
fn exported_names_are_unique() {
    let document = parse(
        r#"{"$type":"number","a":{"b":{"$value":1},"b c":{"$value":2}},"a-b":{"$value":3},"a_b":{"$value":4},"a-b-c":{"$value":5}}"#,
    );
    let text = css(&document, &ExportOptions::default()).text;
    assert_eq!(
        text,
        ":root {\n  --a-b: 1;\n  --a-b-c: 2;\n  --a-b-2: 3;\n  --a_b-3: 4;\n  --a-b-c-2: 5;\n}\n"
    );
}

#[test]
fn hostile_texts_are_escaped() {
    let document = parse(
        r##"{
          "x:red;}/*</style>*/ @import url(//e)": { "$type": "number", "$value": 1, "$description": "*/ } </style> body { \n } //  #{evil()} /*" },
          "f": { "$type": "fontFamily", "$value": ["a\"; color: red", "#(evil)", "b\\", "</style>", "c\nd"] },
          "m": { "$type": "number", "$value": 1, "$extensions": { "mode": { "\"] { } body {": 2 } } },
          "100": { "$type": "number", "$value": 1, "$deprecated": "no\nmore */ x" }
        }"##,
    );
    insta::assert_snapshot!(
        "hostile.css",
        css(&document, &ExportOptions { prefix: "} x".to_owned(), omit_comments: false }).text
    );
    insta::assert_snapshot!("hostile.scss", scss(&document, &ExportOptions::default()).text);
}

/// Exports a document. Returns the trimmed lines of the text, and the findings.
fn text_and_finding_lines(exported: &ExportOutput) -> Vec<String> {
    let text = exported.text.lines().map(|line| line.trim().trim_end_matches(['{', ';']).trim().to_owned());
    text.filter(|line| !["", "}"].contains(&line.as_str()))
        .chain(exported.findings.iter().map(ToString::to_string))
        .collect()
}

#[test]
fn mode_blocks_contain_every_override() {
    for (name, text, expected) in [
        (
            "the same value from elsewhere is another",
            r#"{"$type":"number","b":{"$value":1,"$extensions":{"mode":{"x":2}}},"a":{"$value":"{b}","$extensions":{"mode":{"x":1}}}}"#,
            vec![":root", "--b: 1", "--a: var(--b)", r#"[data-theme="x"]"#, "--b: 2", "--a: 1"],
        ),
        (
            "what says the same is not said again",
            r#"{"$type":"number","b":{"$value":1,"$extensions":{"mode":{"x":1}}},"a":{"$value":"{b}"}}"#,
            vec![":root", "--b: 1", "--a: var(--b)"],
        ),
        (
            "what is broken in a mode is told",
            r#"{"$type":"number","a":{"$value":1,"$extensions":{"mode":{"x":"no"}}},"b":{"$value":1,"$extensions":{"mode":{"x":"{nope}"}}}}"#,
            vec![
                ":root",
                "--a: 1",
                "--b: 1",
                "error: b: {nope} does not exist in the document; correct the path or add the token (in mode `x`)",
                "error: a: the token is not exported: its type or value is invalid (in mode `x`)",
            ],
        ),
        (
            "what is not exported is not named",
            r##"{"a":{"$type":"dimension","$value":"{b}"},"b":{"$value":"1px"},"e":{"$type":"border","$value":{"color":"{c}","width":"{b}","style":"solid"}},"c":{"$type":"color","$value":"#00aaff"}}"##,
            vec![
                ":root",
                "--a: 1px",
                "--e: 1px solid #00aaff",
                "--c: #00aaff",
                "error: b: the token is not exported: its type or value is invalid",
            ],
        ),
        (
            "where no name can stand the value does",
            r##"{"n":{"$type":"number","$value":0.5,"$extensions":{"mode":{"x":0.25}}},"c":{"$type":"color","$value":{"colorSpace":"srgb","components":[0,0,{"$ref":"#/n"}],"alpha":{"$ref":"#/n"}}},"d":{"$value":"{c}"}}"##,
            vec![
                ":root",
                "--n: 0.5",
                "--c: color(srgb 0 0 0.5 / 0.5)",
                "--d: var(--c)",
                r#"[data-theme="x"]"#,
                "--n: 0.25",
                "--c: color(srgb 0 0 0.25 / 0.25)",
                "--d: var(--c)",
            ],
        ),
        (
            "a position stays between the ends",
            r##"{"n":{"$type":"number","$value":7},"g":{"$type":"gradient","$value":[{"color":"#00aaff","position":0},{"color":"#00aaff","position":"{n}"}]}}"##,
            vec![
                ":root",
                "--n: 7",
                "--g: linear-gradient(#00aaff 0%, #00aaff clamp(0%, var(--n) * 100%, 100%))",
            ],
        ),
    ] {
        assert_eq!(text_and_finding_lines(&css(&parse(text), &ExportOptions::default())), expected, "{name}");
    }
}

#[test]
fn tailwind_reports_dropped_tokens() {
    let text = r##"{"color":{"$type":"color","a":{"b":{"$value":"#000001"}},"a-b":{"$value":"#000002"}},
        "colors":{"a-b":{"$type":"color","$value":"#000003"}},"line":{"$type":"strokeStyle","$value":"solid"},
        "screen":{"$type":"dimension","md":{"$value":"{screen.wide}"},"wide":{"$value":"40rem"}}}"##;
    let exported = tailwind_v3(&parse(text));
    let extend = Json::parse(&exported.text).unwrap();
    let extend =
        extend.as_object().and_then(|json| json.get("theme")?.as_object()?.get("extend").cloned()).unwrap();
    assert_eq!(
        extend.to_string(),
        r##"{"colors":{"a-b":"#000001","a-b-2":"#000002","a-b-3":"#000003"},"screens":{"md":"40rem","wide":"40rem"}}"##
    );
    let told: Vec<_> = exported.findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        ["warning: line: the token is not exported: Tailwind 3 does not support type strokeStyle"]
    );
    // Media queries cannot use custom properties.
    assert!(tailwind_v4(&parse(text), &ExportOptions::default()).text.contains("--breakpoint-md: 40rem;"));
}

#[test]
fn prefix_is_sanitized() {
    let document = parse(r#"{"$type":"number","1":{"$value":1}}"#);
    for (prefix, expected) in [("8x", "$t-8x-t-1: 1;"), ("acme", "$acme-t-1: 1;"), ("", "$t-1: 1;")] {
        let text = scss(&document, &ExportOptions { prefix: prefix.to_owned(), omit_comments: true }).text;
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn long_prefix_is_truncated_with_warning() {
    let tokens: Vec<_> = (0..50).map(|at| format!(r#""t{at}":{{"$value":{at}}}"#)).collect();
    let document = parse(&format!(r#"{{"$type":"number",{}}}"#, tokens.join(",")));
    let options = ExportOptions { prefix: "é".repeat(500_000), omit_comments: true };
    let name = format!("{}-t0: 0;", "é".repeat(32));
    for exported in [css(&document, &options), scss(&document, &options)] {
        assert!(exported.text.len() < 50_000, "{}", exported.text.len());
        assert!(exported.text.contains(&name), "{}", &exported.text[..200]);
        let told: Vec<_> = exported.findings.iter().map(ToString::to_string).collect();
        assert!(matches!(told.as_slice(), [one] if one.contains("has 1000000 bytes, but the limit is 64")));
    }
    let longest = ExportOptions { prefix: "p".repeat(MAX_PREFIX_BYTES), omit_comments: true };
    assert_eq!(css(&document, &longest).findings, []);
}

#[test]
fn comments_are_truncated() {
    let tokens: Vec<_> = (0..4_000).map(|at| format!(r#""t{at}":{{"$value":{at}}}"#)).collect();
    let why = "ab*/ ".repeat(100_000);
    let document = parse(&format!(r#"{{"$type":"number","$deprecated":"{why}",{}}}"#, tokens.join(",")));
    let options = ExportOptions::default();
    let start = std::time::Instant::now();
    for exported in [css(&document, &options), scss(&document, &options), tailwind_v4(&document, &options)] {
        assert_eq!(exported.findings, []);
        let longest = exported.text.lines().map(str::len).max().unwrap_or(0);
        assert!((200..300).contains(&longest), "{longest}");
        assert!(exported.text.contains("deprecated: ab* / ab* /"), "{}", &exported.text[..200]);
    }
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

/// A document of one token.
fn single_token_document(path: &str, kind: &str, value: &str) -> TokenDocument {
    let token = format!(r#"{{"$type":"{kind}","$value":{value}}}"#);
    parse(&path.rsplit('.').fold(token, |inner, name| format!(r#"{{"{name}":{inner}}}"#)))
}

#[test]
fn tailwind_namespaces_are_used() {
    let shadow = r##"[{"color":"#000000","offsetX":"0px","offsetY":"1px","blur":"2px","spread":"3px"}]"##;
    let cast = "0px 1px 2px 3px #000000";
    let flat = "0px 1px 2px #000000";
    for (path, kind, value, v4, v3) in [
        ("spacing.$root", "dimension", "\"4px\"", "--spacing: 4px", r#""spacing":{"DEFAULT":"4px"}"#),
        ("spacing", "dimension", "\"4px\"", "--spacing: 4px", r#""spacing":{"DEFAULT":"4px"}"#),
        ("spacing.sm.$root", "dimension", "\"4px\"", "--spacing-sm: 4px", r#""spacing":{"sm":"4px"}"#),
        ("radius", "dimension", "\"4px\"", "--radius: 4px", r#""borderRadius":{"DEFAULT":"4px"}"#),
        ("borderRadius.sm", "dimension", "\"4px\"", "--radius-sm: 4px", r#""borderRadius":{"sm":"4px"}"#),
        ("border.radius.sm", "dimension", "\"4px\"", "--radius-sm: 4px", r#""borderRadius":{"sm":"4px"}"#),
        ("border-radius.sm", "dimension", "\"4px\"", "--radius-sm: 4px", r#""borderRadius":{"sm":"4px"}"#),
        ("cornerRadius.sm", "dimension", "\"4px\"", "--radius-sm: 4px", r#""borderRadius":{"sm":"4px"}"#),
        (
            "perspective.near",
            "dimension",
            "\"4px\"",
            "--perspective-near: 4px",
            r#""perspective-near":"4px""#,
        ),
        ("default.gap", "dimension", "\"4px\"", "--default-gap: 4px", r#""default-gap":"4px""#),
        ("color", "color", "\"#000000\"", "--color-color: #000000", r##""colors":{"color":"#000000"}"##),
        ("fontFamilies.x", "fontFamily", "\"serif\"", "--font-x: serif", r#""fontFamily":{"x":["serif"]}"#),
        ("shadow", "shadow", shadow, &*format!("--shadow: {cast}"), &*format!(r#"{{"DEFAULT":"{cast}"}}"#)),
        ("boxShadow.x", "shadow", shadow, &*format!("--shadow-x: {cast}"), &*format!(r#"{{"x":"{cast}"}}"#)),
        ("inset-shadow.x", "shadow", shadow, &*format!("--inset-shadow-x: {cast}"), "boxShadow"),
        // Text and filter shadows have no spread.
        ("textShadow.x", "shadow", shadow, &*format!("--text-shadow-x: {flat};"), "boxShadow"),
        (
            "drop.shadow.x",
            "shadow",
            shadow,
            &*format!("--drop-shadow-x: {flat};"),
            &*format!(r#""dropShadow":{{"x":["{flat}"]}}"#),
        ),
    ] {
        let document = single_token_document(path, kind, value);
        let text = tailwind_v4(&document, &ExportOptions::default()).text;
        assert!(text.contains(&format!("  {v4}")), "{path}: {text}");
        let text = Json::parse(&tailwind_v3(&document).text).unwrap().to_string();
        assert!(text.contains(v3), "{path}: {text}");
    }
}

#[test]
fn mode_dependent_shadows_become_variables_in_tailwind() {
    let shadow = |color: &str| {
        format!(r#"{{"color":"{color}","offsetX":"0px","offsetY":"1px","blur":"2px","spread":"0px"}}"#)
    };
    let text = format!(
        r##"{{"shadow":{{"$type":"shadow","card":{{"$value":{},"$extensions":{{"mode":{{"x":{}}}}}}},
            "all":{{"$value":"{{shadow.card}}"}},"ink":{{"$value":{}}},"card-value":{{"$value":{}}}}},
            "text-shadow":{{"$type":"shadow","t":{{"$value":"{{shadow.ink}}"}}}},
            "drop-shadow":{{"$type":"shadow","d":{{"$value":"{{shadow.card}}"}}}},
            "ink":{{"$type":"color","$value":"#000001","$extensions":{{"mode":{{"x":"#000002"}}}}}}}}"##,
        shadow("#00000a"),
        shadow("#00000b"),
        shadow("{ink}"),
        shadow("#00000c"),
    );
    let exported = tailwind_v4(&parse(&text), &ExportOptions::default());
    assert_eq!(
        text_and_finding_lines(&exported),
        [
            "@theme",
            "--shadow-card: var(--shadow-card-value-2)",
            "--shadow-all: var(--shadow-card-value-2)",
            // Tailwind leaves colours alone, so this one follows them.
            "--shadow-ink: 0px 1px 2px 0px var(--color-ink)",
            "--shadow-card-value: 0px 1px 2px 0px #00000c",
            "--text-shadow-t: var(--text-shadow-t-value)",
            // Tailwind does not split these.
            "--drop-shadow-d: 0px 1px 2px #00000a",
            "--color-ink: #000001",
            ":root",
            "--shadow-card-value-2: 0px 1px 2px 0px #00000a",
            "--text-shadow-t-value: 0px 1px 2px #000001",
            r#"[data-theme="x"]"#,
            "--shadow-card-value-2: 0px 1px 2px 0px #00000b",
            "--shadow-all: var(--shadow-card-value-2)",
            "--shadow-ink: 0px 1px 2px 0px var(--color-ink)",
            "--text-shadow-t-value: 0px 1px 2px #000002",
            "--drop-shadow-d: 0px 1px 2px #00000b",
            "--color-ink: #000002",
        ]
    );
}

#[test]
fn tailwind_breakpoints_are_literal_values() {
    for (space, line) in [("screen", "--breakpoint-md: 40rem;"), ("container", "--container-md: 40rem;")] {
        let text = format!(
            r#"{{"{space}":{{"$type":"dimension","md":{{"$value":"{{{space}.w}}"}},"w":{{"$value":"40rem"}}}}}}"#
        );
        let text = tailwind_v4(&parse(&text), &ExportOptions::default()).text;
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn tailwind_3_colors_have_an_alpha_placeholder() {
    for (color, expected) in [
        ("oklch(0.7 0.1 none)", "oklch(0.7 0.1 none / <alpha-value>)"),
        ("color(display-p3 0.1 0.5 1)", "color(display-p3 0.1 0.5 1 / <alpha-value>)"),
        ("oklch(0.7 0.1 20 / 0.5)", "oklch(0.7 0.1 20 / 0.5)"),
        ("hsl(120 50% 50%)", "hsl(120 50% 50%)"),
        ("rgb(0 0 0 / 0.5)", "rgb(0 0 0 / 0.5)"),
        ("#00aaff", "#00aaff"),
    ] {
        let text = tailwind_v3(&single_token_document("color.x", "color", &format!("\"{color}\""))).text;
        assert!(text.contains(&format!("\"x\": \"{expected}\"")), "{text}");
    }
}

#[test]
fn unsupported_features_are_reported() {
    let document =
        parse(r#"{"a":{"$type":"number","$value":1,"$extensions":{"mode":{"dim":2,"dark":3}}},"color":{}}"#);
    let options = ExportOptions { prefix: "acme".to_owned(), omit_comments: false };
    let prefix = "warning: this format has no prefix, so `acme` is ignored; use css or scss for one";
    let modes = "warning: this format has no modes: only base values are exported, without the overrides for dim, dark";
    for (name, exported, expected) in [
        ("css", css(&document, &options), vec![]),
        ("scss", scss(&document, &options), vec![]),
        ("tailwind", tailwind_v4(&document, &options), vec![prefix]),
        (
            "tailwind-v3",
            tailwind_v3(&document).warn_if_prefix_ignored(&options),
            vec![
                "warning: a: the token is not exported: Tailwind 3 does not support type number",
                modes,
                prefix,
            ],
        ),
        ("json", dtcg_json(&document).warn_if_prefix_ignored(&options), vec![prefix]),
        ("flat", resolved_json(&document, None).warn_if_prefix_ignored(&options), vec![modes, prefix]),
        ("flat in a mode", resolved_json(&document, Some("dim")), vec![]),
        ("nothing wanted", dtcg_json(&document).warn_if_prefix_ignored(&ExportOptions::default()), vec![]),
    ] {
        let told: Vec<_> = exported.findings.iter().map(ToString::to_string).collect();
        assert_eq!(told, expected, "{name}");
    }
}
