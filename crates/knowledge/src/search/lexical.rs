//! BM25 over terms, each counted by the field it stands in.

use super::query::{Term, Terms};

impl Terms<'_> {
    /// The score of every chunk of an index.
    pub(super) fn scores(&self, index: usize) -> Vec<f32> {
        let lengths = self.indexes[index].lengths();
        let norm = self.norm();
        let mut scores = vec![0.0; lengths.len()];
        for term in &self.all {
            let most = self.most(term) * term.weight;
            for [chunk, frequency] in term.postings[index].iter() {
                if let Some(score) = scores.get_mut(chunk as usize) {
                    let [length] = lengths.get(chunk as usize);
                    *score += most * saturation(frequency, norm(length));
                }
            }
        }
        scores
    }

    /// The score of one chunk by the question alone, of 0 to 1: 1 would be more of every term than there can be. And how much
    /// of what was asked stands in the chunk at all, rare terms counting more.
    pub(super) fn share(&self, index: usize, chunk: usize) -> (f32, f32) {
        let norm = self.norm()(self.indexes[index].lengths().get(chunk)[0]);
        let (mut score, mut most, mut covered, mut all) = (0.0, 0.0, 0.0, 0.0);
        for term in self.all.iter().filter(|term| term.weight >= 1.0) {
            most += self.most(term);
            all += term.idf;
            let rows = term.postings[index];
            let [found, frequency] = rows.get(rows.partition_point(|[before, _]| (before as usize) < chunk));
            if found as usize == chunk && frequency > 0 {
                score += self.most(term) * saturation(frequency, norm);
                covered += term.idf;
            }
        }
        if all > 0.0 { (score / most, covered / all) } else { (0.0, 0.0) }
    }

    /// What a term adds to a chunk that consists of it.
    fn most(&self, term: &Term<'_>) -> f32 {
        term.idf * (self.tuning.k1 + 1.0)
    }

    #[expect(clippy::cast_precision_loss, reason = "lengths of passages")]
    fn norm(&self) -> impl Fn(u32) -> f32 {
        let (k1, b) = (self.tuning.k1, self.tuning.b);
        let per_term = k1 * b / self.average_length;
        move |length| k1 * (1.0 - b) + per_term * length as f32
    }
}

#[expect(clippy::cast_precision_loss, reason = "frequencies in a passage")]
fn saturation(frequency: u32, norm: f32) -> f32 {
    frequency as f32 / (frequency as f32 + norm)
}
