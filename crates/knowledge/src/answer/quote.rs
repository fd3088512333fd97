//! Choosing what to quote, and quoting it.

use std::fmt::Write;

use super::section_title;
use crate::document::{DocumentBlock, DocumentBlockKind};
use crate::search::{Hit, MatchedTerms, QueryTerms};

/// How many characters are quoted of the best passage, and of each further one.
const MAX_BEST_PASSAGE_CHARS: usize = 2400;
const MAX_FURTHER_PASSAGE_CHARS: usize = 800;
/// A further passage adds something if it has at least this share of the question that was not answered before.
const MIN_ADDED_SHARE: f32 = 0.15;

/// What has been quoted so far.
pub(super) struct QuoteBuilder<'a> {
    terms: &'a QueryTerms<'a>,
    covered: MatchedTerms,
    pub(super) text: String,
}

struct QuoteCandidate<'a> {
    kind: DocumentBlockKind,
    text: &'a str,
    matched: MatchedTerms,
}

impl<'a> QuoteBuilder<'a> {
    pub(super) fn new(terms: &'a QueryTerms<'a>) -> Self {
        Self { terms, covered: terms.match_text(""), text: String::new() }
    }

    /// Quotes a hit under a number: the first as it stands, any other where it adds something. `false` if it does not.
    pub(super) fn add(&mut self, hit: &Hit<'_>, number: usize) -> bool {
        let candidates = self.candidates(hit);
        let chosen =
            if number == 1 { self.choose_best(candidates) } else { self.choose_additions(candidates) };
        let Some(_) = chosen.first() else { return false };
        let level = if number == 1 { "##" } else { "###" };
        let _ = write!(self.text, "{level} {}\n\n", section_title(hit));
        for candidate in &chosen {
            self.covered.add(&candidate.matched);
            self.text.push_str(&render_quote(candidate.kind, candidate.text, number));
        }
        true
    }

    /// Quotes all of the passage that comes after the first hit's, under a heading of its own if it has one.
    pub(super) fn add_following(&mut self, hit: &Hit<'_>, heading: Option<&str>) {
        if let Some(heading) = heading {
            let _ = write!(self.text, "### {heading}\n\n");
        }
        for candidate in select_by_value(self.candidates(hit), MAX_BEST_PASSAGE_CHARS, |_| 1.0) {
            self.covered.add(&candidate.matched);
            self.text.push_str(&render_quote(candidate.kind, candidate.text, 1));
        }
    }

    fn candidates<'h>(&self, hit: &Hit<'h>) -> Vec<QuoteCandidate<'h>> {
        let candidate = |DocumentBlock { kind, bytes }: DocumentBlock| {
            let text = hit.document.source.get(bytes).filter(|text| !text.trim().is_empty())?;
            Some(QuoteCandidate { kind, text, matched: self.terms.match_text(text) })
        };
        hit.index.chunk_blocks(hit.chunk).filter_map(candidate).collect()
    }

    /// As many blocks as there is room for: first those that have most of the question, and of these the earlier ones.
    fn choose_best<'h>(&self, candidates: Vec<QuoteCandidate<'h>>) -> Vec<QuoteCandidate<'h>> {
        select_by_value(candidates, MAX_BEST_PASSAGE_CHARS, |candidate| {
            self.terms.coverage(&candidate.matched)
        })
    }

    /// Blocks that have what is missing so far.
    fn choose_additions<'h>(&self, candidates: Vec<QuoteCandidate<'h>>) -> Vec<QuoteCandidate<'h>> {
        let gain =
            |candidate: &QuoteCandidate<'_>| self.terms.coverage(&candidate.matched.without(&self.covered));
        let worthy = candidates.into_iter().filter(|candidate| gain(candidate) >= MIN_ADDED_SHARE).collect();
        select_by_value(worthy, MAX_FURTHER_PASSAGE_CHARS, gain)
    }
}

/// Keeps the most valuable blocks that fit, in their order; the most valuable one even if it does not.
fn select_by_value(
    blocks: Vec<QuoteCandidate<'_>>,
    room: usize,
    value: impl Fn(&QuoteCandidate<'_>) -> f32,
) -> Vec<QuoteCandidate<'_>> {
    let mut by_value: Vec<usize> = (0..blocks.len()).collect();
    by_value.sort_by(|a, b| value(&blocks[*b]).total_cmp(&value(&blocks[*a])).then(a.cmp(b)));
    let mut room = room;
    let mut kept = vec![false; blocks.len()];
    for (rank, at) in by_value.into_iter().enumerate() {
        let size = blocks[at].text.chars().count();
        if rank == 0 || size <= room {
            kept[at] = true;
            room = room.saturating_sub(size);
        }
    }
    blocks.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(block, _)| block).collect()
}

/// A block, literally, and the mark that says where it is from.
pub(super) fn render_quote(kind: DocumentBlockKind, text: &str, number: usize) -> String {
    let last_line = text.lines().next_back().unwrap_or_default().trim_start();
    let is_fence = |line: &str| line.starts_with("```") || line.starts_with("~~~");
    match kind {
        DocumentBlockKind::CodeLines => {
            let fence = fence_around(text);
            format!("{fence}\n{text}\n{fence}\n\n[{number}]\n\n")
        }
        // One that is not closed would take in everything after it.
        DocumentBlockKind::Code if is_fence(text) && !is_fence(last_line) => {
            let fence: String = text.chars().take_while(|c| "`~".contains(*c)).collect();
            format!("{text}\n{fence}\n\n[{number}]\n\n")
        }
        // A mark in the last line would become part of a row, a fence, a tag or an admonition.
        _ if matches!(kind, DocumentBlockKind::Code | DocumentBlockKind::Table)
            || is_fence(last_line)
            || last_line.starts_with([':', '<']) =>
        {
            format!("{text}\n\n[{number}]\n\n")
        }
        _ => format!("{text} [{number}]\n\n"),
    }
}

/// A fence that does not stand in the text itself.
fn fence_around(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat((longest + 1).max(3))
}
