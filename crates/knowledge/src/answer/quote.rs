//! Choosing what to quote, and quoting it.

use std::fmt::Write;

use super::section;
use crate::document::{Block, BlockKind};
use crate::search::{Hit, Matched, Terms};

/// How many characters are quoted of the best passage, and of each further one.
const BEST_PASSAGE: usize = 2400;
const FURTHER_PASSAGE: usize = 800;
/// A further passage adds something if it has at least this share of the question that was not answered before.
const WORTH_ADDING: f32 = 0.15;

/// What has been quoted so far.
pub(super) struct Quotes<'a> {
    terms: &'a Terms<'a>,
    covered: Matched,
    pub(super) text: String,
}

struct Candidate<'a> {
    kind: BlockKind,
    text: &'a str,
    matched: Matched,
}

impl<'a> Quotes<'a> {
    pub(super) fn new(terms: &'a Terms<'a>) -> Self {
        Self { terms, covered: terms.matched(""), text: String::new() }
    }

    /// Quotes a hit under a number: the first as it stands, any other where it adds something. `false` if it does not.
    pub(super) fn add(&mut self, hit: &Hit<'_>, number: usize) -> bool {
        let candidates = self.candidates(hit);
        let chosen = if number == 1 { self.best(candidates) } else { self.additions(candidates) };
        let Some(_) = chosen.first() else { return false };
        let level = if number == 1 { "##" } else { "###" };
        let _ = write!(self.text, "{level} {}\n\n", section(hit));
        for candidate in &chosen {
            self.covered.add(&candidate.matched);
            self.text.push_str(&quoted(candidate.kind, candidate.text, number));
        }
        true
    }

    /// Quotes all of the passage that comes after the first hit's, under a heading of its own if it has one.
    pub(super) fn go_on(&mut self, hit: &Hit<'_>, heading: Option<&str>) {
        if let Some(heading) = heading {
            let _ = write!(self.text, "### {heading}\n\n");
        }
        for candidate in keep(self.candidates(hit), BEST_PASSAGE, |_| 1.0) {
            self.covered.add(&candidate.matched);
            self.text.push_str(&quoted(candidate.kind, candidate.text, 1));
        }
    }

    fn candidates<'h>(&self, hit: &Hit<'h>) -> Vec<Candidate<'h>> {
        let candidate = |Block { kind, bytes }: Block| {
            let text = hit.page.source.get(bytes).filter(|text| !text.trim().is_empty())?;
            Some(Candidate { kind, text, matched: self.terms.matched(text) })
        };
        hit.index.blocks_of(hit.chunk).filter_map(candidate).collect()
    }

    /// As many blocks as there is room for: first those that have most of the question, and of these the earlier ones.
    fn best<'h>(&self, candidates: Vec<Candidate<'h>>) -> Vec<Candidate<'h>> {
        keep(candidates, BEST_PASSAGE, |candidate| self.terms.share_of(&candidate.matched))
    }

    /// Blocks that have what is missing so far.
    fn additions<'h>(&self, candidates: Vec<Candidate<'h>>) -> Vec<Candidate<'h>> {
        let gain = |candidate: &Candidate<'_>| self.terms.share_of(&candidate.matched.without(&self.covered));
        let worthy = candidates.into_iter().filter(|candidate| gain(candidate) >= WORTH_ADDING).collect();
        keep(worthy, FURTHER_PASSAGE, gain)
    }
}

/// Keeps the most valuable blocks that fit, in their order; the most valuable one even if it does not.
fn keep(
    blocks: Vec<Candidate<'_>>,
    room: usize,
    value: impl Fn(&Candidate<'_>) -> f32,
) -> Vec<Candidate<'_>> {
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
pub(super) fn quoted(kind: BlockKind, text: &str, number: usize) -> String {
    let last_line = text.lines().next_back().unwrap_or_default().trim_start();
    let is_fence = |line: &str| line.starts_with("```") || line.starts_with("~~~");
    match kind {
        BlockKind::CodeLines => {
            let fence = fence_around(text);
            format!("{fence}\n{text}\n{fence}\n\n[{number}]\n\n")
        }
        // One that is not closed would take in everything after it.
        BlockKind::Code if is_fence(text) && !is_fence(last_line) => {
            let fence: String = text.chars().take_while(|c| "`~".contains(*c)).collect();
            format!("{text}\n{fence}\n\n[{number}]\n\n")
        }
        // A mark in the last line would become part of a row, a fence, a tag or an admonition.
        _ if matches!(kind, BlockKind::Code | BlockKind::Table)
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
