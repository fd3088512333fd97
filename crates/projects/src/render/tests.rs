use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::blocks::{Block, BlockNode};
use crate::{BlockId, OrderKey};
use design_tokens::starter_document;

fn node(kind: &str, props: &Value, children: Vec<BlockNode>) -> BlockNode {
    let block = Block {
        id: BlockId::parse("b").unwrap(),
        kind: kind.to_owned(),
        parent: None,
        order: OrderKey::first(),
        props: props.as_object().unwrap().clone(),
    };
    BlockNode { block, children, hidden: 0 }
}

const CAT_URL: &str = "codefluss://assets/proj_1/cat";

fn resolve_asset(id: &AssetId) -> Option<AssetLink> {
    match id.as_str() {
        // A URL that no block could contain.
        "cat" => Some(AssetLink { url: CAT_URL.to_owned(), alt: "A \"cat\"".to_owned() }),
        _ => None,
    }
}

fn render(node: BlockNode) -> String {
    let html =
        render_html(&[node], &RenderOptions { resolve_asset: &resolve_asset, ..RenderOptions::default() })
            .unwrap();
    check_html(&html);
    html
}

/// Allowed elements and attributes.
const ALLOWED_ELEMENTS: &str = " html head body meta title style main section div header article h1 h2 h3 h4 h5 h6 p br hr ul ol li \
    figure figcaption blockquote pre code table caption thead tbody tr th td img video iframe a nav form button label span \
    input textarea select option dl dt dd em strong del ";
const ALLOWED_ATTRIBUTES: &str = " class id lang charset name content property src alt loading width height controls preload poster \
    title referrerpolicy sandbox allow href target rel method type placeholder required start ";

/// Parses HTML strictly: known elements, known attributes in quotes, everything closed, only allowed URLs.
fn check_html(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html.strip_prefix("<!doctype html>").unwrap_or(html);
    while let Some(at) = rest.find(['<', '>']) {
        assert!(rest[at..].starts_with('<'), "a bare > in {html}");
        rest = &rest[at + 1..];
        let end = rest.find('>').unwrap();
        let (tag, after) = (&rest[..end], &rest[end + 1..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{html}");
            continue;
        }
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(ALLOWED_ELEMENTS.contains(&format!(" {name} ")), "<{name}> in {html}");
        while !attributes.is_empty() {
            let (key, value) = attributes.split_once("=\"").unwrap();
            assert!(ALLOWED_ATTRIBUTES.contains(&format!(" {} ", key.trim())), "{key} in {html}");
            let (value, after) = value.split_once('"').unwrap();
            attributes = after.trim_start();
            if ["src", "href", "poster"].contains(&key.trim()) {
                let value = value.replace("&amp;", "&").replace("&#39;", "'");
                assert!(value == CAT_URL || links::is_link(&value), "{value}");
            }
        }
        if !["meta", "br", "hr", "img", "input"].contains(&name) {
            open.push(name);
        }
        if name == "style" {
            rest = &rest[rest.find("</style>").unwrap()..];
        }
    }
    assert!(open.is_empty(), "{open:?} in {html}");
}

#[test]
fn every_block_type_is_rendered() {
    for (kind, props, expected) in [
        ("heading", json!({ "text": "Hi", "level": 3 }), "<h3 class=\"b-heading\">Hi</h3>"),
        ("heading", json!({ "text": "Hi", "level": 99 }), "<h6 class=\"b-heading\">Hi</h6>"),
        ("divider", json!({}), "<hr class=\"b-divider\">"),
        (
            "text",
            json!({ "text": "a\nb\n\nc\r\n \t \r\nd\n\n\n" }),
            "<div class=\"b-text\"><p>a<br>b</p><p>c</p><p>d</p></div>",
        ),
        (
            "text",
            json!({ "text": "**a** [b](/c) <b>d</b>", "format": "markdown" }),
            "<div class=\"b-text\"><p><strong>a</strong> <a href=\"/c\">b</a> &lt;b&gt;d&lt;/b&gt;</p></div>",
        ),
        (
            "text",
            json!({ "text": "![x](asset:cat) ![y](data:z) [e](javascript:alert)", "format": "markdown" }),
            "<div class=\"b-text\"><p><img src=\"CAT\" alt=\"x\" loading=\"lazy\"> y <span>e</span></p></div>",
        ),
        (
            "text",
            json!({ "text": "|a|\n|-|\n|b|", "format": "markdown" }),
            "<div class=\"b-text\"><table><thead><tr><th>a</th></tr></thead><tr><td>b</td></tr></table></div>",
        ),
        (
            "text",
            json!({ "text": "*![a ![b](asset:cat) *c*](asset:cat) d*\n\n5. e\n\n<me@example.com>", "format": "markdown" }),
            "<div class=\"b-text\"><p><em><img src=\"CAT\" alt=\"a b c\" loading=\"lazy\"> d</em></p><ol start=\"5\"><li>e</li></ol><p><a href=\"mailto:me@example.com\">me@example.com</a></p></div>",
        ),
        (
            "text",
            json!({ "text": "1. a\n\n```js x\nb<\n```\n\n    c", "format": "markdown" }),
            "<div class=\"b-text\"><ol><li>a</li></ol><pre><code class=\"language-js\">b&lt;\n</code></pre><pre><code>c</code></pre></div>",
        ),
        (
            "list",
            json!({ "items": ["a", "b"], "ordered": true }),
            "<ol class=\"b-list\"><li>a</li><li>b</li></ol>",
        ),
        (
            "image",
            json!({ "src": "asset:cat", "caption": "c" }),
            "<figure class=\"b-image\"><img class=\"b-image-file\" src=\"CAT\" alt=\"A &quot;cat&quot;\" loading=\"lazy\"><figcaption>c</figcaption></figure>",
        ),
        ("image", json!({ "src": "asset:gone" }), "<figure class=\"b-image\"></figure>"),
        (
            "button",
            json!({ "label": "Go", "href": "/a", "style": "primary", "newTab": true }),
            "<p class=\"b-button-line\"><a href=\"/a\" class=\"b-button b-button-primary\" target=\"_blank\" rel=\"noopener noreferrer\">Go</a></p>",
        ),
        ("button", json!({ "label": "Go", "href": "javascript:x" }), "<p class=\"b-button-line\">Go</p>"),
        (
            "embed",
            json!({ "url": "https://evil.example/", "title": "t" }),
            "<div class=\"b-embed\"><p>t</p></div>",
        ),
        (
            "field",
            json!({ "name": "n", "label": "L", "required": true }),
            "<label class=\"b-field\"><span>L</span><input name=\"n\" required=\"\" type=\"text\"></label>",
        ),
        (
            "price-tag",
            json!({ "a<b": ["x", { "c": 1 }], "d": null, "e": "asset:cat" }),
            "<div class=\"b-price-tag\"><dl><dt>a&lt;b</dt><dd><ul><li>x</li><li><dl><dt>c</dt><dd>1</dd></dl></li></ul></dd><dt>d</dt><dd></dd><dt>e</dt><dd><a href=\"CAT\">asset:cat</a></dd></dl></div>",
        ),
    ] {
        assert_eq!(render(node(kind, &props, vec![])), expected.replace("CAT", CAT_URL), "{kind}");
    }
}

#[test]
fn page_is_rendered_as_a_document() {
    let page = node(
        "page",
        &json!({ "title": "A & B", "path": "/", "lang": "de", "description": "d\"", "hidden": true, "meta": { "author\"": "<x>" } }),
        vec![node("hero", &json!({ "title": "</style><script>" }), vec![])],
    );
    let design = starter_document();
    let options = RenderOptions { design: Some(&design), ..RenderOptions::default() };
    let html = render_html(&[page.clone(), page], &options).unwrap();
    let (html, second) = html.split_at(html.find("</html>\n\n").unwrap() + 9);
    assert_eq!(html.trim_end(), second.trim_end(), "each page is a document");
    check_html(html);
    assert!(html.starts_with("<!doctype html>\n<html lang=\"de\"><head><meta charset=\"utf-8\">"), "{html}");
    assert!(html.contains("<title>A &amp; B</title>") && html.contains("noindex") && html.contains("--"));
    assert_eq!(html.matches("</style>").count(), 1);
}

#[test]
fn html_size_limit_is_enforced() {
    let wide = format!("|{}\n|{}\n{}\n", "a|".repeat(400), "-|".repeat(400), "a|\n".repeat(640));
    let text = || node("text", &json!({ "text": wide.repeat(10), "format": "markdown" }), vec![]);
    for nodes in [vec![text()], vec![node("page", &json!({ "title": "t" }), vec![text(), text()])]] {
        let refused = render_html(&nodes, &RenderOptions::default()).err();
        assert!(matches!(refused, Some(ProjectRejection::AnswerTooLarge { what: "bytes of HTML", .. })));
    }
}

const HOSTILE_TEXTS: [&str; 18] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "JaVa\tScRiPt:alert(1)",
    "data:text/html,<script>",
    "</style></title></textarea></pre>",
    "<!--",
    "]]>",
    "&lt;&#x3c;",
    "[x](javascript:alert(1))",
    "![x](data:image/svg+xml,<svg onload=x>)",
    "<a href=\"javascript:x\">y</a>",
    "[x]: javascript:alert(1)\n\n[x]",
    "<javascript:alert(1)>",
    "![a ![b](/x) *c* **",
    "5. x\n```y\n",
    "{{constructor}}\0\u{202e}",
];

