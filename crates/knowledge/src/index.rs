//! The index: one slice of bytes that holds everything a search and an answer need.
//!
//! `format.rs` says what lies where, `build.rs` writes it. All reading is total: whatever the bytes say, a row or a text that
//! is not there is empty. So a file that passed [`Index::open`] can be wrong only if it was forged, and even
//! then it does no more than give wrong answers.

mod build;
mod format;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

pub use format::IndexError;
use format::{IndexHeader, IndexSection};

use crate::bytes::U32Rows;
use crate::document::{Document, DocumentBlock, DocumentBlockKind};
use crate::encoder::Encoder;

/// Pages, ready to be searched.
pub struct Index {
    bytes: Cow<'static, [u8]>,
    layout: IndexHeader,
}

impl fmt::Debug for Index {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Index")
            .field("pages", &self.document_count())
            .field("chunks", &self.chunk_count())
            .finish()
    }
}

impl Index {
    /// Indexes pages. Their order makes no difference: they are kept by path.
    pub fn build(pages: &[Document], encoder: &Encoder) -> Result<Self, IndexError> {
        build::build_index(pages, encoder, None)
    }

    /// The same as [`Index::build`], in less time: passages that `previous` has already keep their vectors.
    pub fn build_from(previous: &Index, pages: &[Document], encoder: &Encoder) -> Result<Self, IndexError> {
        build::build_index(pages, encoder, Some(previous))
    }

    /// Checks an index that was kept somewhere, and takes it into use.
    pub fn open(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self, IndexError> {
        let bytes = bytes.into();
        let layout = IndexHeader::read(&bytes)?;
        layout.verify_checksum(&bytes)?;
        Ok(Self { bytes, layout })
    }

    /// Takes an index that is part of this program into use. It was checked when the program was built.
    pub(crate) fn from_static(bytes: &'static [u8]) -> Result<Self, IndexError> {
        Ok(Self { bytes: Cow::Borrowed(bytes), layout: IndexHeader::read(bytes)? })
    }

    /// What is to be kept, for [`Index::open`].
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its pages, by path.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = IndexedDocument<'_>> {
        (0..self.document_count()).map(|page| self.document_at(page))
    }

    /// The page at a path.
    pub fn document(&self, path: &str) -> Option<IndexedDocument<'_>> {
        let rows = self.document_rows();
        let at =
            rows.partition_point(|[start, length, ..]| self.text(IndexSection::Names, start, length) < path);
        (at < rows.len()).then(|| self.document_at(at)).filter(|page| page.path == path)
    }

    /// How many passages it has.
    pub fn chunk_count(&self) -> usize {
        self.chunk_rows().len()
    }
}

/// A page of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexedDocument<'a> {
    /// Where it is, from the root of its collection.
    pub path: &'a str,
    /// Its title.
    pub title: &'a str,
    /// The version that it is about, if it says so.
    pub version: Option<&'a str>,
    /// The whole file.
    pub source: &'a str,
    /// The first 16 bytes of the SHA-256 of `source`.
    pub hash: [u8; 16],
}

/// A passage of an index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexedChunk<'a> {
    pub(crate) document: usize,
    headings: &'a str,
    pub(crate) lines: (usize, usize),
    hash: [u32; 4],
    first_block: usize,
    first_term: usize,
}

impl<'a> IndexedChunk<'a> {
    /// The headings above it, outermost first.
    pub(crate) fn headings(&self) -> impl DoubleEndedIterator<Item = &'a str> + use<'a> {
        self.headings.split('\n').filter(|heading| !heading.is_empty())
    }
}

/// What the search reads.
impl Index {
    /// What every index begins with.
    pub(crate) const MAGIC: &'static [u8] = format::MAGIC;

    pub(crate) fn fingerprint(&self) -> u32 {
        self.layout.fingerprint
    }

    pub(crate) fn document_count(&self) -> usize {
        self.document_rows().len()
    }

