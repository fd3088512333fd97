//! Making an index of pages.

use std::borrow::Cow;
use std::collections::HashMap;

use sha2::{Digest, Sha256};

use super::format::{IndexError, IndexHeader, IndexSection, assemble_index};
use super::{Document, Encoder, Index, block_number};
use crate::bytes::append_u32s;
use crate::document::Chunk;
use crate::encoder::{EncodingSession, QuantizedVector};
use crate::words;

/// How often a term counts in a title, in headings and in a body. A title says what all its passages are about.
const TERM_WEIGHTS: [u32; 3] = [3, 2, 1];
/// How much each adds to the direction of a chunk's vector.
const VECTOR_WEIGHTS: [f32; 3] = [0.5, 0.5, 1.0];

pub(super) fn build_index(
    pages: &[Document],
    encoder: &Encoder,
    previous: Option<&Index>,
) -> Result<Index, IndexError> {
    let mut sorted: Vec<&Document> = pages.iter().collect();
    sorted.sort_by(|a, b| a.path.cmp(&b.path));
    let mut builder = IndexBuilder {
        session: encoder.session(),
        known: previous
            .filter(|index| index.fingerprint() == encoder.fingerprint())
            .map(vectors_by_hash)
            .unwrap_or_default(),
        sections: SectionBuffers::default(),
        terms: TermCollector::default(),
        counts: IndexCounts::default(),
    };
    for page in sorted {
        builder.add_document(page)?;
    }
    builder.finish(encoder)
}

/// The vectors of an index, by the hash of what they were made of.
fn vectors_by_hash(index: &Index) -> HashMap<[u32; 4], QuantizedVector> {
    let hashes = (0..index.chunk_count()).map(|chunk| index.chunk_at(chunk).hash);
    let vector = |(bytes, scale): (&[u8], f32)| QuantizedVector {
        numbers: bytes.iter().map(|byte| byte.cast_signed()).collect(),
        scale,
    };
    hashes.zip(index.vectors().map(vector)).collect()
}

struct IndexBuilder<'a> {
    session: EncodingSession<'a>,
    known: HashMap<[u32; 4], QuantizedVector>,
    sections: SectionBuffers,
    terms: TermCollector,
    counts: IndexCounts,
}

/// How much there is so far.
#[derive(Default)]
struct IndexCounts {
    pages: u32,
    chunks: u32,
    blocks: u32,
    total_length: u64,
}

impl IndexBuilder<'_> {
    fn add_document(&mut self, page: &Document) -> Result<(), IndexError> {
        for name in [&page.path, &page.title, page.version.as_ref().unwrap_or(&String::new())] {
            let place = self.sections.append_text(IndexSection::Names, name)?;
            self.sections.append(IndexSection::Pages, &place);
        }
        let source = self.sections.append_text(IndexSection::Sources, &page.source)?;
        self.sections.append(IndexSection::Pages, &source);
        self.sections.append(IndexSection::Pages, &[self.counts.chunks]);
        self.sections.append(IndexSection::Pages, &hash_texts(&[&page.source]));
        for chunk in &page.chunks {
            self.add_chunk(page, chunk)?;
        }
        self.counts.pages += 1;
        Ok(())
    }

    fn add_chunk(&mut self, page: &Document, chunk: &Chunk) -> Result<(), IndexError> {
        let headings = chunk.headings.join("\n");
        let texts = [page.title.as_str(), &headings, &chunk.text];
        let hash = hash_texts(&texts);
        let vector = match self.known.get(&hash) {
            Some(vector) => vector.clone(),
            None => self.session.encode(texts.into_iter().zip(VECTOR_WEIGHTS)).vector,
        };
        let first_term = to_u32(self.terms.total)?;
        let length = self.terms.add_chunk(self.counts.chunks, texts.into_iter().zip(TERM_WEIGHTS));
        let [name, name_length] = self.sections.append_text(IndexSection::Names, &headings)?;
        let lines = [to_u32(chunk.lines.0)?, to_u32(chunk.lines.1)?];
        let row = [self.counts.pages, name, name_length, lines[0], lines[1], self.counts.blocks, first_term];
        self.sections.append(IndexSection::Chunks, &row);
        self.sections.append(IndexSection::Chunks, &hash);
        self.sections.append(IndexSection::Lengths, &[length]);
        self.sections.append(IndexSection::Scales, &[vector.scale.to_bits()]);
        self.sections.append_signed(IndexSection::Vectors, &vector.numbers);
        for block in &chunk.blocks {
            let place = [block_number(block.kind), to_u32(block.bytes.start)?, to_u32(block.bytes.end)?];
            self.sections.append(IndexSection::Blocks, &place);
            self.counts.blocks += 1;
        }
        self.counts.chunks += 1;
        self.counts.total_length += u64::from(length);
        Ok(())
    }

    fn finish(mut self, encoder: &Encoder) -> Result<Index, IndexError> {
        let mut terms: Vec<_> = self.terms.ids.into_iter().collect();
        terms.sort_unstable();
        let mut contents = vec![Vec::new(); self.counts.chunks as usize];
        let mut postings = 0_usize;
        for (place, (name, id)) in terms.into_iter().enumerate() {
            let [start, length] = self.sections.append_text(IndexSection::Names, &name)?;
            self.sections.append(IndexSection::Terms, &[start, length, to_u32(postings)?]);
            let of_term = &self.terms.postings[id];
            self.sections.append(IndexSection::Postings, of_term.as_flattened());
            for [chunk, frequency] in of_term {
                contents[*chunk as usize].push([to_u32(place)?, *frequency]);
            }
            postings += of_term.len();
        }
        for of_chunk in contents {
            self.sections.append(IndexSection::Contents, of_chunk.as_flattened());
        }
        let bytes = assemble_index(
            encoder.fingerprint(),
            to_u32(encoder.dims())?,
            self.counts.total_length,
            &self.sections.0,
        );
        let layout = IndexHeader::read(&bytes)?;
        Ok(Index { bytes: Cow::Owned(bytes), layout })
    }
}

