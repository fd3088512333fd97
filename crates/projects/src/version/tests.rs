use serde_json::{Value, json};

use super::*;
use crate::asset::{Asset, ContentType, Digest};
use crate::blocks::Block;
use crate::limits::MAX_BLOCKS;
use crate::types::{AllowedChildren, CustomBlockType};
use crate::{AssetId, BlockId, OrderKey};
use design_tokens::{TokenDocument, starter_document};

fn id(text: &str) -> BlockId {
    BlockId::parse(text).unwrap()
}

/// `page(a:one b:two(c))`, as lines of `id parent order text`.
fn blocks(lines: &str) -> Vec<Block> {
    let block = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let kind = if words[1] == "-" { "page" } else { "section" };
        let props = if words[1] == "-" {
            json!({ "title": words[3], "path": "/" })
        } else {
            json!({ "title": words[3] })
        };
        Block {
            id: id(words[0]),
            kind: kind.to_owned(),
            parent: (words[1] != "-").then(|| id(words[1])),
            order: OrderKey::parse(words[2]).unwrap(),
            props: props.as_object().unwrap().clone(),
        }
    };
    lines.split(';').map(str::trim).filter(|line| !line.is_empty()).map(block).collect()
}

fn content(lines: &str) -> ProjectContent {
    ProjectContent {
        fields: ProjectFields {
            name: "One".to_owned(),
            slug: "one".to_owned(),
            description: String::new(),
            metadata: serde_json::Map::new(),
        },
        types: Vec::new(),
        blocks: blocks(lines),
        design: starter_document(),
        assets: Vec::new(),
    }
}

