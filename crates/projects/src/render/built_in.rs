//! Renderers for the built-in types.

mod form;
mod media;

use serde_json::Value;

use super::{BlockRenderer, markdown};
use crate::blocks::BlockNode;
use crate::types::find_built_in;
use form::{field, form};
use media::{embed, image, picture, video};

/// Renders a block of a built-in type. Returns `false` for any other type.
pub(super) fn render_built_in(writer: &mut BlockRenderer<'_>, node: &BlockNode) -> bool {
    let props = BlockProps(node);
    match node.block.kind.as_str() {
        "page" => container(writer, "main", node, ""),
        "section" => section(writer, node, &props),
        "columns" => container(writer, "div", node, &props.class_suffix("gap")),
        "column" => container(writer, "div", node, &props.class_suffix("width")),
        "hero" => hero(writer, node, &props),
        "card" => card(writer, node, &props),
        "heading" => heading(writer, &props),
        "text" => text(writer, &props),
        "list" => list(writer, &props),
        "quote" => quote(writer, &props),
        "code" => code(writer, &props),
        "table" => table(writer, &props),
        "image" => image(writer, &props),
        "video" => video(writer, &props),
        "embed" => embed(writer, &props),
        "button" => button(writer, &props),
        "links" => link_list(writer, &props),
        "form" => form(writer, node, &props),
        "field" => field(writer, &props),
        "divider" => writer.html.void_element("hr", &[("class", "b-divider")]),
        _ => return false,
    }
    debug_assert!(find_built_in(&node.block.kind).is_some());
    true
}

struct BlockProps<'a>(&'a BlockNode);

impl<'a> BlockProps<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        self.0.block.props.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    fn flag(&self, name: &str) -> bool {
        self.0.block.props.get(name).and_then(Value::as_bool) == Some(true)
    }

    fn items(&self, name: &str) -> &'a [Value] {
        self.0.block.props.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn number(&self, name: &str) -> Option<String> {
        self.0.block.props.get(name).and_then(Value::as_u64).map(|number| number.to_string())
    }

    /// A second class for a choice, such as ` b-section-dark`.
    fn class_suffix(&self, name: &str) -> String {
        let choice = self.text(name).map(str::to_owned).or_else(|| self.number(name));
        // The schema allows no other value, but a draft may contain one.
        let choice = choice.filter(|choice| choice.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        choice.map(|choice| format!(" b-{}-{choice}", self.0.block.kind)).unwrap_or_default()
    }
}

fn container(writer: &mut BlockRenderer<'_>, name: &'static str, node: &BlockNode, suffix: &str) {
    writer.html.open(name, &[("class", &format!("b-{}{suffix}", node.block.kind))]);
    writer.render_children(node);
    writer.html.close();
}

fn section(writer: &mut BlockRenderer<'_>, node: &BlockNode, props: &BlockProps<'_>) {
    let class = format!("b-section{}", props.class_suffix("tone"));
    match props.text("anchor") {
        Some(anchor) => writer.html.open("section", &[("class", &class), ("id", anchor)]),
        None => writer.html.open("section", &[("class", &class)]),
    }
    if let Some(title) = props.text("title") {
        writer.html.text_element("h2", &[("class", "b-section-title")], title);
    }
    writer.render_children(node);
    writer.html.close();
}

fn hero(writer: &mut BlockRenderer<'_>, node: &BlockNode, props: &BlockProps<'_>) {
    writer.html.open("header", &[("class", "b-hero")]);
    picture(writer, props.text("image"), None, "b-hero-image");
    writer.html.text_element("h1", &[("class", "b-hero-title")], props.text("title").unwrap_or_default());
    if let Some(subtitle) = props.text("subtitle") {
        writer.html.text_element("p", &[("class", "b-hero-subtitle")], subtitle);
    }
    writer.render_children(node);
    writer.html.close();
}

fn card(writer: &mut BlockRenderer<'_>, node: &BlockNode, props: &BlockProps<'_>) {
    writer.html.open("article", &[("class", "b-card")]);
    picture(writer, props.text("image"), None, "b-card-image");
    writer.html.open("h3", &[("class", "b-card-title")]);
    wrap_in_link(writer, props.text("href"), &[], |writer| {
        writer.html.text(props.text("title").unwrap_or_default());
    });
    writer.html.close();
    if let Some(text) = props.text("text") {
        markdown::render_plain_text(&mut writer.html, text);
    }
    writer.render_children(node);
    writer.html.close();
}

