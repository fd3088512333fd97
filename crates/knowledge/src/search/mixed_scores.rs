//! Two scores of every chunk, mixed.
//!
//! BM25 is divided by the best there is; the cosines are stretched from the least to the greatest. Their ranks are not used:
//! measured, mixing ranks loses to BM25 alone when vectors are as simple as these.

/// By index, then by chunk.
pub(super) type ChunkScores = Vec<Vec<f32>>;

pub(super) struct MixedScores {
    lexical: ChunkScores,
    best_lexical: f32,
    /// `None` if vectors have nothing to say about the question.
    dense: Option<DenseScores>,
    /// The share of BM25. Vectors have the rest.
    lexical_weight: f32,
    mixed: ChunkScores,
}

struct DenseScores {
    cosines: ChunkScores,
    least: f32,
    /// The weight over the distance from the least to the greatest.
    scale: f32,
}

impl MixedScores {
    pub(super) fn new(dense_weight: f32, lexical: ChunkScores, dense: Option<ChunkScores>) -> Self {
        let dense_weight = if dense.is_some() { dense_weight } else { 0.0 };
        let dense = dense.map(|cosines| DenseScores::new(cosines, dense_weight));
        let lexical_weight = 1.0 - dense_weight;
        let mut mix = Self { lexical, best_lexical: 0.0, dense, lexical_weight, mixed: ChunkScores::new() };
        mix.recompute();
        mix
    }

    /// Lets BM25 be changed.
    pub(super) fn update_lexical(&mut self, change: impl FnOnce(&mut ChunkScores)) {
        change(&mut self.lexical);
        self.recompute();
    }

    fn recompute(&mut self) {
        self.best_lexical = extreme(&self.lexical, 0.0, |a, b| a > b);
        let scale = self.lexical_weight * recip_or_zero(self.best_lexical);
        let words = |scores: &Vec<f32>| scores.iter().map(|score| score * scale).collect();
        self.mixed = match &self.dense {
            None => self.lexical.iter().map(words).collect(),
            Some(DenseScores { cosines, least, scale: dense_scale }) => {
                let both = |(scores, cosines): (&Vec<f32>, &Vec<f32>)| {
                    let pairs = scores.iter().zip(cosines);
                    pairs.map(|(score, cosine)| score * scale + (cosine - least) * dense_scale).collect()
                };
                self.lexical.iter().zip(cosines).map(both).collect()
            }
        };
    }

    pub(super) fn uses_dense(&self) -> bool {
        self.lexical_weight < 1.0
    }

    /// The mixed scores of an index, by chunk.
    pub(super) fn scores(&self, index: usize) -> &[f32] {
        &self.mixed[index]
    }

    pub(super) fn cosine(&self, index: usize, chunk: usize) -> Option<f32> {
        self.dense.as_ref().map(|dense| dense.cosines[index][chunk])
    }

    /// The best BM25 of all chunks.
    pub(super) fn best_lexical(&self) -> f32 {
        self.best_lexical
    }

    /// The best chunks: score, index, chunk.
    pub(super) fn top_chunks(&self, count: usize) -> Vec<(f32, usize, usize)> {
        let mut best: Vec<(f32, usize, usize)> = Vec::with_capacity(count + 1);
        let mut least = 0.0;
        for (index, scores) in self.mixed.iter().enumerate() {
            for (chunk, score) in scores.iter().enumerate() {
                if *score > least {
                    let place = best.partition_point(|(better, ..)| better >= score);
                    best.insert(place, (*score, index, chunk));
                    best.truncate(count);
                    least = if best.len() == count { best[count - 1].0 } else { 0.0 };
                }
            }
        }
        best
    }
}

impl DenseScores {
    fn new(cosines: ChunkScores, weight: f32) -> Self {
        let least = extreme(&cosines, f32::INFINITY, |a, b| a < b);
        let greatest = extreme(&cosines, f32::NEG_INFINITY, |a, b| a > b);
        Self { cosines, least, scale: weight * recip_or_zero(greatest - least) }
    }
}

fn recip_or_zero(range: f32) -> f32 {
    if range > 0.0 { range.recip() } else { 0.0 }
}

/// The value that is beyond all others, in lanes that the compiler can compare at once.
fn extreme(scores: &ChunkScores, start: f32, is_beyond: impl Fn(f32, f32) -> bool) -> f32 {
    let further = |a: f32, b: f32| if is_beyond(a, b) { a } else { b };
    let mut lanes = [start; 8];
    for scores in scores {
        let (blocks, rest) = scores.as_chunks::<8>();
        for block in blocks {
            lanes = std::array::from_fn(|lane| further(block[lane], lanes[lane]));
        }
        lanes[0] = rest.iter().fold(lanes[0], |so_far, score| further(*score, so_far));
    }
    lanes.into_iter().fold(start, further)
}
