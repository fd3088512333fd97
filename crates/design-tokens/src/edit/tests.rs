use std::fmt::Write as _;

use super::*;
use crate::resolve::resolve;

fn parse(text: &str) -> TokenDocument {
    TokenDocument::parse(text).unwrap()
}

fn sample_document() -> TokenDocument {
    parse(
        r##"{
          "n": { "$type": "number", "one": { "$value": 1 }, "two": { "$value": "{n.one}" } },
          "m": { "$extends": "{n}", "three": { "$value": 3 } },
          "sum": { "$value": "{m.one}", "$extensions": { "mode": { "big": "{n.two}" } } },
          "part": { "$type": "number", "$value": { "$ref": "#/n/one/$value" } }
        }"##,
    )
}

#[test]
fn token_is_created_and_replaced() {
    let new = set_token(
        &sample_document(),
        "n.four",
        &NewToken { kind: None, value: 4.0.into(), mode: None, description: None },
    )
    .unwrap();
    assert_eq!(new.touched, ["n.four"]);
    let new = set_token(
        &new.document,
        "n.four",
        &NewToken {
            kind: None,
            value: "{n.one}".into(),
            mode: Some("big".into()),
            description: Some("more".into()),
        },
    )
    .unwrap();
    assert_eq!(new.document.get("n.four").unwrap().get("$value"), Some(&Json::number(4.0)));
    assert_eq!(resolve(&new.document, Some("big")).get("n.four").unwrap().value, Json::number(1.0));
    assert_eq!(resolve(&new.document, None).get("n.four").unwrap().description.as_deref(), Some("more"));
    let rooted = set_token(&new.document, "n.$root", &NewToken::new(TokenKind::Number, 7.0)).unwrap();
    assert!(resolve(&rooted.document, None).get("n.$root").is_some());
}

#[test]
fn invalid_token_is_rejected() {
    for (path, kind, value, expected) in [
        ("n.x", None, Json::from("{n.nope}"), "{n.nope} does not exist"),
        ("n.one", None, Json::from("{n.two}"), "cycle: n.one → n.two → n.one"),
        ("n.x", Some(TokenKind::Color), Json::from("{n.one}"), "is a number, but a color is required"),
        // Valid for the token itself, but not for its users, which expect a number.
        ("n.one", Some(TokenKind::Color), Json::from("#fff"), "is a color, but a number is required"),
        ("n.x", None, Json::from("soon"), "is not a valid number"),
        ("x", None, Json::number(1.0), "would have no type"),
        ("n", None, Json::number(1.0), "`n` is a group, but a token is required"),
        ("n.one.x", None, Json::number(1.0), "`n.one` is a token, but a group is required"),
        ("n.$x", None, Json::number(1.0), "starts with `$`"),
        ("n..x", None, Json::number(1.0), "a name is empty"),
    ] {
        let new = NewToken { kind, value, mode: None, description: None };
        let error = set_token(&sample_document(), path, &new).unwrap_err().to_string();
        assert!(error.contains(expected), "{path}: {error}");
    }
}