fn hostile_value() -> impl Strategy<Value = Value> {
    let piece = prop_oneof![
        3 => prop::sample::select(&HOSTILE_TEXTS[..]).prop_map(str::to_owned),
        1 => "[ -~\n]{0,20}",
        1 => any::<String>(),
    ];
    let text = prop::collection::vec(piece, 1..4).prop_map(|pieces| Value::from(pieces.concat()));
    prop_oneof![
        6 => text,
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(json!([["<a>", "b"], { "label": "<b>", "href": "javascript:x" }, "\"x"])),
        1 => Just(json!({ "<i>": "\"", "x": ["<"] })),
    ]
}

proptest! {
    #[test]
    fn block_content_is_always_escaped(
        kind in prop::sample::select(crate::types::BlockTypes::default().all().map(|kind| kind.name.clone()).chain(["own".to_owned(), "\"><x".to_owned()]).collect::<Vec<_>>()),
        values in prop::collection::vec(hostile_value(), 8),
        markdown in any::<bool>(),
    ) {
        let names = ["title", "text", "href", "src", "items", "rows", "links", "label", "image", "url", "anchor",
            "name", "tone", "style", "caption", "author", "source", "language", "code", "head", "options", "input",
            "placeholder", "subtitle", "alt", "poster", "submit", "path", "lang", "description", "meta", "gap"];
        let mut props: serde_json::Map<String, Value> =
            names.iter().zip(values.iter().cycle()).map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        if markdown {
            props.insert("format".to_owned(), json!("markdown"));
        }
        let inside = node("text", &json!({ "text": values[0], "format": "markdown" }), vec![]);
        let node = node(&kind, &Value::Object(props), vec![inside]);
        render(node.clone());
        render(self::node("page", &json!({ "title": values[0], "lang": values[1], "meta": values[2] }), vec![node]));
    }
}
