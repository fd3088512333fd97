//! Plain text: paragraphs between empty lines.

use std::ops::Range;

use super::{BlockKind, Outline, Part};

pub(super) fn outline(source: &str) -> Outline {
    let parts = paragraphs(source).map(|bytes| Part::body(BlockKind::Prose, bytes)).collect();
    Outline { parts, ..Outline::default() }
}

/// Where the paragraphs of a text stand: runs of lines that are not blank.
pub(super) fn paragraphs(source: &str) -> impl Iterator<Item = Range<usize>> {
    let mut lines = lines(source).peekable();
    std::iter::from_fn(move || {
        let first = lines.find(|line| !source[line.clone()].trim().is_empty())?;
        let mut end = first.end;
        while let Some(line) = lines.next_if(|line| !source[line.clone()].trim().is_empty()) {
            end = line.end;
        }
        Some(first.start..end)
    })
}

/// Where the lines of a text stand, without their ends.
pub(super) fn lines(source: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    source.split_inclusive('\n').map(move |line| {
        let end = start + line.trim_end_matches(['\n', '\r']).len();
        let range = start..end;
        start += line.len();
        range
    })
}
