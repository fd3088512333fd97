//! What it costs when there is more: made-up documents, whose words are as unevenly spread as those of a language.

use std::time::Instant;

use server::knowledge::{Document, Encoder, Index, Library, Query};

use crate::BenchResult;
use crate::peer::memory;
use crate::table::FigureTable;

const PASSAGE_COUNTS: [usize; 4] = [1_000, 10_000, 100_000, 500_000];
/// Words that documents are made of: those of our own pages, so that the token table knows them.
const WORD_SOURCE: &str = include_str!("../../../docs/protocol.md");
const WORDS_PER_PASSAGE: u64 = 80;
const QUESTION_COUNT: u64 = 50;

pub(super) fn build_table(encoder: &Encoder, quick: bool) -> BenchResult<FigureTable> {
    let columns = ["index, s", "index, MB", "memory, MB", "p50, ms", "p50 for 1,000 passages, µs"];
    let mut table = FigureTable::without_ratios("Search in made-up documents", &columns);
    let words: Vec<&str> = WORD_SOURCE.split_whitespace().collect();
    for size in PASSAGE_COUNTS.into_iter().take(if quick { 2 } else { PASSAGE_COUNTS.len() }) {
        let mut random = XorshiftWords(size as u64);
        let pages: Vec<Document> =
            (0..size / 10).map(|number| generate_page(number, &words, &mut random)).collect();
        let start = Instant::now();
        let index = Index::build(&pages, encoder)?;
        let indexing = start.elapsed().as_secs_f64();
        drop(pages);
        let library = Library::new(encoder, vec![&index])?;
        let mut times = Vec::new();
        for _ in 0..QUESTION_COUNT {
            let text = random.sentence(&words, 8);
            let start = Instant::now();
            library.search(&Query { text: &text, hints: &[], top: 5 })?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let p50 = crate::table::median(times).unwrap_or_default();
        let megabytes = index.bytes().len() as f64 / 1e6;
        let each = p50 * 1e6 / size as f64;
        // The index, the tables, and little else by now.
        let memory = memory(std::process::id()).ok();
        let figures = [Some(indexing), Some(megabytes), memory, Some(p50), Some(each)];
        table.add_row(&format!("{size} passages"), figures.to_vec());
    }
    Ok(table)
}

/// A page of ten passages.
fn generate_page(number: usize, words: &[&str], random: &mut XorshiftWords) -> Document {
    let passages: Vec<(Vec<String>, String)> = (0..10)
        .map(|_| (vec![random.sentence(words, 3)], random.sentence(words, WORDS_PER_PASSAGE)))
        .collect();
    let title = random.sentence(words, 3);
    let passages = passages.iter().map(|(headings, text)| (headings.clone(), text.as_str()));
    Document::from_passages(format!("{number:07}.md"), title, passages)
}

/// The same numbers in every run (xorshift).
struct XorshiftWords(u64);

impl XorshiftWords {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn sentence(&mut self, words: &[&str], length: u64) -> String {
        let word =
            |random: &mut Self| words[usize::try_from(random.next() % words.len() as u64).unwrap_or(0)];
        (0..length).map(|_| word(self)).collect::<Vec<_>>().join(" ")
    }
}
