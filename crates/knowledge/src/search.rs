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
mod mixed_scores;
mod query;
mod rank;
mod tuning;

pub use confidence::{HitEvidence, MIN_GOOD_SCORE};
pub(crate) use query::{MatchedTerms, QueryTerms};
pub use query::{Query, QueryError};
pub use tuning::Tuning;

use crate::encoder::Encoder;
use crate::index::{Index, IndexError, IndexedChunk, IndexedDocument};
use mixed_scores::MixedScores;

/// Indexes that are searched together, as if they were one.
pub struct Library<'a> {
    encoder: &'a Encoder,
    indexes: Vec<&'a Index>,
    tuning: Tuning,
}

/// What a search came to.
#[derive(Debug)]
pub struct SearchResults<'a> {
    /// The best passage of each page, best first.
    pub hits: Vec<Hit<'a>>,
    /// By which means they were found.
    pub modes: Vec<SearchMethod>,
}

/// A passage that was found.
#[derive(Debug, Clone)]
pub struct Hit<'a> {
    /// The page that it stands on.
    pub document: IndexedDocument<'a>,
    /// The headings above it, outermost first.
    pub headings: Vec<&'a str>,
    /// Its first and last line, counted from 1.
    pub lines: (usize, usize),
    /// How sure it is that the page is about what was asked, from 0 to 1.
    pub score: f32,
    /// What the score was made of.
    pub evidence: HitEvidence,
    pub(crate) index: &'a Index,
    pub(crate) chunk: usize,
}

/// A means of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchMethod {
    /// Words, by BM25.
    Bm25,
    /// Meaning, by vectors from the token table.
    StaticEmbedding,
}

impl SearchMethod {
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
    pub fn with_tuning(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// The best pages for a question.
    pub fn search(&self, query: &Query<'_>) -> Result<SearchResults<'a>, QueryError> {
        Ok(self.search_with_terms(query)?.0)
    }

    /// The best pages, and the terms by which they were sought.
    pub(crate) fn search_with_terms(
        &self,
        query: &Query<'_>,
    ) -> Result<(SearchResults<'a>, QueryTerms<'a>), QueryError> {
        query.validate()?;
        let terms = QueryTerms::new(query, &self.indexes, self.tuning);
        let dense = dense::cosine_scores(self.encoder, &terms, query.text);
        let mut mix = MixedScores::new(self.tuning.dense, terms.lexical_scores(), dense);
        let best = mix.best_lexical() / terms.max_possible_score();
        if self.tuning.expansion > 0.0 && best < self.tuning.expansion_below {
            let expansion = terms.expansion_terms(&mix.top_chunks(expansion::MAX_EXPANSION_PASSAGES));
            mix.update_lexical(|scores| terms.add_scores(&expansion, scores));
        }
        let ranked = rank::rank_documents(self, query, &mix);
        let hits = ranked.into_iter().map(|place| {
            let evidence = terms.evidence(place.index, place.chunk, mix.cosine(place.index, place.chunk));
            self.build_hit(place, evidence)
        });
        let hits = hits.collect();
        let modes = if mix.uses_dense() {
            vec![SearchMethod::Bm25, SearchMethod::StaticEmbedding]
        } else {
            vec![SearchMethod::Bm25]
        };
        Ok((SearchResults { hits, modes }, terms))
    }

    fn build_hit(&self, place: rank::RankedDocument, evidence: HitEvidence) -> Hit<'a> {
        let index = self.indexes[place.index];
        let chunk: IndexedChunk<'a> = index.chunk_at(place.chunk);
        Hit {
            document: index.document_at(chunk.document),
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
