//! The index: one slice of bytes that holds everything a search and an answer need.
//!
//! `format.rs` says what lies where, `build.rs` writes it. All reading is total: whatever the bytes say, a row or a text that
//! is not there is empty. So a file that passed [`Index::open`] may be wrong only if somebody made it so on purpose, and even
//! then it does no more than give wrong answers.

mod build;
mod format;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

pub use format::IndexError;
use format::{Layout, Section};

use crate::bytes::Rows;
use crate::document::{Block, BlockKind, Page};
use crate::encoder::Encoder;

/// Pages, ready to be searched.
pub struct Index {
    bytes: Cow<'static, [u8]>,
    layout: Layout,
}

impl fmt::Debug for Index {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Index")
            .field("pages", &self.page_count())
            .field("chunks", &self.chunk_count())
            .finish()
    }
}

impl Index {
    /// Indexes pages. Their order makes no difference: they are kept by path.
    pub fn build(pages: &[Page], encoder: &Encoder) -> Result<Self, IndexError> {
        build::build(pages, encoder, None)
    }

    /// The same as [`Index::build`], in less time: passages that `previous` has already keep their vectors.
    pub fn build_from(previous: &Index, pages: &[Page], encoder: &Encoder) -> Result<Self, IndexError> {
        build::build(pages, encoder, Some(previous))
    }

    /// Checks an index that was kept somewhere, and takes it into use.
    pub fn open(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self, IndexError> {
        let bytes = bytes.into();
        let layout = Layout::read(&bytes)?;
        layout.verify_checksum(&bytes)?;
        Ok(Self { bytes, layout })
    }

    /// Takes an index that is part of this program into use. It was checked when the program was built.
    pub(crate) fn embedded(bytes: &'static [u8]) -> Result<Self, IndexError> {
        Ok(Self { bytes: Cow::Borrowed(bytes), layout: Layout::read(bytes)? })
    }

    /// What is to be kept, for [`Index::open`].
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its pages, by path.
    pub fn pages(&self) -> impl ExactSizeIterator<Item = IndexedPage<'_>> {
        (0..self.page_count()).map(|page| self.page_at(page))
    }

    /// The page at a path.
    pub fn page(&self, path: &str) -> Option<IndexedPage<'_>> {
        let rows = self.page_rows();
        let at = rows.partition_point(|[start, length, ..]| self.text(Section::Names, start, length) < path);
        (at < rows.len()).then(|| self.page_at(at)).filter(|page| page.path == path)
    }

    /// How many passages it has.
    pub fn chunk_count(&self) -> usize {
        self.chunk_rows().len()
    }
}

