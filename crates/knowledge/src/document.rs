//! Documents: a file becomes a [`Document`] of [`Chunk`]s.
//!
//! A parser for each format finds headings and blocks ([`OutlinePart`]); `chunks.rs` packs blocks into chunks, the same way for
//! all. A chunk keeps where it stands in its source, so that whatever is quoted later is quoted literally.

mod chunks;
mod front_matter;
mod line_index;
mod markdown;
mod restructured;
mod split;
mod tags;
mod text;

use std::ops::Range;

/// A document, and the passages by which it is searched.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Where it is, from the root of its collection, with slashes.
    pub path: String,
    /// From the front matter, else the first heading of level one, else the name of the file.
    pub title: String,
    /// The `version` of its front matter.
    pub version: Option<String>,
    /// The whole file.
    pub source: String,
    /// Its passages, in order.
    pub chunks: Vec<Chunk>,
}

/// A passage: some blocks under one heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// The headings above it, outermost first. The page's title is not among them.
    pub headings: Vec<String>,
    /// Where it stands in the source.
    pub bytes: Range<usize>,
    /// Its first and its last line, counted from 1.
    pub lines: (usize, usize),
    /// What is searched: its words, without markup.
    pub text: String,
    /// What can be quoted from it, in order.
    pub blocks: Vec<DocumentBlock>,
}

/// A part of a passage that makes sense alone.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentBlock {
    /// What it is.
    pub kind: DocumentBlockKind,
    /// Where it stands in the source.
    pub bytes: Range<usize>,
}

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentBlockKind {
    /// A paragraph, a quotation, markup of another kind.
    Prose,
    /// A list, or some of its items.
    List,
    /// A table, or some of its rows.
    Table,
    /// Code with the marks that make it code.
    Code,
    /// Some lines of code that was too long to stay whole, without these marks.
    CodeLines,
}

impl Document {
    /// Reads a document. The ending of `path` says what it is: Markdown and MDX, reStructuredText, or else plain text.
    pub fn parse(path: impl Into<String>, source: impl Into<String>) -> Self {
        let (path, mut source) = (path.into(), source.into());
        // A byte order mark is not part of the text, and hides front matter.
        if source.starts_with('\u{feff}') {
            source.remove(0);
        }
        let format = DocumentFormat::from_path(&path);
        let outline = match format {
            DocumentFormat::Markdown => markdown::parse(&source),
            DocumentFormat::Restructured => restructured::parse(&source),
            DocumentFormat::Text => text::parse(&source),
        };
        let title = outline.title.unwrap_or_else(|| title_from_path(&path));
        let chunks = chunks::pack_chunks(&source, format, &title, outline.parts);
        Self { path, title, version: outline.version, source, chunks }
    }

    /// Makes a page of passages that are already split: pairs of a heading path and a text.
    pub fn from_passages<'a>(
        path: impl Into<String>,
        title: impl Into<String>,
        passages: impl IntoIterator<Item = (Vec<String>, &'a str)>,
    ) -> Self {
        let mut source = String::new();
        let mut chunks = Vec::new();
        let mut line = 1;
        for (headings, text) in passages {
            let bytes = source.len()..source.len() + text.len();
            let last_line = line + text.matches('\n').count();
            source.push_str(text);
            source.push('\n');
            let blocks = vec![DocumentBlock { kind: DocumentBlockKind::Prose, bytes: bytes.clone() }];
            chunks.push(Chunk { headings, bytes, lines: (line, last_line), text: text.to_owned(), blocks });
            line = last_line + 1;
        }
        Self { path: path.into(), title: title.into(), version: None, source, chunks }
    }
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DocumentFormat {
    Markdown,
    Restructured,
    Text,
}

impl DocumentFormat {
    fn from_path(path: &str) -> Self {
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
        match ending.as_str() {
            "md" | "mdx" | "markdown" => Self::Markdown,
            "rst" => Self::Restructured,
            _ => Self::Text,
        }
    }

    /// The words of a block.
    fn plain_text(self, kind: DocumentBlockKind, block: &str) -> String {
        match (self, kind) {
            (Self::Markdown, DocumentBlockKind::CodeLines) | (Self::Text, _) => block.to_owned(),
            (Self::Markdown, _) => markdown::plain_text(block),
            (Self::Restructured, _) => restructured::plain_text(block),
        }
    }
}

/// What a parser finds in a file.
#[derive(Debug, Default)]
struct DocumentOutline {
    title: Option<String>,
    version: Option<String>,
    parts: Vec<OutlinePart>,
}

/// A piece of a file, in order.
#[derive(Debug)]
enum OutlinePart {
    /// Begins a section. The outermost level is 1.
    Heading { level: usize, text: String },
    /// Content. `seams` are the places where it may be cut if it is too long: where items or rows begin.
    Body { block: DocumentBlock, split_points: Vec<usize> },
}

impl OutlinePart {
    fn body(kind: DocumentBlockKind, bytes: Range<usize>) -> Self {
        Self::Body { block: DocumentBlock { kind, bytes }, split_points: Vec::new() }
    }
}

/// `guides/first-steps.md` is called "first steps", and `guides/index.md` "guides".
fn title_from_path(path: &str) -> String {
    let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    let mut names = path.rsplit('/').filter(|name| !name.is_empty());
    let own = names.next().map(stem).unwrap_or_default();
    let is_index = ["index", "_index", "readme"].contains(&own.to_ascii_lowercase().as_str());
    let name = if is_index { names.next().map_or(own, str::to_owned) } else { own };
    name.replace(['-', '_'], " ").trim().to_owned()
}

#[cfg(test)]
mod tests;
