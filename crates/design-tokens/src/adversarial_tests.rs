//! Tests with hostile documents: every operation takes bounded time and produces output of bounded size.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::export::{ExportOptions, css, dtcg_json, resolved_json, scss, tailwind_v3, tailwind_v4};
use super::limits::{
    MAX_DOCUMENT_BYTES, MAX_EXPORT_BYTES, MAX_FINDINGS, MAX_INHERITED_TEXT_BYTES, MAX_RESOLVED_NODES,
};
use super::*;

/// Far more than any step takes, because the machine may be busy and tests are not optimised.
const MAX_TEST_DURATION: Duration = Duration::from_mins(2);

/// Members `name0`, `name1` and so on.
fn members(count: usize, name: &str, value: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, at| {
        let comma = if at > 0 { "," } else { "" };
        let _ = write!(text, "{comma}\"{name}{at}\":{}", value(at));
        text
    })
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    format!("[{}]", (0..count).map(item).collect::<Vec<_>>().join(","))
}

fn modes(count: usize, value: &str) -> String {
    format!(r#"{{"mode":{{{}}}}}"#, members(count, "m", |_| value.to_owned()))
}

fn adversarial_documents() -> Vec<(&'static str, String)> {
    let token = |value: &str| format!(r#"{{"$value":{value}}}"#);
    let shadow = r##"{"color":"#000","offsetX":"0px","offsetY":"0px","blur":"1px","spread":"0px"}"##;
    vec![
        (
            "a list of references to a list",
            format!(
                r#"{{"$type":"shadow","a":{},"b":{}}}"#,
                token(&list(4_000, |_| "0".to_owned())),
                token(&list(100_000, |_| "\"{a}\"".to_owned()))
            ),
        ),
        (
            "a text that many name",
            format!(
                r#"{{"$type":"fontFamily","a":{},"b":{{{}}}}}"#,
                token(&format!("\"{}\"", "x".repeat(700_000))),
                members(4_000, "t", |_| token("\"{a}\""))
            ),
        ),
        (
            "circles in all directions",
            format!(
                r#"{{"$type":"shadow",{}}}"#,
                // In reverse, so that the longest path is found.
                members(150, "t", |_| token(&list(150, |at| format!("\"{{t{}}}\"", 149 - at))))
            ),
        ),
        (
            "a long name around references that lead nowhere",
            format!(
                r#"{{"$type":"shadow","a":{}}}"#,
                token(&format!(
                    r#"{{"{}":{}}}"#,
                    "n".repeat(200_000),
                    list(800, |at| format!("\"{{x{at}}}\""))
                ))
            ),
        ),
        (
            "nothing but mistakes",
            format!(
                r#"{{"a":{{"$type":"shadow","x":{}}},{}}}"#,
                token(&list(1_500, |_| "0".to_owned())),
                members(700, "g", |_| r#"{"$extends":"{a}"}"#.to_owned())
            ),
        ),
        (
            "groups that extend one another",
            format!("{{{}}}", members(6_000, "g", |at| format!(r#"{{"$extends":"{{g{}}}"}}"#, at + 1))),
        ),
        ("groups without tokens", format!("{{{}}}", members(40_000, "g", |_| "{}".to_owned()))),
        (
            "pointers to pointers",
            format!("{{{}}}", members(2_000, "t", |at| format!(r##"{{"$ref":"#/t{}"}}"##, at + 1))),
        ),
        (
            "aliases of long lists in all modes",
            format!(
                r#"{{"$type":"shadow","base":{{"$value":{shadow},"$extensions":{}}},{},{}}}"#,
                modes(32, shadow),
                members(10, "s", |_| token(&list(30, |_| "\"{base}\"".to_owned()))),
                members(300, "t", |at| token(&format!("\"{{s{}}}\"", at % 10)))
            ),
        ),
        (
            "texts on backgrounds in all modes",
            format!(
                r##"{{"$type":"color","text":{{{}}},"background":{{{}}},"x":{{"$value":"#fff","$extensions":{}}}}}"##,
                members(400, "t", |_| token("\"#000\"")),
                members(400, "b", |_| token("\"{x}\"")),
                modes(32, "\"#ccc\"")
            ),
        ),
        (
            "names that differ in case, and unknown members",
            format!(
                "{{{},{}}}",
                members(9_000, "A", |_| r#"{"$x":1,"$y":1}"#.to_owned()),
                members(9_000, "a", |_| r#"{"$x":1}"#.to_owned())
            ),
        ),
        (
            "paths that extending makes long",
            format!(
                r#"{{"a":{{"{n}":{{"{n}":{{"{n}":{{"$type":"number","$value":1}}}}}}}},"b":{{"{n}":{{"{n}":{{"$extends":"{{a}}"}}}}}}}}"#,
                n = "n".repeat(120)
            ),
        ),
    ]
}

/// An operation on a document: its name, and its output.
type TimedOperation<'a> = (&'a str, Box<dyn Fn() -> (String, Vec<TokenFinding>) + 'a>);

#[test]
fn every_operation_on_adversarial_documents_terminates() {
    for (name, text) in adversarial_documents() {
        assert!(text.len() <= MAX_DOCUMENT_BYTES, "{name}: {}", text.len());
        let document = TokenDocument::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mode = document.modes().into_iter().next();
        let options = ExportOptions::default();
        let exported = |exported: export::ExportOutput| (exported.text, exported.findings);
        let steps: Vec<TimedOperation<'_>> = vec![
            ("validate", Box::new(|| (String::new(), validate(&document)))),
            ("css", Box::new(|| exported(css(&document, &options)))),
            ("scss", Box::new(|| exported(scss(&document, &options)))),
            ("tailwind 4", Box::new(|| exported(tailwind_v4(&document, &options)))),
            ("tailwind 3", Box::new(|| exported(tailwind_v3(&document)))),
            ("json", Box::new(|| exported(dtcg_json(&document)))),
            ("flat", Box::new(|| exported(resolved_json(&document, mode.as_deref())))),
            ("resolve", Box::new(|| (resolve_and_render(&document, mode.as_deref()), Vec::new()))),
            ("contrast", Box::new(|| (contrast_summary(&document), Vec::new()))),
            ("diff", Box::new(|| (diff_summary(&document), Vec::new()))),
            ("edit", Box::new(|| (edit_summary(&document), Vec::new()))),
            ("import", Box::new(|| import_and_render(&text))),
        ];
        for (step, work) in steps {
            let start = Instant::now();
            let (text, findings) = work();
            let took = start.elapsed();
            assert!(took < MAX_TEST_DURATION, "{name}: {step} took {took:?}");
            // Text around the pieces is not counted, so the limit may be slightly exceeded.
            assert!(
                text.len() <= MAX_EXPORT_BYTES + MAX_DOCUMENT_BYTES,
                "{name}: {step} made {} bytes",
                text.len()
            );
            assert!(findings.len() <= MAX_FINDINGS + 9, "{name}: {step} told {}", findings.len());
            for finding in findings {
                assert!(finding.message.len() + finding.path.len() < 2_000, "{name}: {step}: {finding}");
            }
        }
    }
}

fn import_and_render(text: &str) -> (String, Vec<TokenFinding>) {
    match import::json(text) {
        Ok(imported) => (imported.document.to_string(), imported.findings),
        Err(error) => (error.to_string(), Vec::new()),
    }
}

fn resolve_and_render(document: &TokenDocument, mode: Option<&str>) -> String {
    let resolved = resolve(document, mode);
    assert!(resolved.findings.len() <= MAX_FINDINGS + 1);
    let bytes: usize = resolved.tokens().iter().map(|token| token.value.to_string().len()).sum();
    assert!(bytes < 64 * MAX_RESOLVED_NODES + MAX_DOCUMENT_BYTES, "{bytes}");
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let remarks =
        resolved.tokens().iter().map(|token| length(&token.description) + length(&token.deprecated));
    let remarks: usize = remarks.sum();
    assert!(
        remarks <= 2 * MAX_INHERITED_TEXT_BYTES * resolved.tokens().len() + MAX_DOCUMENT_BYTES,
        "{remarks}"
    );
    String::new()
}

fn contrast_summary(document: &TokenDocument) -> String {
    let pairs = suggest_pairs(document);
    let checked = check_contrast(document, &pairs);
    assert!(checked.len() <= limits::MAX_CONTRAST_PAIRS * (limits::MAX_MODES + 1), "{}", checked.len());
    String::new()
}

fn diff_summary(document: &TokenDocument) -> String {
    let other = TokenDocument::parse(r#"{"other":{"$type":"number","$value":1}}"#).unwrap();
    let (found, back) = (diff_documents(document, &other), diff_documents(&other, document));
    assert!(!found.is_empty() && !back.is_empty());
    let length = |state: &TokenState| {
        [&state.description, &state.deprecated].into_iter().flatten().map(String::len).sum::<usize>()
    };
    let remarks: usize = found.removed.iter().map(length).sum();
    assert!(remarks <= 2 * MAX_INHERITED_TEXT_BYTES * found.removed.len() + MAX_DOCUMENT_BYTES, "{remarks}");
    String::new()
}

/// Error messages of edits are bounded.
fn edit_summary(document: &TokenDocument) -> String {
    let first = document.root().iter().map(|(name, _)| name).find(|name| !name.starts_with('$')).unwrap();
    let said = [
        set_token(document, "new", &NewToken::new(TokenKind::Number, 1.0)).err(),
        set_token(document, "new", &NewToken::new(TokenKind::Color, "{nowhere}")).err(),
        rename_path(document, first, "moved").err(),
        delete_path(document, first, false).err(),
        delete_path(document, first, true).err(),
    ];
    said.into_iter().flatten().map(|error| error.to_string()).collect()
}

#[test]
fn exceeded_limits_are_reported() {
    for (name, expected) in [
        ("a list of references to a list", "the value is too large"),
        ("a text that many name", "the value is too large"),
        ("circles in all directions", "142 more … → t0"),
        ("nothing but mistakes", "more findings are omitted"),
        ("groups that extend one another", "groups extend each other"),
        ("paths that extending makes long", "its path exceeds 512 bytes"),
    ] {
        let text = adversarial_documents().into_iter().find(|(known, _)| *known == name).unwrap().1;
        let findings = validate(&TokenDocument::parse(&text).unwrap());
        assert!(
            findings.iter().any(|finding| finding.message.contains(expected)),
            "{name}: {:?}",
            findings.first()
        );
    }
}

#[test]
fn inherited_remarks_are_truncated() {
    let long = "x".repeat(500_000);
    let reason = members(4_000, "t", |at| format!(r#"{{"$value":{at}}}"#));
    let reason = format!(r#"{{"g":{{"$type":"number","$deprecated":"{long}",{reason}}}}}"#);
    let described = members(4_000, "h", |_| r#"{"$extends":"{g}"}"#.to_owned());
    let described =
        format!(r#"{{"g":{{"t":{{"$type":"number","$value":1,"$description":"{long}"}}}},{described}}}"#);
    for text in [reason, described] {
        let document = TokenDocument::parse(&text).unwrap();
        let start = Instant::now();
        resolve_and_render(&document, None);
        diff_summary(&document);
        edit_summary(&document);
        let findings = validate(&document);
        assert!(start.elapsed() < MAX_TEST_DURATION, "{:?}", start.elapsed());
        assert!(findings.iter().any(|finding| finding.message.contains("only 2000 bytes are shown")));
    }
}

#[test]
fn error_messages_are_bounded() {
    let long = "n".repeat(500_000);
    let document = TokenDocument::parse(r#"{"a":{"$type":"number","$value":1}}"#).unwrap();
    let number = NewToken::new(TokenKind::Number, 1.0);
    let untyped = NewToken { kind: None, ..number.clone() };
    let resolver =
        |rest: &str| import::json(&format!(r#"{{"resolutionOrder":{rest}}}"#)).unwrap_err().to_string();
    let edits = [
        delete_path(&document, &long, false),
        rename_path(&document, &long, "b"),
        rename_path(&document, "a", &long),
        rename_path(&document, "a", &format!("a.{}", "n.".repeat(200_000) + "n")),
        set_token(&document, &long, &number),
        set_token(&document, &format!("{}.x", "n.".repeat(200_000) + "n"), &untyped),
        delete_mode_value(&document, "a", &long, false),
    ];
    let refusals = edits.into_iter().map(|edit| edit.unwrap_err().to_string()).chain([
        TokenDocument::parse(&format!(r#"{{"{long}":1,"{long}":2}}"#)).unwrap_err().to_string(),
        long.parse::<TokenKind>().unwrap_err().to_string(),
        resolver(&format!(r#"[],"version":"{long}""#)),
        resolver(&format!(r#"[{{"$ref":"{long}"}}],"version":"2025.10""#)),
        resolver(&format!(r#"[{{"name":"{long}","type":"set"}}],"version":"2025.10""#)),
    ]);
    for refusal in refusals {
        assert!(refusal.len() < 1_000, "{} bytes: {}", refusal.len(), &refusal[..200]);
    }
}

#[test]
fn adversarial_stylesheets_are_imported_in_bounded_time() {
    let repeated = |count: usize, piece: &dyn Fn(usize) -> String| (0..count).map(piece).collect::<String>();
    for (name, sheet) in [
        ("selectors in selectors", format!("{}:root{}{{--x:1}}", ":is(".repeat(10_000), ")".repeat(10_000))),
        ("blocks in a value", format!(":root{{--x:{}}}", "{}".repeat(100_000))),
        ("marks and blocks", format!(":root{{--x:{}}}", "!{}".repeat(100_000))),
        ("classes", repeated(40_000, &|at| format!(".m{at}{{--x:1}}"))),
        (
            "themes",
            format!(":root{{--x:0}}{}", repeated(20_000, &|at| format!("[data-theme=m{at}]{{--x:1}}"))),
        ),
        (
            "a list of themes around a list of themes",
            format!(
                "{}{{{}{{--x:1}}}}",
                repeated(9_000, &|at| format!("[data-theme=m{at}],")),
                repeated(9_000, &|at| format!("[data-theme=m{at}],"))
            ),
        ),
        (
            "names that are the same when clean",
            format!(":root{{{}}}", repeated(3_000, &|at| same_when_clean(at))),
        ),
        (
            "one that refers to the next",
            format!(":root{{{}}}", repeated(9_000, &|at| format!("--a{at}:var(--a{});", at + 1))),
        ),
        ("functions", format!(":root{{--x:{}}}", "f(".repeat(100_000))),
    ] {
        let start = Instant::now();
        let imported = import::css_allow_empty(&sheet).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(start.elapsed() < MAX_TEST_DURATION, "{name}: {:?}", start.elapsed());
        assert!(imported.findings.len() <= 2 * MAX_FINDINGS, "{name}: {}", imported.findings.len());
        assert!(imported.document.modes().len() <= limits::MAX_MODES, "{name}");
    }
}

/// Declarations whose names differ only in characters that token names cannot contain.
fn same_when_clean(at: usize) -> String {
    let letters: String = (0..8).map(|digit| ["\\.", "\\{", "\\}"][at / 3_usize.pow(digit) % 3]).collect();
    format!("--a{letters}:{at};")
}
