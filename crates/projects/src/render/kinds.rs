//! The built-in types, one by one.

mod form;
mod media;

use serde_json::Value;

use super::{Writer, markdown};
use crate::blocks::Node;
use crate::types::built_in;
use form::{field, form};
use media::{embed, image, picture, video};

/// Writes a block of a built-in type. `false`: it is of another.
pub(super) fn write(writer: &mut Writer<'_>, node: &Node) -> bool {
    let props = Props(node);
    match node.block.kind.as_str() {
        "page" => container(writer, "main", node, ""),
        "section" => section(writer, node, &props),
        "columns" => container(writer, "div", node, &props.suffix("gap")),
        "column" => container(writer, "div", node, &props.suffix("width")),
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
        "divider" => writer.html.void("hr", &[("class", "b-divider")]),
        _ => return false,
    }
    debug_assert!(built_in(&node.block.kind).is_some());
    true
}

struct Props<'a>(&'a Node);

impl<'a> Props<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        self.0.block.props.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    fn is(&self, name: &str) -> bool {
        self.0.block.props.get(name).and_then(Value::as_bool) == Some(true)
    }

    fn items(&self, name: &str) -> &'a [Value] {
        self.0.block.props.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn number(&self, name: &str) -> Option<String> {
        self.0.block.props.get(name).and_then(Value::as_u64).map(|number| number.to_string())
    }

    /// A second class that says a choice: ` b-section-dark`.
    fn suffix(&self, name: &str) -> String {
        let choice = self.text(name).map(str::to_owned).or_else(|| self.number(name));
        // The schema allows no other, but a draft may hold one.
        let choice = choice.filter(|choice| choice.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        choice.map(|choice| format!(" b-{}-{choice}", self.0.block.kind)).unwrap_or_default()
    }
}

fn container(writer: &mut Writer<'_>, name: &'static str, node: &Node, suffix: &str) {
    writer.html.open(name, &[("class", &format!("b-{}{suffix}", node.block.kind))]);
    writer.children(node);
    writer.html.close();
}

fn section(writer: &mut Writer<'_>, node: &Node, props: &Props<'_>) {
    let class = format!("b-section{}", props.suffix("tone"));
    match props.text("anchor") {
        Some(anchor) => writer.html.open("section", &[("class", &class), ("id", anchor)]),
        None => writer.html.open("section", &[("class", &class)]),
    }
    if let Some(title) = props.text("title") {
        writer.html.line("h2", &[("class", "b-section-title")], title);
    }
    writer.children(node);
    writer.html.close();
}

fn hero(writer: &mut Writer<'_>, node: &Node, props: &Props<'_>) {
    writer.html.open("header", &[("class", "b-hero")]);
    picture(writer, props.text("image"), None, "b-hero-image");
    writer.html.line("h1", &[("class", "b-hero-title")], props.text("title").unwrap_or_default());
    if let Some(subtitle) = props.text("subtitle") {
        writer.html.line("p", &[("class", "b-hero-subtitle")], subtitle);
    }
    writer.children(node);
    writer.html.close();
}

fn card(writer: &mut Writer<'_>, node: &Node, props: &Props<'_>) {
    writer.html.open("article", &[("class", "b-card")]);
    picture(writer, props.text("image"), None, "b-card-image");
    writer.html.open("h3", &[("class", "b-card-title")]);
    linked(writer, props.text("href"), &[], |writer| {
        writer.html.text(props.text("title").unwrap_or_default());
    });
    writer.html.close();
    if let Some(text) = props.text("text") {
        markdown::plain(&mut writer.html, text);
    }
    writer.children(node);
    writer.html.close();
}

fn heading(writer: &mut Writer<'_>, props: &Props<'_>) {
    const LEVELS: [&str; 6] = ["h1", "h2", "h3", "h4", "h5", "h6"];
    let level = props.0.block.props.get("level").and_then(Value::as_u64).unwrap_or(2).clamp(1, 6);
    let name = LEVELS[usize::try_from(level - 1).unwrap_or(1)];
    writer.html.line(name, &[("class", "b-heading")], props.text("text").unwrap_or_default());
}

