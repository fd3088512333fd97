//! An answer made of the documents' own words.
//!
//! Nothing is written here but headings and marks: every block is quoted literally from a passage that was found, and says
//! by its mark ` [n]` which citation it comes from.

mod quote;

use std::fmt::Write;

use crate::search::{Hit, Library, MIN_GOOD_SCORE, Query, QueryError, SearchMethod, SearchResults};
use quote::QuoteBuilder;

/// What is said instead of an answer.
const NO_MATCH: &str = "No good match in the indexed documentation";
/// An answer with fewer characters goes on with what follows on the page.
const MIN_ANSWER_BYTES: usize = 400;
/// How many pages are quoted from, and how many near misses are named.
const MAX_QUOTED_DOCUMENTS: usize = 3;
const MAX_WEAK_HEADINGS: usize = 3;
/// A page that is named as related needs less than one that is quoted, but not nothing.
const MIN_RELATED_SCORE: f32 = MIN_GOOD_SCORE / 2.0;

/// What can be said about a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Markdown.
    pub text: String,
    /// The pages that are quoted from, best first. The mark `[1]` in the text means the first.
    pub citations: Vec<Citation>,
    /// The mean score of the passages that are quoted; if none is, that of what came nearest.
    pub score: f32,
    /// How many passages are quoted.
    pub chunks_used: usize,
    /// By which means they were found.
    pub modes: Vec<SearchMethod>,
    /// The paths of further pages, best first.
    pub related: Vec<String>,
    /// Where there is no answer: the headings that came nearest.
    pub weak: Vec<String>,
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Citation {
    /// The page.
    pub path: String,
    /// The heading of the passage, or the title of the page.
    pub section: String,
    /// The first and last line of the passage, counted from 1.
    pub lines: (usize, usize),
    /// How good it is, from 0 to 1.
    pub score: f32,
}

impl Library<'_> {
    /// Answers a question from the best passages, or says that there is no good one.
    pub fn answer(&self, query: &Query<'_>) -> Result<Answer, QueryError> {
        let (found, terms) = self.search_with_terms(query)?;
        let good = found.hits.iter().take_while(|hit| hit.score >= MIN_GOOD_SCORE).count();
        if good == 0 {
            return Ok(no_match(&found));
        }
        let mut quotes = QuoteBuilder::new(&terms);
        let mut used: Vec<Hit<'_>> = Vec::new();
        let mut passages = 0;
        for hit in found.hits.iter().take(good.min(MAX_QUOTED_DOCUMENTS)) {
            let is_new = used.iter().all(|other| other.document.path != hit.document.path);
            if is_new && quotes.add(hit, used.len() + 1) {
                passages += 1;
                used.push(hit.clone());
            }
            if let [first] = &mut used[..] {
                passages += quote_following(first, &mut quotes);
            }
        }
        Ok(Answer { chunks_used: passages, ..build_answer(&found, &used, quotes.text) })
    }
}

/// A short passage is often only the beginning: what follows it on its page is quoted too. Returns how many passages.
fn quote_following(hit: &mut Hit<'_>, quotes: &mut QuoteBuilder<'_>) -> usize {
    let page = hit.index.chunk_at(hit.chunk).document;
    let mut passages = 0;
    while quotes.text.len() < MIN_ANSWER_BYTES && hit.chunk + 1 < hit.index.chunk_count() {
        let next = hit.index.chunk_at(hit.chunk + 1);
        if next.document != page {
            break;
        }
        hit.chunk += 1;
        hit.lines.1 = next.lines.1;
        let heading = next.headings().next_back().filter(|heading| hit.headings.last() != Some(heading));
        quotes.add_following(hit, heading);
        passages += 1;
    }
    passages
}

fn build_answer(found: &SearchResults<'_>, used: &[Hit<'_>], mut text: String) -> Answer {
    let mut related: Vec<&Hit<'_>> = Vec::new();
    for hit in found.hits.iter().filter(|hit| hit.score >= MIN_RELATED_SCORE) {
        let is_known = |other: &Hit<'_>| other.document.path == hit.document.path;
        if !used.iter().any(is_known) && !related.iter().any(|other| is_known(other)) {
            related.push(hit);
        }
    }
    if !related.is_empty() {
        text.push_str("### Related Topics\n");
        for hit in &related {
            let _ = writeln!(text, "- {} ({})", hit_label(hit), hit.document.path);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "three at most")]
    let score = used.iter().map(|hit| hit.score).sum::<f32>() / used.len() as f32;
    Answer {
        text: text.trim().to_owned(),
        citations: used.iter().map(citation).collect(),
        score,
        chunks_used: used.len(),
        modes: found.modes.clone(),
        related: related.iter().map(|hit| hit.document.path.to_owned()).collect(),
        weak: Vec::new(),
    }
}

fn no_match(found: &SearchResults<'_>) -> Answer {
    let weak: Vec<String> = found.hits.iter().take(MAX_WEAK_HEADINGS).map(hit_label).collect();
    let mut text = format!("{NO_MATCH}.");
    if !weak.is_empty() {
        text.push_str("\n\nNearest headings, weak matches only:\n");
        for heading in &weak {
            let _ = writeln!(text, "- {heading}");
        }
    }
    Answer {
        text: text.trim().to_owned(),
        citations: Vec::new(),
        score: found.hits.first().map_or(0.0, |hit| hit.score),
        chunks_used: 0,
        modes: found.modes.clone(),
        related: Vec::new(),
        weak,
    }
}

fn citation(hit: &Hit<'_>) -> Citation {
    let Hit { document: page, lines, score, .. } = *hit;
    Citation { path: page.path.to_owned(), section: section_title(hit).to_owned(), lines, score }
}

/// The nearest heading above a passage.
fn section_title<'a>(hit: &Hit<'a>) -> &'a str {
    hit.headings.last().copied().unwrap_or(hit.document.title)
}

/// Title and heading, for lists.
fn hit_label(hit: &Hit<'_>) -> String {
    match hit.headings.last() {
        Some(heading) if *heading != hit.document.title => format!("{}: {heading}", hit.document.title),
        _ => hit.document.title.to_owned(),
    }
}

#[cfg(test)]
mod tests;
