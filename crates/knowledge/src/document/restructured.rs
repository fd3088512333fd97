//! reStructuredText, as far as finding and quoting needs it: headings, and blocks with what is indented beneath them.

use std::ops::Range;

use super::text::{line_ranges, paragraph_ranges};
use super::{DocumentBlockKind, DocumentOutline, OutlinePart, tags};

/// Finds headings and blocks. The first heading is the title.
pub(super) fn parse(source: &str) -> DocumentOutline {
    let mut outline = DocumentOutline::default();
    // A heading's level is the order in which its kind of line was first used.
    let mut styles = Vec::new();
    for paragraph in paragraph_ranges(source) {
        let mut content = paragraph.clone();
        if let Some(heading) = RstHeading::parse_at_start(source, paragraph) {
            let level = styles.iter().position(|style| *style == heading.style).unwrap_or(styles.len());
            if level == styles.len() {
                styles.push(heading.style);
            }
            outline.title.get_or_insert_with(|| heading.text.clone());
            outline.parts.push(OutlinePart::Heading { level: level + 1, text: heading.text });
            content.start = heading.end;
        }
        add_block(&mut outline.parts, source, content);
    }
    outline
}

/// A heading: its text, the character it is underlined with and whether it has a line above, and where it ends.
struct RstHeading {
    text: String,
    style: (u8, bool),
    end: usize,
}

impl RstHeading {
    fn parse_at_start(source: &str, paragraph: Range<usize>) -> Option<Self> {
        let mut lines = line_ranges(&source[paragraph.clone()])
            .map(|line| line.start + paragraph.start..line.end + paragraph.start);
        let first = lines.next()?;
        let has_overline = underline_char(&source[first.clone()]).is_some();
        let title = if has_overline { lines.next()? } else { first };
        let under = lines.next()?;
        let (text, mark) = (source[title].trim(), underline_char(&source[under.clone()])?);
        let is_long_enough = under.len() >= text.chars().count().min(4);
        let end = lines.next().map_or(under.end, |line| line.start);
        (!text.is_empty() && is_long_enough).then(|| Self {
            text: text.to_owned(),
            style: (mark, has_overline),
            end,
        })
    }
}

/// The character of a line that repeats one, as those above and below headings do.
fn underline_char(line: &str) -> Option<u8> {
    let line = line.trim_end();
    let mark = line.bytes().next().filter(u8::is_ascii_punctuation)?;
    (line.len() > 1 && line.bytes().all(|byte| byte == mark)).then_some(mark)
}

/// Adds a paragraph. What is indented belongs to the block before it: a literal text, a directive, an item.
fn add_block(parts: &mut Vec<OutlinePart>, source: &str, bytes: Range<usize>) {
    let text = &source[bytes.clone()];
    let first_line = text.lines().next().unwrap_or_default();
    let is_comment = first_line.starts_with(".. ") && !first_line.contains("::");
    if text.trim().is_empty() || is_comment {
        return;
    }
    match parts.last_mut() {
        Some(OutlinePart::Body { block, .. }) if text.starts_with([' ', '\t']) => block.bytes.end = bytes.end,
        _ => parts.push(OutlinePart::body(DocumentBlockKind::Prose, bytes)),
    }
}

/// The words of a block: the text of references, and not their targets.
pub(super) fn plain_text(block: &str) -> String {
    tags::strip_tags(block)
}