fn heading(writer: &mut BlockRenderer<'_>, props: &BlockProps<'_>) {
    const HEADING_TAGS: [&str; 6] = ["h1", "h2", "h3", "h4", "h5", "h6"];
    let level = props.0.block.props.get("level").and_then(Value::as_u64).unwrap_or(2).clamp(1, 6);
    let name = HEADING_TAGS[usize::try_from(level - 1).unwrap_or(1)];
    writer.html.text_element(name, &[("class", "b-heading")], props.text("text").unwrap_or_default());
}

fn text(writer: &mut BlockRenderer<'_>, props: &BlockProps<'_>) {
    writer.html.open("div", &[("class", "b-text")]);
    let text = props.text("text").unwrap_or_default();
    if props.text("format") == Some("markdown") {
        markdown::render_markdown(writer, text);
    } else {
        markdown::render_plain_text(&mut writer.html, text);
    }
    writer.html.close();
}

fn list(writer: &mut BlockRenderer<'_>, props: &BlockProps<'_>) {
    writer.html.open(if props.flag("ordered") { "ol" } else { "ul" }, &[("class", "b-list")]);
    for item in props.items("items") {
        writer.html.text_element("li", &[], item.as_str().unwrap_or_default());
    }
    writer.html.close();
}

fn quote(writer: &mut BlockRenderer<'_>, props: &BlockProps<'_>) {
    writer.html.open("figure", &[("class", "b-quote")]);
    writer.html.open("blockquote", &[]);
    markdown::render_plain_text(&mut writer.html, props.text("text").unwrap_or_default());
    writer.html.close();
    if let Some(author) = props.text("author") {
        writer.html.open("figcaption", &[]);
        wrap_in_link(writer, props.text("source"), &[], |writer| writer.html.text(author));
        writer.html.close();
    }
    writer.html.close();
}

fn code(writer: &mut BlockRenderer<'_>, props: &BlockProps<'_>) {
    writer.html.open("pre", &[("class", "b-code")]);
    let class = format!("language-{}", props.text("language").unwrap_or("text"));
    writer.html.text_element("code", &[("class", &class)], props.text("code").unwrap_or_default());
    writer.html.close();
}

fn table(writer: &mut BlockRenderer<'_>, props: &BlockProps<'_>) {
    writer.html.open("table", &[("class", "b-table")]);
    if let Some(caption) = props.text("caption") {
        writer.html.text_element("caption", &[], caption);
    }
    if !props.items("head").is_empty() {
        writer.html.open("thead", &[]);
        row(writer, "th", props.items("head"));
        writer.html.close();
    }
    writer.html.open("tbody", &[]);
    for cells in props.items("rows") {
        row(writer, "td", cells.as_array().map_or(&[], Vec::as_slice));
    }
    writer.html.close();
    writer.html.close();
}

fn row(writer: &mut BlockRenderer<'_>, name: &'static str, cells: &[Value]) {
    writer.html.open("tr", &[]);
    for cell in cells {
        writer.html.text_element(name, &[], cell.as_str().unwrap_or_default());
    }
    writer.html.close();
}

/// Wraps content in a link, or omits the link if its target is not allowed.
fn wrap_in_link(
    writer: &mut BlockRenderer<'_>,
    address: Option<&str>,
    more: &[(&'static str, &str)],
    inside: impl FnOnce(&mut BlockRenderer<'_>),
) {
    let Some(url) = address.and_then(|address| writer.resolve_link(address)) else { return inside(writer) };
    let mut attributes = vec![("href", &*url)];
    attributes.extend(more);
    writer.html.open("a", &attributes);
    inside(writer);
    writer.html.close();
}

fn button(writer: &mut BlockRenderer<'_>, props: &BlockProps<'_>) {
    let class = format!("b-button{}", props.class_suffix("style"));
    let mut more = vec![("class", class.as_str())];
    if props.flag("newTab") {
        more.extend([("target", "_blank"), ("rel", "noopener noreferrer")]);
    }
    writer.html.open("p", &[("class", "b-button-line")]);
    wrap_in_link(writer, props.text("href"), &more, |writer| {
        writer.html.text(props.text("label").unwrap_or_default());
    });
    writer.html.close();
}

fn link_list(writer: &mut BlockRenderer<'_>, props: &BlockProps<'_>) {
    writer.html.open("nav", &[("class", "b-links")]);
    if let Some(title) = props.text("title") {
        writer.html.text_element("p", &[("class", "b-links-title")], title);
    }
    writer.html.open("ul", &[]);
    for link in props.items("links") {
        let said = |name: &str| link.get(name).and_then(Value::as_str);
        writer.html.open("li", &[]);
        wrap_in_link(writer, said("href"), &[], |writer| writer.html.text(said("label").unwrap_or_default()));
        writer.html.close();
    }
    writer.html.close();
    writer.html.close();
}
