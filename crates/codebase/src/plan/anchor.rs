//! Matching anchor patterns, and finding the statement around a match.

use std::ops::Range;

use regex::RegexBuilder;

use super::document::Anchor;
use super::finding::{PlanFinding, quote};
use super::outline::CodeOutline;
use super::text_file::TextFile;

const MAX_PATTERN_BYTES: usize = 1024;
const MAX_REGEX_BYTES: usize = 64 * 1024;
const MAX_REGEX_NESTING: u32 = 50;
/// Bounds the search: each further match may scan the rest of the file.
const MAX_MATCHES: usize = 64;

/// Every match of a pattern. It is tried as a literal string first, and as a regular expression only if the
/// literal does not occur.
pub(crate) fn find_matches(pattern: &str, content: &str) -> Result<Vec<Range<usize>>, PlanFinding> {
    let bad = |reason: &str| {
        PlanFinding::blocking("bad_pattern", format!("the anchor pattern {} {reason}", quote(pattern)))
    };
    if pattern.trim().is_empty() {
        return Err(bad("is empty").with_fix("use a line of the statement that the edit refers to"));
    }
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(bad("is longer than 1024 bytes").with_fix("one line of the statement is enough"));
    }
    let literal: Vec<_> =
        content.match_indices(pattern).take(MAX_MATCHES).map(|(at, found)| at..at + found.len()).collect();
    if !literal.is_empty() {
        return Ok(literal);
    }
    let regex = RegexBuilder::new(pattern)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(8 * MAX_REGEX_BYTES)
        .nest_limit(MAX_REGEX_NESTING)
        .multi_line(true)
        .crlf(true)
        .build();
    let regex = match regex {
        Ok(regex) => regex,
        Err(regex::Error::CompiledTooBig(_)) => {
            return Err(bad("is too large as a regular expression").with_fix("avoid large repetition counts"));
        }
        // Neither a literal match nor a valid regular expression: the pattern is not found.
        Err(_) => return Ok(Vec::new()),
    };
    let found = regex.find_iter(content).take(MAX_MATCHES).map(|found| found.range());
    Ok(found.filter(|range| !range.is_empty()).collect())
}

/// Whether a pattern cannot be compiled as a regular expression within the limits.
pub(crate) fn is_invalid_regex(pattern: &str) -> bool {
    RegexBuilder::new(pattern).size_limit(MAX_REGEX_BYTES).nest_limit(MAX_REGEX_NESTING).build().is_err()
}

/// Picks the match that an anchor refers to. Matches with equal `same` keys count as one: two matches within
/// the same statement are not ambiguous. Returns all matches as the error if the anchor is ambiguous.
pub(crate) fn choose_match<T: PartialEq>(
    anchor: &Anchor,
    places: Vec<Range<usize>>,
    same: impl Fn(&Range<usize>) -> T,
) -> Result<Option<Range<usize>>, Vec<Range<usize>>> {
    if let Some(index) = anchor.index {
        return Ok(places.into_iter().nth(index));
    }
    match places.split_first() {
        None => Ok(None),
        Some((first, rest)) if rest.iter().all(|other| same(other) == same(first)) => Ok(Some(first.clone())),
        Some(_) => Err(places),
    }
}

/// The statement that contains `place`. Falls back to whole lines for languages without a parser.
pub(crate) fn enclosing_statement(
    text: &TextFile,
    outline: Option<&CodeOutline>,
    place: &Range<usize>,
) -> Range<usize> {
    let found = outline.and_then(|outline| outline.enclosing_statement(place));
    found.unwrap_or_else(|| {
        let line = text.line_start(place.start);
        let indent = text.content[line..].len() - text.content[line..].trim_start_matches([' ', '\t']).len();
        let last = place.end.max(place.start + 1).min(text.content.len());
        let end = text.content[last..].find('\n').map_or(text.content.len(), |end| last + end);
        // A match that includes the line terminator does not extend into the next line.
        let end = if text.content[..last].ends_with('\n') { last - 1 } else { end };
        let end = end - usize::from(text.content[..end].ends_with('\r'));
        (line + indent).min(place.start)..end
    })
}
