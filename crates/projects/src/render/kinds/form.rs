//! Forms and their fields.

use super::{Props, Writer};
use crate::blocks::Node;

pub(super) fn form(writer: &mut Writer<'_>, node: &Node, props: &Props<'_>) {
    // Without an address of its own it goes nowhere but to the page.
    writer.html.open("form", &[("class", "b-form"), ("method", "post")]);
    if let Some(title) = props.text("title") {
        writer.html.line("p", &[("class", "b-form-title")], title);
    }
    writer.children(node);
    writer.html.line("button", &[("type", "submit")], props.text("submit").unwrap_or("OK"));
    writer.html.close();
}

pub(super) fn field(writer: &mut Writer<'_>, props: &Props<'_>) {
    const INPUTS: [&str; 7] = ["text", "email", "tel", "url", "number", "date", "checkbox"];
    let input = props.text("input").unwrap_or("text");
    let mut attributes = vec![("name", props.text("name").unwrap_or_default())];
    attributes.extend(props.text("placeholder").map(|placeholder| ("placeholder", placeholder)));
    if props.is("required") {
        attributes.push(("required", ""));
    }
    writer.html.open("label", &[("class", "b-field")]);
    writer.html.line("span", &[], props.text("label").unwrap_or_default());
    match input {
        "textarea" => writer.html.line("textarea", &attributes, ""),
        "select" => {
            writer.html.open("select", &attributes);
            for option in props.items("options") {
                writer.html.line("option", &[], option.as_str().unwrap_or_default());
            }
            writer.html.close();
        }
        other => {
            let kind = INPUTS.iter().find(|known| **known == other).unwrap_or(&"text");
            attributes.push(("type", kind));
            writer.html.void("input", &attributes);
        }
    }
    writer.html.close();
}
