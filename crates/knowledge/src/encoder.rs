//! From text to a vector: the sum of its tokens' vectors, by a table that was distilled from a transformer.
//!
//! No transformer runs here. `table.rs` reads the table, `wordpiece.rs` cuts text into the tokens that the table knows, and
//! `vector.rs` compares the results.

mod table;
pub(crate) mod vector;
mod wordpiece;

use std::borrow::Cow;
use std::collections::HashMap;

use table::Table;
pub use table::TableError;
pub(crate) use vector::Vector;

/// Turns text into vectors. Cheap to make: the table is used as it lies in memory.
pub struct Encoder {
    table: Table,
    fingerprint: u32,
}

impl Encoder {
    /// Checks a token table and takes it into use.
    pub fn new(table: impl Into<Cow<'static, [u8]>>) -> Result<Self, TableError> {
        let table = Table::open(table.into())?;
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

    /// The vector of a text, and which share of its words the table knows.
    pub(crate) fn encode(&self, text: &str) -> Encoded {
        Session::new(self).encode([(text, 1.0)])
    }

    /// Encodes many texts, and remembers the words that they share.
    pub(crate) fn session(&self) -> Session<'_> {
        Session::new(self)
    }
}

/// A text as a vector.
pub(crate) struct Encoded {
    pub(crate) vector: Vector,
    /// From 0 to 1. Low for languages that the table was not made for.
    pub(crate) known: f32,
}

/// Encodes one text after another.
pub(crate) struct Session<'a> {
    encoder: &'a Encoder,
    /// The tokens of every word so far: looking one up costs more than adding its vectors.
    seen: HashMap<String, Box<[u32]>>,
    sum: Vec<f32>,
}

impl<'a> Session<'a> {
    fn new(encoder: &'a Encoder) -> Self {
        Self { encoder, seen: HashMap::new(), sum: vec![0.0; encoder.dims()] }
    }

    /// The vector of texts that belong together. Each adds as much as its weight, however long it is.
    pub(crate) fn encode<'t>(&mut self, texts: impl IntoIterator<Item = (&'t str, f32)>) -> Encoded {
        let mut whole = vec![0.0; self.sum.len()];
        let mut words = Words::default();
        for (text, weight) in texts {
            self.sum.fill(0.0);
            self.add(text, &mut words);
            let length = self.sum.iter().map(|x| x * x).sum::<f32>().sqrt();
            if length > 0.0 {
                whole.iter_mut().zip(&self.sum).for_each(|(slot, x)| *slot += x * weight / length);
            }
        }
        Encoded { vector: Vector::quantised(&whole), known: words.known_share() }
    }

    fn add(&mut self, text: &str, words: &mut Words) {
        let Self { encoder: Encoder { table, .. }, seen, sum } = self;
        wordpiece::each_word(text, |word| {
            if !seen.contains_key(word) {
                seen.insert(word.to_owned(), wordpiece::tokens(table, word));
            }
            let tokens = seen.get(word).map_or(&[][..], |tokens| tokens);
            words.all += 1;
            words.known += u32::from(!tokens.is_empty());
            for token in tokens {
                table.add_to(*token, sum);
            }
        });
    }
}

/// How many words there were, and how many the table knows.
#[derive(Default)]
struct Words {
    known: u32,
    all: u32,
}

impl Words {
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    fn known_share(&self) -> f32 {
        self.known as f32 / self.all.max(1) as f32
    }
}

#[cfg(test)]
pub(crate) mod tests;
