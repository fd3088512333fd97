//! Forms and their fields.

use super::{BlockProps, BlockRenderer};
use crate::blocks::BlockNode;

pub(super) fn form(writer: &mut BlockRenderer<'_>, node: &BlockNode, props: &BlockProps<'_>) {
    // No `action`: a form only posts to its own page.
    writer.html.open("form", &[("class", "b-form"), ("method", "post")]);
    if let Some(title) = props.text("title") {
        writer.html.text_element("p", &[("class", "b-form-title")], title);
    }
    writer.render_children(node);
    writer.html.text_element("button", &[("type", "submit")], props.text("submit").unwrap_or("OK"));
    writer.html.close();
}

pub(super) fn field(writer: &mut BlockRenderer<'_>, props: &BlockProps<'_>) {
    const INPUT_TYPES: [&str; 7] = ["text", "email", "tel", "url", "number", "date", "checkbox"];
    let input = props.text("input").unwrap_or("text");
    let mut attributes = vec![("name", props.text("name").unwrap_or_default())];
    attributes.extend(props.text("placeholder").map(|placeholder| ("placeholder", placeholder)));
    if props.flag("required") {
        attributes.push(("required", ""));
    }
    writer.html.open("label", &[("class", "b-field")]);
    writer.html.text_element("span", &[], props.text("label").unwrap_or_default());
    match input {
        "textarea" => writer.html.text_element("textarea", &attributes, ""),
        "select" => {
            writer.html.open("select", &attributes);
            for option in props.items("options") {
                writer.html.text_element("option", &[], option.as_str().unwrap_or_default());
            }
            writer.html.close();
        }
        other => {
            let kind = INPUT_TYPES.iter().find(|known| **known == other).unwrap_or(&"text");
            attributes.push(("type", kind));
            writer.html.void_element("input", &attributes);
        }
    }
    writer.html.close();
}
