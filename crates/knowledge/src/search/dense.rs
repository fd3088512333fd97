//! The cosine of every passage's vector with the question's.

use crate::encoder::Encoder;
use crate::encoder::vector::Direction;
use crate::index::Index;

/// Below this share of known words, the vector of a question says little about it: it is in another language.
const LEAST_KNOWN: f32 = 0.5;

/// The cosines for every chunk of every index, or none if the table does not know what is asked.
pub(super) fn scores(encoder: &Encoder, indexes: &[&Index], text: &str) -> Option<Vec<Vec<f32>>> {
    let question = encoder.encode(text);
    if question.known < LEAST_KNOWN || question.vector.scale == 0.0 {
        return None;
    }
    let direction = Direction::from(&question.vector);
    let cosines =
        |index: &&Index| index.vectors().map(|(numbers, scale)| direction.cosine(numbers, scale)).collect();
    Some(indexes.iter().map(cosines).collect())
}
