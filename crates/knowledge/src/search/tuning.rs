//! The weights of the search, all in one place.

/// How scores are made. The defaults lie in the middle of what worked on every collection that was tried.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// BM25: how soon another occurrence of a term adds little.
    pub k1: f32,
    /// BM25: how much a long passage has to have more of it.
    pub b: f32,
    /// The share of vectors in the mixed score; BM25 has the rest.
    pub dense: f32,
    /// How much a term counts that the question does not have, and the best passages do. 0 to do without.
    pub expansion: f32,
    /// A question whose best passage has at least this share of the best BM25 needs no such terms.
    pub expansion_below: f32,
    /// How much the second and third passage of a page add to its best.
    pub page_evidence: f32,
    /// How much a term of a hint counts.
    pub hint_term: f32,
    /// What is added to a page whose path or headings name a hint.
    pub hint_boost: f32,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            k1: 1.5,
            b: 0.7,
            dense: 0.35,
            expansion: 0.2,
            expansion_below: 0.5,
            page_evidence: 0.3,
            hint_term: 0.5,
            hint_boost: 0.1,
        }
    }
}