#[derive(Default)]
struct SectionBuffers([Vec<u8>; IndexSection::COUNT]);

impl SectionBuffers {
    fn append(&mut self, section: IndexSection, numbers: &[u32]) {
        append_u32s(&mut self.0[section as usize], numbers);
    }

    fn append_signed(&mut self, section: IndexSection, numbers: &[i8]) {
        self.0[section as usize].extend(numbers.iter().map(|number| number.cast_unsigned()));
    }

    /// Appends a text, and tells where.
    fn append_text(&mut self, section: IndexSection, text: &str) -> Result<[u32; 2], IndexError> {
        let bytes = &mut self.0[section as usize];
        let start = to_u32(bytes.len())?;
        bytes.extend_from_slice(text.as_bytes());
        to_u32(bytes.len())?;
        Ok([start, to_u32(text.len())?])
    }
}

/// The terms so far, and in which chunks they stand.
#[derive(Default)]
struct TermCollector {
    /// Which term a token is. Stemming costs more than looking up, and most words come again.
    tokens: HashMap<String, Option<usize>>,
    ids: HashMap<String, usize>,
    /// Chunk and weighted frequency.
    postings: Vec<Vec<[u32; 2]>>,
    /// How many postings there are.
    total: usize,
}

impl TermCollector {
    /// Counts the terms of a chunk's texts, each as often as its weight, and gives their sum.
    fn add_chunk<'a>(&mut self, chunk: u32, texts: impl Iterator<Item = (&'a str, u32)>) -> u32 {
        let mut length = 0_u32;
        for (text, weight) in texts {
            words::for_each_token(text, |token| {
                let Some(term) = self.term_id(token) else { return };
                length = length.saturating_add(weight);
                match self.postings[term].last_mut() {
                    Some([last, frequency]) if *last == chunk => {
                        *frequency = frequency.saturating_add(weight);
                    }
                    _ => {
                        self.postings[term].push([chunk, weight]);
                        self.total += 1;
                    }
                }
            });
        }
        length
    }

    fn term_id(&mut self, token: &str) -> Option<usize> {
        if let Some(known) = self.tokens.get(token) {
            return *known;
        }
        let id = words::token_term(token).map(|term| {
            *self.ids.entry(term.into_owned()).or_insert_with(|| {
                self.postings.push(Vec::new());
                self.postings.len() - 1
            })
        });
        self.tokens.insert(token.to_owned(), id);
        id
    }
}

/// The beginning of the SHA-256 of some texts.
fn hash_texts(texts: &[&str]) -> [u32; 4] {
    let mut hasher = Sha256::new();
    for (at, text) in texts.iter().enumerate() {
        // So that what ends one text cannot begin the next.
        hasher.update(if at == 0 { "" } else { "\0" });
        hasher.update(text);
    }
    let digest = hasher.finalize();
    let (numbers, _) = digest.as_chunks::<4>();
    std::array::from_fn(|at| u32::from_le_bytes(numbers[at]))
}

fn to_u32(size: usize) -> Result<u32, IndexError> {
    u32::try_from(size).map_err(|_| IndexError::TooLarge)
}
