//! Blocks of custom types: their props as a list of names and values.

use serde_json::{Map, Value};

use super::BlockRenderer;
use crate::blocks::BlockNode;

pub(super) fn render_generic(writer: &mut BlockRenderer<'_>, node: &BlockNode) {
    // Type names contain only letters, digits and `-`. A draft may contain other names, which are escaped as
    // well.
    writer
        .html
        .open("div", &[("class", &format!("b-{}", node.block.kind.replace(char::is_whitespace, "-")))]);
    if !node.block.props.is_empty() {
        render_members(writer, &node.block.props);
    }
    writer.render_children(node);
    writer.html.close();
}

fn render_members(writer: &mut BlockRenderer<'_>, map: &Map<String, Value>) {
    writer.html.open("dl", &[]);
    for (name, value) in map {
        writer.html.text_element("dt", &[], name);
        writer.html.open("dd", &[]);
        render_value(writer, value);
        writer.html.close();
    }
    writer.html.close();
}

fn render_value(writer: &mut BlockRenderer<'_>, value: &Value) {
    match value {
        Value::Object(map) => render_members(writer, map),
        Value::Array(items) => {
            writer.html.open("ul", &[]);
            for item in items {
                writer.html.open("li", &[]);
                render_value(writer, item);
                writer.html.close();
            }
            writer.html.close();
        }
        Value::String(text) => render_text(writer, text),
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) => writer.html.text(&value.to_string()),
    }
}

/// A string; an asset reference becomes a link.
fn render_text(writer: &mut BlockRenderer<'_>, text: &str) {
    let link = text.starts_with("asset:").then(|| writer.resolve_link(text)).flatten();
    match link {
        Some(url) => writer.html.text_element("a", &[("href", &url)], text),
        None => writer.html.text(text),
    }
}
