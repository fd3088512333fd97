//! From text to a vector: the sum of its tokens' vectors, by a table that was distilled from a transformer.
//!
//! No transformer runs here. `table.rs` reads the table, `wordpiece.rs` cuts text into the tokens that the table knows, and
//! `vector.rs` compares the results.

mod table;
pub(crate) mod vector;
mod wordpiece;

use std::borrow::Cow;
use std::collections::HashMap;

use table::TokenTable;
pub use table::TokenTableError;
pub(crate) use vector::QuantizedVector;

/// Turns text into vectors. Cheap to make: the table is used as it lies in memory.
pub struct Encoder {
    table: TokenTable,
    fingerprint: u32,
}

impl Encoder {
    /// Checks a token table and takes it into use.
    pub fn new(table: impl Into<Cow<'static, [u8]>>) -> Result<Self, TokenTableError> {
        let table = TokenTable::open(table.into())?;
        Ok(Self { fingerprint: table.fingerprint(), table })
    }

    /// How many numbers a vector has.
    pub(crate) fn dims(&self) -> usize {
        self.table.dims()
    }

    /// Tells tables apart: vectors of two that differ here cannot be compared.
    pub(crate) fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    /// The vector of a text in which some words count more than others, and which share of its words the table knows.
    pub(crate) fn encode_weighted(&self, text: &str, weight: impl Fn(&str) -> f32) -> EncodedText {
        let (mut sum, mut words) = (vec![0.0; self.dims()], WordCounts::default());
        wordpiece::for_each_word(text, |word| {
            let tokens = wordpiece::tokenize_word(&self.table, word);
            words.count(&tokens);
            let weight = if tokens.is_empty() { 0.0 } else { weight(word) };
            tokens.iter().for_each(|token| self.table.accumulate(*token, weight, &mut sum));
        });
        EncodedText { vector: QuantizedVector::quantize(&sum), known_share: words.known_share() }
    }

    /// Encodes many texts, and remembers the words that they share.
    pub(crate) fn session(&self) -> EncodingSession<'_> {
        EncodingSession::new(self)
    }
}

/// A text as a vector.
pub(crate) struct EncodedText {
    pub(crate) vector: QuantizedVector,
    /// From 0 to 1. Low for languages that the table was not made for.
    pub(crate) known_share: f32,
}

/// Encodes one text after another.
pub(crate) struct EncodingSession<'a> {
    encoder: &'a Encoder,
    /// The tokens of every word so far: looking one up costs more than adding its vectors.
    token_cache: HashMap<String, Box<[u32]>>,
    sum: Vec<f32>,
}

impl<'a> EncodingSession<'a> {
    fn new(encoder: &'a Encoder) -> Self {
        Self { encoder, token_cache: HashMap::new(), sum: vec![0.0; encoder.dims()] }
    }

    /// The vector of texts that belong together. Each adds as much as its weight, however long it is.
    pub(crate) fn encode<'t>(&mut self, texts: impl IntoIterator<Item = (&'t str, f32)>) -> EncodedText {
        let mut whole = vec![0.0; self.sum.len()];
        let mut words = WordCounts::default();
        for (text, weight) in texts {
            self.sum.fill(0.0);
            self.add(text, &mut words);
            let length = self.sum.iter().map(|x| x * x).sum::<f32>().sqrt();
            if length > 0.0 {
                whole.iter_mut().zip(&self.sum).for_each(|(slot, x)| *slot += x * weight / length);
            }
        }
        EncodedText { vector: QuantizedVector::quantize(&whole), known_share: words.known_share() }
    }

    fn add(&mut self, text: &str, words: &mut WordCounts) {
        let Self { encoder: Encoder { table, .. }, token_cache: seen, sum } = self;
        wordpiece::for_each_word(text, |word| {
            if !seen.contains_key(word) {
                seen.insert(word.to_owned(), wordpiece::tokenize_word(table, word));
            }
            let tokens = seen.get(word).map_or(&[][..], |tokens| tokens);
            words.count(tokens);
            for token in tokens {
                table.accumulate(*token, 1.0, sum);
            }
        });
    }
}

/// How many words there were, and how many the table knows.
#[derive(Default)]
struct WordCounts {
    known: u32,
    all: u32,
}

impl WordCounts {
    /// Counts a word by its tokens: one that the table does not know has none.
    fn count(&mut self, tokens: &[u32]) {
        self.all += 1;
        self.known += u32::from(!tokens.is_empty());
    }

    #[expect(clippy::cast_precision_loss, reason = "a share")]
    fn known_share(&self) -> f32 {
        self.known as f32 / self.all.max(1) as f32
    }
}

#[cfg(test)]
pub(crate) mod tests;