/// Sets tokens, given as `path mode value`, in a document of numbers, and returns the document or the error.
fn set_and_render(document: &str, changes: &[(&str, Option<&str>, &str)]) -> String {
    let new: Vec<_> = changes
        .iter()
        .map(|(_, mode, value)| NewToken {
            kind: None,
            value: Json::parse(value).unwrap(),
            mode: mode.map(str::to_owned),
            description: None,
        })
        .collect();
    let tokens: Vec<_> = changes.iter().map(|(path, ..)| *path).zip(&new).collect();
    let comma = if document.is_empty() { "" } else { "," };
    let document = parse(&format!(r#"{{"$type":"number"{comma}{document}}}"#));
    match set_tokens(&document, &tokens) {
        Ok(edited) => edited.document.to_string().replace(r#""$type":"number","#, ""),
        Err(error) => error.to_string(),
    }
}

#[test]
fn set_tokens_writes_the_given_values() {
    for (document, changes, expected) in [
        // An inherited token keeps its base value.
        (
            r#""n":{"a":{"$value":1,"$description":"x"}},"m":{"$extends":"{n}"}"#,
            vec![("m.a", Some("dark"), "9")],
            r#""m":{"$extends":"{n}","a":{"$value":1,"$description":"x","$extensions":{"mode":{"dark":9}}}}"#,
        ),
        (
            r#""n":{"a":{"$value":1}},"m":{"$extends":"{n}"}"#,
            vec![("m.a.x", None, "9")],
            "`m.a` is a token, but a group is required",
        ),
        (
            r#""n":{"a":{"b":{"$value":1}}},"m":{"$extends":"{n}"}"#,
            vec![("m.a", None, "9")],
            "`m.a` is a group, but a token is required",
        ),
        // A token by pointer cannot contain other tokens.
        (
            r##""b":{"$value":1},"c":{"$ref":"#/b"}"##,
            vec![("c.x", None, "9")],
            "`c` is a token, but a group is required",
        ),
        (r##""b":{"$value":1},"c":{"$ref":"#/b"}"##, vec![("c", None, "9")], r#""c":{"$value":9}"#),
        // Legacy forms are converted, but only in the values that were set.
        (
            r#""a":{"$value":"7"},"b":{"$value":1}"#,
            vec![("b", None, r#""2.5""#)],
            r#""a":{"$value":"7"},"b":{"$value":2.5}"#,
        ),
        (
            r#""b":{"$value":"7"}"#,
            vec![("b", Some("m"), r#""2""#)],
            r#""b":{"$value":"7","$extensions":{"mode":{"m":2}}}"#,
        ),
        // Several tokens are validated together, in any order.
        ("", vec![("a", None, r#""{b}""#), ("b", None, "1")], r#""a":{"$value":"{b}"},"b":{"$value":1}"#),
        (
            r#""a":{"$value":1}"#,
            vec![("b", None, r#""{a}""#), ("a", None, r#""{b}""#), ("c", None, "1")],
            "the value of `a` is invalid: the references form a cycle: a → b → a",
        ),
        (
            r#""a":{"$value":1},"b":{"$value":"{a}"}"#,
            vec![("c", None, "1"), ("a", None, r#""{d}""#)],
            "the value of `a` is invalid: {d} does not exist",
        ),
        // An alias of a token without a value has none either, wherever that is in the file.
        (r#""x":{"$value":"{y}"}"#, vec![("a", None, r#""{x}""#)], "`a` is invalid: it would have no value"),
        (
            r#""b":{"x":{"$value":"{b.x}"}}"#,
            vec![("a", None, r#""{b.x}""#)],
            "`a` is invalid: it would have no value",
        ),
        (
            r#""x":{"$value":"{y}"}"#,
            vec![("a", Some("m"), r#""{x}""#)],
            "`a` is invalid: it would have no value",
        ),
        // Errors elsewhere do not matter.
        (r#""a":{"$value":1},"a/b":{"$value":"x"}"#, vec![("a", None, "2")], r#""a":{"$value":2}"#),
        (r#""a":{"$value":1}"#, vec![("a", Some(""), "2")], "the name of a mode must have 1 to 128 bytes"),
    ] {
        let found = set_and_render(document, &changes);
        assert!(found.contains(expected), "{document} {changes:?}\n{found}\n{expected}");
    }
}

#[test]
fn many_tokens_are_set_in_one_call() {
    let text: Vec<_> = (0..2_000).map(|at| format!(r#""t{at}":{{"$value":{at}}}"#)).collect();
    let document = parse(&format!(r#"{{"$type":"number",{}}}"#, text.join(",")));
    let new = NewToken { kind: None, value: 1.0.into(), mode: Some("m".into()), description: None };
    let paths: Vec<_> = (0..1_000).map(|at| format!("t{at}")).collect();
    let start = std::time::Instant::now();
    let edited =
        set_tokens(&document, &paths.iter().map(|path| (path.as_str(), &new)).collect::<Vec<_>>()).unwrap();
    assert_eq!(edited.touched.len(), 1_000);
    // One at a time, this takes minutes.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn lookup_work_is_bounded() {
    // Resolving a group requires resolving its predecessor twice.
    let mut text = r#""g0":{"a":{"b":{"t":{"$value":1}}}}"#.to_owned();
    for at in 1..30 {
        let before = format!(r#""$extends":"{{g{}.a.b}}""#, at - 1);
        let _ = write!(text, r#","g{at}":{{"a":{{{before},"b":{{{before}}}}}}}"#);
    }
    let document = parse(&format!(r#"{{"$type":"number",{text}}}"#));
    let new = NewToken { kind: None, value: 1.0.into(), mode: None, description: None };
    let paths: Vec<_> = (0..100).map(|at| format!("g29.a{}.x{at}", ".x".repeat(25))).collect();
    let start = std::time::Instant::now();
    let error = set_tokens(&document, &paths.iter().map(|path| (path.as_str(), &new)).collect::<Vec<_>>())
        .unwrap_err();
    // Looking up every prefix of every path would take minutes.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    assert!(
        error.to_string().contains("was not looked up: its groups extend each other too often"),
        "{error}"
    );
}

#[test]
fn copies_of_inherited_tokens_are_bounded() {
    let large = "x".repeat(400_000);
    let heirs: Vec<_> = (0..300).map(|at| format!(r#""h{at}":{{"$extends":"{{g}}"}}"#)).collect();
    let text =
        format!(r#"{{"g":{{"a":{{"$value":1,"$extensions":{{"x":"{large}"}}}}}},{}}}"#, heirs.join(","));
    let document = parse(&text.replacen('{', r#"{"$type":"number","#, 1));
    let new = NewToken { kind: None, value: 2.0.into(), mode: None, description: None };
    for (count, expected) in [(1, None), (300, Some("has 1200"))] {
        let paths: Vec<_> = (0..count).map(|at| format!("h{at}.a")).collect();
        let tokens: Vec<_> = paths.iter().map(|path| (path.as_str(), &new)).collect();
        let error = set_tokens(&document, &tokens).err().map(|error| error.to_string());
        assert_eq!(error.is_some(), expected.is_some(), "{error:?}");
        assert!(error.unwrap_or_default().contains(expected.unwrap_or_default()), "{count}");
    }
}

#[test]
fn too_deep_paths_are_rejected() {
    let deep = |names: usize| vec!["n"; names].join(".");
    for (path, expected) in [
        (deep(200_000), "it has 400000 bytes, but the limit is 512"),
        (deep(200), "nested more than 32 levels deep"),
    ] {
        for error in [
            set_token(&sample_document(), &format!("x{path}"), &NewToken::new(TokenKind::Number, 1.0))
                .unwrap_err(),
            rename_path(&sample_document(), "sum", &format!("x{path}")).unwrap_err(),
        ] {
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}

#[test]
fn reserved_names_are_rejected_as_paths() {
    let document = parse(
        r#"{"a":{"$type":"number","$value":1,"$extensions":{"x":{"y":1}}},"s":{"$root":{"$type":"number","$value":1}}}"#,
    );
    for path in ["a.$extensions", "a.$value", "a.$extensions.x", "$type", "s.$root.x"] {
        for error in
            [rename_path(&document, path, "b").unwrap_err(), delete_path(&document, path, true).unwrap_err()]
        {
            assert!(matches!(error, EditError::InvalidPath { .. }), "{path}: {error}");
        }
    }
    assert!(
        delete_path(&document, "s.$root", false).is_ok() && rename_path(&document, "s.$root", "s.x").is_ok()
    );
    // Invalid names can be fixed.
    let wrong = parse(r#"{"a{":{"$type":"number","$value":1}}"#);
    assert!(rename_path(&wrong, "a{", "a").is_ok() && delete_path(&wrong, "a{", false).is_ok());
}

#[test]
fn tokens_in_use_are_not_deleted() {
    for (path, users) in [
        ("n.one", vec!["n.two", "m.two", "sum", "part"]),
        ("n", vec!["sum", "part", "m"]),
        ("n.two", vec!["sum"]),
        ("sum", vec![]),
        ("m.three", vec![]),
    ] {
        match delete_path(&sample_document(), path, false) {
            Err(EditError::InUse { users: told, .. }) => assert_eq!(told, users, "{path}"),
            Ok(_) => assert!(users.is_empty(), "{path}"),
            Err(other) => panic!("{other}"),
        }
        let forced = delete_path(&sample_document(), path, true).unwrap();
        assert_eq!(forced.document.get(path), None);
        assert!(forced.touched.iter().any(|touched| touched == path));
    }
    assert!(matches!(delete_path(&sample_document(), "nope", true), Err(EditError::NotFound { .. })));
}

#[test]
fn mode_value_is_deleted() {
    let token = |extensions: &str| format!(r#"{{"$value":1{extensions}}}"#);
    let held = |holder: &str| token(&format!(r#","$extensions":{holder}"#));
    for (extensions, left) in [
        (r#"{"mode":{"dark":2}}"#, token("")),
        (r#"{"mode":{"dark":2,"dim":3}}"#, held(r#"{"mode":{"dim":3}}"#)),
        (r#"{"modes":{"dark":2},"x":1}"#, held(r#"{"x":1}"#)),
        (r#"{"com.figma":{"modes":{"dark":{"$value":2}},"x":1}}"#, held(r#"{"com.figma":{"x":1}}"#)),
        (r#"{"mode":{"dark":2},"v":{"mode":{"dark":3}}}"#, held(r#"{"v":{}}"#)),
    ] {
        let document = parse(&format!(r#"{{"$type":"number","a":{}}}"#, held(extensions)));
        let edited = delete_mode_value(&document, "a", "dark", false).unwrap();
        assert_eq!(edited.document.to_string(), format!(r#"{{"$type":"number","a":{left}}}"#));
        assert_eq!(edited.touched, ["a"]);
    }
}

#[test]
fn required_or_missing_mode_value_is_not_deleted() {
    let document = parse(
        r#"{"$type":"number","g":{"a":{"$value":"{b}","$extensions":{"mode":{"dark":1}}}},
            "b":{"$value":2,"$extensions":{"mode":{"dark":"{g.a}"}}},"h":{"$extends":"{g}"}}"#,
    );
    for (path, mode, expected) in [
        ("g.a", "dim", "`g.a` has no value for mode `dim`"),
        ("g.a", "", "has no value for mode"),
        ("g", "dark", "`g` is a group, but a token is required"),
        ("h.a", "dark", "token or group `h.a` not found"),
        ("g.a.$extensions", "dark", "is not a valid path"),
        ("g.a", "dark", "the references form a cycle"),
    ] {
        let error = delete_mode_value(&document, path, mode, false).unwrap_err().to_string();
        assert!(error.contains(expected), "{path} {mode}: {error}");
    }
    assert!(delete_mode_value(&document, "g.a", "dark", true).is_ok());
}

#[test]
fn renaming_rewrites_references() {
    for (from, to, touched, expected) in [
        (
            "n.one",
            "n.uno",
            vec!["n.uno", "n.two", "sum", "part"],
            r##"{"n":{"$type":"number","uno":{"$value":1},"two":{"$value":"{n.uno}"}},"m":{"$extends":"{n}","three":{"$value":3}},"sum":{"$value":"{m.uno}","$extensions":{"mode":{"big":"{n.two}"}}},"part":{"$type":"number","$value":{"$ref":"#/n/uno/$value"}}}"##,
        ),
        (
            "n",
            "num.base",
            vec!["num.base", "m", "sum", "part"],
            r##"{"m":{"$extends":"{num.base}","three":{"$value":3}},"sum":{"$value":"{m.one}","$extensions":{"mode":{"big":"{num.base.two}"}}},"part":{"$type":"number","$value":{"$ref":"#/num/base/one/$value"}},"num":{"base":{"$type":"number","one":{"$value":1},"two":{"$value":"{num.base.one}"}}}}"##,
        ),
        (
            "m",
            "k",
            vec!["k", "sum"],
            r##"{"n":{"$type":"number","one":{"$value":1},"two":{"$value":"{n.one}"}},"k":{"$extends":"{n}","three":{"$value":3}},"sum":{"$value":"{k.one}","$extensions":{"mode":{"big":"{n.two}"}}},"part":{"$type":"number","$value":{"$ref":"#/n/one/$value"}}}"##,
        ),
        // It leaves the group it inherited its type from, so the type becomes explicit.
        (
            "m.three",
            "three",
            vec!["three"],
            r##"{"n":{"$type":"number","one":{"$value":1},"two":{"$value":"{n.one}"}},"m":{"$extends":"{n}"},"sum":{"$value":"{m.one}","$extensions":{"mode":{"big":"{n.two}"}}},"part":{"$type":"number","$value":{"$ref":"#/n/one/$value"}},"three":{"$value":3,"$type":"number"}}"##,
        ),
    ] {
        let edited = rename_path(&sample_document(), from, to).unwrap();
        assert_eq!(edited.document.to_string(), expected, "{from}");
        assert_eq!(edited.touched, touched, "{from}");
    }
}

#[test]
fn renaming_keeps_inherited_members() {
    for (text, from, to, expected) in [
        // A moved token gets an explicit type, which its aliases inherit.
        (
            r#"{"g":{"$type":"number","a":{"$value":1}},"x":{"$value":"{g.a}"}}"#,
            "g.a",
            "a",
            r#"{"g":{"$type":"number"},"x":{"$value":"{a}"},"a":{"$value":1,"$type":"number"}}"#,
        ),
        (
            r#"{"old":{"$type":"number","$deprecated":"use new","a":{"$value":1}}}"#,
            "old.a",
            "old2.a",
            r#"{"old":{"$type":"number","$deprecated":"use new"},"old2":{"a":{"$value":1,"$type":"number","$deprecated":"use new"}}}"#,
        ),
        (
            r#"{"old":{"$deprecated":true,"b":{"$type":"number","$value":1}},"a":{"$type":"number","$value":1}}"#,
            "a",
            "old.a",
            r#"{"old":{"$deprecated":true,"b":{"$type":"number","$value":1},"a":{"$type":"number","$value":1,"$deprecated":false}}}"#,
        ),
        // Other references are updated.
        (
            r##"{"a":{"$type":"number","$value":1},"b":{"$type":"number","$value":1,"$extensions":{"x":{"of":["{a}"],"at":{"$ref":"#/a/$value"}}}}}"##,
            "a",
            "c",
            r##"{"c":{"$type":"number","$value":1},"b":{"$type":"number","$value":1,"$extensions":{"x":{"of":["{c}"],"at":{"$ref":"#/c/$value"}}}}}"##,
        ),
    ] {
        assert_eq!(rename_path(&parse(text), from, to).unwrap().document.to_string(), expected, "{from}");
    }
}

#[test]
fn long_deprecation_reasons_are_kept_within_limits() {
    let why = "x".repeat(400_000);
    let tokens: Vec<_> = (0..500).map(|at| format!(r#""t{at}":{{"$value":1}}"#)).collect();
    let tokens = tokens.join(",");
    let document = parse(&format!(
        r#"{{"$type":"number","old":{{"$deprecated":"{why}","a":{{"$value":1}},"b":{{{tokens}}}}}}}"#
    ));
    let moved = rename_path(&document, "old.a", "a").unwrap().document;
    assert_eq!(moved.get("a").unwrap().get("$deprecated"), Some(&Json::from(why)));
    let error = rename_path(&document, "old.b", "b").unwrap_err().to_string();
    assert!(error.contains("has 1200000 bytes"), "{error}");
}

#[test]
fn renaming_that_changes_meaning_is_rejected() {
    for (from, to, expected) in [
        ("nope", "x", "token or group `nope` not found"),
        ("n", "m", "`m` already exists"),
        ("n", "n.x", "cannot be moved into itself"),
        ("n.one", "sum.one", "`sum` is a token"),
        ("n.one", "a{", "contains `{`"),
        ("n.one", "one", "groups inherit it through `$extends`"),
    ] {
        let error = rename_path(&sample_document(), from, to).unwrap_err().to_string();
        assert!(error.contains(expected), "{from}: {error}");
    }
}
