//! Blocks as HTML: plain and semantic, with a class for each type, and without anything that acts.
//!
//! Whatever a block says is text, also if it looks like HTML: the writer escapes every text and every value, and names of
//! elements and attributes are our own. Addresses are judged again here ([`links`](crate::links)), because a draft may
//! hold what its type would refuse today; one that is not allowed is left out, and its text stays.

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

/// Where an asset is to be found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssetLink {
    /// Its address.
    pub url: String,
    /// The text that stands for it.
    pub alt: String,
}

/// What a renderer has to be told.
#[derive(Clone, Copy)]
pub struct RenderOptions<'a> {
    /// Where assets are. One that is not there is left out. The addresses are the program's own, and are not judged.
    pub resolve_asset: &'a dyn Fn(&AssetId) -> Option<AssetLink>,
    /// The design system whose tokens a page has as custom properties.
    pub design: Option<&'a TokenDocument>,
    /// The language of pages that do not say theirs.
    pub lang: &'a str,
}

impl Default for RenderOptions<'_> {
    fn default() -> Self {
        Self { resolve_asset: &|_| None, design: None, lang: "en" }
    }
}

/// Blocks and what was read of their inside: a page as a whole document, any other as a fragment. Refused if it is more than
/// [`MAX_HTML_BYTES`](crate::limits::MAX_HTML_BYTES): a little text can mean a lot of HTML.
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
        debug_assert_eq!(self.html.open_count(), height, "{} leaves something open", node.block.kind);
    }

    fn render_children(&mut self, node: &BlockNode) {
        node.children.iter().for_each(|child| self.render_block(child));
    }

    /// The address that a link leads to, if it may.
    fn resolve_link(&self, address: &str) -> Option<String> {
        match links::parse_asset_ref(address) {
            Some(asset) => (self.options.resolve_asset)(&asset).map(|linked| linked.url),
            None => links::is_link(address).then(|| address.to_owned()),
        }
    }

    /// The address that a file comes from, if it may.
    fn resolve_source(&self, address: &str) -> Option<AssetLink> {
        match links::parse_asset_ref(address) {
            Some(asset) => (self.options.resolve_asset)(&asset),
            None => links::is_media_source(address)
                .then(|| AssetLink { url: address.to_owned(), alt: String::new() }),
        }
    }
}
