//! Tests with small files in the style of public design systems, and with excessively large ones.

use std::fmt::Write as _;

use super::export::{ExportOptions, css};
use super::validate::normalise;
use super::*;

fn check_sample(name: &str, text: &str, errors: usize, warnings: usize) {
    let document = TokenDocument::parse(text).unwrap();
    let findings = validate(&document);
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    assert_eq!(
        (count(TokenSeverity::Error), count(TokenSeverity::Warning)),
        (errors, warnings),
        "{name}: {findings:#?}"
    );
    assert_eq!(TokenDocument::parse(&document.to_pretty_string()).unwrap(), document, "{name}");
    let renewed = normalise(&document);
    assert!(validate(&renewed).iter().all(TokenFinding::is_error), "{name}");
    assert!(diff_documents(&document, &document).is_empty(), "{name}");
    for mode in [None, Some("dark")] {
        let (old, new) = (resolve(&document, mode), resolve(&renewed, mode));
        for (old, new) in old.tokens().iter().zip(new.tokens()) {
            assert_eq!(old.typed_value(), new.typed_value(), "{name}: {}", old.path);
        }
    }
    insta::assert_snapshot!(name, css(&document, &ExportOptions::default()).text);
}

#[test]
fn sample_documents_are_validated() {
    check_sample("roles", include_str!("../testdata/roles.tokens.json"), 0, 0);
    check_sample("components", include_str!("../testdata/components.tokens.json"), 0, 0);
    check_sample("drafts", include_str!("../testdata/drafts.tokens.json"), 0, 7);
}

#[test]
fn role_pairs_have_enough_contrast() {
    let document = TokenDocument::parse(include_str!("../testdata/roles.tokens.json")).unwrap();
    let checked = check_contrast(&document, &suggest_pairs(&document));
    assert_eq!(checked.len(), 2);
    assert!(checked.iter().all(|pair| pair.level(TextSize::Normal) >= ContrastLevel::Aa), "{checked:?}");
}

/// Detects superlinear running time. The limits are generous, because other programs run on the same machine.
#[test]
fn large_document_is_processed_in_time() {
    let mut root = JsonMap::new();
    for at in 0..100 {
        let group = root.object_entry(&format!("g{at}"));
        group.set("$type", "color");
        for nth in 0..50 {
            let mut token = JsonMap::new();
            let other = format!("{{g{}.t{nth}}}", (at + 99) % 100);
            token.set("$value", if at == 0 { Json::from("#123456") } else { other.as_str().into() });
            token
                .object_entry("$extensions")
                .object_entry("mode")
                .set("dark", if at == 0 { "#654321" } else { other.as_str() });
            group.set(format!("t{nth}"), token);
        }
    }
    let document = TokenDocument::from_map(root).unwrap();
    let time = |what: &str, work: &dyn Fn()| {
        let start = std::time::Instant::now();
        work();
        let took = start.elapsed();
        println!("{what}: {took:?}");
        assert!(took.as_millis() < 30_000, "{what}: {took:?}");
    };
    time("parse", &|| drop(TokenDocument::parse(&document.to_string()).unwrap()));
    time("resolve", &|| drop(resolve(&document, Some("dark"))));
    time("validate", &|| drop(validate(&document)));
    time("normalise", &|| drop(normalise(&document)));
    time("css", &|| drop(css(&document, &ExportOptions::default())));
    time("diff", &|| drop(diff_documents(&document, &document)));
    time("set", &|| drop(set_token(&document, "g0.t0", &NewToken::new(TokenKind::Color, "#fff")).unwrap()));
    time("rename", &|| drop(rename_path(&document, "g0", "h.g0").unwrap()));
    time("delete", &|| drop(delete_path(&document, "g99", false).unwrap()));
}

#[test]
fn unbounded_growth_is_stopped() {
    // Every token refers to its predecessor twice: 2^60 values without a limit.
    let mut text = r#"{"$type":"shadow","t0":{"$value":[1]}"#.to_owned();
    for at in 1..60 {
        let _ = write!(text, r#","t{at}":{{"$value":["{{t{}}}","{{t{}}}"]}}"#, at - 1, at - 1);
    }
    let resolved = resolve(&parse(&(text + "}")), None);
    assert!(resolved.findings.iter().any(|finding| finding.message.contains("too large")));
    // Every token is a list around its predecessor: a thousand nested lists without a limit.
    let mut text = r#"{"$type":"shadow","t0":{"$value":[1]}"#.to_owned();
    for at in 1..1000 {
        let _ = write!(text, r#","t{at}":{{"$value":["{{t{}}}"]}}"#, at - 1);
    }
    let resolved = resolve(&parse(&(text + "}")), None);
    assert!(
        resolved.tokens().len() < 40
            && resolved.findings.iter().any(|finding| finding.message.contains("too large"))
    );
    // Every group extends its predecessor.
    let mut text = r#"{"g0":{"t":{"$type":"number","$value":1}}"#.to_owned();
    for at in 1..3000 {
        let _ = write!(text, r#","g{at}":{{"$extends":"{{g{}}}"}}"#, at - 1);
    }
    assert!(!resolve(&parse(&(text + "}")), None).findings.is_empty());
    // Names that are equal once escaped.
    let names =
        (0..4000_u32).filter_map(|at| char::from_u32(0x2190 + at)).filter(|name| !name.is_alphanumeric());
    let mut root: JsonMap =
        names.map(|name| (name.to_string(), JsonMap::from_iter([("$value", 1.0)]))).collect();
    let count = root.len();
    root.set("$type", "number");
    let text = css(&TokenDocument::from_map(root).unwrap(), &ExportOptions::default()).text;
    assert_eq!(text.lines().collect::<std::collections::HashSet<_>>().len(), count + 2);
    // Every group contains its predecessor twice.
    let mut text = r#"{"g0":{"t":{"$type":"number","$value":1}}"#.to_owned();
    for at in 1..30 {
        let _ = write!(
            text,
            r#","g{at}":{{"a":{{"$extends":"{{g{}}}"}},"b":{{"$extends":"{{g{}}}"}}}}"#,
            at - 1,
            at - 1
        );
    }
    let resolved = resolve(&parse(&(text + "}")), None);
    assert!(resolved.tokens().len() <= limits::MAX_TOKENS && !resolved.findings.is_empty());
}

#[test]
fn five_thousand_tokens_are_resolved_in_time() {
    let mut text = r#"{"$type":"number","t0":{"$value":1}"#.to_owned();
    for at in 1..5000 {
        let _ = write!(text, r#","t{at}":{{"$value":"{{t{}}}"}}"#, at - 1);
    }
    let document = parse(&(text + "}"));
    let once = || {
        let start = std::time::Instant::now();
        assert_eq!(resolve(&document, None).tokens().len(), 5000);
        start.elapsed()
    };
    // Ten milliseconds is the goal; the rest allows for busy machines.
    let (start, mut quickest) = (std::time::Instant::now(), once());
    while quickest.as_millis() >= 1_000 && start.elapsed().as_secs() < 60 {
        quickest = quickest.min(once());
    }
    println!("5,000 tokens in one chain: {quickest:?}");
    assert!(quickest.as_millis() < 1_000, "{quickest:?}");
}

fn parse(text: &str) -> TokenDocument {
    TokenDocument::parse(text).unwrap()
}
