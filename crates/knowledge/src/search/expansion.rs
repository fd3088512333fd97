//! Terms that the question does not have, and the passages that look like answers do.
//!
//! People ask in other words than documents use. The best passages of a first look show which: their strongest terms are
//! sought too, for a fraction of what the question's own terms count. On both collections that weights were tried on, that
//! was worth one to two hundredths of nDCG@10. A question that is matched well as it is does not need it.

use super::lexical::saturation;
use super::query::{QueryTerm, QueryTerms, idf};

/// How many passages are looked at, and how many terms are taken.
pub(super) const MAX_EXPANSION_PASSAGES: usize = 10;
const MAX_EXPANSION_TERMS: usize = 10;

/// A term of an index, and how strong it is in some passages.
struct ExpansionTerm {
    index: usize,
    term: u32,
    strength: f32,
}

impl<'a> QueryTerms<'a> {
    /// The strongest terms of some chunks, which are given with how good each is. Weighted against the strongest of them.
    pub(super) fn expansion_terms(&self, chunks: &[(f32, usize, usize)]) -> Vec<QueryTerm<'a>> {
        let mut expansion: Vec<QueryTerm<'a>> = Vec::with_capacity(MAX_EXPANSION_TERMS);
        let mut most = None;
        for ExpansionTerm { index, term, strength } in self.strongest_terms(chunks) {
            let name = self.indexes[index].term(term);
            if !self.contains(name) && expansion.iter().all(|known| known.text != name) {
                let weight = self.tuning.expansion * strength / *most.get_or_insert(strength);
                expansion.push(self.lookup(name.to_owned(), weight));
            }
            if expansion.len() == MAX_EXPANSION_TERMS {
                break;
            }
        }
        expansion
    }

    /// All terms of the chunks, the strongest first.
    fn strongest_terms(&self, chunks: &[(f32, usize, usize)]) -> Vec<ExpansionTerm> {
        let mut candidates = Vec::new();
        for (score, index, chunk) in chunks {
            let contents = self.indexes[*index].chunk_terms(*chunk);
            let norm = self.norm(self.indexes[*index].lengths().get(*chunk)[0]);
            candidates.extend(contents.iter().map(|[term, frequency]| {
                let strength = score * saturation(frequency, norm);
                ExpansionTerm { index: *index, term, strength }
            }));
        }
        let place = |candidate: &ExpansionTerm| (candidate.index, candidate.term);
        candidates.sort_unstable_by_key(place);
        candidates.dedup_by(|next, same| {
            let is_same = place(next) == place(same);
            same.strength += if is_same { next.strength } else { 0.0 };
            is_same
        });
        for ExpansionTerm { index, term, strength } in &mut candidates {
            let index = self.indexes[*index];
            *strength *= idf(index.postings_by_id(*term).len(), index.chunk_count());
        }
        candidates.sort_unstable_by(|a, b| b.strength.total_cmp(&a.strength).then(place(a).cmp(&place(b))));
        candidates
    }
}
