//! What lies where in an index.
//!
//! Little-endian. A header: magic, format, checksum of everything behind it, fingerprint of the token table, numbers per vector,
//! total length of all chunks, and where each section begins and ends. Then the sections. Tables are rows of u32; texts
//! are named by where they begin in a section and how long they are.

use std::ops::Range;

use crate::bytes::{U32Rows, append_u32s};

pub(super) const MAGIC: &[u8] = b"FXINDEX1";
/// Counts up whenever what is written would be misread: rows, but also how words are made of text.
const FORMAT: u32 = 1;
/// Magic, then: format, checksum, fingerprint, dims, total length (two numbers), and two pairs for each section.
const HEADER_BYTES: usize = 8 + 4 * 6 + 16 * IndexSection::COUNT;
/// Where the checksum stands. It is of all that comes after it.
const CHECKSUM_OFFSET: usize = 8 + 4;
const CHECKSUM_END: usize = CHECKSUM_OFFSET + 4;

/// Path, title, version and source with their lengths, first chunk, hash.
pub(super) const DOCUMENT_ROW_LEN: usize = 13;
pub(super) const FIRST_CHUNK_COLUMN: usize = 8;
pub(super) const DOCUMENT_HASH_COLUMN: usize = 9;
/// Page, headings and their length, first and last line, first block, first term, hash.
pub(super) const CHUNK_ROW_LEN: usize = 11;

/// The parts of the file, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IndexSection {
    /// Paths, titles, headings, terms.
    Names,
    /// The documents themselves.
    Sources,
    Pages,
    Chunks,
    /// Of each chunk, in terms.
    Lengths,
    /// Kind, begin and end in the source of the page.
    Blocks,
    /// Name, length, first posting.
    Terms,
    /// Chunk, weighted frequency.
    Postings,
    /// The same by chunk: term, weighted frequency.
    Contents,
    /// Of each chunk's vector.
    Scales,
    Vectors,
}

impl IndexSection {
    pub(super) const COUNT: usize = Self::Vectors as usize + 1;
}

/// Why bytes are not an index, or pages cannot become one.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// Something else.
    #[error("this is not an index of documents: it does not begin with `FXINDEX1`")]
    NotAnIndex,
    /// Made by a program that is older or newer.
    #[error("the index has format {found}, and this program reads {FORMAT}; index the documents again")]
    OtherFormat {
        /// Its number.
        found: u32,
    },
    /// Cut off, or changed.
    #[error("the index is damaged ({0}); index the documents again")]
    Damaged(&'static str),
    /// Made with another token table, so that its vectors mean something else.
    #[error("the index was made with another token table; index the documents again")]
    OtherTable,
    /// Positions in the file would not fit their numbers.
    #[error("the documents are too large for one index: more than 4 GB; index fewer of them together")]
    TooLarge,
}

/// The header of an index.
pub(super) struct IndexHeader {
    pub(super) fingerprint: u32,
    pub(super) dims: u32,
    pub(super) total_length: u64,
    checksum: u32,
    ranges: [Range<usize>; IndexSection::COUNT],
}

impl IndexHeader {
    /// Reads the header. Every section then lies within the file.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, IndexError> {
        let numbers = bytes.strip_prefix(MAGIC).ok_or(IndexError::NotAnIndex)?;
        if bytes.len() < HEADER_BYTES {
            return Err(IndexError::Damaged("it is cut off"));
        }
        let [format, checksum, fingerprint, dims, low, high] = U32Rows::<6>::from_bytes(numbers).get(0);
        if format != FORMAT {
            return Err(IndexError::OtherFormat { found: format });
        }
        let places = U32Rows::<4>::from_bytes(&numbers[4 * 6..]);
        let mut is_whole = true;
        let ranges = std::array::from_fn(|section| {
            let [start, start_high, end, end_high] = places.get(section);
            let place = |low, high| usize::try_from(join_u64(low, high)).unwrap_or(usize::MAX);
            let range = place(start, start_high)..place(end, end_high);
            is_whole &= HEADER_BYTES <= range.start && bytes.get(range.clone()).is_some();
            range
        });
        let layout = Self { fingerprint, dims, total_length: join_u64(low, high), checksum, ranges };
        let chunks = layout.range(IndexSection::Chunks).len() / (4 * CHUNK_ROW_LEN);
        is_whole &= layout.range(IndexSection::Vectors).len() == chunks.saturating_mul(dims as usize);
        if is_whole { Ok(layout) } else { Err(IndexError::Damaged("it is cut off")) }
    }

    pub(super) fn verify_checksum(&self, bytes: &[u8]) -> Result<(), IndexError> {
        let found = crc32fast::hash(bytes.get(CHECKSUM_END..).unwrap_or_default());
        if found == self.checksum { Ok(()) } else { Err(IndexError::Damaged("its checksum is wrong")) }
    }

    pub(super) fn range(&self, section: IndexSection) -> Range<usize> {
        self.ranges[section as usize].clone()
    }
}

/// Writes a whole index.
pub(super) fn assemble_index(
    fingerprint: u32,
    dims: u32,
    total_length: u64,
    sections: &[Vec<u8>; IndexSection::COUNT],
) -> Vec<u8> {
    let mut bytes =
        Vec::with_capacity(HEADER_BYTES + sections.iter().map(|section| section.len() + 4).sum::<usize>());
    bytes.extend_from_slice(MAGIC);
    append_u32s(&mut bytes, &[FORMAT, 0, fingerprint, dims]);
    append_u32s(&mut bytes, &split_u64(total_length));
    let mut at = HEADER_BYTES as u64;
    for section in sections {
        append_u32s(&mut bytes, &split_u64(at));
        append_u32s(&mut bytes, &split_u64(at + section.len() as u64));
        at += section.len() as u64;
    }
    for section in sections {
        bytes.extend_from_slice(section);
    }
    write_checksum(&mut bytes);
    bytes
}

pub(super) fn write_checksum(bytes: &mut [u8]) {
    let checksum = crc32fast::hash(&bytes[CHECKSUM_END..]);
    bytes[CHECKSUM_OFFSET..CHECKSUM_END].copy_from_slice(&checksum.to_le_bytes());
}

fn join_u64(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

#[expect(clippy::cast_possible_truncation, reason = "the other half is kept too")]
fn split_u64(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}
