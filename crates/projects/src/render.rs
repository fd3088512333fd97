//! Blocks as HTML: plain and semantic, with a class for each type, and without anything that acts.
//!
//! Whatever a block says is text, also if it looks like HTML: the writer escapes every text and every value, and names of
//! elements and attributes are our own. Addresses are judged again here ([`links`](crate::links)), because a draft may
//! hold what its type would refuse today; one that is not allowed is left out, and its text stays.

mod generic;
mod html;
mod kinds;
mod markdown;
#[cfg(test)]
mod tests;

use crate::blocks::Node;
use crate::error::Refusal;
use crate::ids::AssetId;
use crate::links;
use crate::types::PAGE;
use design_tokens::{Document, export};
use html::Html;

pub(crate) use markdown::MARKDOWN;

/// Where an asset is to be found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linked {
    /// Its address.
    pub url: String,
    /// The text that stands for it.
    pub alt: String,
}

/// What a renderer has to be told.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Where assets are. One that is not there is left out. The addresses are the program's own, and are not judged.
    pub asset: &'a dyn Fn(&AssetId) -> Option<Linked>,
    /// The design system whose tokens a page has as custom properties.
    pub design: Option<&'a Document>,
    /// The language of pages that do not say theirs.
    pub lang: &'a str,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { asset: &|_| None, design: None, lang: "en" }
    }
}

/// Blocks and what was read of their inside: a page as a whole document, any other as a fragment. Refused if it is more than
/// [`MAX_HTML`](crate::limits::MAX_HTML): a little text can mean a lot of HTML.
pub fn html(nodes: &[Node], options: &Options<'_>) -> Result<String, Refusal> {
    let mut writer = Writer { html: Html::default(), options };
    for (at, node) in nodes.iter().enumerate() {
        if at > 0 {
            writer.html.raw("\n");
        }
        if node.block.kind == PAGE {
            writer.document(node);
        } else {
            writer.block(node);
        }
    }
    writer.html.finish()
}

struct Writer<'a> {
    html: Html,
    options: &'a Options<'a>,
}

impl Writer<'_> {
    fn document(&mut self, node: &Node) {
        let said = |name: &str| node.block.props.get(name).and_then(|value| value.as_str());
        let (title, lang) = (said("title").unwrap_or_default(), said("lang").unwrap_or(self.options.lang));
        self.html.raw("<!doctype html>\n");
        self.html.open("html", &[("lang", lang)]);
        self.html.open("head", &[]);
        self.html.void("meta", &[("charset", "utf-8")]);
        self.html.void("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
        self.html.line("title", &[], title);
        if let Some(description) = said("description") {
            self.html.void("meta", &[("name", "description"), ("content", description)]);
        }
        if let Some(image) = said("image").and_then(|image| self.source(image)) {
            self.html.void("meta", &[("property", "og:image"), ("content", &image.url)]);
        }
        if node.block.props.get("hidden").and_then(serde_json::Value::as_bool) == Some(true) {
            self.html.void("meta", &[("name", "robots"), ("content", "noindex")]);
        }
        let meta = node.block.props.get("meta").and_then(|meta| meta.as_object());
        for (name, value) in meta.into_iter().flatten() {
            self.html.void("meta", &[("name", name), ("content", value.as_str().unwrap_or_default())]);
        }
        if let Some(design) = self.options.design {
            let options = export::Options { bare: true, ..export::Options::default() };
            self.html.style(&export::css(design, &options).text);
        }
        self.html.close();
        self.html.open("body", &[]);
        self.block(node);
        self.html.close();
        self.html.close();
        self.html.raw("\n");
    }

    fn block(&mut self, node: &Node) {
        if self.html.is_full() {
            return;
        }
        let height = self.html.height();
        let known = kinds::write(self, node);
        if !known {
            generic::write(self, node);
        }
        debug_assert_eq!(self.html.height(), height, "{} leaves something open", node.block.kind);
    }

    fn children(&mut self, node: &Node) {
        node.children.iter().for_each(|child| self.block(child));
    }

    /// The address that a link leads to, if it may.
    fn link(&self, address: &str) -> Option<String> {
        match links::asset_of(address) {
            Some(asset) => (self.options.asset)(&asset).map(|linked| linked.url),
            None => links::is_link(address).then(|| address.to_owned()),
        }
    }

    /// The address that a file comes from, if it may.
    fn source(&self, address: &str) -> Option<Linked> {
        match links::asset_of(address) {
            Some(asset) => (self.options.asset)(&asset),
            None => links::is_source(address).then(|| Linked { url: address.to_owned(), alt: String::new() }),
        }
    }
}
