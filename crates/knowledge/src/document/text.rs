//! Plain text: paragraphs between empty lines.

use std::ops::Range;

use super::{DocumentBlockKind, DocumentOutline, OutlinePart};

pub(super) fn parse(source: &str) -> DocumentOutline {
    let parts =
        paragraph_ranges(source).map(|bytes| OutlinePart::body(DocumentBlockKind::Prose, bytes)).collect();
    DocumentOutline { parts, ..DocumentOutline::default() }
}

/// Where the paragraphs of a text stand: runs of lines that are not blank.
pub(super) fn paragraph_ranges(source: &str) -> impl Iterator<Item = Range<usize>> {
    let mut lines = line_ranges(source).peekable();
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
pub(super) fn line_ranges(source: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    source.split_inclusive('\n').map(move |line| {
        let end = start + line.trim_end_matches(['\n', '\r']).len();
        let range = start..end;
        start += line.len();
        range
    })
}
