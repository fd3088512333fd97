//! Ranking pages by the scores of their chunks.

use std::cmp::Ordering;

use super::mixed_scores::MixedScores;
use super::{Library, Query};
use crate::index::Index;

/// A page by its best chunk. Indexes and pages have an order, which decides between equals.
#[derive(Debug, Clone, Copy)]
pub(super) struct RankedDocument {
    pub(super) index: usize,
    document: usize,
    pub(super) chunk: usize,
    score: f32,
}

/// Ranks all pages, and gives the first of them.
pub(super) fn rank_documents(
    library: &Library<'_>,
    query: &Query<'_>,
    mix: &MixedScores,
) -> Vec<RankedDocument> {
    let mut places = Vec::new();
    for (number, index) in library.indexes.iter().enumerate() {
        let mixed = mix.scores(number);
        for page in 0..index.document_count() {
            let chunks = index.document_chunks(page);
            let luck = library.tuning.page_length * log_chunk_count(chunks.len());
            let mixed = mixed.get(chunks.clone()).unwrap_or_default();
            let beginning = chunks.start;
            let scores = mixed.iter().copied().zip(chunks);
            let Some((chunk, score)) = document_score(scores, library.tuning.page_evidence) else { continue };
            let (chunk, named) = if is_title_match(index.document_title(page), query.text) {
                // A page that is about nothing else answers at its beginning.
                (beginning, library.tuning.title_boost)
            } else if mentions_hint(index, page, chunk, query.hints) {
                (chunk, library.tuning.hint_boost)
            } else {
                (chunk, 0.0)
            };
            places.push(RankedDocument { index: number, document: page, chunk, score: score + named - luck });
        }
    }
    top_ranked(places, query.top)
}

/// What the chance of a page to fit by luck grows with.
#[expect(clippy::cast_precision_loss, reason = "a logarithm of a count")]
fn log_chunk_count(chunks: usize) -> f32 {
    (chunks.max(1) as f32).ln()
}

/// A page's best chunk, and the page's score: that of this chunk and a little of the next two.
fn document_score(scores: impl Iterator<Item = (f32, usize)>, evidence: f32) -> Option<(usize, f32)> {
    let mut best = [0.0_f32; 3];
    let mut best_chunk = None;
    for (score, chunk) in scores {
        if score > best[0] {
            best = [score, best[0], best[1]];
            best_chunk = Some(chunk);
        } else if score > best[1] {
            best = [best[0], score, best[1]];
        } else if score > best[2] {
            best[2] = score;
        }
    }
    Some((best_chunk?, best[0] + evidence * f32::midpoint(best[1], best[2])))
}

/// Whether a title is the question, word for word. Where all is about one thing, "What is it?" has no rare word to go by.
fn is_title_match(title: &str, question: &str) -> bool {
    normalized_letters(title).eq(normalized_letters(question))
}

fn normalized_letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// Whether the path or a heading has a hint in it.
fn mentions_hint(index: &Index, page: usize, chunk: usize, hints: &[&str]) -> bool {
    let has = |text: &str, hint: &str| {
        text.as_bytes().windows(hint.len()).any(|part| part.eq_ignore_ascii_case(hint.as_bytes()))
    };
    let mut hints = hints.iter().map(|hint| hint.trim()).filter(|hint| !hint.is_empty());
    hints.any(|hint| {
        has(index.document_path(page), hint)
            || index.chunk_at(chunk).headings().any(|heading| has(heading, hint))
    })
}

/// The best places in order. The order is total, so that fewer are always the beginning of more.
fn top_ranked(mut places: Vec<RankedDocument>, top: usize) -> Vec<RankedDocument> {
    let order = |a: &RankedDocument, b: &RankedDocument| -> Ordering {
        b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)).then(a.document.cmp(&b.document))
    };
    if top < places.len() {
        places.select_nth_unstable_by(top, order);
        places.truncate(top);
    }
    places.sort_unstable_by(order);
    places
}
