//! Searching one or more indexes.
//!
//! Every passage gets two scores: BM25 over terms (`lexical.rs`) and the cosine of its vector (`dense.rs`). Each is brought to
//! 0..1 over all passages, and both are mixed (`mix.rs`). Terms of the best passages are then sought as well
//! (`expansion.rs`), and a page is ranked by its best passage and a little by its next two (`rank.rs`). All passages take part, and the list is cut at the very end: what comes first does not depend on how many are
//! asked for. How good a hit is on its own is another question, which `confidence.rs` answers.

mod confidence;
mod dense;
mod expansion;
mod lexical;
mod mix;
mod query;
mod rank;
mod tuning;

pub use confidence::{Evidence, GOOD};
pub(crate) use query::{Matched, Terms};
pub use query::{Query, QueryError};
pub use tuning::Tuning;

use crate::encoder::Encoder;
use crate::index::{Index, IndexError, IndexedChunk, IndexedPage};
use mix::Mix;

/// Indexes that are searched together, as if they were one.
pub struct Library<'a> {
    encoder: &'a Encoder,
    indexes: Vec<&'a Index>,
    tuning: Tuning,
}

/// What a search came to.
#[derive(Debug)]
pub struct Found<'a> {
    /// The best passage of each page, best first.
    pub hits: Vec<Hit<'a>>,
    /// By which means they were found.
    pub modes: Vec<Mode>,
}

/// A passage that was found.
#[derive(Debug, Clone)]
pub struct Hit<'a> {
    /// The page that it stands on.
    pub page: IndexedPage<'a>,
    /// The headings above it, outermost first.
    pub headings: Vec<&'a str>,
    /// Its first and last line, counted from 1.
    pub lines: (usize, usize),
    /// How sure it is that the page is about what was asked, from 0 to 1.
    pub score: f32,
    /// What the score was made of.
    pub evidence: Evidence,
    pub(crate) index: &'a Index,
    pub(crate) chunk: usize,
}

/// A means of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Words, by BM25.
    Bm25,
    /// Meaning, by vectors from the token table.
    StaticEmbedding,
}

impl Mode {
    /// Its name, for those who asked.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bm25 => "bm25",
            Self::StaticEmbedding => "static-embedding",
        }
    }
}

impl<'a> Library<'a> {
    /// Puts indexes side by side. An index that was made with another token table is refused.
    pub fn new(encoder: &'a Encoder, indexes: Vec<&'a Index>) -> Result<Self, IndexError> {
        let is_ours = |index: &&Index| index.fingerprint() == encoder.fingerprint();
        if !indexes.iter().all(is_ours) {
            return Err(IndexError::OtherTable);
        }
        Ok(Self { encoder, indexes, tuning: Tuning::default() })
    }

    /// The same library with other weights, for experiments.
    #[must_use]
    pub fn tuned(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// The best pages for a question.
    pub fn search(&self, query: &Query<'_>) -> Result<Found<'a>, QueryError> {
        Ok(self.search_terms(query)?.0)
    }

    /// The best pages, and the terms by which they were sought.
    pub(crate) fn search_terms(&self, query: &Query<'_>) -> Result<(Found<'a>, Terms<'a>), QueryError> {
        query.check()?;
        let terms = Terms::of(query, &self.indexes, self.tuning);
        let dense = dense::scores(self.encoder, &terms, query.text);
        let mut mix = Mix::new(self.tuning.dense, terms.scores(), dense);
        let best = mix.best_lexical() / terms.most_of_all();
        if self.tuning.expansion > 0.0 && best < self.tuning.expansion_below {
            let expansion = terms.expansion(&mix.best_chunks(expansion::PASSAGES));
            mix.change_lexical(|scores| terms.add_scores(&expansion, scores));
        }
        let ranked = rank::rank(self, query, &mix);
        let hits = ranked.into_iter().map(|place| {
            let evidence = terms.evidence(place.index, place.chunk, mix.cosine(place.index, place.chunk));
            self.hit(place, evidence)
        });
        let hits = hits.collect();
        let modes = if mix.is_dense() { vec![Mode::Bm25, Mode::StaticEmbedding] } else { vec![Mode::Bm25] };
        Ok((Found { hits, modes }, terms))
    }

    fn hit(&self, place: rank::Place, evidence: Evidence) -> Hit<'a> {
        let index = self.indexes[place.index];
        let chunk: IndexedChunk<'a> = index.chunk_at(place.chunk);
        Hit {
            page: index.page_at(chunk.page),
            headings: chunk.headings().collect(),
            lines: chunk.lines,
            score: evidence.score(),
            evidence,
            index,
            chunk: place.chunk,
        }
    }
}

#[cfg(test)]
mod tests;