/// A page of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexedPage<'a> {
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
    pub(crate) page: usize,
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

    pub(crate) fn page_count(&self) -> usize {
        self.page_rows().len()
    }

    pub(crate) fn page_at(&self, page: usize) -> IndexedPage<'_> {
        self.page_from(self.page_rows().get(page))
    }

    /// The path alone: the whole page would be checked to be text, all of it.
    pub(crate) fn path_of(&self, page: usize) -> &str {
        let [start, length, ..] = self.page_rows().get(page);
        self.text(Section::Names, start, length)
    }

    /// The title alone.
    pub(crate) fn title_of(&self, page: usize) -> &str {
        let [_, _, start, length, ..] = self.page_rows().get(page);
        self.text(Section::Names, start, length)
    }

    /// The chunks of a page.
    pub(crate) fn chunks_of(&self, page: usize) -> Range<usize> {
        let rows = self.page_rows();
        let first = |page: usize| rows.get(page)[format::FIRST_CHUNK] as usize;
        let end = if page + 1 < rows.len() { first(page + 1) } else { self.chunk_count() };
        first(page).min(end)..end.min(self.chunk_count())
    }

    pub(crate) fn chunk_at(&self, chunk: usize) -> IndexedChunk<'_> {
        let [page, name, name_length, first_line, last_line, first_block, first_term, hash @ ..] =
            self.chunk_rows().get(chunk);
        IndexedChunk {
            page: page as usize,
            headings: self.text(Section::Names, name, name_length),
            lines: (first_line as usize, last_line as usize),
            hash,
            first_block: first_block as usize,
            first_term: first_term as usize,
        }
    }

    /// The blocks of a chunk, as they stand in the source of its page.
    pub(crate) fn blocks_of(&self, chunk: usize) -> impl Iterator<Item = Block> {
        let blocks = Rows::<3>::of(self.section(Section::Blocks));
        let first = self.chunk_at(chunk).first_block;
        let end =
            if chunk + 1 < self.chunk_count() { self.chunk_at(chunk + 1).first_block } else { blocks.len() };
        let block = |[kind, start, end]: [u32; 3]| Block {
            kind: block_kind(kind),
            bytes: start as usize..end as usize,
        };
        blocks.slice(first, end).iter().map(block)
    }

    /// The chunks in which a term stands, and how much it weighs there.
    pub(crate) fn postings(&self, term: &str) -> Rows<'_, 2> {
        let terms = self.term_rows();
        let at = terms.partition_point(|row| self.term_name(row) < term.as_bytes());
        match u32::try_from(at) {
            Ok(number) if self.term_name(terms.get(at)) == term.as_bytes() => self.postings_of(number),
            _ => Rows::of(&[]),
        }
    }

    /// The same for a term that is known by its number.
    pub(crate) fn postings_of(&self, term: u32) -> Rows<'_, 2> {
        let (terms, all) = (self.term_rows(), Rows::of(self.section(Section::Postings)));
        let next = term as usize + 1;
        let end = if next < terms.len() { terms.get(next)[2] as usize } else { all.len() };
        all.slice(terms.get(term as usize)[2] as usize, end)
    }

    /// The text of a term.
    pub(crate) fn term(&self, term: u32) -> &str {
        str::from_utf8(self.term_name(self.term_rows().get(term as usize))).unwrap_or_default()
    }

    /// The terms of a chunk by their numbers, and how much each weighs there.
    pub(crate) fn contents_of(&self, chunk: usize) -> Rows<'_, 2> {
        let all = Rows::of(self.section(Section::Contents));
        let end =
            if chunk + 1 < self.chunk_count() { self.chunk_at(chunk + 1).first_term } else { all.len() };
        all.slice(self.chunk_at(chunk).first_term, end)
    }

    fn term_name(&self, [name, length, _]: [u32; 3]) -> &[u8] {
        self.raw(Section::Names, name, length)
    }

    /// The sum of the lengths of all chunks.
    pub(crate) fn total_length(&self) -> u64 {
        self.layout.total_length
    }

    /// How many terms each chunk has, every one as often as it weighs.
    pub(crate) fn lengths(&self) -> Rows<'_, 1> {
        Rows::of(self.section(Section::Lengths))
    }

    /// The vectors of all chunks, in order.
    pub(crate) fn vectors(&self) -> impl Iterator<Item = (&[u8], f32)> {
        let scales = Rows::<1>::of(self.section(Section::Scales));
        let numbers = self.section(Section::Vectors).chunks_exact(self.layout.dims.max(1) as usize);
        numbers.zip(scales.iter()).map(|(numbers, [scale])| (numbers, f32::from_bits(scale)))
    }

    fn page_rows(&self) -> Rows<'_, { format::PAGE_ROW }> {
        Rows::of(self.section(Section::Pages))
    }

    fn chunk_rows(&self) -> Rows<'_, { format::CHUNK_ROW }> {
        Rows::of(self.section(Section::Chunks))
    }

    fn term_rows(&self) -> Rows<'_, 3> {
        Rows::of(self.section(Section::Terms))
    }

    fn page_from(&self, row: [u32; format::PAGE_ROW]) -> IndexedPage<'_> {
        let text = |section, at: usize| self.text(section, row[at], row[at + 1]);
        let version = text(Section::Names, 4);
        IndexedPage {
            path: text(Section::Names, 0),
            title: text(Section::Names, 2),
            version: Some(version).filter(|version| !version.is_empty()),
            source: text(Section::Sources, 6),
            hash: std::array::from_fn(|byte| row[format::PAGE_HASH + byte / 4].to_le_bytes()[byte % 4]),
        }
    }

    fn section(&self, section: Section) -> &[u8] {
        self.bytes.get(self.layout.range(section)).unwrap_or_default()
    }

    fn raw(&self, section: Section, start: u32, length: u32) -> &[u8] {
        let start = start as usize;
        self.section(section).get(start..start.saturating_add(length as usize)).unwrap_or_default()
    }

    fn text(&self, section: Section, start: u32, length: u32) -> &str {
        str::from_utf8(self.raw(section, start, length)).unwrap_or_default()
    }
}

/// How kinds of blocks are written. What is not here is prose.
const BLOCK_KINDS: [BlockKind; 5] =
    [BlockKind::Prose, BlockKind::List, BlockKind::Table, BlockKind::Code, BlockKind::CodeLines];

fn block_kind(number: u32) -> BlockKind {
    BLOCK_KINDS.get(number as usize).copied().unwrap_or(BlockKind::Prose)
}

fn block_number(kind: BlockKind) -> u32 {
    BLOCK_KINDS
        .iter()
        .position(|known| *known == kind)
        .and_then(|at| u32::try_from(at).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
