//! The part of the screen that is drawn anew with every key: the lines above it stay as they are.

use std::fmt::Write;

use super::view::{Line, Size, View};

const HIDE_CURSOR: &str = "\x1b[?25l";
pub(super) const SHOW_CURSOR: &str = "\x1b[?25h";
const ERASE_BELOW: &str = "\r\x1b[J";

#[derive(Default)]
pub(super) struct Frame {
    /// How wide the lines are that were drawn last.
    widths: Vec<usize>,
    /// Where the cursor was left among them.
    cursor: (usize, usize),
}

impl Frame {
    /// What replaces the last view by this one, to be written at once so that nothing flickers.
    pub(super) fn draw(&mut self, view: &View, size: Size, coloured: bool) -> String {
        let view = view.fitted(size);
        let mut drawn = self.erase(size);
        self.widths = view.lines.iter().map(Line::width).collect();
        let lines: Vec<String> = view.lines.iter().map(|line| line.painted(coloured)).collect();
        drawn.push_str(&lines.join("\r\n"));
        let last = self.widths.len().saturating_sub(1);
        self.cursor = view.cursor.unwrap_or((last, self.widths.last().copied().unwrap_or(0)));
        if view.cursor.is_some() {
            up(&mut drawn, last - self.cursor.0);
            drawn.push('\r');
            right(&mut drawn, self.cursor.1);
        }
        drawn.push_str(if view.cursor.is_some() { SHOW_CURSOR } else { HIDE_CURSOR });
        drawn
    }

    /// What replaces the last view by lines that stay, and goes to the line below them.
    pub(super) fn close(mut self, view: &View, size: Size, coloured: bool) -> String {
        let mut drawn = self.draw(&View { lines: view.lines.clone(), cursor: None }, size, coloured);
        if !view.lines.is_empty() {
            drawn.push_str("\r\n");
        }
        drawn + SHOW_CURSOR
    }

    /// Goes to the first line and erases all. A terminal that was made narrower has broken lines since they were drawn.
    fn erase(&self, size: Size) -> String {
        let columns = size.columns.max(1);
        let broken = |width: &usize| (*width).max(1).div_ceil(columns);
        let above: usize = self.widths.iter().take(self.cursor.0).map(broken).sum();
        let mut erased = String::new();
        up(&mut erased, above + self.cursor.1 / columns);
        erased + ERASE_BELOW
    }
}

fn up(drawn: &mut String, rows: usize) {
    if rows > 0 {
        // Writing to a text cannot fail.
        let _ = write!(drawn, "\x1b[{rows}A");
    }
}

fn right(drawn: &mut String, columns: usize) {
    if columns > 0 {
        let _ = write!(drawn, "\x1b[{columns}C");
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::screen;
    use super::super::view::Style;
    use super::*;

    fn view(lines: &[&str], cursor: Option<(usize, usize)>) -> View {
        View { lines: lines.iter().map(|text| Line::new(Style::Plain, *text)).collect(), cursor }
    }

    /// What a terminal of 20 columns shows, and where its cursor stands.
    fn shown(bytes: &[String]) -> (String, (u16, u16)) {
        let mut terminal = screen(6, 20);
        for bytes in bytes {
            terminal.process(bytes.as_bytes());
        }
        (terminal.screen().contents(), terminal.screen().cursor_position())
    }

    #[test]
    fn each_view_takes_the_place_of_the_last() {
        let size = Size { columns: 20, rows: 6 };
        let mut frame = Frame::default();
        let mut bytes = vec!["above\r\n".to_owned()];
        bytes.push(frame.draw(&view(&["one", "> x", "hint"], Some((1, 3))), size, true));
        assert_eq!(shown(&bytes), ("above\none\n> x\nhint".to_owned(), (2, 3)));
        bytes.push(frame.draw(&view(&["> xy", "a line that is too long"], Some((0, 4))), size, true));
        assert_eq!(shown(&bytes), ("above\n> xy\na line that is too…".to_owned(), (1, 4)));
        bytes.push(frame.draw(&view(&["a", "b"], None), size, true));
        bytes.push(frame.close(&view(&["done"], None), size, true));
        assert_eq!(shown(&bytes), ("above\ndone".to_owned(), (2, 0)));
    }

    #[test]
    fn a_view_that_is_closed_empty_leaves_nothing() {
        let size = Size { columns: 20, rows: 6 };
        let mut frame = Frame::default();
        let mut bytes = vec!["above\r\n".to_owned()];
        bytes.push(frame.draw(&view(&["one", "two"], None), size, false));
        bytes.push(frame.close(&View::default(), size, false));
        assert_eq!(shown(&bytes), ("above".to_owned(), (1, 0)));
    }

    #[test]
    fn a_terminal_made_narrower_has_broken_the_lines() {
        let mut frame = Frame::default();
        frame.draw(&view(&["0123456789", "0123456789"], Some((1, 7))), Size { columns: 20, rows: 6 }, false);
        assert_eq!(frame.erase(Size { columns: 5, rows: 6 }), "\x1b[3A\r\x1b[J");
    }
}
