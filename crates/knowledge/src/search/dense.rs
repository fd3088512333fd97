//! The cosine of every passage's vector with the question's.

use crate::encoder::Encoder;
use crate::encoder::vector::QueryVector;
use crate::index::Index;
use crate::search::QueryTerms;

/// Below this share of known words, the vector of a question says little about it: it is in another language.
const MIN_KNOWN_SHARE: f32 = 0.5;

/// The cosines for every chunk of every index, or none if the table does not know what is asked.
///
/// In the question's vector a word counts by how rare it is in these documents: "cluster" says little where all is about clusters.
pub(super) fn cosine_scores(encoder: &Encoder, terms: &QueryTerms<'_>, text: &str) -> Option<Vec<Vec<f32>>> {
    let question = encoder.encode_weighted(text, |word| terms.rarity(word));
    if question.known_share < MIN_KNOWN_SHARE || question.vector.scale == 0.0 {
        return None;
    }
    let direction = QueryVector::from(&question.vector);
    let cosines =
        |index: &&Index| index.vectors().map(|(numbers, scale)| direction.cosine(numbers, scale)).collect();
    Some(terms.indexes.iter().map(cosines).collect())
}