fn text(writer: &mut Writer<'_>, props: &Props<'_>) {
    writer.html.open("div", &[("class", "b-text")]);
    let text = props.text("text").unwrap_or_default();
    if props.text("format") == Some("markdown") {
        markdown::write(writer, text);
    } else {
        markdown::plain(&mut writer.html, text);
    }
    writer.html.close();
}

fn list(writer: &mut Writer<'_>, props: &Props<'_>) {
    writer.html.open(if props.is("ordered") { "ol" } else { "ul" }, &[("class", "b-list")]);
    for item in props.items("items") {
        writer.html.line("li", &[], item.as_str().unwrap_or_default());
    }
    writer.html.close();
}

fn quote(writer: &mut Writer<'_>, props: &Props<'_>) {
    writer.html.open("figure", &[("class", "b-quote")]);
    writer.html.open("blockquote", &[]);
    markdown::plain(&mut writer.html, props.text("text").unwrap_or_default());
    writer.html.close();
    if let Some(author) = props.text("author") {
        writer.html.open("figcaption", &[]);
        linked(writer, props.text("source"), &[], |writer| writer.html.text(author));
        writer.html.close();
    }
    writer.html.close();
}

fn code(writer: &mut Writer<'_>, props: &Props<'_>) {
    writer.html.open("pre", &[("class", "b-code")]);
    let class = format!("language-{}", props.text("language").unwrap_or("text"));
    writer.html.line("code", &[("class", &class)], props.text("code").unwrap_or_default());
    writer.html.close();
}

fn table(writer: &mut Writer<'_>, props: &Props<'_>) {
    writer.html.open("table", &[("class", "b-table")]);
    if let Some(caption) = props.text("caption") {
        writer.html.line("caption", &[], caption);
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

fn row(writer: &mut Writer<'_>, name: &'static str, cells: &[Value]) {
    writer.html.open("tr", &[]);
    for cell in cells {
        writer.html.line(name, &[], cell.as_str().unwrap_or_default());
    }
    writer.html.close();
}

/// Something inside of a link, or without one if it may not lead there.
fn linked(
    writer: &mut Writer<'_>,
    address: Option<&str>,
    more: &[(&'static str, &str)],
    inside: impl FnOnce(&mut Writer<'_>),
) {
    let Some(url) = address.and_then(|address| writer.link(address)) else { return inside(writer) };
    let mut attributes = vec![("href", &*url)];
    attributes.extend(more);
    writer.html.open("a", &attributes);
    inside(writer);
    writer.html.close();
}

fn button(writer: &mut Writer<'_>, props: &Props<'_>) {
    let class = format!("b-button{}", props.suffix("style"));
    let mut more = vec![("class", class.as_str())];
    if props.is("newTab") {
        more.extend([("target", "_blank"), ("rel", "noopener noreferrer")]);
    }
    writer.html.open("p", &[("class", "b-button-line")]);
    linked(writer, props.text("href"), &more, |writer| {
        writer.html.text(props.text("label").unwrap_or_default());
    });
    writer.html.close();
}

fn link_list(writer: &mut Writer<'_>, props: &Props<'_>) {
    writer.html.open("nav", &[("class", "b-links")]);
    if let Some(title) = props.text("title") {
        writer.html.line("p", &[("class", "b-links-title")], title);
    }
    writer.html.open("ul", &[]);
    for link in props.items("links") {
        let said = |name: &str| link.get(name).and_then(Value::as_str);
        writer.html.open("li", &[]);
        linked(writer, said("href"), &[], |writer| writer.html.text(said("label").unwrap_or_default()));
        writer.html.close();
    }
    writer.html.close();
    writer.html.close();
}
