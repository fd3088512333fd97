//! Packing blocks into chunks.

use std::ops::Range;

use super::line_index::LineIndex;
use super::split::split_text;
use super::{Chunk, DocumentBlock, DocumentBlockKind, DocumentFormat, OutlinePart};

/// How many characters a chunk holds. Smaller ones are found for less than they mean, larger ones for too much.
const MAX_CHUNK_CHARS: usize = 1200;
/// Code is kept whole up to this length: half an example is useless.
const MAX_CODE_CHARS: usize = 3 * MAX_CHUNK_CHARS;
/// What is shorter and stands at the end of a section goes along with what is before it.
const MIN_CHUNK_CHARS: usize = 100;
/// What is shorter and stands before a subsection says nothing alone.
const MIN_INTRODUCTION_CHARS: usize = 30;

/// Makes chunks of a page's parts: one or more for each section, of whole blocks where that is possible.
pub(super) fn pack_chunks(
    source: &str,
    format: DocumentFormat,
    title: &str,
    parts: Vec<OutlinePart>,
) -> Vec<Chunk> {
    let mut packer = ChunkPacker::new(source, format);
    for part in parts {
        match part {
            // The title is searched with every chunk anyway.
            OutlinePart::Heading { level: 1, text } if text == title => packer.begin_section(1, None),
            OutlinePart::Heading { level, text } => packer.begin_section(level, Some(text)),
            OutlinePart::Body { block, split_points: seams } => {
                for block in split_block(source, block, &seams) {
                    packer.add(block);
                }
            }
        }
    }
    packer.end_section();
    packer.chunks
}

struct ChunkPacker<'a> {
    source: &'a str,
    format: DocumentFormat,
    lines: LineIndex,
    /// The headings above, with their levels.
    headings: Vec<(usize, String)>,
    /// The chunk that is being filled, and how many characters it has.
    blocks: Vec<DocumentBlock>,
    size: usize,
    /// Whether the last chunk that was made belongs to the section that is being read.
    has_chunk: bool,
    chunks: Vec<Chunk>,
}

impl<'a> ChunkPacker<'a> {
    fn new(source: &'a str, format: DocumentFormat) -> Self {
        let (headings, blocks, chunks) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            source,
            format,
            lines: LineIndex::new(source),
            headings,
            blocks,
            size: 0,
            has_chunk: false,
            chunks,
        }
    }

    fn begin_section(&mut self, level: usize, heading: Option<String>) {
        let is_deeper = self.headings.last().is_none_or(|(above, _)| *above < level);
        if !(is_deeper && self.is_only_introduction()) {
            self.end_section();
        }
        self.has_chunk = false;
        self.headings.retain(|(above, _)| *above < level);
        self.headings.extend(heading.filter(|text| !text.is_empty()).map(|text| (level, text)));
    }

    /// Whether the section so far only leads to what follows: "There are two ways:" goes with the first of them.
    fn is_only_introduction(&self) -> bool {
        let ends_open =
            self.blocks.last().is_some_and(|block| self.source[block.bytes.clone()].ends_with(':'));
        !self.has_chunk && (self.size < MIN_INTRODUCTION_CHARS || (self.size < MIN_CHUNK_CHARS && ends_open))
    }

    fn end_section(&mut self) {
        if self.size < MIN_CHUNK_CHARS
            && self.has_chunk
            && let Some(mut last) = self.chunks.pop()
        {
            last.blocks.append(&mut self.blocks);
            self.blocks = last.blocks;
        }
        self.finish_chunk();
    }

    fn add(&mut self, block: DocumentBlock) {
        let size = self.source[block.bytes.clone()].chars().count();
        if self.size + size > MAX_CHUNK_CHARS && self.size >= MIN_CHUNK_CHARS {
            self.finish_chunk();
        }
        self.size += size;
        self.blocks.push(block);
    }

    fn finish_chunk(&mut self) {
        let blocks = merge_pieces(self.source, std::mem::take(&mut self.blocks));
        self.size = 0;
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return };
        let bytes = first.bytes.start..last.bytes.end;
        let words =
            |block: &DocumentBlock| self.format.plain_text(block.kind, &self.source[block.bytes.clone()]);
        self.chunks.push(Chunk {
            headings: self.headings.iter().map(|(_, text)| text.clone()).collect(),
            lines: (self.lines.line_number(bytes.start), self.lines.line_number(bytes.end.saturating_sub(1))),
            text: blocks.iter().map(words).collect::<Vec<_>>().join("\n"),
            bytes,
            blocks,
        });
        self.has_chunk = true;
    }
}

/// A block, or if it is too long the pieces of it.
fn split_block(source: &str, block: DocumentBlock, seams: &[usize]) -> Vec<DocumentBlock> {
    let length = |bytes: &Range<usize>| source[bytes.clone()].chars().count();
    let limit = if block.kind == DocumentBlockKind::Code { MAX_CODE_CHARS } else { MAX_CHUNK_CHARS };
    if length(&block.bytes) <= limit {
        return vec![block];
    }
    if block.kind == DocumentBlockKind::Code {
        let lines = split_text(source, strip_fence(source, block.bytes), MAX_CHUNK_CHARS);
        return lines
            .into_iter()
            .map(|bytes| DocumentBlock { kind: DocumentBlockKind::CodeLines, bytes })
            .collect();
    }
    let starts = [block.bytes.start].into_iter().chain(seams.iter().copied());
    let ends = seams.iter().copied().chain([block.bytes.end]);
    let cut_further = |(start, end): (usize, usize)| {
        let kind =
            if length(&(start..end)) <= MAX_CHUNK_CHARS { block.kind } else { DocumentBlockKind::Prose };
        split_text(source, start..end, MAX_CHUNK_CHARS)
            .into_iter()
            .map(move |bytes| DocumentBlock { kind, bytes })
    };
    starts.zip(ends).flat_map(cut_further).collect()
}

/// The lines of code without the fence around them, if there is one.
fn strip_fence(source: &str, bytes: Range<usize>) -> Range<usize> {
    let is_fence = |line: &str| ["```", "~~~"].iter().any(|mark| line.trim_start().starts_with(mark));
    let code = &source[bytes.clone()];
    let head = code.split_inclusive('\n').next().filter(|line| is_fence(line)).map_or(0, str::len);
    let tail = code.rsplit('\n').next().filter(|line| head > 0 && is_fence(line)).map_or(0, str::len);
    bytes.start + head..(bytes.end - tail).max(bytes.start + head)
}

/// Puts pieces that came together again into one block.
fn merge_pieces(source: &str, pieces: Vec<DocumentBlock>) -> Vec<DocumentBlock> {
    let mut blocks: Vec<DocumentBlock> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match blocks.last_mut() {
            Some(last) if last.kind == piece.kind && can_merge(source, last, &piece) => {
                last.bytes.end = piece.bytes.end;
            }
            _ => blocks.push(piece),
        }
    }
    blocks
}

fn can_merge(source: &str, last: &DocumentBlock, piece: &DocumentBlock) -> bool {
    let between = &source[last.bytes.end..piece.bytes.start];
    let is_blank = between.trim().is_empty();
    match piece.kind {
        DocumentBlockKind::List | DocumentBlockKind::Table | DocumentBlockKind::CodeLines => is_blank,
        DocumentBlockKind::Prose => is_blank && between.matches('\n').count() < 2,
        DocumentBlockKind::Code => false,
    }
}
