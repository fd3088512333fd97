//! Images, videos and embeds.

use super::{BlockProps, BlockRenderer, wrap_in_link};
use crate::links;

/// Renders an image, if its source is allowed.
pub(super) fn picture(
    writer: &mut BlockRenderer<'_>,
    address: Option<&str>,
    props: Option<&BlockProps<'_>>,
    class: &str,
) {
    let Some(source) = address.and_then(|address| writer.resolve_source(address)) else { return };
    let said = |name: &str| props.and_then(|props| props.text(name));
    let alt = said("alt").unwrap_or(&source.alt).to_owned();
    let size = |name: &str| props.and_then(|props| props.number(name));
    let (width, height) = (size("width"), size("height"));
    let mut attributes = vec![("class", class), ("src", &*source.url), ("alt", &*alt), ("loading", "lazy")];
    attributes.extend(width.as_deref().map(|width| ("width", width)));
    attributes.extend(height.as_deref().map(|height| ("height", height)));
    writer.html.void_element("img", &attributes);
}

pub(super) fn image(writer: &mut BlockRenderer<'_>, props: &BlockProps<'_>) {
    writer.html.open("figure", &[("class", "b-image")]);
    wrap_in_link(writer, props.text("href"), &[], |writer| {
        picture(writer, props.text("src"), Some(props), "b-image-file");
    });
    caption(writer, props);
    writer.html.close();
}

fn caption(writer: &mut BlockRenderer<'_>, props: &BlockProps<'_>) {
    if let Some(caption) = props.text("caption") {
        writer.html.text_element("figcaption", &[], caption);
    }
}

pub(super) fn video(writer: &mut BlockRenderer<'_>, props: &BlockProps<'_>) {
    writer.html.open("figure", &[("class", "b-video")]);
    if let Some(source) = props.text("src").and_then(|address| writer.resolve_source(address)) {
        let poster = props.text("poster").and_then(|address| writer.resolve_source(address));
        let mut attributes = vec![("src", &*source.url), ("controls", ""), ("preload", "metadata")];
        attributes.extend(poster.as_ref().map(|poster| ("poster", &*poster.url)));
        writer.html.text_element("video", &attributes, "");
    }
    caption(writer, props);
    writer.html.close();
}

pub(super) fn embed(writer: &mut BlockRenderer<'_>, props: &BlockProps<'_>) {
    let title = props.text("title").unwrap_or_default();
    writer.html.open("div", &[("class", "b-embed")]);
    if let Some(url) = props.text("url").filter(|url| links::is_embeddable(url)) {
        let attributes = [
            ("src", url),
            ("title", title),
            ("loading", "lazy"),
            ("referrerpolicy", "no-referrer"),
            ("sandbox", "allow-scripts allow-same-origin allow-presentation"),
            ("allow", "fullscreen"),
        ];
        writer.html.text_element("iframe", &attributes, "");
    } else {
        writer.html.text_element("p", &[], title);
    }
    writer.html.close();
}
