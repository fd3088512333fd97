//! What is asked, as terms with their weights.

use crate::bytes::Rows;
use crate::index::Index;
use crate::search::Tuning;
use crate::words;

/// A question has a few words. Something longer is a document, and would be answered by its commonest words.
const LONGEST: usize = 4000;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The question.
    pub text: &'a str,
    /// Words from where it was asked, such as a framework in use. They prefer pages that have them, and exclude none.
    pub hints: &'a [&'a str],
    /// How many pages are wanted.
    pub top: usize,
}

/// What is wrong with a question.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Too long.
    #[error("the query has {found} characters and may have {LONGEST}; ask one question at a time")]
    TooLong {
        /// How long it is.
        found: usize,
    },
}

impl Query<'_> {
    pub(super) fn check(&self) -> Result<(), QueryError> {
        let found = self.text.chars().count() + self.hints.iter().map(|hint| hint.chars().count()).sum::<usize>();
        if found > LONGEST { Err(QueryError::TooLong { found }) } else { Ok(()) }
    }
}

/// A question's terms, and what the indexes know about them.
pub(crate) struct Terms<'a> {
    pub(super) all: Vec<Term<'a>>,
    pub(super) indexes: Vec<&'a Index>,
    pub(super) average_length: f32,
    pub(super) tuning: Tuning,
}

pub(super) struct Term<'a> {
    text: String,
    /// How rare it is.
    pub(super) idf: f32,
    /// 1, or less if it only comes from a hint.
    pub(super) weight: f32,
    /// Where it stands, for each index.
    pub(super) postings: Vec<Rows<'a, 2>>,
}

impl<'a> Terms<'a> {
    pub(super) fn of(query: &Query<'_>, indexes: &[&'a Index], tuning: &Tuning) -> Self {
        let chunks: usize = indexes.iter().map(|index| index.chunk_count()).sum();
        let length: u64 = indexes.iter().map(|index| index.total_length()).sum();
        let mut terms = Self {
            all: Vec::new(),
            indexes: indexes.to_vec(),
            average_length: (length as f32 / chunks.max(1) as f32).max(1.0),
            tuning: *tuning,
        };
        terms.add(query.text, 1.0, chunks);
        for hint in query.hints {
            terms.add(hint, tuning.hint_term, chunks);
        }
        terms
    }

    /// Adds the terms of a text that are not there yet.
    fn add(&mut self, text: &str, weight: f32, chunks: usize) {
        words::each_token(text, |token| {
            let Some(term) = words::term(token) else { return };
            if self.all.iter().any(|known| known.text == term) {
                return;
            }
            let postings: Vec<_> = self.indexes.iter().map(|index| index.postings(&term)).collect();
            // Counted over all indexes, so that a term weighs the same in each.
            let found = postings.iter().map(|rows| rows.len()).sum();
            self.all.push(Term { text: term.into_owned(), idf: idf(found, chunks), weight, postings });
        });
    }

    /// How rare a term of the question is; nothing for one that is not in it.
    pub(crate) fn idf(&self, term: &str) -> f32 {
        self.all.iter().find(|known| known.text == term).map_or(0.0, |known| known.idf * known.weight)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a logarithm of counts")]
fn idf(found: usize, of: usize) -> f32 {
    let (found, of) = (found as f32, of as f32);
    (1.0 + (of - found + 0.5).max(0.0) / (found + 0.5)).ln()
}
