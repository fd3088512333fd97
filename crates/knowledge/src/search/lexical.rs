//! BM25 over terms, each counted by the field it stands in.

use super::query::{QueryTerm, QueryTerms};

impl<'a> QueryTerms<'a> {
    /// The score of every chunk of every index, by the terms of the question and its hints.
    pub(super) fn lexical_scores(&self) -> Vec<Vec<f32>> {
        let mut scores: Vec<_> = self.indexes.iter().map(|index| vec![0.0; index.chunk_count()]).collect();
        self.add_scores(&self.own, &mut scores);
        self.add_scores(&self.hinted, &mut scores);
        scores
    }

    /// Adds what some terms bring to each chunk.
    pub(super) fn add_scores(&self, terms: &[QueryTerm<'a>], scores: &mut [Vec<f32>]) {
        for term in terms {
            let most = self.max_term_score(term);
            for ((index, postings), scores) in self.indexes.iter().zip(&term.postings).zip(scores.iter_mut())
            {
                let lengths = index.lengths();
                for [chunk, frequency] in postings.iter() {
                    if let Some(score) = scores.get_mut(chunk as usize) {
                        let [length] = lengths.get(chunk as usize);
                        *score += most * saturation(frequency, self.norm(length));
                    }
                }
            }
        }
    }

    /// The score of one chunk by the question alone, as a share of the best there could be. And how much of what was asked
    /// stands in the chunk at all, rare terms counting more.
    pub(super) fn lexical_and_coverage(&self, index: usize, chunk: usize) -> (f32, f32) {
        let norm = self.norm(self.indexes[index].lengths().get(chunk)[0]);
        let (mut score, mut covered, mut all) = (0.0, 0.0, 0.0);
        for term in &self.own {
            all += term.idf;
            let rows = term.postings[index];
            let [found, frequency] = rows.get(rows.partition_point(|[before, _]| (before as usize) < chunk));
            if found as usize == chunk && frequency > 0 {
                score += term.idf * saturation(frequency, norm);
                covered += term.idf;
            }
        }
        if all > 0.0 { (score / all, covered / all) } else { (0.0, 0.0) }
    }

    /// The score of a chunk that had endlessly much of every term.
    pub(super) fn max_possible_score(&self) -> f32 {
        self.own.iter().chain(&self.hinted).map(|term| self.max_term_score(term)).sum()
    }

    fn max_term_score(&self, term: &QueryTerm<'_>) -> f32 {
        term.weight * term.idf * (self.tuning.k1 + 1.0)
    }
}

/// From 0 for a term that is not there towards 1.
#[expect(clippy::cast_precision_loss, reason = "a frequency in a passage")]
pub(super) fn saturation(frequency: u32, norm: f32) -> f32 {
    frequency as f32 / (frequency as f32 + norm)
}
