//! What is drawn: styled lines within the width of the terminal, each frame in place of the last.

use crossterm::Command;
use crossterm::cursor::{Hide, MoveRight, MoveUp, Show};
use crossterm::terminal::{Clear, ClearType};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TerminalSize {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextStyle {
    Plain,
    Dim,
    Bold,
    Active,
    Done,
    Invalid,
    Cancelled,
}

impl TextStyle {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dim => "2",
            Self::Bold => "1",
            Self::Active => "36",
            Self::Done => "32",
            Self::Invalid => "33",
            Self::Cancelled => "31",
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
pub(super) struct StyledLine(Vec<(TextStyle, String)>);

impl StyledLine {
    pub(super) fn new(style: TextStyle, text: impl Into<String>) -> Self {
        Self(vec![(style, text.into())])
    }

    pub(super) fn with_part(mut self, style: TextStyle, text: impl Into<String>) -> Self {
        self.0.push((style, text.into()));
        self
    }

    /// This one, with another behind it.
    pub(super) fn append(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(super) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.width()).sum()
    }

    /// The line in at most `width` columns. An ellipsis replaces what does not fit.
    pub(super) fn truncate_to_width(&self, width: usize) -> Self {
        if self.width() <= width {
            return self.clone();
        }
        let mut left = width.saturating_sub(1);
        let mut parts = Vec::new();
        for (style, text) in &self.0 {
            let part = prefix_within_width(text, left);
            left = left.saturating_sub(part.width());
            let is_whole = part.len() == text.len();
            parts.push((*style, part.to_owned()));
            if !is_whole {
                break;
            }
        }
        if width > 0 {
            parts.push((TextStyle::Dim, "…".to_owned()));
        }
        Self(parts)
    }

    pub(super) fn render(&self, coloured: bool) -> String {
        self.0.iter().map(|(style, text)| style.paint(text, coloured)).collect()
    }
}

/// The beginning of a text, in at most `width` columns.
fn prefix_within_width(text: &str, width: usize) -> &str {
    let mut used = 0;
    let end = text.grapheme_indices(true).find_map(|(at, character)| {
        used += character.width();
        (used > width).then_some(at)
    });
    &text[..end.unwrap_or(text.len())]
}

/// Lines, and where the cursor stands among them if it is visible.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ScreenView {
    pub(super) lines: Vec<StyledLine>,
    pub(super) cursor: Option<(usize, usize)>,
}

impl ScreenView {
    pub(super) fn push(&mut self, line: StyledLine) {
        self.lines.push(line);
    }

    /// What fits on the terminal: the last lines, and none as wide as the terminal, because some break such a line.
    fn fit_to_size(&self, size: TerminalSize) -> Self {
        let hidden = self.lines.len().saturating_sub(size.rows);
        let width = size.columns.saturating_sub(1);
        let lines = self.lines.iter().skip(hidden).map(|line| line.truncate_to_width(width)).collect();
        let cursor = self.cursor.map(|(row, column)| (row.saturating_sub(hidden), column.min(width)));
        Self { lines, cursor }
    }
}

/// The part of the screen that is redrawn with every key. The lines above it stay as they are.
#[derive(Default)]
pub(super) struct ScreenFrame {
    /// How wide the lines are that were drawn last.
    widths: Vec<usize>,
    /// Where the cursor was left among them.
    cursor: (usize, usize),
}

impl ScreenFrame {
    /// What replaces the last view by this one, in one write so that nothing flickers.
    pub(super) fn draw(&mut self, view: &ScreenView, size: TerminalSize, coloured: bool) -> String {
        let view = view.fit_to_size(size);
        let mut drawn = self.erase(size);
        self.widths = view.lines.iter().map(StyledLine::width).collect();
        let lines: Vec<String> = view.lines.iter().map(|line| line.render(coloured)).collect();
        drawn.push_str(&lines.join("\r\n"));
        let last = self.widths.len().saturating_sub(1);
        self.cursor = view.cursor.unwrap_or((last, self.widths.last().copied().unwrap_or(0)));
        if view.cursor.is_some() {
            move_up(&mut drawn, last - self.cursor.0);
            drawn.push('\r');
            if self.cursor.1 > 0 {
                push_command(&mut drawn, MoveRight(to_u16_saturating(self.cursor.1)));
            }
            push_command(&mut drawn, Show);
        } else {
            push_command(&mut drawn, Hide);
        }
        drawn
    }

    /// What replaces the last view by lines that stay, and moves to the line below them.
    pub(super) fn close(mut self, view: &ScreenView, size: TerminalSize, coloured: bool) -> String {
        let mut drawn = self.draw(&ScreenView { lines: view.lines.clone(), cursor: None }, size, coloured);
        if !view.lines.is_empty() {
            drawn.push_str("\r\n");
        }
        push_command(&mut drawn, Show);
        drawn
    }

