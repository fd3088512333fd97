use crate::import::json;
use crate::{Json, resolve};

#[test]
fn resolver_contexts_become_modes() {
    let text = r##"{ "version": "2025.10",
      "sets": { "base": { "sources": [{ "n": { "$type": "number", "a": { "$value": 1 }, "b": { "$value": "{n.a}" } } }] } },
      "modifiers": { "theme": { "default": "light", "contexts": { "light": [], "dark": [{ "$ref": "#/sets/night" }, { "n": { "c": { "$value": 7, "$type": "number" } } }] } } },
      "resolutionOrder": [{ "$ref": "#/sets/base" }, { "$ref": "#/modifiers/theme" }]"##;
    let text = format!("{text}, \"x\": 0 }}").replace("\"modifiers\"", r#""night_": {}, "modifiers""#);
    let text = text.replacen(
        "\"base\": {",
        r#""night": { "sources": [{ "n": { "a": { "$value": 2, "$type": "number" } } }] }, "base": {"#,
        1,
    );
    let imported = json(&text).unwrap();
    assert_eq!(imported.document.modes(), ["dark"]);
    for (mode, path, value) in [(None, "n.b", 1.0), (Some("dark"), "n.b", 2.0), (Some("dark"), "n.c", 7.0)] {
        let resolved = resolve(&imported.document, mode);
        assert_eq!(resolved.get(path).unwrap().value, Json::number(value), "{mode:?} {path}");
    }
}

#[test]
fn resolver_references_can_override_members() {
    let file = |order: &str, sources: &str| {
        format!(
            r##"{{"version":"2025.10","sets":{{"base":{{"sources":[{{"n":{{"$type":"number","a":{{"$value":1}},"b":{{"$value":5}}}}}}]}}}},
            "modifiers":{{"theme":{{"default":"light","contexts":{{"light":[],"dark":[{sources}]}}}}}},
            "resolutionOrder":[{{"$ref":"#/sets/base"}},{order}]}}"##
        )
    };
    let theme = r##"{"$ref":"#/modifiers/theme"}"##;
    for (text, mode, expected) in [
        // Members next to a reference take precedence.
        (
            file(r##"{"$ref":"#/modifiers/theme","default":"dark"}"##, r#"{"n":{"a":{"$value":2}}}"#),
            None,
            "n.a=2",
        ),
        (
            file(theme, r##"{"$ref":"#/sets/base/sources/0","n":{"$type":"number","a":{"$value":3}}}"##),
            Some("dark"),
            "n.a=3",
        ),
        // A token may become a pointer.
        (file(theme, r##"{"n":{"a":{"$ref":"#/n/b"}}}"##), Some("dark"), "n.a=5"),
        (file(theme, r##"{"n":{"a":{"$ref":"#/n/b"}}}"##), None, "n.a=1"),
    ] {
        let document = json(&text).unwrap().document;
        let resolved = resolve(&document, mode);
        let found = resolved.get("n.a").map(|token| format!("{}={}", token.path, token.value));
        assert_eq!(found.as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn invalid_resolver_file_is_rejected() {
    let file = |rest: &str| format!(r#"{{"version":"2025.10",{rest}}}"#);
    let set = |sources: &str| {
        format!(r##""sets":{{"s":{{"sources":[{sources}]}}}},"resolutionOrder":[{{"$ref":"#/sets/s"}}]"##)
    };
    let modifier = |contexts: &str| {
        format!(
            r#""resolutionOrder":[{{"type":"modifier","name":"theme","contexts":{contexts},"default":"a"}}]"#
        )
    };
    let many: Vec<_> = (0..40).map(|at| format!(r#""c{at}":[]"#)).collect();
    let large: Vec<_> = (0..20_000).map(|at| format!(r#""g{at}":{{}}"#)).collect();
    let repeated = vec![r##"{"$ref":"#/large"}"##; 900].join(",");
    for (rest, expected) in [
        (modifier(r#"{"b":[]}"#), "its default is not one of its contexts"),
        (modifier(r#"{"a":[],"b":5}"#), "every context must be an array"),
        (modifier(&format!(r#"{{"a":[],{}}}"#, many.join(","))), "more than 32 contexts"),
        (set(r#"{"$ref":"x.json"}"#), "refers to x.json"),
        (set(r##"{"$ref":"#/sets/s"}"##), "too often"),
        (set(r##"{"$ref":"#/modifiers/m"}"##), "refers to #/modifiers/m"),
        (format!("{},\"large\":{{{}}}", set(&repeated), large.join(",")), "too large in total"),
        (
            r##""resolutionOrder":[{"$ref":"#/resolutionOrder/0"}]"##.to_owned(),
            "refers to #/resolutionOrder/0",
        ),
    ] {
        let error = json(&file(&rest)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(json(r#"{"resolutionOrder":[]}"#).unwrap_err().to_string().contains("version none"));
    // A group may have this name.
    let group = r#"{"resolutionOrder":{"first":{"$type":"number","$value":1}}}"#;
    assert_eq!(json(group).unwrap().findings, []);
}

#[test]
fn large_sets_are_not_copied_per_step() {
    let file = |source: &str, sources: usize, steps: usize| {
        let sources = vec![source; sources].join(",");
        let steps = vec![r##"{"$ref":"#/sets/s"}"##; steps].join(",");
        format!(
            r#"{{"version":"2025.10","sets":{{"s":{{"sources":[{sources}]}}}},"resolutionOrder":[{steps}]}}"#
        )
    };
    let start = std::time::Instant::now();
    for (sources, steps, expected) in [
        // With copies, this would take gigabytes.
        (100_000, 800, "refer to each other too often"),
        (0, 1_001, "it has too many entries"),
    ] {
        let error = json(&file("{}", sources, steps)).unwrap_err().to_string();
        assert!(error.contains(expected), "{sources} {steps}: {error}");
    }
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    assert!(json(&file(r#"{"n":{"$type":"number","$value":1}}"#, 1, 1_000)).is_ok());
}

/// Tokens of a resolver file with one set and a theme: `path=value`, base values first, then each mode.
fn resolve_in_contexts(set: &str, contexts: &str, path: &str) -> Vec<Option<String>> {
    let text = format!(
        r##"{{"version":"2025.10","sets":{{"base":{{"sources":[{set}]}}}},
        "modifiers":{{"theme":{{"default":"light","contexts":{{"light":[],{contexts}}}}}}},
        "resolutionOrder":[{{"$ref":"#/sets/base"}},{{"$ref":"#/modifiers/theme"}}]}}"##
    );
    let document = json(&text).unwrap().document;
    let modes = std::iter::once(None).chain(document.modes().into_iter().map(Some));
    let value = |mode: Option<String>| {
        resolve(&document, mode.as_deref()).get(path).map(|token| token.value.to_string())
    };
    modes.map(value).collect()
}

#[test]
fn context_changes_only_its_own_tokens() {
    let token = |value: u32| format!(r#"{{"$type":"number","$value":{value}}}"#);
    let (one, two, three) = (token(1), token(2), token(3));
    let heirs = format!(r#"{{"button":{{"bg":{one}}},"primary":{{"$extends":"{{button}}"}}}}"#);
    let deep = format!(r#"{{"button":{{"on":{{"bg":{one}}}}},"primary":{{"$extends":"{{button}}"}}}}"#);
    for (set, contexts, path, expected) in [
        // An inherited token is not a new one.
        (heirs.clone(), format!(r#""dark":[{{"primary":{{"bg":{two}}}}}]"#), "primary.bg", "1 2"),
        (heirs.clone(), format!(r#""dark":[{{"primary":{{"bg":{two}}}}}]"#), "button.bg", "1 1"),
        (deep, format!(r#""dark":[{{"primary":{{"on":{{"bg":{two}}}}}}}]"#), "primary.on.bg", "1 2"),
        // In other modes it follows its origin.
        (
            heirs,
            format!(r#""blue":[{{"button":{{"bg":{three}}}}}],"dark":[{{"primary":{{"bg":{two}}}}}]"#),
            "primary.bg",
            "1 3 2",
        ),
        // The last source for a path wins.
        (format!(r#"{{"a":{one}}},{{"a":{{"b":{two}}}}}"#), r#""dark":[]"#.to_owned(), "a.b", "2"),
        (format!(r#"{{"a":{{"b":{two}}}}},{{"a":{one}}}"#), r#""dark":[]"#.to_owned(), "a", "1"),
        // But no context turns a token into a group.
        (
            format!(r#"{{"a":{one},"b":{one}}}"#),
            format!(r#""dark":[{{"a":{{"c":{two}}},"b":{two}}}]"#),
            "a",
            "1 1",
        ),
    ] {
        let found: Vec<_> = resolve_in_contexts(&set, &contexts, path).into_iter().flatten().collect();
        assert_eq!(found.join(" "), expected, "{set} {contexts} {path}");
    }
}
