use super::*;
use crate::export::{self, ExportOptions};
use crate::{limits, resolve, starter_document};

/// Imports the properties of a `:root`. Returns `path type value` for each, followed by the findings.
fn check_import(css_text: &str, expected: &[&str]) {
    let imported = css_allow_empty(css_text).unwrap();
    let resolved = |mode: Option<&str>| {
        let resolved = resolve(&imported.document, mode);
        let prefix = mode.map(|mode| format!("{mode} ")).unwrap_or_default();
        let tokens = resolved.tokens().iter();
        tokens
            .map(|token| {
                let kind = token.kind.map_or("?", crate::TokenKind::as_str);
                format!("{prefix}{} {kind} {}", token.path, token.value)
            })
            .collect::<Vec<_>>()
    };
    let mut found = resolved(None);
    for mode in imported.document.modes() {
        let base = found.clone();
        let differs = |line: &String| !base.iter().any(|base| line.ends_with(&format!(" {base}")));
        found.extend(resolved(Some(&mode)).into_iter().filter(differs));
    }
    found.extend(imported.findings.iter().map(ToString::to_string));
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}\n{expected}");
    }
}

#[test]
fn value_types_are_inferred() {
    for (text, expected) in [
        ("#0af", r##"x color {"colorSpace":"srgb","components":[0,0.6667,1],"hex":"#00aaff"}"##),
        (
            "rgb(0 0 0 / 50%)",
            r##"x color {"colorSpace":"srgb","components":[0,0,0],"alpha":0.5,"hex":"#000000"}"##,
        ),
        ("rebeccapurple", "x color"),
        ("oklch(0.7 0.1 none)", r#"x color {"colorSpace":"oklch","components":[0.7,0.1,"none"]}"#),
        ("16px", r#"x dimension {"value":16,"unit":"px"}"#),
        ("-.5rem", r#"x dimension {"value":-0.5,"unit":"rem"}"#),
        ("1.5", "x number 1.5"),
        ("1e2", "x number 100"),
        ("200ms", r#"x duration {"value":200,"unit":"ms"}"#),
        ("cubic-bezier(0.2, 0, 0, 1)", "x cubicBezier [0.2,0,0,1]"),
        ("ease-in", "x cubicBezier [0.42,0,1,1]"),
        ("dashed", "x strokeStyle \"dashed\""),
        ("bold", "x fontWeight 700"),
        (
            "\"Fira Sans\", Times New Roman, system-ui",
            r#"x fontFamily ["Fira Sans","Times New Roman","system-ui"]"#,
        ),
        // Strings and words are fonts only if the name suggests it.
        (r#""\f101""#, "warning: --x:"),
        ("opacity, transform", "warning: --x:"),
        ("1e400", "warning: --x: `1e400` is omitted"),
        ("var(--y, 4px)", r#"x dimension {"value":4,"unit":"px"}"#),
        ("1px solid var(--y, red)", r#"x border {"color":{"colorSpace":"srgb","components":[1,0,0]"#),
        ("var(--y)", "warning: --x: `var(--y)` is omitted: it refers to `--y`, which is not declared"),
        ("f(a ! b) 4px", "warning: --x: `f(a ! b) 4px` is omitted"),
        ("4px ! important", r#"x dimension {"value":4,"unit":"px"}"#),
        ("1px solid red", r#"x border {"color":{"colorSpace":"srgb""#),
        ("0 1px 2px rgb(0 0 0 / 0.1), inset 0 0 0 1px #fff", r#"x shadow [{"color""#),
        ("200ms ease 0s", r#"x transition {"duration":{"value":200"#),
        ("16px !important /* note */", "x dimension"),
        ("1em", "warning: --x: `1em` is omitted: design tokens do not support the unit `em`"),
        ("50%", "warning: --x: `50%` is omitted: design tokens do not support percentages"),
        ("calc(1px + 2px)", "warning: --x: `calc(1px + 2px)` is omitted"),
        ("url(x.png)", "warning: --x: `url(x.png)` is omitted"),
        ("", "warning: --x: `` is omitted: it is empty"),
        ("{ a: b }", "warning: --x: `{ a: b }` is omitted"),
        ("rgb(var(--y) 0 0)", "warning: --x:"),
        ("\"{a.b}\"", "warning: --x:"),
    ] {
        check_import(&format!(":root {{ --x: {text}; }}"), &[expected]);
    }
    check_import(
        ":root { --font-weight-strong: 600; --space-0: 0 }",
        &["font.weight.strong fontWeight 600", "space.0 dimension"],
    );
}

#[test]
fn selectors_become_modes() {
    check_import(
        r#"/* theme */
        :root, :host { --color-bg: #fff; --color-fg: #000; --color-text: var(--color-fg); --pad-md: 1rem }
        :root { --color-fg: #111 }
        [data-theme="dark"] { --color-bg: #000000; --color-fg: #eee }
        html.theme-sepia { --color-bg: #fed }
        @media (prefers-color-scheme: dark) { :root:not([data-theme]) { --color-bg: #010101 } }
        @media (min-width: 40em) { :root { --pad-md: 2rem } }
        .card > p { --color-bg: red; color: blue }
        "#,
        &[
            r#"color.bg color {"colorSpace":"srgb","components":[1,1,1]"#,
            r#"color.fg color {"colorSpace":"srgb","components":[0.0667"#,
            r#"color.text color {"colorSpace":"srgb","components":[0.0667"#,
            "pad.md dimension",
            r#"dark color.bg color {"colorSpace":"srgb","components":[0.0039"#,
            r#"dark color.fg color {"colorSpace":"srgb","components":[0.9333"#,
            r#"dark color.text color {"colorSpace":"srgb","components":[0.9333"#,
            "sepia color.bg color",
            "warning: --pad-md: omitted: it is only set for some elements",
            "warning: --color-bg: omitted: it is only set for some elements",
        ],
    );
    let sheets: [(&str, &[&str]); 13] = [
        (
            ":root { --x: 1; &.dark { --x: 2 } &[data-theme=dim] { --x: 3 } &:not(.a) { --y: 4 } }",
            &["x number 1", "y number 4", "dark x number 2", "dim x number 3"],
        ),
        (
            ":root{--x:1}.card{&.dark{--x:2}& p{--x:3}}",
            &["x number 1", "warning: --x: omitted: it is only set"],
        ),
        (
            ":root{--x:1;--y:1}@media screen and (prefers-color-scheme: dark){:root{--x:2}}
            @media only screen and (prefers-color-scheme: light){:root{--y:2}}",
            &["x number 1", "y number 1", "dark x number 2", "light y number 2"],
        ),
        (
            ":root{--x:1}@media print and (prefers-color-scheme: dark){:root{--x:2}}",
            &["x number 1", "warning: --x: omitted: it is only set"],
        ),
        (
            r#":root{--x:1}[data-theme="dark"],[data-theme="dim"]{--x:2}"#,
            &["x number 1", "dark x number 2", "dim x number 2"],
        ),
        (":root{--x:1}:is(.dark,.theme-dim){--x:2}", &["x number 1", "dark x number 2", "dim x number 2"]),
        (":root,[data-theme=light]{--x:1}[data-theme=dark]{--x:2}", &["x number 1", "dark x number 2"]),
        // A class is a mode if it overrides a base value.
        (
            ":root{--x:1}.btn{--btn:1}",
            &["x number 1", "warning: --btn: omitted: it is only set for some elements"],
        ),
        (".btn{--btn:1;--x:2}:root{--x:1}", &["x number 1", "btn x number 2", "warning: --btn"]),
        (
            r#"[data-state="open"]{--y:1}[data-mode="a"]{--x:1}:root{--z:1}"#,
            &["x number 1", "z number 1", "warning: --y: omitted: it is only set"],
        ),
        // Without any base values, every class is a mode.
        (".spectrum{--x:1}.spectrum--dark{--x:2}", &["x number 1", "spectrum--dark x number 2"]),
        (
            "@supports not (color: red) { :root{--x:2} } :root{--x:1}",
            &["x number 1", "warning: --x: omitted: it is only set"],
        ),
        ("@supports (color: red) { :root{--x:2} }", &["x number 2"]),
    ];
    for (sheet, expected) in sheets {
        check_import(sheet, expected);
    }
    let classes: Vec<_> = (0..40).map(|at| format!(".c{at}{{--x:{at}.5}}")).collect();
    let imported = css_allow_empty(&format!(":root{{--x:1}}{}", classes.concat())).unwrap();
    assert_eq!(imported.document.modes().len(), limits::MAX_MODES);
    assert!(imported.findings[0].message.contains("values for 8 more are omitted"));
    check_import(
        ":root { --a: light-dark(1px, var(--b)); --b: 2px; --c: light-dark(red) }",
        &[
            r#"a dimension {"value":1,"unit":"px"}"#,
            "b dimension",
            r#"dark a dimension {"value":2,"unit":"px"}"#,
            "warning: --c: `light-dark(red)` is omitted",
        ],
    );
    check_import(
        ".dark { --a: 3px } :root { --a: light-dark(1px, 2px) }",
        &[r#"a dimension {"value":1"#, r#"dark a dimension {"value":3"#],
    );
    check_import(
        "@theme { --a: 1 } @layer x { :root { --b: 2 } } .dark { --c: 3 }",
        &["a number 1", "b number 2", "c number 3"],
    );
}

#[test]
fn too_long_mode_names_are_ignored() {
    let sheet = |length: usize| format!(":root{{--x:1}}.{}{{--x:2}}", "m".repeat(length));
    assert_eq!(css_allow_empty(&sheet(limits::MAX_NAME_BYTES)).unwrap().document.modes().len(), 1);
    assert_eq!(css_allow_empty(&sheet(limits::MAX_NAME_BYTES + 1)).unwrap().document.modes().len(), 0);
    // Regardless of the number of declarations.
    let classes: Vec<_> = (0..60).map(|at| format!(".m{at}{}", "x".repeat(8_000))).collect();
    let start = std::time::Instant::now();
    css_allow_empty(&format!("{}{{{}}}", classes.join(","), "--a:1;".repeat(92_000))).unwrap();
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn input_without_tokens_is_rejected() {
    let no_properties = "no custom properties found";
    for (text, expected) in [
        ("", no_properties),
        ("not css at all {{{", no_properties),
        ("$brand: #0a7;", no_properties),
        ("p { color: red }", no_properties),
        (":root { --x: calc(1px + 2px) }", "(warning: --x: `calc(1px + 2px)` is omitted"),
    ] {
        let error = stylesheet(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
        assert!(error.contains("expected a stylesheet such as `:root { --color-brand: #0a7; }`"), "{error}");
    }
    assert_eq!(stylesheet(":root { --x: 1 }").unwrap(), css_allow_empty(":root { --x: 1 }").unwrap());
    for text in [
        "{}",
        r#"{"name":"x","version":"1.0.0","dependencies":{"react":"^19.0.0"},"scripts":{"test":"jest"}}"#,
        r#"{"color":{"$type":"color","brand":{}},"$description":"none yet"}"#,
    ] {
        let error = json(text).unwrap_err().to_string();
        assert!(error.starts_with("no tokens found; expected a design-token file such as `{"), "{error}");
    }
    // An invalid token is still a token.
    assert!(json(r#"{"a":{"$value":"{nowhere}"}}"#).is_ok());
}

#[test]
fn property_names_become_token_paths() {
    check_import(
        r":root { --brand: 1; --brand-500: 2; --text-sm--line: 3; --w-0\.5: 4; --x: var(--brand); --y: var(--nope) }",
        &[
            "brand.$root number 1",
            "brand.500 number 2",
            "text.sm.-line number 3",
            "w.0_5 number 4",
            "x number 1",
            "warning: --y: `var(--nope)` is omitted: it refers to `--nope`",
        ],
    );
    let long = "n".repeat(129);
    check_import(
        &format!(
            r":root {{ --w-0\.5: 1; --w-0_5: 2; --{long}: 3; --b: var(--{long}); --c: var(--b); --d: 4 }}"
        ),
        &[
            "w.0_5 number 1",
            "w.0_5_2 number 2",
            "d number 4",
            "warning: --nnnn",
            "warning: --b: `var(--nnn",
            "warning: --c: `var(--b)` is omitted: it refers to `--b`",
        ],
    );
}

#[test]
fn dependents_of_dropped_properties_are_dropped() {
    check_import(
        ":root { --a: var(--b); --b: var(--nope, 1px); --c: 1em; --d: 0 1px var(--a) red; --e: var(--c) }",
        &[
            r#"a dimension {"value":1,"unit":"px"}"#,
            r#"b dimension {"value":1,"unit":"px"}"#,
            "d shadow",
            "warning: --c: `1em` is omitted: design tokens do not support the unit `em`",
            "warning: --e: `var(--c)` is omitted: it refers to `--c`, which is omitted",
        ],
    );
    // A declared property has a value even if it cannot be a token, so its fallback does not apply.
    check_import(
        ":root { --c: 1em; --b: var(--c, 1px); --g: linear-gradient(var(--c, red), blue); --a: var(--b, 2px); --x: 1 }",
        &[
            "x number 1",
            "warning: --c: `1em` is omitted",
            "warning: --b: `var(--c, 1px)` is omitted: it refers to `--c`, which is omitted",
            "warning: --g: `linear-gradient(var(--c, red), blue)` is omitted: it refers to `--c`, which is omitted",
            "warning: --a: `var(--b, 2px)` is omitted: it refers to `--b`, which is omitted",
        ],
    );
    check_import(
        ":root { --g: linear-gradient(var(--nope, red), blue); --h: linear-gradient(var(--nope), blue) }",
        &[
            "g gradient",
            "warning: --h: `linear-gradient(var(--nope), blue)` is omitted: it refers to `--nope`",
        ],
    );
    // References in a direction are ignored.
    check_import(
        ":root { --space: in oklab; --g: linear-gradient(to right var(--space), red, blue) }",
        &["g gradient", "warning: --space: `in oklab` is omitted", "warning: --g: its direction is dropped"],
    );
    // A value for a mode does not replace an unusable base value.
    let mix = "color-mix(in srgb, red, blue)";
    for sheet in [
        format!(":root{{--bg:{mix};--on:var(--bg);--x:1}}.dark{{--bg:#000;--on:#fff}}"),
        format!(".dark{{--bg:#000;--on:#fff}}:root{{--on:var(--bg);--bg:light-dark({mix},#000);--x:1}}"),
    ] {
        let imported = css_allow_empty(&sheet).unwrap();
        let resolved = resolve(&imported.document, Some("dark"));
        let paths: Vec<_> = resolved.tokens().iter().map(|token| token.path.as_str()).collect();
        assert_eq!(paths, ["x"], "{sheet}");
        let told: Vec<_> = imported.findings.iter().map(ToString::to_string).collect();
        for expected in [
            "warning: --bg: `color-mix(in srgb, red, blue)` is omitted",
            "warning: --bg: its values for modes are omitted too",
            "warning: --on: `var(--bg)` is omitted: it refers to `--bg`, which is omitted",
            "warning: --on: its values for modes are omitted too",
        ] {
            assert!(told.iter().any(|told| told.starts_with(expected)), "{told:#?}");
        }
    }
    // A line style makes a border, and nothing else does.
    check_import(
        ":root { --line: dashed; --b: 1px var(--line) red; --n: 2px; --s: 1px var(--n) red }",
        &["line strokeStyle", r#"b border {"color""#, "n dimension", r#"s shadow {"color""#],
    );
    check_import(
        ":root { --font-style: italic; --font-body: Inter; --font-size-sm: 1rem }",
        &["font.body fontFamily", "font.size.sm dimension", "warning: --font-style: `italic` is omitted"],
    );
    for (name, value, expected) in [
        ("font-size-lg", "large", "warning: --font-size-lg: `large` is omitted"),
        ("font-display", "swap", "warning: --font-display: `swap` is omitted"),
        ("font-feature-settings", "\"cv11\", \"ss01\"", "warning: --font-feature-settings:"),
        ("font-smoothing", "antialiased", "warning: --font-smoothing:"),
        ("font-stretch", "condensed", "warning: --font-stretch:"),
        ("font-variant-caps", "small-caps", "warning: --font-variant-caps:"),
        // A font for large titles, named as in the Tailwind documentation, and other explicit names.
        (
            "font-display",
            "\"Satoshi\", \"sans-serif\"",
            r#"font.display fontFamily ["Satoshi","sans-serif"]"#,
        ),
        ("font-family-style", "Inter", "font.family.style fontFamily"),
        ("font-size-code", "Menlo, monospace", r#"font.size.code fontFamily ["Menlo","monospace"]"#),
    ] {
        check_import(&format!(":root {{ --{name}: {value} }}"), &[expected]);
    }
}

#[test]
fn gradient_stops_are_positioned_as_in_css() {
    for (text, expected) in [
        ("red, blue", vec![0.0, 1.0]),
        ("red 20%, green, blue", vec![0.2, 0.6, 1.0]),
        ("red, green, lime, blue 60%", vec![0.0, 0.2, 0.4, 0.6]),
        ("red 50%, green 20%, blue", vec![0.5, 0.5, 1.0]),
        ("red 0%, green, blue, white 90%, black", vec![0.0, 0.3, 0.6, 0.9, 1.0]),
    ] {
        let imported = css_allow_empty(&format!(":root {{ --x: linear-gradient({text}) }}")).unwrap();
        let stops = resolve(&imported.document, None).get("x").unwrap().value.clone();
        let position = |stop: &crate::Json| stop.as_object()?.get("position")?.as_f64();
        let found: Vec<_> = stops.as_array().unwrap().iter().filter_map(position).collect();
        assert_eq!(found, expected, "{text}");
        assert_eq!(imported.findings, [], "{text}");
    }
    check_import(
        ":root { --x: linear-gradient(90deg, red, blue 40%) }",
        &[r#"x gradient [{"color""#, "warning: --x: its direction is dropped"],
    );
}

#[test]
fn malformed_stylesheets_are_tolerated() {
    for text in [
        "",
        "}",
        ":root {",
        ":root { --",
        ":root { --x",
        ":root { --x:",
        ":root{--x:\"a",
        "/*",
        "@media",
        "[[[",
        "a{b{c{--x:1",
        "\\",
        "--x: 1",
        ":root{--x:url(",
        ":is(",
    ] {
        let _ = css_allow_empty(text).unwrap();
    }
    let deep = format!(":root {{ --x: {} }}", "f(".repeat(5_000));
    assert_eq!(css_allow_empty(&deep).unwrap().findings.len(), 1);
    let _ = css_allow_empty(&"a{".repeat(5_000)).unwrap();
}

#[test]
fn exported_css_round_trips() {
    let text = export::css(&starter_document(), &ExportOptions::default()).text;
    let imported = css_allow_empty(&text).unwrap();
    for mode in [None, Some("dark")] {
        let (old, new) = (resolve(&starter_document(), mode), resolve(&imported.document, mode));
        // CSS only has dashes, so `primary` next to `primary-hover` becomes the `$root` of a group.
        let plain = |path: &str| path.replace(".$root", "").replace('.', "-");
        for token in old.tokens().iter().filter(|token| token.kind != Some(crate::TokenKind::Typography)) {
            let found = new.tokens().iter().find(|new| plain(&new.path) == plain(&token.path));
            let found = found.unwrap_or_else(|| panic!("{} is missing", token.path));
            assert_eq!(found.kind, token.kind, "{}", token.path);
            assert_eq!(found.typed_value(), token.typed_value(), "{}", token.path);
        }
    }
}

#[test]
fn unreferenceable_names_are_sanitized() {
    let renamed =
        "warning: 1 names contained `{`, `}` or `.`, which are reserved for references; replaced by `_`";
    for (text, expected, told) in [
        (
            r##"{"$type":"number","s":{"0.5":{"$value":1}},"a":{"$value":"{s.0.5}"},"b":{"$ref":"#/s/0.5"}}"##,
            r##"{"$type":"number","s":{"0_5":{"$value":1}},"a":{"$value":"{s.0_5}"},"b":{"$ref":"#/s/0_5"}}"##,
            vec![renamed],
        ),
        (
            r#"{"$type":"number","a.b":{"$value":1},"a_b":{"$value":2},"a":{"b":{"$value":3}},"c":{"$value":"{a.b}"}}"#,
            r#"{"$type":"number","a_b_2":{"$value":1},"a_b":{"$value":2},"a":{"b":{"$value":3}},"c":{"$value":"{a.b}"}}"#,
            vec![renamed],
        ),
        (
            r#"{"a{1}":{"$type":"number","x":{"$value":1}},"b":{"$extends":"{a.c}"},"a.c":{"y":{"$type":"number","$value":1}}}"#,
            r#"{"a_1_":{"$type":"number","x":{"$value":1}},"b":{"$extends":"{a_c}"},"a_c":{"y":{"$type":"number","$value":1}}}"#,
            vec!["warning: 2 names contained"],
        ),
    ] {
        let imported = json(text).unwrap();
        assert_eq!(imported.document.to_string(), expected);
        assert_eq!(imported.findings.len(), told.len(), "{:?}", imported.findings);
        assert!(imported.findings[0].to_string().starts_with(told[0]), "{:?}", imported.findings);
    }
}

#[test]
fn legacy_files_are_converted() {
    let imported = json(
        r##"{
          "$metadata": { "tokenSetOrder": ["core", "light", "night"] },
          "$themes": [
            { "name": "Light", "selectedTokenSets": { "core": "source", "light": "enabled" } },
            { "name": "Dark", "selectedTokenSets": { "core": "source", "night": "enabled" } } ],
          "core": { "ink": { "value": "#111111", "type": "color", "comment": "Text." },
                    "gap": { "value": "8px", "type": "spacing" },
                    "deep": { "value": { "x": 0, "y": "2", "blur": "4px", "color": "{ink}", "type": "innerShadow" }, "type": "boxShadow" } },
          "light": { "page": { "$value": "#ffffff", "$type": "color" } },
          "night": { "page": { "$value": "{ink}", "$type": "color" } }
        }"##,
    )
    .unwrap();
    let errors: Vec<_> = imported.findings.iter().filter(|finding| finding.is_error()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(imported.document.modes(), ["Dark"]);
    let dark = resolve(&imported.document, Some("Dark"));
    assert_eq!(dark.get("page").unwrap().value, dark.get("ink").unwrap().value);
    assert_eq!(dark.get("ink").unwrap().description.as_deref(), Some("Text."));
    assert_eq!(dark.get("gap").unwrap().value.to_string(), r#"{"value":8,"unit":"px"}"#);
    assert!(dark.get("deep").unwrap().typed_value().is_some());
}

#[test]
fn oversized_conversion_is_rejected() {
    let colors = |count: usize, name: &str| {
        let tokens: Vec<_> = (0..count)
            .map(|at| format!(r##""{name}{at}":{{"$type":"color","$value":"#{at:06x}"}}"##))
            .collect();
        format!("{{{}}}", tokens.join(","))
    };
    // Converted to the new form, these colours are four times as long.
    let large = colors(limits::MAX_TOKENS, "a-name-that-somebody-took-trouble-with-");
    assert!(TokenDocument::parse(&large).is_ok());
    assert!(json(&large).unwrap_err().to_string().contains("the limit is 1048576"));
    // An imported document can be parsed again, both as stored and as exported.
    let imported = json(&colors(9_000, "c")).unwrap();
    assert!(imported.findings.len() == 1, "{:?}", imported.findings.first());
    let exported = export::dtcg_json(&imported.document).text;
    assert!(exported.len() > limits::MAX_DOCUMENT_BYTES);
    for text in [imported.document.to_string(), exported] {
        assert_eq!(json(&text).unwrap().document, imported.document);
    }
    // A colour object is two levels deeper than its string form.
    let nested = |depth: usize| {
        format!(r##"{}{{"$type":"color","$value":"#00aaff"}}{}"##, "{\"a\":".repeat(depth), "}".repeat(depth))
    };
    assert!(json(&nested(29)).is_ok());
    assert!(json(&nested(30)).unwrap_err().to_string().contains("nested more than 32 levels"));
}
