//! Tests of parsing, validating, resolving, editing and comparing documents.

use std::str::FromStr as _;

use super::validate::normalise;
use super::*;

fn parse(text: &str) -> TokenDocument {
    TokenDocument::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A document of colours and references to them, in the short legacy forms.
fn brand_document() -> TokenDocument {
    parse(
        r##"{
          "base": { "$type": "color",
            "blue": { "$value": "#0055ff" },
            "ink": { "$value": "#111111", "$extensions": { "mode": { "dark": "#eeeeee" } } } },
          "text": { "$value": "{base.ink}" },
          "link": { "$value": "{base.blue}", "$extensions": { "mode": { "dark": "{text}" } } },
          "frame": { "$type": "border", "$value": { "color": "{link}", "width": "1px", "style": "solid" } }
        }"##,
    )
}

fn finding_lines(document: &TokenDocument) -> Vec<String> {
    validate(document).iter().map(ToString::to_string).collect()
}

#[test]
fn document_text_round_trips() {
    for text in [
        "{}",
        r#"{"zebra":{"$value":1.5,"$type":"number"},"ant":{"$x-unknown":[1,null,true],"$value":-0.25}}"#,
        r##"{"$schema":"s","b":{"$root":{"$value":"{c}"},"a":{}},"c":{"$ref":"#/b/$root"}}"##,
        r#"{"é \"quoted\"":{"$description":"line\nbreak","$value":"x"}}"#,
    ] {
        assert_eq!(parse(text).to_string(), text);
        assert_eq!(parse(&parse(text).to_pretty_string()), parse(text));
    }
}

