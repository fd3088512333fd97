//! Properties that hold for every document.

use std::collections::HashSet;

use proptest::prelude::*;

use super::export::{ExportOptions, css, resolved_json, scss, tailwind_v3, tailwind_v4};
use super::validate::normalise;
use super::*;

/// Number of documents per property.
const PROPTEST_CASES: u32 = 400;

/// Names that often collide, so that aliases hit and groups share them.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![6 => "[a-d]", 1 => "[a-z]{1,3}-[0-9]", 1 => Just("$root".to_owned())]
}

fn path() -> impl Strategy<Value = String> {
    proptest::collection::vec(name(), 1..4).prop_map(|names| names.join("."))
}

fn number() -> impl Strategy<Value = Json> {
    (-9999_i32..9999).prop_map(|value| Json::number(f64::from(value) / 100.0))
}

/// Values of all shapes, valid and invalid, with references everywhere.
fn value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        3 => path().prop_map(|path| Json::String(format!("{{{path}}}"))),
        2 => number(),
        1 => "[#{}a-f0-9px.]{0,6}".prop_map(Json::from),
        1 => path().prop_map(|path| {
            Json::Object([("$ref", format!("#/{}/$value", path.replace('.', "/")))].into_iter().collect())
        }),
        1 => Just(Json::Null),
        1 => Just(Json::Bool(true)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Json::Array),
            proptest::collection::vec((prop_oneof!["[a-c]", Just("color".to_owned())], inner), 0..3)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

/// Documents with groups, types, modes, extended groups, and unknown members.
fn document() -> impl Strategy<Value = TokenDocument> {
    let token = (value(), proptest::option::of(0..TokenKind::ALL.len()), proptest::option::of(value()))
        .prop_map(|(value, kind, mode)| {
            let mut token = JsonMap::new();
            token.set("$value", value);
            if let Some(kind) = kind {
                token.set("$type", TokenKind::ALL[kind].as_str());
            }
            if let Some(mode) = mode {
                token.object_entry("$extensions").object_entry("mode").set("m", mode);
            }
            Json::Object(token)
        });
    let tree = token.prop_recursive(3, 24, 4, |inner| {
        let members = proptest::collection::vec((name(), inner), 0..4);
        (members, proptest::option::of(path()), proptest::option::of(number())).prop_map(
            |(members, extends, other)| {
                let mut group: JsonMap = members.into_iter().collect();
                if let Some(path) = extends {
                    group.set("$extends", format!("{{{path}}}"));
                }
                if let Some(other) = other {
                    group.set("$unknown", other);
                }
                Json::Object(group)
            },
        )
    });
    proptest::collection::vec((name(), tree), 0..5)
        .prop_map(|members| TokenDocument::from_map(members.into_iter().collect()).unwrap())
}

