//! Blocks of types that a project made: their props as a list of names and values.

use serde_json::{Map, Value};

use super::Writer;
use crate::blocks::Node;

pub(super) fn write(writer: &mut Writer<'_>, node: &Node) {
    // The name of a type has only letters, digits and -; whatever a draft holds is escaped all the same.
    writer
        .html
        .open("div", &[("class", &format!("b-{}", node.block.kind.replace(char::is_whitespace, "-")))]);
    if !node.block.props.is_empty() {
        members(writer, &node.block.props);
    }
    writer.children(node);
    writer.html.close();
}

fn members(writer: &mut Writer<'_>, map: &Map<String, Value>) {
    writer.html.open("dl", &[]);
    for (name, value) in map {
        writer.html.line("dt", &[], name);
        writer.html.open("dd", &[]);
        one(writer, value);
        writer.html.close();
    }
    writer.html.close();
}

fn one(writer: &mut Writer<'_>, value: &Value) {
    match value {
        Value::Object(map) => members(writer, map),
        Value::Array(items) => {
            writer.html.open("ul", &[]);
            for item in items {
                writer.html.open("li", &[]);
                one(writer, item);
                writer.html.close();
            }
            writer.html.close();
        }
        Value::String(text) => named(writer, text),
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) => writer.html.text(&value.to_string()),
    }
}

/// A text; an asset that it names is shown as a link.
fn named(writer: &mut Writer<'_>, text: &str) {
    let link = text.starts_with("asset:").then(|| writer.link(text)).flatten();
    match link {
        Some(url) => writer.html.line("a", &[("href", &url)], text),
        None => writer.html.text(text),
    }
}
