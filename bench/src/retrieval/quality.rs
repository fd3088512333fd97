//! What a ranking is worth.

use std::time::{Duration, Instant};

use super::Collection;

/// Pages, the best first.
pub(super) type Ranked = Vec<String>;

/// Means over all judged questions.
#[derive(Default)]
pub(super) struct Quality {
    ndcg: f64,
    recall: f64,
    mrr: f64,
    times: Vec<Duration>,
}

impl Quality {
    /// Puts every judged question to `search`, which gives ten pages.
    pub(super) fn of(collection: &Collection, mut search: impl FnMut(&str) -> Ranked) -> Self {
        let mut quality = Self::default();
        for (id, text) in &collection.queries {
            let Some(relevant) = collection.judged.get(id) else { continue };
            let start = Instant::now();
            let ranked = search(text);
            quality.times.push(start.elapsed());
            let grades: Vec<f64> = ranked.iter().map(|page| *relevant.get(page).unwrap_or(&0.0)).collect();
            let mut ideal: Vec<f64> = relevant.values().copied().collect();
            ideal.sort_by(|one, other| other.total_cmp(one));
            ideal.truncate(10);
            let found = |grades: &[f64]| grades.iter().filter(|grade| **grade > 0.0).count() as f64;
            quality.ndcg += gain(&grades) / gain(&ideal).max(f64::MIN_POSITIVE);
            quality.recall += found(&grades[..grades.len().min(5)]) / relevant.len() as f64;
            let first = grades.iter().position(|grade| *grade > 0.0);
            quality.mrr += first.map_or(0.0, |place| 1.0 / (place + 1) as f64);
        }
        quality.times.sort();
        quality
    }

    /// nDCG@10, recall@5, MRR@10.
    pub(super) fn figures(&self) -> Vec<Option<f64>> {
        let count = self.times.len().max(1) as f64;
        [self.ndcg, self.recall, self.mrr].map(|sum| Some(sum / count)).to_vec()
    }

    /// Half of the questions were faster than so many milliseconds.
    pub(super) fn p50(&self) -> f64 {
        self.times.get(self.times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    }
}

fn gain(grades: &[f64]) -> f64 {
    grades.iter().enumerate().map(|(place, grade)| grade / ((place + 2) as f64).log2()).sum()
}
