//! What is asked, as terms with their weights.

use crate::bytes::U32Rows;
use crate::index::Index;
use crate::search::Tuning;
use crate::words;

/// A question has a few words. Something longer is a document, and would be answered by its commonest words.
const MAX_QUERY_CHARS: usize = 4000;

/// The rarity of words that are not indexed because they stand everywhere.
const COMMON_WORD_IDF: f32 = 0.3;

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
    #[error("the query has {found} characters and may have {MAX_QUERY_CHARS}; ask one question at a time")]
    TooLong {
        /// How long it is, with its hints.
        found: usize,
    },
}

impl Query<'_> {
    pub(super) fn validate(&self) -> Result<(), QueryError> {
        let length = |text: &str| text.chars().count();
        let found = length(self.text) + self.hints.iter().map(|hint| length(hint)).sum::<usize>();
        if found > MAX_QUERY_CHARS { Err(QueryError::TooLong { found }) } else { Ok(()) }
    }
}

/// A question's terms, and what the indexes know about them.
pub(crate) struct QueryTerms<'a> {
    pub(super) own: Vec<QueryTerm<'a>>,
    pub(super) hinted: Vec<QueryTerm<'a>>,
    pub(super) indexes: Vec<&'a Index>,
    pub(super) tuning: Tuning,
    chunk_count: usize,
    /// BM25's measure of a chunk's length: of one without terms, and what each term adds.
    norm: (f32, f32),
}

pub(super) struct QueryTerm<'a> {
    pub(super) text: String,
    /// How rare it is.
    pub(super) idf: f32,
    pub(super) weight: f32,
    /// Where it stands, for each index.
    pub(super) postings: Vec<U32Rows<'a, 2>>,
}

impl<'a> QueryTerms<'a> {
    #[expect(clippy::cast_precision_loss, reason = "an average")]
    pub(super) fn new(query: &Query<'_>, indexes: &[&'a Index], tuning: Tuning) -> Self {
        let chunk_count = indexes.iter().map(|index| index.chunk_count()).sum();
        let length: u64 = indexes.iter().map(|index| index.total_length()).sum();
        let average_length = (length as f32 / chunk_count as f32).max(1.0);
        let norm = (tuning.k1 * (1.0 - tuning.b), tuning.k1 * tuning.b / average_length);
        let (own, hinted, indexes) = (Vec::new(), Vec::new(), indexes.to_vec());
        let mut terms = Self { own, hinted, indexes, tuning, chunk_count, norm };
        for_each_term(query.text, |term| {
            if !terms.contains(&term) {
                terms.own.push(terms.lookup(term, 1.0));
            }
        });
        for hint in query.hints {
            for_each_term(hint, |term| {
                if !terms.contains(&term) {
                    terms.hinted.push(terms.lookup(term, tuning.hint_term));
                }
            });
        }
        terms
    }

    /// Finds a term in all indexes. How rare it is, is counted over all of them, so that it weighs the same in each.
    pub(super) fn lookup(&self, text: String, weight: f32) -> QueryTerm<'a> {
        let postings: Vec<_> = self.indexes.iter().map(|index| index.postings(&text)).collect();
        let found = postings.iter().map(|rows| rows.len()).sum();
        QueryTerm { idf: idf(found, self.chunk_count), text, weight, postings }
    }

    pub(super) fn contains(&self, term: &str) -> bool {
        self.own.iter().chain(&self.hinted).any(|known| known.text == term)
    }

    /// How rare a word is in the indexes, in the measure of a term.
    pub(super) fn rarity(&self, word: &str) -> f32 {
        let term = words::token_term(word).filter(|term| term.contains(char::is_alphanumeric));
        let Some(term) = term else { return COMMON_WORD_IDF };
        let known = self.own.iter().find(|own| own.text == term).map(|own| own.idf);
        known.unwrap_or_else(|| self.lookup(term.into_owned(), 1.0).idf)
    }

    /// BM25's measure of a chunk's length: the frequency that counts half.
    #[expect(clippy::cast_precision_loss, reason = "a length")]
    pub(super) fn norm(&self, length: u32) -> f32 {
        self.norm.0 + self.norm.1 * length as f32
    }

    /// Which of the question's own terms a text has.
    pub(crate) fn match_text(&self, text: &str) -> MatchedTerms {
        let mut matched = MatchedTerms(vec![false; self.own.len()]);
        for_each_term(text, |term| {
            if let Some(at) = self.own.iter().position(|known| known.text == term) {
                matched.0[at] = true;
            }
        });
        matched
    }

    /// How much of the question these terms are, rare ones counting more: from 0 to 1.
    pub(crate) fn coverage(&self, matched: &MatchedTerms) -> f32 {
        let all: f32 = self.own.iter().map(|term| term.idf).sum();
        let found: f32 = self
            .own
            .iter()
            .zip(&matched.0)
            .filter(|(_, is_found)| **is_found)
            .map(|(term, _)| term.idf)
            .sum();
        if all > 0.0 { found / all } else { 0.0 }
    }
}

/// Some of a question's terms.
pub(crate) struct MatchedTerms(Vec<bool>);

impl MatchedTerms {
    pub(crate) fn add(&mut self, others: &MatchedTerms) {
        self.0.iter_mut().zip(&others.0).for_each(|(own, other)| *own |= other);
    }

    pub(crate) fn without(&self, others: &MatchedTerms) -> Self {
        Self(self.0.iter().zip(&others.0).map(|(own, other)| *own && !other).collect())
    }
}

fn for_each_term(text: &str, mut found: impl FnMut(String)) {
    words::for_each_token(text, |token| {
        if let Some(term) = words::token_term(token) {
            found(term.into_owned());
        }
    });
}

#[expect(clippy::cast_precision_loss, reason = "a logarithm of counts")]
pub(super) fn idf(found: usize, of: usize) -> f32 {
    let (found, of) = (found as f32, of as f32);
    (1.0 + (of - found + 0.5).max(0.0) / (found + 0.5)).ln()
}
