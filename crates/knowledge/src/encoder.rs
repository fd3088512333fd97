//! From text to a vector: the sum of its tokens' vectors, by a table that was distilled from a transformer.
//!
//! No transformer runs here. `table.rs` reads the table, `wordpiece.rs` cuts text into the tokens that the table knows, and
//! `vector.rs` compares the results.

mod table;
mod vector;
mod wordpiece;

use std::borrow::Cow;
use std::collections::HashMap;

use table::Table;
pub use table::TableError;
pub(crate) use vector::{Direction, Vector};

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

    /// The vector of a text, and which share of its tokens the table knows.
    pub(crate) fn encode(&self, text: &str) -> Encoded {
        Session::new(self).encode(&[text])
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

    /// The vector of texts that belong together.
    pub(crate) fn encode(&mut self, texts: &[&str]) -> Encoded {
        let (mut known, mut all) = (0_u32, 0_u32);
        self.sum.fill(0.0);
        for text in texts {
            wordpiece::each_word(text, |word| {
                let tokens = match self.seen.get(word) {
                    Some(tokens) => tokens,
                    None => self.seen.entry(word.to_owned()).or_insert(wordpiece::tokens(&self.encoder.table, word)),
                };
                all += 1;
                known += u32::from(!tokens.is_empty());
                for token in tokens {
                    self.encoder.table.add_to(*token, &mut self.sum);
                }
            });
        }
        let known = if all == 0 { 0.0 } else { known as f32 / all as f32 };
        Encoded { vector: Vector::quantised(&self.sum), known }
    }
}

#[cfg(test)]
pub(crate) mod tests;
