//! Two scores of every chunk, mixed.
//!
//! BM25 is divided by the best there is; the cosines are stretched from the least to the greatest. Their ranks are not used:
//! measured, mixing ranks loses to BM25 alone when vectors are as simple as these.

/// By index, then by chunk.
pub(super) type Scores = Vec<Vec<f32>>;

pub(super) struct Mix {
    lexical: Lexical,
    /// `None` if vectors have nothing to say about the question.
    dense: Option<Dense>,
    dense_weight: f32,
}

struct Lexical {
    scores: Scores,
    best: f32,
    /// One over the best, if there is one.
    scale: f32,
}

struct Dense {
    cosines: Scores,
    least: f32,
    /// One over the distance from the least to the greatest.
    scale: f32,
}

impl Mix {
    pub(super) fn new(dense_weight: f32, lexical: Scores, dense: Option<Scores>) -> Self {
        let dense_weight = if dense.is_some() { dense_weight } else { 0.0 };
        Self { lexical: Lexical::new(lexical), dense: dense.map(Dense::new), dense_weight }
    }

    /// Lets BM25 be changed.
    pub(super) fn change_lexical(&mut self, change: impl FnOnce(&mut Scores)) {
        change(&mut self.lexical.scores);
        self.lexical = Lexical::new(std::mem::take(&mut self.lexical.scores));
    }

    pub(super) fn is_dense(&self) -> bool {
        self.dense_weight > 0.0
    }

    pub(super) fn score(&self, index: usize, chunk: usize) -> f32 {
        let lexical = self.lexical.scores[index][chunk] * self.lexical.scale;
        let dense = self
            .dense
            .as_ref()
            .map_or(0.0, |dense| (dense.cosines[index][chunk] - dense.least) * dense.scale);
        lexical * (1.0 - self.dense_weight) + dense * self.dense_weight
    }

    pub(super) fn cosine(&self, index: usize, chunk: usize) -> Option<f32> {
        self.dense.as_ref().map(|dense| dense.cosines[index][chunk])
    }

    /// The best BM25 of all chunks.
    pub(super) fn best_lexical(&self) -> f32 {
        self.lexical.best
    }

    /// The best chunks: score, index, chunk.
    pub(super) fn best_chunks(&self, count: usize) -> Vec<(f32, usize, usize)> {
        let mut best: Vec<(f32, usize, usize)> = Vec::with_capacity(count + 1);
        let mut least = 0.0;
        for (index, scores) in self.lexical.scores.iter().enumerate() {
            for chunk in 0..scores.len() {
                let score = self.score(index, chunk);
                if score > least {
                    let place = best.partition_point(|(better, ..)| *better >= score);
                    best.insert(place, (score, index, chunk));
                    best.truncate(count);
                    least = if best.len() == count { best[count - 1].0 } else { 0.0 };
                }
            }
        }
        best
    }
}

impl Lexical {
    fn new(scores: Scores) -> Self {
        let best = extreme(&scores, 0.0, |a, b| a > b);
        Self { scores, best, scale: inverse(best) }
    }
}

impl Dense {
    fn new(cosines: Scores) -> Self {
        let least = extreme(&cosines, f32::INFINITY, |a, b| a < b);
        let greatest = extreme(&cosines, f32::NEG_INFINITY, |a, b| a > b);
        Self { cosines, least, scale: inverse(greatest - least) }
    }
}

fn inverse(range: f32) -> f32 {
    if range > 0.0 { range.recip() } else { 0.0 }
}

/// The value that is beyond all others, in lanes that the compiler can compare at once.
fn extreme(scores: &Scores, start: f32, is_beyond: impl Fn(f32, f32) -> bool) -> f32 {
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
