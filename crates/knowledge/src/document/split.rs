//! Cutting what is too long to stay whole.

use std::ops::Range;

/// Cuts a stretch of text into pieces of at most `limit` characters: at ends of lines, else of sentences, else between words,
/// and only if there is nothing else anywhere.
pub(super) fn split_text(source: &str, bytes: Range<usize>, limit: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = bytes.start;
    while start < bytes.end {
        let rest = &source[start..bytes.end];
        let piece = rest.char_indices().nth(limit).map_or(rest, |(at, next)| {
            if next == '\n' { &rest[..at] } else { &rest[..split_position(&rest[..at])] }
        });
        let lead = piece.len() - piece.trim_start_matches(['\n', '\r']).len();
        let end = start + piece.trim_end().len();
        if start + lead < end {
            pieces.push(start + lead..end);
        }
        start += piece.len();
    }
    pieces
}

/// Where a text that goes on should rather end. Never at its beginning.
fn split_position(text: &str) -> usize {
    let after = |mark: &str| text.rfind(mark).map(|at| at + mark.len());
    // A border in the first half would leave pieces of all sizes.
    let late = |at: &usize| *at > text.len() / 2;
    let line = after("\n").filter(late);
    let sentence = || [". ", "? ", "! ", "。"].into_iter().filter_map(after).max().filter(late);
    line.or_else(sentence).or_else(|| after(" ")).unwrap_or(text.len()).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_split_at_best_boundary() {
        let check = |text, expected: &[&str]| {
            let pieces: Vec<_> =
                split_text(text, 0..text.len(), 12).into_iter().map(|piece| &text[piece]).collect();
            assert_eq!(pieces, expected, "{text}");
        };
        check("short", &["short"]);
        check("first line\nsecond line", &["first line", "second line"]);
        check("One two. Three.", &["One two.", "Three."]);
        check("words without an end", &["words", "without an", "end"]);
        check("onewordthatislong", &["onewordthati", "slong"]);
        check("    indented\n    code", &["    indented", "    code"]);
    }

    proptest! {
        #[test]
        fn splitting_loses_no_words(text in "(\\PC|\n){0,200}", limit in 1_usize..40) {
            let pieces = split_text(&text, 0..text.len(), limit);
            let without_space = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let joined: String = pieces.iter().map(|piece| without_space(&text[piece.clone()])).collect();
            prop_assert_eq!(joined, without_space(&text));
            prop_assert!(pieces.iter().all(|piece| text[piece.clone()].chars().count() <= limit));
        }
    }
}