    pub(crate) fn document_at(&self, page: usize) -> IndexedDocument<'_> {
        self.document_from_row(self.document_rows().get(page))
    }

    /// The path alone: the whole page would be checked to be text, all of it.
    pub(crate) fn document_path(&self, page: usize) -> &str {
        let [start, length, ..] = self.document_rows().get(page);
        self.text(IndexSection::Names, start, length)
    }

    /// The title alone.
    pub(crate) fn document_title(&self, page: usize) -> &str {
        let [_, _, start, length, ..] = self.document_rows().get(page);
        self.text(IndexSection::Names, start, length)
    }

    /// The chunks of a page.
    pub(crate) fn document_chunks(&self, page: usize) -> Range<usize> {
        let rows = self.document_rows();
        let first = |page: usize| rows.get(page)[format::FIRST_CHUNK_COLUMN] as usize;
        let end = if page + 1 < rows.len() { first(page + 1) } else { self.chunk_count() };
        first(page).min(end)..end.min(self.chunk_count())
    }

    pub(crate) fn chunk_at(&self, chunk: usize) -> IndexedChunk<'_> {
        let [page, name, name_length, first_line, last_line, first_block, first_term, hash @ ..] =
            self.chunk_rows().get(chunk);
        IndexedChunk {
            document: page as usize,
            headings: self.text(IndexSection::Names, name, name_length),
            lines: (first_line as usize, last_line as usize),
            hash,
            first_block: first_block as usize,
            first_term: first_term as usize,
        }
    }

    /// The blocks of a chunk, as they stand in the source of its page.
    pub(crate) fn chunk_blocks(&self, chunk: usize) -> impl Iterator<Item = DocumentBlock> {
        let blocks = U32Rows::<3>::from_bytes(self.section(IndexSection::Blocks));
        let first = self.chunk_at(chunk).first_block;
        let end =
            if chunk + 1 < self.chunk_count() { self.chunk_at(chunk + 1).first_block } else { blocks.len() };
        let block = |[kind, start, end]: [u32; 3]| DocumentBlock {
            kind: block_kind(kind),
            bytes: start as usize..end as usize,
        };
        blocks.slice(first, end).iter().map(block)
    }

    /// The chunks in which a term stands, and how much it weighs there.
    pub(crate) fn postings(&self, term: &str) -> U32Rows<'_, 2> {
        let terms = self.term_rows();
        let at = terms.partition_point(|row| self.term_name(row) < term.as_bytes());
        match u32::try_from(at) {
            Ok(number) if self.term_name(terms.get(at)) == term.as_bytes() => self.postings_by_id(number),
            _ => U32Rows::from_bytes(&[]),
        }
    }

    /// The same for a term that is known by its number.
    pub(crate) fn postings_by_id(&self, term: u32) -> U32Rows<'_, 2> {
        let (terms, all) = (self.term_rows(), U32Rows::from_bytes(self.section(IndexSection::Postings)));
        let next = term as usize + 1;
        let end = if next < terms.len() { terms.get(next)[2] as usize } else { all.len() };
        all.slice(terms.get(term as usize)[2] as usize, end)
    }

    /// The text of a term.
    pub(crate) fn term(&self, term: u32) -> &str {
        str::from_utf8(self.term_name(self.term_rows().get(term as usize))).unwrap_or_default()
    }

    /// The terms of a chunk by their numbers, and how much each weighs there.
    pub(crate) fn chunk_terms(&self, chunk: usize) -> U32Rows<'_, 2> {
        let all = U32Rows::from_bytes(self.section(IndexSection::Contents));
        let end =
            if chunk + 1 < self.chunk_count() { self.chunk_at(chunk + 1).first_term } else { all.len() };
        all.slice(self.chunk_at(chunk).first_term, end)
    }

    fn term_name(&self, [name, length, _]: [u32; 3]) -> &[u8] {
        self.raw_bytes(IndexSection::Names, name, length)
    }

    /// The sum of the lengths of all chunks.
    pub(crate) fn total_length(&self) -> u64 {
        self.layout.total_length
    }

    /// How many terms each chunk has, every one as often as it weighs.
    pub(crate) fn lengths(&self) -> U32Rows<'_, 1> {
        U32Rows::from_bytes(self.section(IndexSection::Lengths))
    }

    /// The vectors of all chunks, in order.
    pub(crate) fn vectors(&self) -> impl Iterator<Item = (&[u8], f32)> {
        let scales = U32Rows::<1>::from_bytes(self.section(IndexSection::Scales));
        let numbers = self.section(IndexSection::Vectors).chunks_exact(self.layout.dims.max(1) as usize);
        numbers.zip(scales.iter()).map(|(numbers, [scale])| (numbers, f32::from_bits(scale)))
    }

    fn document_rows(&self) -> U32Rows<'_, { format::DOCUMENT_ROW_LEN }> {
        U32Rows::from_bytes(self.section(IndexSection::Pages))
    }

    fn chunk_rows(&self) -> U32Rows<'_, { format::CHUNK_ROW_LEN }> {
        U32Rows::from_bytes(self.section(IndexSection::Chunks))
    }

    fn term_rows(&self) -> U32Rows<'_, 3> {
        U32Rows::from_bytes(self.section(IndexSection::Terms))
    }

    fn document_from_row(&self, row: [u32; format::DOCUMENT_ROW_LEN]) -> IndexedDocument<'_> {
        let text = |section, at: usize| self.text(section, row[at], row[at + 1]);
        let version = text(IndexSection::Names, 4);
        IndexedDocument {
            path: text(IndexSection::Names, 0),
            title: text(IndexSection::Names, 2),
            version: Some(version).filter(|version| !version.is_empty()),
            source: text(IndexSection::Sources, 6),
            hash: std::array::from_fn(|byte| {
                row[format::DOCUMENT_HASH_COLUMN + byte / 4].to_le_bytes()[byte % 4]
            }),
        }
    }

    fn section(&self, section: IndexSection) -> &[u8] {
        self.bytes.get(self.layout.range(section)).unwrap_or_default()
    }

    fn raw_bytes(&self, section: IndexSection, start: u32, length: u32) -> &[u8] {
        let start = start as usize;
        self.section(section).get(start..start.saturating_add(length as usize)).unwrap_or_default()
    }

    fn text(&self, section: IndexSection, start: u32, length: u32) -> &str {
        str::from_utf8(self.raw_bytes(section, start, length)).unwrap_or_default()
    }
}

/// How kinds of blocks are written. What is not here is prose.
const BLOCK_KINDS: [DocumentBlockKind; 5] = [
    DocumentBlockKind::Prose,
    DocumentBlockKind::List,
    DocumentBlockKind::Table,
    DocumentBlockKind::Code,
    DocumentBlockKind::CodeLines,
];

fn block_kind(number: u32) -> DocumentBlockKind {
    BLOCK_KINDS.get(number as usize).copied().unwrap_or(DocumentBlockKind::Prose)
}

fn block_number(kind: DocumentBlockKind) -> u32 {
    BLOCK_KINDS
        .iter()
        .position(|known| *known == kind)
        .and_then(|at| u32::try_from(at).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