#[test]
fn invalid_documents_are_rejected() {
    let deep = format!("{}1{}", "{\"a\":".repeat(33), "}".repeat(33));
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(limits::MAX_DOCUMENT_BYTES));
    let spacious = format!("{{{}}}", " ".repeat(limits::MAX_TEXT_BYTES));
    let long = format!("{{\"{}\":{{\"$value\":1}}}}", "x".repeat(129));
    let long_path =
        format!("{}{{\"$value\":1}}{}", format!("{{\"{}\":", "x".repeat(120)).repeat(5), "}".repeat(5));
    let many: Vec<_> = (0..=limits::MAX_TOKENS).map(|at| format!("\"t{at}\":{{\"$value\":1}}")).collect();
    let many = format!("{{{}}}", many.join(","));
    let modes: Vec<_> = (0..40).map(|at| format!("\"m{at}\":1")).collect();
    let modes = format!("{{\"a\":{{\"$value\":1,\"$extensions\":{{\"mode\":{{{}}}}}}}}}", modes.join(","));
    for (text, expected) in [
        ("[]", "must be a JSON object, not an array"),
        ("{", "not valid JSON"),
        (r#"{"a":1,"a":2}"#, "duplicate name \"a\""),
        (r#"{"a":1} x"#, "trailing characters"),
        (&deep, "nested more than 32 levels"),
        (&large, "1048576; split it"),
        (&spacious, "the text has 4194306 bytes, but the limit is 4194304; remove whitespace"),
        (&long, "has 129 bytes, but the limit is 128"),
        (&long_path, "but the limit is 512; shorten its names"),
        (&many, "more than 10000 tokens"),
        (&modes, "more than 32 modes"),
    ] {
        let error = TokenDocument::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Validates documents; each must have exactly the findings with these prefixes.
fn check_findings(cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        let told = finding_lines(&parse(text));
        assert_eq!(told.len(), expected.len(), "{text}\n{told:#?}");
        for (told, expected) in told.iter().zip(*expected) {
            assert!(told.starts_with(expected), "{text}\n{told}\n{expected}");
        }
    }
}

#[test]
fn mistakes_in_names_and_references_are_reported() {
    check_findings(&[
        (
            r#"{"a":{"$value":1}}"#,
            &["error: a: the token has no type; add `$type` to it or to one of its groups"],
        ),
        (r#"{"$value":1}"#, &["error: the document itself cannot be a token"]),
        (r#"{"a":{"$value":1,"$type":"nope"}}"#, &["error: a: unknown type `nope`"]),
        (
            r#"{"a.b":{"$value":1,"$type":"number"}}"#,
            &["error: a.b: the name `a.b` contains `.`, which is reserved for references"],
        ),
        (
            r#"{"a{":{"$value":1,"$type":"number"}}"#,
            &["error: a{: the name `a{` contains `{`, which is reserved for references"],
        ),
        (r#"{"a":{"$oops":{"$value":1}}}"#, &["warning: a: the format does not define `$oops`"]),
        (
            r#"{"a":{"$value":1,"$type":"number","b":{}}}"#,
            &["error: a: a token cannot contain other tokens, but this one has `$value` and `b`"],
        ),
        (r#"{"a":{"b":5}}"#, &["error: a.b: the members of a group must be objects, but this is a number"]),
        (
            r#"{"a":{"value":"5px","type":"dimension"}}"#,
            &["error: a: this looks like a token in another format", "error: a.value", "error: a.type"],
        ),
        (
            r#"{"$type":"number","A":{"$value":1},"a":{"$value":1}}"#,
            &["warning: a: `A` and `a` differ only in case"],
        ),
        (r#"{"a":{"$value":"{b.c}","$type":"number"}}"#, &["error: a: {b.c} does not exist in the document"]),
        (
            r#"{"a":{"$value":"{g}"},"g":{"$type":"number","$root":{"$value":1}}}"#,
            &["error: a: {g} is a group; its own token is `{g.$root}`"],
        ),
        (
            r#"{"a":{"$value":"{g}"},"g":{"x":{"$type":"number","$value":1}}}"#,
            &["error: a: {g} is a group; only tokens"],
        ),
        (
            r#"{"$type":"number","a":{"$value":"{b} * 2"},"b":{"$value":1}}"#,
            &["error: a: it mixes a reference with other text"],
        ),
        (
            r#"{"$type":"number","a":{"$value":"{b}"},"b":{"$value":"{c}"},"c":{"$value":"{a}"},"d":{"$value":"{a}"}}"#,
            &["error: a: the references form a cycle: a → b → c → a"],
        ),
        (
            r#"{"a":{"$type":"color","$value":"{b}"},"b":{"$type":"number","$value":1}}"#,
            &["error: a: {b} is a number, but a color is required"],
        ),
        (
            r#"{"a":{"$extends":"{b}"}}"#,
            &["error: a: `$extends` refers to {b}, but that group does not exist"],
        ),
        (
            r#"{"a":{"$extends":"{b}"},"b":{"$extends":"{a}"}}"#,
            &["error: a: `$extends` forms a cycle: a → b → a"],
        ),
        (
            r#"{"a":{"c":{"$type":"number","$value":1},"b":{"$extends":"{a}"}}}"#,
            &["error: a: `$extends` forms a cycle: a.b → a"],
        ),
        (
            r#"{"a":{"$extends":"{t}"},"t":{"$type":"number","$value":1}}"#,
            &["error: a: `$extends` refers to {t}, which is a token; only groups can be extended"],
        ),
        (
            r#"{"$type":"number","a.b":{"$value":1},"a":{"b":{"$value":2}}}"#,
            &[
                "error: a.b: the name `a.b` contains `.`, which is reserved for references",
                "error: a.b: another token has the same path",
            ],
        ),
    ]);
}

#[test]
fn mistakes_in_values_are_reported() {
    check_findings(&[
        (
            r#"{"a":{"$type":"border","$value":{"color":"{n}","width":"2em","style":"wavy","x":1}},"n":{"$type":"number","$value":1}}"#,
            &[
                "error: a: a border has no member `x`; it has color, width, style",
                "error: a/width: \"2em\" is not a valid dimension: the unit must be px or rem",
                "error: a/style: \"wavy\" is not a valid line style",
                "error: a/color: {n} is a number, but a color is required",
            ],
        ),
        (
            r#"{"a":{"$type":"typography","$value":{"fontFamily":"Inter","fontSize":"1rem"}}}"#,
            &["error: a: the typography is missing fontWeight, letterSpacing, lineHeight"],
        ),
        (r##"{"a":{"$type":"color","$value":"#12345"}}"##, &["error: a: \"#12345\" is not a valid color"]),
        (r##"{"a":{"$type":"color","$value":"#123456"}}"##, &["warning: a: this is a legacy form"]),
        (
            r##"{"a":{"$type":"color","$value":{"colorSpace":"hsl","components":[360,50,"none"],"alpha":2,"hex":"#fff"}}}"##,
            &["error: a/components/0: 360 is out of range in hsl", "error: a/alpha: 2 is not a valid alpha"],
        ),
        (
            r#"{"a":{"$type":"color","$value":{"colorSpace":"cmyk","components":[0,0,0]}}}"#,
            &["error: a: unknown colour space `cmyk`"],
        ),
        (r#"{"a":{"$type":"dimension","$value":16}}"#, &["error: a: 16 is not a valid dimension"]),
        (r#"{"a":{"$type":"dimension","$value":0}}"#, &["warning: a: this is a legacy form"]),
        (r#"{"a":{"$type":"duration","$value":"200ms"}}"#, &["warning: a: this is a legacy form"]),
        (
            r#"{"a":{"$type":"fontWeight","$value":"Bold"}}"#,
            &["error: a: \"Bold\" is not a valid font weight"],
        ),
        (r#"{"a":{"$type":"fontWeight","$value":1001}}"#, &["error: a: 1001 is not a valid font weight"]),
        (r#"{"a":{"$type":"cubicBezier","$value":[2,0,0,1]}}"#, &["error: a: the first and third number"]),
        (r#"{"a":{"$type":"shadow","$value":[]}}"#, &["error: a: the list is empty"]),
        (
            r#"{"a":{"$type":"strokeStyle","$value":{"dashArray":[],"lineCap":"round"}}}"#,
            &["error: a/dashArray: `dashArray` is empty"],
        ),
        // Findings are in token order, regardless of names.
        (
            r#"{"$type":"number","z":{"$value":"x"},"a/b":{"$value":"x"},"a":{"$value":"x"}}"#,
            &["error: z: ", "error: a/b: ", "error: a: "],
        ),
        (
            r#"{"a":{"$type":"gradient","$value":[{"color":{"colorSpace":"srgb","components":[0,0,0]},"position":7}]}}"#,
            &["warning: a/0/position: 7 is outside 0 to 1"],
        ),
        (
            r#"{"a":{"$type":"number","$value":1,"$extensions":{"mode":{"dark":"x"}}}}"#,
            &["error: a: \"x\" is not a valid number (in mode `dark`)"],
        ),
        (
            r#"{"a":{"$type":"number","$value":1,"$extensions":{"mode":{"dark":"{a}"}}}}"#,
            &["error: a: the references form a cycle: a → a (in mode `dark`)"],
        ),
        (
            r#"{"a":{"$type":"number","$value":{"$ref":"other.json#/x"}}}"#,
            &["error: a: only pointers into this document"],
        ),
    ]);
}

#[test]
fn pointers_are_resolved_in_any_part_of_a_value() {
    let numbers = r#""half":{"$type":"number","$value":0.5},"two":{"$type":"number","$value":2},"on":{"$type":"number","$value":true}"#;
    let length = r#"{"value":1,"unit":"px"}"#;
    let shadow = format!(
        r#""color":{{"colorSpace":"srgb","components":[0,0,0]}},"offsetX":{length},"offsetY":{length},"blur":{length},"spread":{length}"#
    );
    let half = r##"{"$ref":"#/half/$value"}"##;
    let two = r##"{"$ref":"#/two/$value"}"##;
    for (kind, value, expected) in [
        ("color", format!(r#"{{"colorSpace":"srgb","components":[0,0,0],"alpha":{half}}}"#), None),
        ("color", format!(r#"{{"colorSpace":"srgb","components":[{half},0,{half}]}}"#), None),
        ("dimension", format!(r#"{{"value":{two},"unit":"px"}}"#), None),
        ("cubicBezier", format!("[{half},0,{half},1]"), None),
        ("shadow", format!(r##"{{{shadow},"inset":{{"$ref":"#/on/$value"}}}}"##), None),
        // The target must be valid in this place.
        (
            "color",
            format!(r#"{{"colorSpace":"srgb","components":[0,0,0],"alpha":{two}}}"#),
            Some("error: a/alpha: 2 is not a valid alpha"),
        ),
        // A reference in braces must be a whole value.
        (
            "color",
            r#"{"colorSpace":"srgb","components":[0,0,0],"alpha":"{half}"}"#.to_owned(),
            Some("error: a/alpha: \"{half}\" is not a valid alpha"),
        ),
        // The types of other parts are still checked.
        (
            "border",
            format!(r#"{{"color":{two},"width":{{"value":{two},"unit":"px"}},"style":"solid"}}"#),
            Some("error: a/color: {two} is a number, but a color is required"),
        ),
    ] {
        let document = parse(&format!(r#"{{"a":{{"$type":"{kind}","$value":{value}}},{numbers}}}"#));
        let told: Vec<_> =
            finding_lines(&document).into_iter().filter(|told| told.starts_with("error: a")).collect();
        assert!(told.len() >= usize::from(expected.is_some()), "{value}");
        assert!(expected.is_some() || told.is_empty(), "{value}: {told:?}");
        assert!(
            expected.is_none_or(|expected| told.iter().any(|told| told.starts_with(expected))),
            "{told:?}"
        );
        let new = NewToken {
            kind: TokenKind::from_str(kind).ok(),
            value: Json::parse(&value).unwrap(),
            mode: None,
            description: None,
        };
        assert_eq!(set_token(&document, "b", &new).is_ok(), expected.is_none(), "{value}");
    }
}

/// Resolved values as `path=value`, preceded by the type.
fn resolved_lines(document: &TokenDocument, mode: Option<&str>) -> Vec<String> {
    let resolved = resolve(document, mode);
    let kind = |token: &ResolvedToken| token.kind.map_or("?", TokenKind::as_str);
    resolved.tokens().iter().map(|token| format!("{} {}={}", kind(token), token.path, token.value)).collect()
}

#[test]
fn every_reference_form_is_resolved() {
    for (text, expected) in [
        (
            r#"{"$type":"number","a":{"$value":"{b}"},"b":{"$value":"{c}"},"c":{"$value":3}}"#,
            vec!["number a=3", "number b=3", "number c=3"],
        ),
        (r##"{"a":{"$ref":"#/b"},"b":{"$type":"number","$value":3}}"##, vec!["number a=3", "number b=3"]),
        (
            r##"{"a":{"$type":"number","$value":{"$ref":"#/b/$value/components/1"}},"b":{"$type":"color","$value":{"colorSpace":"srgb","components":[0,0.5,1]}}}"##,
            vec!["number a=0.5", r#"color b={"colorSpace":"srgb","components":[0,0.5,1]}"#],
        ),
        (
            r#"{"g":{"$type":"number","$root":{"$value":1},"h":{"$value":"{g.$root}"}}}"#,
            vec!["number g.$root=1", "number g.h=1"],
        ),
        // An alias has the type of its target, not of its group.
        (
            r#"{"g":{"$type":"color","a":{"$value":"{n}"}},"n":{"$type":"number","$value":2}}"#,
            vec!["number g.a=2", "number n=2"],
        ),
        // `$extends`: local tokens win, groups merge, and a local type applies to the whole group.
        (
            r#"{"a":{"$type":"number","x":{"$value":1},"s":{"y":{"$value":2}}},"b":{"$extends":"{a}","x":{"$value":9},"s":{"z":{"$value":3}}}}"#,
            vec!["number a.x=1", "number a.s.y=2", "number b.x=9", "number b.s.z=3", "number b.s.y=2"],
        ),
        (
            r##"{"a":{"$type":"number","x":{"$value":1}},"b":{"$ref":"#/a"},"c":{"$extends":"#/b"},"d":{"$value":"{c.x}"}}"##,
            vec!["number a.x=1", "number b.x=1", "number c.x=1", "number d=1"],
        ),
        // A pointer is decoded before it is split, and indices have only one notation.
        (
            r##"{"x":{"$ref":"#/a%2Fb"},"a":{"b":{"$type":"number","$value":3}},"a/b":{"$type":"number","$value":4},"y":{"$ref":"#/a~1b"}}"##,
            vec!["number x=3", "number a.b=3", "number a/b=4", "number y=4"],
        ),
        (
            r##"{"a":{"$type":"number","$value":{"$ref":"#/b/$value/+1"}},"c":{"$type":"number","$value":{"$ref":"#/b/$value/01"}},"b":{"$type":"cubicBezier","$value":[0,0,1,1]}}"##,
            vec!["cubicBezier b=[0,0,1,1]"],
        ),
        // A pointer to a value makes a token, even if the value is an object.
        (
            r##"{"a":{"$ref":"#/b/$value"},"b":{"$type":"dimension","$value":{"value":1,"unit":"px"}}}"##,
            vec![r#"dimension a={"value":1,"unit":"px"}"#, r#"dimension b={"value":1,"unit":"px"}"#],
        ),
        // A value may refer to another part of itself, in each mode to the value of that mode.
        (
            r##"{"a":{"$type":"cubicBezier","$value":[0.5,0,{"$ref":"#/a/$value/0"},1]}}"##,
            vec!["cubicBezier a=[0.5,0,0.5,1]"],
        ),
        // Other content of the file is not a value if it contains references.
        (
            r##"{"a":{"$type":"number","$value":{"$ref":"#/b/$extensions/x"}},"b":{"$type":"number","$value":1,"$extensions":{"x":"{c}","y":2}},"c":{"$type":"number","$value":{"$ref":"#/b/$extensions/y"}}}"##,
            vec!["number b=1", "number c=2"],
        ),
        // Two tokens cannot share a path.
        (r#"{"$type":"number","a.b":{"$value":1},"a":{"b":{"$value":2}}}"#, vec!["number a.b=1"]),
        // Broken tokens are omitted, and so are their users.
        (
            r#"{"$type":"number","a":{"$value":"{b}"},"b":{"$value":"{a}"},"c":{"$value":"{a}"},"d":{"$value":1}}"#,
            vec!["number d=1"],
        ),
        ("{}", vec![]),
    ] {
        assert_eq!(resolved_lines(&parse(text), None), expected, "{text}");
    }
}

#[test]
fn mode_changes_its_tokens_and_their_aliases() {
    assert_eq!(brand_document().modes(), ["dark"]);
    let dark = resolve(&brand_document(), Some("dark"));
    for (path, value) in
        [("base.blue", "#0055ff"), ("base.ink", "#eeeeee"), ("text", "#eeeeee"), ("link", "#eeeeee")]
    {
        assert_eq!(dark.get(path).unwrap().value, Json::from(value), "{path}");
    }
    assert!(resolve(&brand_document(), Some("sepia")).findings[0].message.contains("existing modes: dark"));
    let part = r##"{"a":{"$type":"cubicBezier","$value":[0,0,0,1],"$extensions":{"mode":{"m":[0.5,0,{"$ref":"#/a/$value/0"},1]}}}}"##;
    assert_eq!(resolved_lines(&parse(part), Some("m")), ["cubicBezier a=[0.5,0,0.5,1]"]);
    // A token that is broken in a mode is broken only there, wherever the cycle is found first.
    for (order, expected) in [("abc", "number d=1"), ("cba", "number d=1"), ("bca", "number d=1")] {
        let token = |name: char| match name {
            'a' => r#""a":{"$value":"{b}"}"#,
            'b' => r#""b":{"$value":"{c}"}"#,
            _ => r#""c":{"$value":3,"$extensions":{"mode":{"m":"{a}"}}}"#,
        };
        let tokens: Vec<_> = order.chars().map(token).collect();
        let document = parse(&format!(r#"{{"$type":"number",{},"d":{{"$value":1}}}}"#, tokens.join(",")));
        assert_eq!(resolved_lines(&document, Some("m")), [expected], "{order}");
        assert_eq!(resolved_lines(&document, None).len(), 4, "{order}");
        let sheet = export::css(&document, &export::ExportOptions::default());
        assert!(sheet.findings.iter().any(|finding| finding.message.contains("cycle")), "{order}");
    }
    // Only tokens have modes, and every mode has a name.
    for extensions in
        [r#"{"mode":{"mode":{"$value":2}}}"#, r#"{"mode":{"mode":{"x":1}}}"#, r#"{"mode":{"mode":2,"":3}}"#]
    {
        let text = format!(
            r#"{{"g":{{"$extensions":{{"mode":{{"g":1}}}},"a":{{"$value":1,"$extensions":{extensions}}}}}}}"#
        );
        assert_eq!(parse(&text).modes(), ["mode"], "{extensions}");
    }
    for extensions in
        [r#"{"mode":{"m":2}}"#, r#"{"modes":{"m":2}}"#, r#"{"com.figma":{"modes":{"m":{"$value":2}}}}"#]
    {
        let text = format!(r#"{{"a":{{"$type":"number","$value":1,"$extensions":{extensions}}}}}"#);
        assert_eq!(resolved_lines(&parse(&text), Some("m")), ["number a=2"]);
    }
}

#[test]
fn legacy_forms_are_normalised() {
    let new = normalise(&brand_document());
    assert_eq!(finding_lines(&new), Vec::<String>::new());
    assert_eq!(
        new.get("base.ink").unwrap().get("$extensions").unwrap().to_string(),
        r##"{"mode":{"dark":{"colorSpace":"srgb","components":[0.9333,0.9333,0.9333],"hex":"#eeeeee"}}}"##
    );
    assert_eq!(
        new.get("frame").unwrap().get("$value").unwrap().to_string(),
        r#"{"color":"{link}","width":{"value":1,"unit":"px"},"style":"solid"}"#
    );
    assert_eq!(normalise(&new), new);
}

#[test]
fn comma_separated_fonts_become_a_list() {
    let start = parse("{}");
    for (text, expected) in [
        ("Inter, sans-serif", r#"["Inter","sans-serif"]"#),
        ("'Fira Sans' ,Times New Roman,\"A, B\"", r#"["Fira Sans","Times New Roman","A, B"]"#),
        // A single name, or not a list.
        ("Inter", r#""Inter""#),
        ("'A, B'", r#""'A, B'""#),
        ("Inter,", r#""Inter,""#),
        (", Inter", r#"", Inter""#),
        ("'A' B, C", r#""'A' B, C""#),
    ] {
        let new = set_token(&start, "a", &NewToken::new(TokenKind::FontFamily, text)).unwrap().document;
        assert_eq!(new.get("a").unwrap().get("$value").unwrap().to_string(), expected, "{text}");
        assert_eq!(normalise(&new), new, "{text}");
    }
    // An array delimits its names.
    let one = r#"{"a":{"$type":"typography","$value":{"fontFamily":["A, B"],"fontSize":"1px","fontWeight":400,"letterSpacing":"0px","lineHeight":1}}}"#;
    let new = normalise(&parse(one));
    assert!(new.to_string().contains(r#""fontFamily":["A, B"],"fontSize":{"#), "{new}");
    assert_eq!(finding_lines(&parse(r#"{"a":{"$type":"fontFamily","$value":"A, B"}}"#)).len(), 1);
    assert_eq!(finding_lines(&parse(r#"{"a":{"$type":"fontFamily","$value":"A, {b}"}}"#)).len(), 1);
}

#[test]
fn document_differences_are_reported() {
    let old = brand_document();
    let mut new = rename_path(&old, "base.blue", "base.sea").unwrap().document;
    new = set_token(
        &new,
        "text",
        &NewToken { kind: None, value: "{base.sea}".into(), mode: None, description: None },
    )
    .unwrap()
    .document;
    new = set_token(&new, "gap", &NewToken::new(TokenKind::Number, 3.0)).unwrap().document;
    new = delete_path(&new, "frame", false).unwrap().document;
    let diff = diff_documents(&old, &new);
    assert_eq!(diff.renamed, [TokenRename { from: "base.blue".into(), to: "base.sea".into() }]);
    assert_eq!(diff.added.iter().map(|state| state.path.as_str()).collect::<Vec<_>>(), ["gap"]);
    assert_eq!(diff.removed.iter().map(|state| state.path.as_str()).collect::<Vec<_>>(), ["frame"]);
    let changed: Vec<_> = diff
        .changed
        .iter()
        .map(|change| (change.before.value.to_string(), change.after.value.to_string()))
        .collect();
    assert_eq!(changed, [(r#""{base.ink}""#.to_owned(), r#""{base.sea}""#.to_owned())]);
    assert!(super::diff_documents(&old, &old).is_empty());
}

#[test]
fn every_difference_of_one_token_is_reported() {
    let token = |more: &str| parse(&format!(r#"{{"a":{{"$type":"number","$value":1{more}}}}}"#));
    let plain = token("");
    for more in [r#","$description":"x""#, r#","$deprecated":true"#, r#","$extensions":{"mode":{"m":1}}"#] {
        assert_eq!(diff_documents(&plain, &token(more)).changed.len(), 1, "{more}");
    }
    // Order does not matter, and `4.0` equals `4`.
    let shuffled = |name: &str, value: &str, modes: &str| {
        let modes = format!(r#""$extensions":{{"mode":{{{modes}}}}}"#);
        let rest = r#""b":{"$type":"number","$value":7}"#;
        parse(&format!(r#"{{"{name}":{{"$type":"dimension","$value":{value},{modes}}},{rest}}}"#))
    };
    let (one, two) = (r#"{"value":4,"unit":"px"}"#, r#"{"unit":"px","value":4.0}"#);
    let (first, second) = (r#""m":"1px","n":"2px""#, r#""n":"2px","m":"1px""#);
    let old = shuffled("a", one, first);
    assert!(diff_documents(&old, &shuffled("a", two, first)).is_empty());
    assert!(diff_documents(&old, &shuffled("a", one, second)).is_empty());
    assert_eq!(diff_documents(&old, &shuffled("a", one, r#""m":"2px","n":"1px""#)).changed.len(), 1);
    let moved = diff_documents(&old, &shuffled("c", two, second));
    assert_eq!(moved.renamed, [TokenRename { from: "a".into(), to: "c".into() }]);
    assert!(moved.added.is_empty() && moved.removed.is_empty());
    // Tokens without a value are never matched as renamed.
    let broken = |name: &str| parse(&format!(r#"{{"{name}":{{"$type":"number","$value":"{{x{name}}}"}}}}"#));
    let found = diff_documents(&broken("a"), &broken("b"));
    assert_eq!((found.renamed.len(), found.added.len(), found.removed.len()), (0, 1, 1));
}

#[test]
fn stored_documents_parse_regardless_of_limits() {
    let long = "x".repeat(limits::MAX_NAME_BYTES + 1);
    let deep = format!("{}1{}", "{\"a\":".repeat(60), "}".repeat(60));
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(limits::MAX_TEXT_BYTES));
    for text in [format!("{{\"{long}\":{{\"$value\":1}}}}"), deep, large] {
        assert!(TokenDocument::parse(&text).is_err());
        let document = TokenDocument::parse_stored(&text).unwrap();
        assert_eq!(document.to_string(), text);
        let _ = (validate(&document), resolve(&document, None));
    }
    assert!(TokenDocument::parse_stored("[]").is_err());
    let deeper = format!("{}1{}", "{\"a\":".repeat(121), "}".repeat(121));
    let error = TokenDocument::parse_stored(&deeper).unwrap_err().to_string();
    assert!(error.contains("nested more than 120 levels"), "{error}");
}
