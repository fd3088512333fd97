use serde_json::json;

use super::*;
use crate::limits::{MAX_PROBLEMS, MAX_SCHEMA_PATTERNS, MAX_SCHEMA_VALUES};

fn props(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn custom_type(name: &str, schema: Value) -> CustomBlockType {
    CustomBlockType {
        name: name.to_owned(),
        description: String::new(),
        schema,
        children: AllowedChildren::Any,
    }
}

/// Problems of props, with the whole budget of a call.
fn problems(kind: &BlockType, value: &Value) -> Vec<ValidationProblem> {
    kind.problems(&props(value), &mut ValidationBudget::per_call())
}

#[test]
fn all_built_in_types_are_usable() {
    let described: Vec<Value> = serde_json::from_str(include_str!("builtin.json")).unwrap();
    assert_eq!(BUILT_IN_TYPES.len(), described.len());
    assert_eq!(BUILT_IN_TYPES.len(), 20);
    for kind in BUILT_IN_TYPES.iter() {
        assert_eq!(kind.schema["type"], "object", "{}", kind.name);
        assert!(!kind.description.is_empty());
        assert!(SchemaValidator::new(&kind.schema, true).is_ok(), "{}", kind.name);
        let named = [
            &kind.parents.clone().unwrap_or_default()[..],
            match &kind.children {
                AllowedChildren::Only(names) => names,
                _ => &[],
            },
        ]
        .concat();
        assert!(named.iter().all(|name| find_built_in(name).is_some()), "{}", kind.name);
    }
    let hosts = &find_built_in("embed").unwrap().description;
    assert!(crate::links::EMBED_HOSTS.iter().all(|host| hosts.contains(host)), "{hosts}");
}

#[test]
fn every_problem_with_props_is_reported() {
    for (kind, value, expected) in [
        ("heading", json!({ "text": "Hi", "level": 2 }), &[][..]),
        (
            "heading",
            json!({ "level": 9, "x": 1 }),
            &[
                ": Additional properties are not allowed ('x' was unexpected)",
                ": must have the member \"text\"",
                "/level: value is greater than the maximum of 6",
            ],
        ),
        (
            "links",
            json!({ "links": [{ "label": "a", "href": "javascript:alert(1)" }, { "href": "/" }] }),
            &[
                "/links/0/href: must be a URL: http, https, mailto, tel, relative, or asset:<id>",
                "/links/1: must have the member \"label\"",
            ],
        ),
        (
            "button",
            json!({ "label": "a", "href": "/", "style": "odd" }),
            &["/style: must be one of [\"primary\",\"secondary\",\"plain\"]"],
        ),
        ("divider", json!({}), &[]),
    ] {
        let found: Vec<String> = problems(find_built_in(kind).unwrap(), &value)
            .iter()
            .map(|problem| format!("{}: {}", problem.path, problem.message))
            .collect();
        assert_eq!(found, expected, "{kind} {value}");
    }
}

#[test]
fn placement_rules_are_enforced() {
    let types = BlockTypes::with_custom(&[
        CustomBlockType {
            children: AllowedChildren::Only(vec!["price".to_owned()]),
            ..custom_type("prices", json!({}))
        },
        custom_type("price", json!({})),
    ]);
    for (kind, parent, fits) in [
        ("page", None, true),
        ("text", None, false),
        ("page", Some("section"), false),
        ("text", Some("page"), true),
        ("column", Some("columns"), true),
        ("column", Some("section"), false),
        ("text", Some("columns"), false),
        ("text", Some("text"), false),
        ("field", Some("form"), true),
        ("field", Some("page"), false),
        ("price", Some("prices"), true),
        ("text", Some("prices"), false),
        ("prices", Some("column"), true),
        ("text", Some("gone"), false),
    ] {
        assert_eq!(types.placement_error(kind, parent).is_none(), fits, "{kind} in {parent:?}");
    }
}

#[test]
fn custom_types_are_validated() {
    let good =
        custom_type("price-tag", json!({ "type": "object", "properties": { "link": { "format": "link" } } }));
    assert_eq!(good.problems(), []);
    let types = BlockTypes::with_custom(std::slice::from_ref(&good));
    let kind = types.get("price-tag").unwrap();
    assert_eq!(problems(kind, &json!({ "link": "data:x" })).len(), 1);
    assert!(types.get("other").is_none() && types.unknown_type_message("other").contains("`price-tag`"));

    let patterns: Map<String, Value> =
        (0..=MAX_SCHEMA_PATTERNS).map(|n| (format!("a{n}"), json!({}))).collect();
    for schema in [
        json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object" }),
        json!({ "$schema": "https://json-schema.org/draft/2020-12/schema#" }),
        json!({ "properties": { "pattern": { "type": "string", "pattern": "^[\\p{L} .'-]+$" } } }),
    ] {
        assert_eq!(custom_type("a", schema.clone()).problems(), [], "{schema}");
    }
    let deep = (0..40).fold(json!({}), |inner, _| json!({ "not": inner }));
    for (bad, path) in [
        (custom_type("Text", json!({})), "/name"),
        (custom_type("text", json!({})), "/name"),
        (custom_type("a", json!(true)), "/schema"),
        (custom_type("a", json!({ "type": "objekt" })), "/schema"),
        (custom_type("a", json!({ "pattern": "(" })), "/schema"),
        (custom_type("a", json!({ "pattern": "(a{1000}){1000}" })), "/schema"),
        (custom_type("a", json!({ "pattern": "(?:[ab]{1,30}a?){1,30}!" })), "/schema"),
        (custom_type("a", json!({ "pattern": "(?=a)" })), "/schema"),
        (custom_type("a", json!({ "$ref": "#" })), "/schema"),
        (custom_type("a", json!({ "not": { "$ref": "http://169.254.169.254/" } })), "/schema"),
        (custom_type("a", json!({ "$schema": "http://example.com/own" })), "/schema"),
        (
            custom_type("a", json!({ "not": { "$schema": "https://json-schema.org/draft/2020-12/schema" } })),
            "/schema",
        ),
        (custom_type("a", json!({ "allOf": [{ "unevaluatedProperties": false }] })), "/schema"),
        (custom_type("a", json!({ "items": { "unevaluatedItems": false } })), "/schema"),
        (custom_type("a", json!({ "enum": (0..MAX_SCHEMA_VALUES).collect::<Vec<_>>() })), "/schema"),
        (
            custom_type("a", json!({ "anyOf": vec![json!({ "pattern": "a" }); MAX_SCHEMA_PATTERNS + 1] })),
            "/schema",
        ),
        (custom_type("a", json!({ "patternProperties": patterns })), "/schema"),
        (custom_type("a", json!({ "const": "\0" })), "/schema/const"),
        (custom_type("a", json!({ "const": "x".repeat(20_000) })), "/schema"),
        (custom_type("a", deep), "/schema"),
        (
            CustomBlockType {
                children: AllowedChildren::Only(vec!["A b".to_owned()]),
                ..custom_type("a", json!({}))
            },
            "/children",
        ),
    ] {
        let paths: Vec<_> = bad.problems().into_iter().map(|problem| problem.path).collect();
        assert_eq!(paths, [path], "{bad:?}");
    }
    // A type that is no longer valid still exists and reports the problem.
    let types = BlockTypes::with_custom(&[
        custom_type("a", json!({ "type": "objekt" })),
        custom_type("text", json!({})),
    ]);
    let told = problems(types.get("a").unwrap(), &json!({}));
    assert!(
        told[0].message.starts_with("cannot be validated: the schema of its type is invalid"),
        "{told:?}"
    );
    assert!(types.get("text").unwrap().is_built_in && types.all().count() == BUILT_IN_TYPES.len() + 1);
    let twice = collect_type_problems(
        &[custom_type("b", json!({})), custom_type("b", json!(1))],
        CustomBlockType::problems,
    );
    assert_eq!(
        twice.iter().map(|told| told.path.as_str()).collect::<Vec<_>>(),
        ["/types/1/schema", "/types/1/name"]
    );
}

/// Excessive input is rejected without a full validation.
#[test]
fn large_props_respect_the_validation_budget() {
    let too_much = ValidationBudget::per_call().report_exhausted("").remove(0).message;
    let too_much = too_much.as_str();
    let choices: Vec<Value> = (0..200).map(|n| json!({ "const": n })).collect();
    let of_items = |schema: Value| json!({ "properties": { "a": { "items": schema } } });
    let all_of = |schema: Value, count| of_items(json!({ "allOf": vec![schema; count] }));
    let pattern = |pattern: &str| of_items(json!({ "pattern": pattern }));
    let text = || json!("ab".repeat(32_000));
    for (schema, item, count, expected) in [
        (of_items(json!({ "anyOf": choices })), json!(7), 150_000, too_much),
        (of_items(json!({ "anyOf": choices })), json!(7), 5_000, ""),
        (
            of_items(json!({ "anyOf": choices })),
            json!("x"),
            5_000,
            "does not match the schema of its type, and is too large to locate the error; try smaller parts",
        ),
        (of_items(json!({ "anyOf": choices })), json!("x"), 2, "/a/0 /a/1"),
        (all_of(json!({ "multipleOf": 0.3 }), 230), json!(3e300), 9_000, too_much),
        (all_of(json!({ "multipleOf": 0.3 }), 230), json!(3e300), 50, ""),
        (all_of(json!({ "multipleOf": 0.3 }), 1), json!(3), 9_000, ""),
        (all_of(json!({ "format": "uri-template" }), 200), text(), 1, ""),
        (all_of(json!({ "pattern": "(?:[ab]{1,20}a?){1,20}!" }), 2), text(), 1, too_much),
        (pattern("(?:[ab]{1,20}a?){1,20}$"), json!("ab"), 100, ""),
        (pattern("^[ab]+$"), text(), 1, ""),
        (of_items(json!({ "format": "regex" })), json!("("), 1, ""),
    ] {
        let kind = custom_type("a", schema);
        assert_eq!(kind.problems(), [], "{kind:?}");
        let types = BlockTypes::with_custom(std::slice::from_ref(&kind));
        let told = problems(types.get("a").unwrap(), &json!({ "a": vec![item; count] }));
        let word = |told: &ValidationProblem| {
            if told.path.is_empty() { told.message.clone() } else { told.path.clone() }
        };
        let words = told.iter().map(word).collect::<Vec<_>>().join(" ");
        assert_eq!(words, expected, "{count} {:.200}", kind.schema.to_string());
    }
    let table = json!({ "rows": vec![vec![1; 40]; 400] });
    assert_eq!(problems(find_built_in("table").unwrap(), &table).len(), MAX_PROBLEMS + 1);
}

/// For any number of blocks and types in a call.
#[test]
fn validation_budget_is_per_call() {
    let choices: Vec<Value> = (0..200).map(|n| json!({ "const": n })).collect();
    let large = custom_type("a", json!({ "properties": { "a": { "items": { "anyOf": choices } } } }));
    let patterns = custom_type("a", json!({ "anyOf": vec![json!({ "pattern": "a" }); MAX_SCHEMA_PATTERNS] }));
    let one = BlockTypes::with_custom(&[large]);
    let again = || one.clone();
    let another = || BlockTypes::with_custom(std::slice::from_ref(&patterns));
    let many: [(&dyn Fn() -> BlockTypes, Value, usize, bool); 4] = [
        (&again, json!({ "a": vec![7; 5_000] }), 24, true),
        (&again, json!({ "a": vec![7; 5_000] }), 25, false),
        (&another, json!({}), 33, true),
        (&another, json!({}), 34, false),
    ];
    for (types, value, count, fits) in many {
        let mut left = ValidationBudget::per_call();
        let told = (0..count).flat_map(|_| types().get("a").unwrap().problems(&props(&value), &mut left));
        let told: Vec<_> = told.collect();
        assert_eq!(told.is_empty(), fits, "{count} {told:?}");
    }
    // Errors are located as long as the budget allows. That there are errors is always reported.
    let mut left = ValidationBudget::per_call();
    let mut tell = || one.get("a").unwrap().problems(&props(&json!({ "a": ["x", "y"] })), &mut left);
    let (first, last) = (tell().len(), (0..200).map(|_| tell()).last().unwrap());
    assert_eq!((first, last.len()), (2, 1));
    assert!(last[0].message.ends_with("too large to locate the error; try smaller parts"), "{last:?}");
}
