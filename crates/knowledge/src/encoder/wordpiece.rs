//! Text to tokens, by the rules of the model that the table was distilled from: BERT, uncased.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::table::TokenTable;
use crate::words::is_ideographic;

/// A longer word is unknown as a whole. In characters.
const MAX_WORD_CHARS: usize = 100;

/// Finds words, lower-cased and without accents. A mark is a word of its own, and so is an ideograph.
pub(super) fn for_each_word(text: &str, mut found: impl FnMut(&str)) {
    let mut lower = String::new();
    for word in text.split_whitespace() {
        lower.clear();
        if word.is_ascii() {
            lower.push_str(word);
            lower.make_ascii_lowercase();
        } else {
            let composed = |c: &char| !is_combining_mark(*c);
            lower.extend(word.nfd().filter(composed).flat_map(char::to_lowercase));
        }
        for_each_part(&lower, &mut found);
    }
}

fn for_each_part(word: &str, found: &mut impl FnMut(&str)) {
    let mut start = 0;
    for (at, mark) in word.match_indices(|c: char| !c.is_alphanumeric() || is_ideographic(c)) {
        if start < at {
            found(&word[start..at]);
        }
        found(mark);
        start = at + mark.len();
    }
    if start < word.len() {
        found(&word[start..]);
    }
}

/// The tokens of a word, the longest first: none if the table has not all of them.
pub(super) fn tokenize_word(table: &TokenTable, word: &str) -> Box<[u32]> {
    let mut tokens = Vec::new();
    let mut rest = word;
    // The table was made for English. That it has single ideographs does not mean that it knows what they say.
    if word.chars().count() > MAX_WORD_CHARS || word.contains(is_ideographic) {
        return Box::default();
    }
    while !rest.is_empty() {
        let Some((token, length)) = table.longest_prefix(rest, rest.len() < word.len()) else {
            return Box::default();
        };
        // A token of whole characters ends where a character does.
        let Some(after) = rest.get(length..) else { return Box::default() };
        tokens.push(token);
        rest = after;
    }
    tokens.into()
}
