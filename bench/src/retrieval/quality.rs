//! What a ranking is worth.

use std::time::{Duration, Instant};

use super::JudgedCollection;

/// Pages, the best first.
pub(super) type RankedPages = Vec<String>;

/// Means over all judged questions.
#[derive(Default)]
pub(super) struct RankingQuality {
    ndcg: f64,
    recall: f64,
    mrr: f64,
    times: Vec<Duration>,
}

impl RankingQuality {
    /// Puts every judged question to `search`, which gives ten pages.
    pub(super) fn measure(
        collection: &JudgedCollection,
        mut search: impl FnMut(&str) -> RankedPages,
    ) -> Self {
        let mut quality = Self::default();
        for (id, text) in &collection.queries {
            let Some(relevant) = collection.grades.get(id) else { continue };
            let start = Instant::now();
            let ranked = search(text);
            quality.times.push(start.elapsed());
            let grades: Vec<f64> = ranked.iter().map(|page| *relevant.get(page).unwrap_or(&0.0)).collect();
            let mut ideal: Vec<f64> = relevant.values().copied().collect();
            ideal.sort_by(|one, other| other.total_cmp(one));
            ideal.truncate(10);
            let found = |grades: &[f64]| grades.iter().filter(|grade| **grade > 0.0).count() as f64;
            quality.ndcg += discounted_gain(&grades) / discounted_gain(&ideal).max(f64::MIN_POSITIVE);
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
        self.percentile(50)
    }

    /// The same for 99 of a hundred.
    pub(super) fn p99(&self) -> f64 {
        self.percentile(99)
    }

    fn percentile(&self, percent: usize) -> f64 {
        let place = self.times.len() * percent / 100;
        self.times.get(place).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    }
}

fn discounted_gain(grades: &[f64]) -> f64 {
    grades.iter().enumerate().map(|(place, grade)| grade / ((place + 2) as f64).log2()).sum()
}
