//! Images, videos, and what comes from elsewhere.

use super::{Props, Writer, linked};
use crate::links;

/// An image, if it may be shown.
pub(super) fn picture(
    writer: &mut Writer<'_>,
    address: Option<&str>,
    props: Option<&Props<'_>>,
    class: &str,
) {
    let Some(source) = address.and_then(|address| writer.source(address)) else { return };
    let said = |name: &str| props.and_then(|props| props.text(name));
    let alt = said("alt").unwrap_or(&source.alt).to_owned();
    let size = |name: &str| props.and_then(|props| props.number(name));
    let (width, height) = (size("width"), size("height"));
    let mut attributes = vec![("class", class), ("src", &*source.url), ("alt", &*alt), ("loading", "lazy")];
    attributes.extend(width.as_deref().map(|width| ("width", width)));
    attributes.extend(height.as_deref().map(|height| ("height", height)));
    writer.html.void("img", &attributes);
}

pub(super) fn image(writer: &mut Writer<'_>, props: &Props<'_>) {
    writer.html.open("figure", &[("class", "b-image")]);
    linked(writer, props.text("href"), &[], |writer| {
        picture(writer, props.text("src"), Some(props), "b-image-file");
    });
    caption(writer, props);
    writer.html.close();
}

fn caption(writer: &mut Writer<'_>, props: &Props<'_>) {
    if let Some(caption) = props.text("caption") {
        writer.html.line("figcaption", &[], caption);
    }
}

pub(super) fn video(writer: &mut Writer<'_>, props: &Props<'_>) {
    writer.html.open("figure", &[("class", "b-video")]);
    if let Some(source) = props.text("src").and_then(|address| writer.source(address)) {
        let poster = props.text("poster").and_then(|address| writer.source(address));
        let mut attributes = vec![("src", &*source.url), ("controls", ""), ("preload", "metadata")];
        attributes.extend(poster.as_ref().map(|poster| ("poster", &*poster.url)));
        writer.html.line("video", &attributes, "");
    }
    caption(writer, props);
    writer.html.close();
}

pub(super) fn embed(writer: &mut Writer<'_>, props: &Props<'_>) {
    let title = props.text("title").unwrap_or_default();
    writer.html.open("div", &[("class", "b-embed")]);
    if let Some(url) = props.text("url").filter(|url| links::is_embed(url)) {
        let attributes = [
            ("src", url),
            ("title", title),
            ("loading", "lazy"),
            ("referrerpolicy", "no-referrer"),
            ("sandbox", "allow-scripts allow-same-origin allow-presentation"),
            ("allow", "fullscreen"),
        ];
        writer.html.line("iframe", &attributes, "");
    } else {
        writer.html.line("p", &[], title);
    }
    writer.html.close();
}