/// The paths of all explicit tokens and groups.
fn collect_paths(map: &JsonMap, path: &str, paths: &mut Vec<String>) {
    for (name, child) in document::children(map) {
        let path = document::join_path(path, name);
        collect_paths(child, &path, paths);
        paths.push(path);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: PROPTEST_CASES, ..ProptestConfig::default() })]

    #[test]
    fn document_text_round_trips(document in document()) {
        prop_assert_eq!(TokenDocument::parse(&document.to_string()).unwrap(), document.clone());
        prop_assert_eq!(TokenDocument::parse(&document.to_pretty_string()).unwrap(), document);
    }

    #[test]
    fn every_operation_terminates(document in document()) {
        for mode in [None, Some("m")] {
            let resolved = resolve(&document, mode);
            for token in resolved.tokens() {
                prop_assert!(!token.value.to_string().contains("\"$ref\""));
                token.typed_value();
            }
            resolved_json(&document, mode);
        }
        validate(&document);
        check_contrast(&document, &suggest_pairs(&document));
        prop_assert!(diff_documents(&document, &document).is_empty());
        let normal = normalise(&document);
        prop_assert_eq!(normalise(&normal), normal);
    }

    #[test]
    fn renaming_preserves_meaning(document in document(), nth in any::<prop::sample::Index>(), to in path()) {
        let mut paths = Vec::new();
        collect_paths(document.root(), "", &mut paths);
        if paths.is_empty() {
            return Ok(());
        }
        let from = nth.get(&paths).clone();
        let Ok(edited) = rename_path(&document, &from, &to) else { return Ok(()) };
        prop_assert!(edited.document.get(&from).is_none());
        for mode in [None, Some("m")] {
            let values = |document: &TokenDocument| {
                let mut values: Vec<_> = resolve(document, mode).tokens().iter().map(|token| (token.kind, token.value.to_string())).collect();
                values.sort();
                values
            };
            prop_assert_eq!(values(&document), values(&edited.document));
        }
        // And back.
        let back = rename_path(&edited.document, &to, &from);
        if let Ok(back) = back {
            let values = |document: &TokenDocument| resolve(document, None).tokens().iter().map(|token| token.path.clone()).collect::<HashSet<_>>();
            prop_assert_eq!(values(&back.document), values(&document));
        }
    }

    #[test]
    fn edits_introduce_no_new_errors(document in document(), path in path(), value in value()) {
        let errors = |document: &TokenDocument| validate(document).into_iter().filter(TokenFinding::is_error).map(|finding| finding.path).collect::<HashSet<_>>();
        if let Ok(edited) = delete_path(&document, &path, false) {
            prop_assert!(edited.document.get(&path).is_none());
            // No token with a value refers to a deleted one. (A token that it shadowed may reappear, with its
            // errors.)
            let had: HashSet<_> = resolve(&document, None).tokens().iter().map(|token| token.path.clone()).collect();
            let before = errors(&document);
            let missing = |finding: &TokenFinding| {
                finding.message.contains("nowhere")
                    && !before.contains(&finding.path)
                    && had.contains(finding.path.split('/').next().unwrap_or_default())
            };
            let new: Vec<_> = validate(&edited.document).into_iter().filter(missing).collect();
            prop_assert!(new.is_empty(), "{:?}", new);
        }
        let new = NewToken { kind: Some(TokenKind::Number), value, mode: None, description: None };
        if let Ok(edited) = set_token(&document, &path, &new) {
            prop_assert!(!errors(&edited.document).contains(&path));
        }
    }

    #[test]
    fn hostile_texts_are_escaped_in_exports(name in "\\PC{1,12}|[\"'\\\\;{}*/<>#@\n]{1,8}", text in "\\PC{0,12}|[\"'\\\\;*/<>#\n\r]{0,10}", mode in "\\PC{1,8}") {
        let mut token = JsonMap::new();
        token.set("$type", "fontFamily");
        token.set("$value", format!("x{text}"));
        token.set("$description", text.as_str());
        token.object_entry("$extensions").object_entry("mode").set(mode.as_str(), "y");
        let mut root = JsonMap::new();
        root.set(name.trim_start_matches('$'), token);
        let Ok(document) = TokenDocument::from_map(root) else { return Ok(()) };
        let options = ExportOptions { prefix: text.clone(), omit_comments: false };
        for sheet in [css(&document, &options).text, tailwind_v4(&document, &options).text, scss(&document, &options).text] {
            check_stylesheet(&sheet)?;
        }
        prop_assert!(Json::parse(&tailwind_v3(&document).text).is_ok());
        prop_assert!(Json::parse(&resolved_json(&document, None).text).is_ok());
    }

    #[test]
    fn any_stylesheet_imports_without_panic(text in "[-a-z:;{}()\\[\\]\"'\\\\/*#@0-9.,% \n]{0,60}") {
        let imported = super::import::css_allow_empty(&format!(":root {{ --x: {text} }}")).unwrap();
        TokenDocument::parse(&imported.document.to_string()).unwrap();
        super::import::css_allow_empty(&text).unwrap();
    }
}

/// Every line of an export has one of a few forms, and no document can produce another.
fn check_stylesheet(sheet: &str) -> Result<(), TestCaseError> {
    prop_assert!(!sheet.contains("</") && !sheet.contains("#{"), "{}", sheet);
    for line in sheet.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let fixed = ["}", ");", ":root {", "@theme {", ":root:not([data-theme]) {"].contains(&line)
            || line.starts_with("@media (prefers-color-scheme: ");
        let comment = (line.starts_with("/* ") && line.ends_with(" */") && line.matches("*/").count() == 1)
            || line.starts_with("// ");
        let bare = strip_quoted(line)?;
        let plain = |text: &str| {
            text.chars().all(|decoded| decoded.is_alphanumeric() || "-_, ()\"".contains(decoded))
        };
        let body = bare
            .strip_prefix("--")
            .or_else(|| bare.strip_prefix('$'))
            .or(Some(&bare))
            .and_then(|body| body.split_once(": "));
        let declares = body.is_some_and(|(name, value)| {
            plain(name)
                && value.strip_suffix([';', ',']).is_some_and(|value| plain(value.trim_start_matches('$')))
        });
        let opens = bare == "[data-theme=\"\"] {" || (bare.starts_with('$') && bare.ends_with(": ("));
        prop_assert!(fixed || comment || declares || opens, "{:?} in {}", line, sheet);
    }
    Ok(())
}

/// The line with its strings emptied; fails on an unterminated string.
fn strip_quoted(line: &str) -> Result<String, TestCaseError> {
    if line.starts_with("//") || line.starts_with("/*") {
        return Ok(String::new());
    }
    let mut bare = String::new();
    let mut inside = false;
    let mut letters = line.chars();
    while let Some(decoded) = letters.next() {
        match decoded {
            '"' => {
                inside = !inside;
                bare.push('"');
            }
            '\\' if inside => drop(letters.next()),
            _ if inside => {}
            other => bare.push(other),
        }
    }
    prop_assert!(!inside, "{:?}", line);
    Ok(bare)
}
