//! Small files in the manner of public design systems, and large ones that nobody should have written.

use std::fmt::Write as _;

use super::export::{Options, css};
use super::validate::normalise;
use super::*;

fn check(name: &str, text: &str, errors: usize, warnings: usize) {
    let document = Document::parse(text).unwrap();
    let findings = validate(&document);
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    assert_eq!(
        (count(Severity::Error), count(Severity::Warning)),
        (errors, warnings),
        "{name}: {findings:#?}"
    );
    assert_eq!(Document::parse(&document.pretty()).unwrap(), document, "{name}");
    let renewed = normalise(&document);
    assert!(validate(&renewed).iter().all(Finding::is_error), "{name}");
    assert!(diff(&document, &document).is_empty(), "{name}");
    for mode in [None, Some("dark")] {
        let (old, new) = (resolve(&document, mode), resolve(&renewed, mode));
        for (old, new) in old.tokens().iter().zip(new.tokens()) {
            assert_eq!(old.typed(), new.typed(), "{name}: {}", old.path);
        }
    }
    insta::assert_snapshot!(name, css(&document, &Options::default()).text);
}

#[test]
fn samples() {
    check("roles", include_str!("../testdata/roles.tokens.json"), 0, 0);
    check("components", include_str!("../testdata/components.tokens.json"), 0, 0);
    check("drafts", include_str!("../testdata/drafts.tokens.json"), 0, 7);
}

#[test]
fn pairs_of_roles_can_be_read() {
    let document = Document::parse(include_str!("../testdata/roles.tokens.json")).unwrap();
    let checked = check_contrast(&document, &suggest_pairs(&document));
    assert_eq!(checked.len(), 2);
    assert!(checked.iter().all(|pair| pair.level(TextSize::Normal) >= Level::Aa), "{checked:?}");
}

/// What takes more than linear time shows here. The bounds are wide: other programs run on the same machine.
#[test]
fn a_large_document_is_handled_in_time() {
    let mut root = Map::new();
    for at in 0..100 {
        let group = root.object_mut(&format!("g{at}"));
        group.set("$type", "color");
        for nth in 0..50 {
            let mut token = Map::new();
            let other = format!("{{g{}.t{nth}}}", (at + 99) % 100);
            token.set("$value", if at == 0 { Json::from("#123456") } else { other.as_str().into() });
            token
                .object_mut("$extensions")
                .object_mut("mode")
                .set("dark", if at == 0 { "#654321" } else { other.as_str() });
            group.set(format!("t{nth}"), token);
        }
    }
    let document = Document::from_map(root).unwrap();
    let time = |what: &str, work: &dyn Fn()| {
        let start = std::time::Instant::now();
        work();
        let took = start.elapsed();
        println!("{what}: {took:?}");
        assert!(took.as_millis() < 30_000, "{what}: {took:?}");
    };
    time("parse", &|| drop(Document::parse(&document.to_string()).unwrap()));
    time("resolve", &|| drop(resolve(&document, Some("dark"))));
    time("validate", &|| drop(validate(&document)));
    time("normalise", &|| drop(normalise(&document)));
    time("css", &|| drop(css(&document, &Options::default())));
    time("diff", &|| drop(diff(&document, &document)));
    time("set", &|| drop(set(&document, "g0.t0", &NewToken::new(Kind::Color, "#fff")).unwrap()));
    time("rename", &|| drop(rename(&document, "g0", "h.g0").unwrap()));
    time("delete", &|| drop(delete(&document, "g99", false).unwrap()));
}

#[test]
fn what_grows_without_end_is_stopped() {
    // Every token names the one before it twice: two to the power of 60 without a limit.
    let mut text = r#"{"$type":"shadow","t0":{"$value":[1]}"#.to_owned();
    for at in 1..60 {
        let _ = write!(text, r#","t{at}":{{"$value":["{{t{}}}","{{t{}}}"]}}"#, at - 1, at - 1);
    }
    let resolved = resolve(&parsed(&(text + "}")), None);
    assert!(resolved.findings.iter().any(|finding| finding.message.contains("too large")));
    // Every token is a list around the one before it: a thousand lists in one another without a limit.
    let mut text = r#"{"$type":"shadow","t0":{"$value":[1]}"#.to_owned();
    for at in 1..1000 {
        let _ = write!(text, r#","t{at}":{{"$value":["{{t{}}}"]}}"#, at - 1);
    }
    let resolved = resolve(&parsed(&(text + "}")), None);
    assert!(
        resolved.tokens().len() < 40
            && resolved.findings.iter().any(|finding| finding.message.contains("too large"))
    );
    // Every group extends the one before it.
    let mut text = r#"{"g0":{"t":{"$type":"number","$value":1}}"#.to_owned();
    for at in 1..3000 {
        let _ = write!(text, r#","g{at}":{{"$extends":"{{g{}}}"}}"#, at - 1);
    }
    assert!(!resolve(&parsed(&(text + "}")), None).findings.is_empty());
    // Names that are all the same once they are made safe.
    let names =
        (0..4000_u32).filter_map(|at| char::from_u32(0x2190 + at)).filter(|name| !name.is_alphanumeric());
    let mut root: Map = names.map(|name| (name.to_string(), Map::from_iter([("$value", 1.0)]))).collect();
    let count = root.len();
    root.set("$type", "number");
    let text = css(&Document::from_map(root).unwrap(), &Options::default()).text;
    assert_eq!(text.lines().collect::<std::collections::HashSet<_>>().len(), count + 2);
    // Every group holds the one before it twice.
    let mut text = r#"{"g0":{"t":{"$type":"number","$value":1}}"#.to_owned();
    for at in 1..30 {
        let _ = write!(
            text,
            r#","g{at}":{{"a":{{"$extends":"{{g{}}}"}},"b":{{"$extends":"{{g{}}}"}}}}"#,
            at - 1,
            at - 1
        );
    }
    let resolved = resolve(&parsed(&(text + "}")), None);
    assert!(resolved.tokens().len() <= limits::MAX_TOKENS && !resolved.findings.is_empty());
}

#[test]
fn five_thousand_tokens_are_resolved_at_once() {
    let mut text = r#"{"$type":"number","t0":{"$value":1}"#.to_owned();
    for at in 1..5000 {
        let _ = write!(text, r#","t{at}":{{"$value":"{{t{}}}"}}"#, at - 1);
    }
    let document = parsed(&(text + "}"));
    let once = || {
        let start = std::time::Instant::now();
        assert_eq!(resolve(&document, None).tokens().len(), 5000);
        start.elapsed()
    };
    // Ten milliseconds is the promise; the rest is for machines that do other things meanwhile, and not all the time.
    let (start, mut quickest) = (std::time::Instant::now(), once());
    while quickest.as_millis() >= 1_000 && start.elapsed().as_secs() < 60 {
        quickest = quickest.min(once());
    }
    println!("5,000 tokens in one chain: {quickest:?}");
    assert!(quickest.as_millis() < 1_000, "{quickest:?}");
}

fn parsed(text: &str) -> Document {
    Document::parse(text).unwrap()
}
