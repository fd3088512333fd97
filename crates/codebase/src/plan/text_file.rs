//! The text of a file, with its line endings, byte order mark and indentation.

use serde::{Deserialize, Serialize};

use super::digest::sha256_hex;
use super::document::{LspPosition, LspRange, OriginalFile, TextChange};
use crate::text_encoding::TextEncoding;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Eol {
    /// `\n`
    Lf,
    /// `\r\n`
    Crlf,
    /// Both; inserted lines use the more frequent one.
    Mixed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Indent {
    Tabs,
    /// The number of spaces per level.
    Spaces(u8),
}

const BOM: char = '\u{feff}';

/// A text file exactly as on disk, including the byte order mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextFile {
    pub(crate) content: String,
    pub(crate) eol: Eol,
    /// The most frequent line ending.
    pub(crate) line_end: &'static str,
    pub(crate) bom: bool,
    pub(crate) indent: Indent,
    pub(crate) encoding: TextEncoding,
}

impl TextFile {
    /// `None` if the bytes are not text.
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let encoding = TextEncoding::detect(&bytes);
        let content = encoding.decode(bytes).filter(|text| !text.contains('\0'))?;
        let crlf = content.matches("\r\n").count();
        // Lone CRs: tools disagree on where lines begin in such files.
        if memchr::memchr_iter(b'\r', content.as_bytes()).count() > crlf {
            return None;
        }
        let lf = memchr::memchr_iter(b'\n', content.as_bytes()).count() - crlf;
        let eol = match (lf, crlf) {
            (_, 0) => Eol::Lf,
            (0, _) => Eol::Crlf,
            _ => Eol::Mixed,
        };
        let line_end = if crlf > lf { "\r\n" } else { "\n" };
        let (bom, indent) = (content.starts_with(BOM), detect_indent(&content));
        Some(Self { content, eol, line_end, bom, indent, encoding })
    }

    pub(crate) fn original_file(&self) -> OriginalFile {
        let bytes = self.encoding.encode(&self.content);
        OriginalFile {
            sha256: sha256_hex(&bytes),
            size: bytes.len(),
            eol: self.eol,
            bom: self.bom,
            indent: self.indent,
        }
    }

    /// The line of a byte offset, counted from 1.
    pub(crate) fn line_at(&self, at: usize) -> u32 {
        let before = &self.content.as_bytes()[..at.min(self.content.len())];
        u32::try_from(memchr::memchr_iter(b'\n', before).count() + 1).unwrap_or(u32::MAX)
    }

    pub(crate) fn line_start(&self, at: usize) -> usize {
        let start = memchr::memrchr(b'\n', &self.content.as_bytes()[..at]).map_or(0, |end| end + 1);
        if start == 0 { self.content_start() } else { start }
    }

    /// The start of the next line, or the end of the text.
    pub(crate) fn next_line_start(&self, at: usize) -> usize {
        memchr::memchr(b'\n', &self.content.as_bytes()[at..]).map_or(self.content.len(), |end| at + end + 1)
    }

    /// The offset after the byte order mark, if any.
    pub(crate) fn content_start(&self) -> usize {
        if self.bom { BOM.len_utf8() } else { 0 }
    }

    /// The indentation before `at`; `None` if `at` is not the first non-blank position of its line.
    pub(crate) fn indentation_at(&self, at: usize) -> Option<&str> {
        let before = &self.content[self.line_start(at).min(at)..at];
        before.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\x0c')).then_some(before)
    }

    /// The LSP position of a byte offset. The byte order mark does not count.
    pub(crate) fn lsp_position(&self, at: usize) -> LspPosition {
        let start = self.line_start(at).min(at);
        let character = self.content[start..at].encode_utf16().count();
        LspPosition { line: self.line_at(at) - 1, character: u32::try_from(character).unwrap_or(u32::MAX) }
    }

    /// A change of a range to `new_text`, converted to the line endings of this file.
    pub(crate) fn change(&self, start: usize, end: usize, new_text: &str) -> TextChange {
        let range = LspRange { start: self.lsp_position(start), end: self.lsp_position(end) };
        let old_text = self.content[start..end].to_owned();
        TextChange { start, end, range, old_text, new_text: self.with_own_line_ends(new_text) }
    }

    /// The smallest single change, in whole characters, that turns this text into `new`.
    pub(crate) fn minimal_change(&self, new: &str) -> Option<TextChange> {
        let old = &self.content;
        let same = old.chars().zip(new.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
        let (rest_old, rest_new) = (&old[same..], &new[same..]);
        let tail = rest_old.chars().rev().zip(rest_new.chars().rev());
        let tail: usize = tail.take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
        let (end, new_end) = (old.len() - tail, new.len() - tail);
        let mut change = self.change(same, end, "");
        new[same..new_end].clone_into(&mut change.new_text);
        (change.old_text != change.new_text).then_some(change)
    }

    pub(crate) fn with_own_line_ends(&self, text: &str) -> String {
        let plain = text.replace("\r\n", "\n");
        if self.line_end == "\n" { plain } else { plain.replace('\n', self.line_end) }
    }
}

/// The most frequent indentation step.
fn detect_indent(content: &str) -> Indent {
    let (mut tabs, mut widths) = (0, [0u32; 9]);
    let mut last = 0;
    for line in content.lines().filter(|line| !line.trim().is_empty()).take(2000) {
        if line.starts_with('\t') {
            tabs += 1;
            continue;
        }
        let width = line.len() - line.trim_start_matches(' ').len();
        // Only an increase in indentation reveals the width of a step.
        if let 1..=8 = width.saturating_sub(last) {
            widths[width - last] += 1;
        }
        last = width;
    }
    let (width, steps) =
        (1u8..=8).zip(&widths[1..]).max_by_key(|(width, steps)| (**steps, 9 - width)).unwrap_or((4, &0));
    match (tabs > *steps, *steps) {
        (true, _) => Indent::Tabs,
        (false, 0) => Indent::Spaces(4),
        (false, _) => Indent::Spaces(width),
    }
}

/// Applies changes, which must be sorted and must not overlap; `None` if they do not fit the text.
pub(crate) fn apply_changes<'c>(
    content: &str,
    changes: impl IntoIterator<Item = &'c TextChange>,
) -> Option<String> {
    let (mut new, mut at) = (String::with_capacity(content.len() + 256), 0);
    for change in changes {
        new.push_str(content.get(at..change.start)?);
        new.push_str(&change.new_text);
        at = change.end;
    }
    new.push_str(content.get(at..)?);
    Some(new)
}

/// Reverses changes; `None` if the text does not contain their new texts.
pub(crate) fn revert_changes(text: &str, changes: &[TextChange]) -> Option<String> {
    let (mut old, mut at, mut start_in_old) = (String::new(), 0usize, 0usize);
    for change in changes {
        let kept = at.checked_add(change.start.checked_sub(start_in_old)?)?;
        old.push_str(text.get(at..kept)?);
        let end = kept.checked_add(change.new_text.len())?;
        if text.get(kept..end)? != change.new_text {
            return None;
        }
        old.push_str(&change.old_text);
        (at, start_in_old) = (end, change.end);
    }
    old.push_str(text.get(at..)?);
    Some(old)
}