    /// Moves to the first line and erases everything. A terminal that was made narrower has wrapped lines since then.
    fn erase(&self, size: TerminalSize) -> String {
        let columns = size.columns.max(1);
        let rows = |width: &usize| (*width).max(1).div_ceil(columns);
        let above: usize = self.widths.iter().take(self.cursor.0).map(rows).sum();
        let mut erased = String::new();
        move_up(&mut erased, above + self.cursor.1 / columns);
        erased.push('\r');
        push_command(&mut erased, Clear(ClearType::FromCursorDown));
        erased
    }
}

fn move_up(drawn: &mut String, rows: usize) {
    // Zero rows would be one: terminals read 0 as the default.
    if rows > 0 {
        push_command(drawn, MoveUp(to_u16_saturating(rows)));
    }
}

fn to_u16_saturating(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

fn push_command(drawn: &mut String, command: impl Command) {
    // Writing to a string cannot fail.
    let _ = command.write_ansi(drawn);
}

#[cfg(test)]
mod tests {
    use super::super::test_terminal::new_terminal;
    use super::*;

    #[test]
    fn lines_are_truncated_to_the_width() {
        let line = StyledLine::new(TextStyle::Plain, "> ").with_part(TextStyle::Active, "日本語");
        let cut = |width| line.truncate_to_width(width).render(false);
        assert_eq!([cut(8), cut(7), cut(5), cut(1), cut(0)], ["> 日本語", "> 日本…", "> 日…", "…", ""]);
        assert_eq!(line.render(true), "> \x1b[36m日本語\x1b[0m");
    }

    #[test]
    fn a_view_keeps_its_last_lines() {
        let lines = ["a", "b", "c"].map(|text| StyledLine::new(TextStyle::Plain, text)).to_vec();
        let view =
            ScreenView { lines, cursor: Some((2, 1)) }.fit_to_size(TerminalSize { columns: 9, rows: 2 });
        assert_eq!((view.lines.len(), view.cursor), (2, Some((1, 1))));
    }

    fn view(lines: &[&str], cursor: Option<(usize, usize)>) -> ScreenView {
        ScreenView {
            lines: lines.iter().map(|text| StyledLine::new(TextStyle::Plain, *text)).collect(),
            cursor,
        }
    }

    /// What a terminal of 20 columns shows, and where its cursor stands.
    fn screen_after(bytes: &[String]) -> (String, (u16, u16)) {
        let mut terminal = new_terminal(6, 20);
        for bytes in bytes {
            terminal.process(bytes.as_bytes());
        }
        (terminal.screen().contents(), terminal.screen().cursor_position())
    }

    #[test]
    fn each_view_replaces_the_last() {
        let size = TerminalSize { columns: 20, rows: 6 };
        let mut frame = ScreenFrame::default();
        let mut bytes = vec!["above\r\n".to_owned()];
        bytes.push(frame.draw(&view(&["one", "> x", "hint"], Some((1, 3))), size, true));
        assert_eq!(screen_after(&bytes), ("above\none\n> x\nhint".to_owned(), (2, 3)));
        bytes.push(frame.draw(&view(&["> xy", "a line that is too long"], Some((0, 4))), size, true));
        assert_eq!(screen_after(&bytes), ("above\n> xy\na line that is too…".to_owned(), (1, 4)));
        bytes.push(frame.draw(&view(&["a", "b"], None), size, true));
        bytes.push(frame.close(&view(&["done"], None), size, true));
        assert_eq!(screen_after(&bytes), ("above\ndone".to_owned(), (2, 0)));
    }

    #[test]
    fn a_view_that_is_closed_empty_leaves_nothing() {
        let size = TerminalSize { columns: 20, rows: 6 };
        let mut frame = ScreenFrame::default();
        let mut bytes = vec!["above\r\n".to_owned()];
        bytes.push(frame.draw(&view(&["one", "two"], None), size, false));
        bytes.push(frame.close(&ScreenView::default(), size, false));
        assert_eq!(screen_after(&bytes), ("above".to_owned(), (1, 0)));
    }

    #[test]
    fn erase_counts_lines_wrapped_by_resize() {
        let mut frame = ScreenFrame::default();
        frame.draw(
            &view(&["0123456789", "0123456789"], Some((1, 7))),
            TerminalSize { columns: 20, rows: 6 },
            false,
        );
        assert_eq!(frame.erase(TerminalSize { columns: 5, rows: 6 }), "\x1b[3A\r\x1b[J");
    }
}
