//! What is to be seen: lines of styled text, cut to the width of the terminal.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Dim,
    Strong,
    Chosen,
    Wrong,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dim => "2",
            Self::Strong => "1",
            Self::Chosen => "36",
            Self::Wrong => "31",
        }
    }

    pub(super) fn paint(self, text: &str, coloured: bool) -> String {
        if coloured && self != Self::Plain && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", self.code())
        } else {
            text.to_owned()
        }
    }
}

/// A line of parts, each in its style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line(Vec<(Style, String)>);

impl Line {
    pub(super) fn new(style: Style, text: impl Into<String>) -> Self {
        Self(vec![(style, text.into())])
    }

    pub(super) fn and(mut self, style: Style, text: impl Into<String>) -> Self {
        self.0.push((style, text.into()));
        self
    }

    pub(super) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.width()).sum()
    }

    /// The line in at most `width` columns; where something was cut off, an ellipsis stands.
    pub(super) fn fitted(&self, width: usize) -> Self {
        if self.width() <= width {
            return self.clone();
        }
        let mut left = width.saturating_sub(1);
        let mut parts = Vec::new();
        for (style, text) in &self.0 {
            let part = head(text, left);
            left = left.saturating_sub(part.width());
            let is_whole = part.len() == text.len();
            parts.push((*style, part.to_owned()));
            if !is_whole {
                break;
            }
        }
        let mut line = Self(parts);
        if width > 0 {
            line = line.and(Style::Dim, "…");
        }
        line
    }

    pub(super) fn painted(&self, coloured: bool) -> String {
        self.0.iter().map(|(style, text)| style.paint(text, coloured)).collect()
    }
}

/// The beginning of a text, in at most `width` columns.
fn head(text: &str, width: usize) -> &str {
    let mut used = 0;
    let end = text.grapheme_indices(true).find_map(|(at, character)| {
        used += character.width();
        (used > width).then_some(at)
    });
    &text[..end.unwrap_or(text.len())]
}

/// A text in lines of at most `width` columns, broken between words where that is possible.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Lines, and where the cursor is to stand among them, if it is to be seen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    pub(super) lines: Vec<Line>,
    pub(super) cursor: Option<(usize, usize)>,
}

impl View {
    pub(super) fn push(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// Adds a text that must be read to its end, in as many lines as it takes.
    pub(super) fn push_text(&mut self, style: Style, indent: &str, text: &str, size: Size) {
        let width = size.columns.saturating_sub(indent.len() + 1);
        self.lines.extend(wrapped(text, width).iter().map(|line| Line::new(style, [indent, line].concat())));
    }

    /// What of it a terminal can hold: the last lines, and none as wide as the terminal, because some break such a line.
    pub(super) fn fitted(&self, size: Size) -> Self {
        let hidden = self.lines.len().saturating_sub(size.rows);
        let width = size.columns.saturating_sub(1);
        let lines = self.lines.iter().skip(hidden).map(|line| line.fitted(width)).collect();
        let cursor = self.cursor.map(|(row, column)| (row.saturating_sub(hidden), column.min(width)));
        Self { lines, cursor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_to_the_width() {
        let line = Line::new(Style::Plain, "> ").and(Style::Chosen, "日本語");
        let cut = |width| line.fitted(width).painted(false);
        assert_eq!([cut(8), cut(7), cut(5), cut(1), cut(0)], ["> 日本語", "> 日本…", "> 日…", "…", ""]);
        assert_eq!(line.painted(true), "> \x1b[36m日本語\x1b[0m");
    }

    #[test]
    fn texts_are_broken_between_words() {
        assert_eq!(wrapped("a bc def", 4), ["a bc", "def"]);
        assert_eq!(wrapped("abcdef g", 4), ["abcdef", "g"]);
        assert_eq!(wrapped("日本 語", 4), ["日本", "語"]);
        assert_eq!(wrapped("", 4), [""]);
    }

    #[test]
    fn a_view_keeps_its_last_lines() {
        let lines = ["a", "b", "c"].map(|text| Line::new(Style::Plain, text)).to_vec();
        let view = View { lines, cursor: Some((2, 1)) }.fitted(Size { columns: 9, rows: 2 });
        assert_eq!((view.lines.len(), view.cursor), (2, Some((1, 1))));
    }
}