#[test]
fn content_round_trips() {
    let mut full = content("p - a0 Home; a p a0 One; b a a0 Two");
    full.fields.metadata = json!({ "a": [1, 2.5, null, { "b": "ü" }] }).as_object().unwrap().clone();
    for children in
        [AllowedChildren::Any, AllowedChildren::None, AllowedChildren::Only(vec!["text".to_owned()])]
    {
        let name = format!("t-{}", full.types.len());
        full.types.push(CustomBlockType { name, description: "d".to_owned(), schema: json!({}), children });
    }
    full.assets.push(Asset {
        id: AssetId::parse("x").unwrap(),
        name: "x.png".to_owned(),
        content_type: ContentType::Png,
        bytes: 7,
        digest: Digest::from_content(b"x"),
        created: "2026-03-02T12:00:00.123456Z".parse().unwrap(),
        alt: "An x".to_owned(),
    });
    full.design =
        TokenDocument::parse(r#"{"z":{"$type":"number","$value":1},"a":{"$type":"number","$value":2}}"#)
            .unwrap();
    let text = full.encode();
    assert_eq!(ProjectContent::decode(&text).unwrap(), full);
    assert_eq!(full.problems(), []);
    for bad in ["", "{}", "[]", &text.replace("\"form\":1", "\"form\":2"), &text.replace("a0", "!!")] {
        assert!(ProjectContent::decode(bad).is_err(), "{bad:.40}");
    }
}

#[test]
fn block_changes_are_detected() {
    let start = "p - a0 Home; a p a0 A; b p a1 B; c p a2 C; d p a3 D; e d a0 E";
    for (end, expected) in [
        (start, ""),
        ("p - a0 Home; a p a0 A; b p a1 B; c p a2 C; d p a3 D", "-e"),
        ("p - a0 Home; n p Zz N; a p a0 A; b p a1 B; c p a2 C; d p a3 D; e d a0 E", "+n"),
        ("p - a0 Home; a p a0 A; b p a1 X; c p a2 C; d p a3 D; e d a0 E", "~b"),
        ("p - a0 Home; a p a0 A; b p a1 B; c p a2 C; d p a3 D; e p a4 E", ">e"),
        ("p - a0 Home; b p a1 B; c p a2 C; d p a3 D; e d a0 E; a p a4 A", ">a"),
        ("p - a0 Home; d p Zz D; e d a0 E; a p a0 A; b p a1 B; c p a2 C", ">d"),
        // Different keys in the same order are not a move.
        ("p - a0 Home; a p a5 A; b p a6 B; c p b00 C; d p b01 D; e d a3 E", ""),
        ("p - a0 Home; b p a0 X; a p a1 A; d p a3 D; e d a0 E", "-c ~b >a"),
    ] {
        let found = diff_content(&content(start), &content(end));
        let mut words: Vec<String> = Vec::new();
        words.extend(found.added.iter().map(|block| format!("+{}", block.id)));
        words.extend(found.removed.iter().map(|block| format!("-{}", block.id)));
        words.extend(found.changed.iter().map(|change| format!("~{}", change.after.id)));
        words.extend(found.moved.iter().map(|moved| format!(">{}", moved.id)));
        assert_eq!(words.join(" "), expected, "{end}");
        assert_eq!(found.is_empty(), expected.is_empty(), "{end}");
    }
}

#[test]
fn field_type_token_and_asset_changes_are_detected() {
    let (old, mut new) = (content(""), content(""));
    new.fields.name = "Two".to_owned();
    new.types.push(CustomBlockType {
        name: "t".to_owned(),
        description: String::new(),
        schema: json!({}),
        children: AllowedChildren::Any,
    });
    new.design = TokenDocument::default();
    let (mut old, asset) = (old, |id: &str, content_type| Asset {
        id: AssetId::parse(id).unwrap(),
        name: "x".to_owned(),
        content_type,
        bytes: 1,
        digest: Digest::from_content(b"x"),
        created: Timestamp::UNIX_EPOCH,
        alt: String::new(),
    });
    old.assets = vec![asset("a", ContentType::Text), asset("b", ContentType::Text)];
    new.assets =
        vec![asset("a", ContentType::Css), asset("b", ContentType::Text), asset("c", ContentType::Text)];
    let found = diff_content(&old, &new);
    assert_eq!((found.assets.changed, found.assets.added), (vec!["a".to_owned()], vec!["c".to_owned()]));
    let found = diff_content(&old, &new);
    let change = FieldChange { field: "name", before: Value::from("One"), after: Value::from("Two") };
    assert_eq!(found.fields, [change]);
    assert_eq!(found.types.added, ["t"]);
    assert!(found.tokens.removed.len() > 50);
    assert_eq!(diff_content(&new, &old).types.removed, ["t"]);
}

#[test]
fn invalid_version_is_not_restored() {
    let project = Project {
        id: crate::ProjectId::parse("p").unwrap(),
        account: crate::Account::new("ann"),
        fields: content("").fields,
        created: Timestamp::UNIX_EPOCH,
        updated: Timestamp::UNIX_EPOCH,
        revision: 5,
        published: None,
        next_version: 2,
        usage: ProjectUsage::default(),
    };
    let write = ProjectWrite {
        account: project.account.clone(),
        project: project.id.clone(),
        if_revision: None,
        dry_run: false,
        now: Timestamp::UNIX_EPOCH,
    };
    let chain = |levels: usize| -> String {
        let link =
            |at: usize| if at == 0 { "b0 - a0 Home;".to_owned() } else { format!("b{at} b{} a0 X;", at - 1) };
        (0..levels).map(link).collect()
    };
    let mut twice = content("p - a0 Home");
    twice.types = vec![
        CustomBlockType {
            name: "t".to_owned(),
            description: String::new(),
            schema: json!({}),
            children: AllowedChildren::Any
        };
        2
    ];
    for (content, expected) in [
        (content(&chain(32)), ""),
        (content(&chain(33)), "/parent"),
        (content("a b a0 A; b a a0 B"), "/parent"),
        (content("p - a0 Home; p - a0 Home"), "/id"),
        (twice, "/types/1/name"),
    ] {
        let told = match restore(&project, 1, &content, &write, 0) {
            Err(ProjectRejection::Invalid(problems)) => problems.into_iter().map(|told| told.path).collect(),
            other => other.map(|_| Vec::new()).unwrap(),
        };
        assert_eq!(told.join(" "), expected, "{:?}", content.blocks.len());
    }
}

/// As many blocks as a project may have, of built-in types and of a realistic custom type.
#[test]
fn project_at_the_limits_is_published() {
    let own = CustomBlockType {
        name: "product".to_owned(),
        description: String::new(),
        schema: json!({
            "type": "object",
            "required": ["name", "slug"],
            "additionalProperties": false,
            "properties": {
                "name": { "type": "string", "minLength": 1, "maxLength": 200 },
                "slug": { "type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 60 },
                "released": { "type": "string", "format": "date" },
                "price": { "type": "number", "minimum": 0, "multipleOf": 0.5 },
                "link": { "type": "string", "format": "link" },
                "tags": { "type": "array", "uniqueItems": true, "items": { "enum": ["new", "sale", "used"] } },
                "text": { "type": "string", "maxLength": 50_000 },
            },
        }),
        children: AllowedChildren::None,
    };
    let product = json!({
        "name": "Chair", "slug": "a-wooden-chair", "released": "2026-03-02", "price": 19.5,
        "link": "https://example.com/chairs/7", "tags": ["new", "sale"], "text": "Sit down. ".repeat(60),
    });
    let card = json!({ "title": "Chair", "text": "Sit down. ".repeat(60), "href": "https://example.com/7" });
    for (kind, props) in [("card", card), ("product", product)] {
        let mut full = content("p - a0 Home");
        full.types = vec![own.clone()];
        full.blocks.extend((1..MAX_BLOCKS).map(|number| Block {
            id: id(&format!("b{number}")),
            kind: kind.to_owned(),
            parent: Some(id("p")),
            order: OrderKey::parse("a0").unwrap(),
            props: props.as_object().unwrap().clone(),
        }));
        assert_eq!(full.problems(), [], "{kind}");
    }
}

/// Validation terminates for any types and blocks, and exhaustion is reported once.
#[test]
fn exhausted_validation_budget_is_one_problem() {
    let mut costly = content("p - a0 Home");
    costly.types = vec![CustomBlockType {
        name: "costly".to_owned(),
        description: String::new(),
        schema: json!({ "additionalProperties": { "items": { "allOf": vec![json!({ "multipleOf": 0.3 }); 230] } } }),
        children: AllowedChildren::None,
    }];
    costly.blocks.extend((1..2_000).map(|number| Block {
        id: id(&format!("b{number}")),
        kind: "costly".to_owned(),
        parent: Some(id("p")),
        order: OrderKey::parse("a0").unwrap(),
        props: json!({ "a": vec![3; 100] }).as_object().unwrap().clone(),
    }));
    let told = costly.problems();
    assert_eq!(told.len(), 1);
    assert!(told[0].message.contains("make schemas or props smaller"), "{told:?}");
}

#[test]
fn invalid_draft_is_not_published() {
    for (lines, expected) in [
        ("", ""),
        ("p - a0 Home; a p a0 A", ""),
        ("p - a0 Home; a x a0 A", "/parent"),
        ("a b a0 A; b a a0 B", "/parent"),
        ("p - a0 Home; q - a1 Other", "q/props/path"),
    ] {
        let told = content(lines).problems();
        let words: Vec<_> = told
            .iter()
            .map(|told| format!("{}{}", told.block.clone().unwrap_or_default(), told.path))
            .collect();
        assert_eq!(words.join(" "), expected, "{lines}");
    }
    let mut odd = content("p - a0 Home; a p a0 A");
    odd.blocks[1].kind = "image".to_owned();
    odd.blocks[1].props = json!({ "src": "asset:gone" }).as_object().unwrap().clone();
    odd.fields.name = String::new();
    let told: Vec<_> = odd.problems().iter().map(ToString::to_string).collect();
    let expected =
        ["/name: must not be empty", "block `a` at /props/src: asset `gone` not found; upload it first"];
    assert_eq!(told, expected);
}
