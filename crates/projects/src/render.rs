//! Renders blocks as plain semantic HTML, with a class for each type and without active content.
//!
//! All content is text, even if it looks like HTML: the writer escapes every text and attribute value, and
//! element and attribute names are constants. URLs are checked again here ([`links`](crate::links)), because
//! a draft may contain values that its type would reject today. A disallowed URL is omitted, and its text
//! stays.

mod built_in;
mod generic;
mod html;
mod markdown;
#[cfg(test)]
mod tests;

use crate::blocks::BlockNode;
use crate::error::ProjectRejection;
use crate::ids::AssetId;
use crate::links;
use crate::types::PAGE;
use design_tokens::{TokenDocument, export};
use html::HtmlWriter;

pub(crate) use markdown::MARKDOWN_OPTIONS;

/// Where to find an asset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssetLink {
    pub url: String,
    /// Alternative text.
    pub alt: String,
}

/// Options for [`render_html`].
#[derive(Clone, Copy)]
pub struct RenderOptions<'a> {
    /// Resolves assets; missing ones are omitted. The returned URLs are trusted and not checked.
    pub resolve_asset: &'a dyn Fn(&AssetId) -> Option<AssetLink>,
    /// Design system whose tokens become custom properties of the page.
    pub design: Option<&'a TokenDocument>,
    /// Language of pages that do not set one.
    pub lang: &'a str,
}

impl Default for RenderOptions<'_> {
    fn default() -> Self {
        Self { resolve_asset: &|_| None, design: None, lang: "en" }
    }
}

/// Renders a page as a whole document and any other block as a fragment. Rejected beyond
/// [`MAX_HTML_BYTES`](crate::limits::MAX_HTML_BYTES), because a little content can produce a lot of HTML.
pub fn render_html(nodes: &[BlockNode], options: &RenderOptions<'_>) -> Result<String, ProjectRejection> {
    let mut writer = BlockRenderer { html: HtmlWriter::default(), options };
    for (at, node) in nodes.iter().enumerate() {
        if at > 0 {
            writer.html.raw("\n");
        }
        if node.block.kind == PAGE {
            writer.render_document(node);
        } else {
            writer.render_block(node);
        }
    }
    writer.html.finish()
}

struct BlockRenderer<'a> {
    html: HtmlWriter,
    options: &'a RenderOptions<'a>,
}

impl BlockRenderer<'_> {
    fn render_document(&mut self, node: &BlockNode) {
        let said = |name: &str| node.block.props.get(name).and_then(|value| value.as_str());
        let (title, lang) = (said("title").unwrap_or_default(), said("lang").unwrap_or(self.options.lang));
        self.html.raw("<!doctype html>\n");
        self.html.open("html", &[("lang", lang)]);
        self.html.open("head", &[]);
        self.html.void_element("meta", &[("charset", "utf-8")]);
        self.html.void_element(
            "meta",
            &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")],
        );
        self.html.text_element("title", &[], title);
        if let Some(description) = said("description") {
            self.html.void_element("meta", &[("name", "description"), ("content", description)]);
        }
        if let Some(image) = said("image").and_then(|image| self.resolve_source(image)) {
            self.html.void_element("meta", &[("property", "og:image"), ("content", &image.url)]);
        }
        if node.block.props.get("hidden").and_then(serde_json::Value::as_bool) == Some(true) {
            self.html.void_element("meta", &[("name", "robots"), ("content", "noindex")]);
        }
        let meta = node.block.props.get("meta").and_then(|meta| meta.as_object());
        for (name, value) in meta.into_iter().flatten() {
            self.html
                .void_element("meta", &[("name", name), ("content", value.as_str().unwrap_or_default())]);
        }
        if let Some(design) = self.options.design {
            let options = export::ExportOptions { omit_comments: true, ..export::ExportOptions::default() };
            self.html.style(&export::css(design, &options).text);
        }
        self.html.close();
        self.html.open("body", &[]);
        self.render_block(node);
        self.html.close();
        self.html.close();
        self.html.raw("\n");
    }

    fn render_block(&mut self, node: &BlockNode) {
        if self.html.is_full() {
            return;
        }
        let height = self.html.open_count();
        let known = built_in::render_built_in(self, node);
        if !known {
            generic::render_generic(self, node);
        }
        debug_assert_eq!(self.html.open_count(), height, "{} left elements open", node.block.kind);
    }

    fn render_children(&mut self, node: &BlockNode) {
        node.children.iter().for_each(|child| self.render_block(child));
    }

    /// The target of a link, if allowed.
    fn resolve_link(&self, address: &str) -> Option<String> {
        match links::parse_asset_ref(address) {
            Some(asset) => (self.options.resolve_asset)(&asset).map(|linked| linked.url),
            None => links::is_link(address).then(|| address.to_owned()),
        }
    }

    /// The source of a file, if allowed.
    fn resolve_source(&self, address: &str) -> Option<AssetLink> {
        match links::parse_asset_ref(address) {
            Some(asset) => (self.options.resolve_asset)(&asset),
            None => links::is_media_source(address)
                .then(|| AssetLink { url: address.to_owned(), alt: String::new() }),
        }
    }
}
