//! Options to choose from, one or several, and a filter that is typed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_width::UnicodeWidthStr;

use super::prompt::wrap_lines;
use super::screen::{StyledLine, TextStyle};
use super::symbols::Symbols;

#[derive(Debug)]
pub(super) struct OptionRow {
    pub(super) title: String,
    /// What is sent for it; nothing for the row that gives no answer.
    pub(super) value: Option<String>,
    pub(super) is_default: bool,
    pub(super) is_marked: bool,
}

pub(super) struct OptionList {
    rows: Vec<OptionRow>,
    is_multi: bool,
    filter: String,
    /// Which of the rows that the filter lets through.
    cursor: usize,
}

impl OptionList {
    /// A list with the cursor at the first row that is marked.
    pub(super) fn new(rows: Vec<OptionRow>, is_multi: bool) -> Self {
        let cursor = rows.iter().position(|row| row.is_marked && !is_multi).unwrap_or(0);
        Self { rows, is_multi, filter: String::new(), cursor }
    }

    pub(super) fn press(&mut self, key: KeyEvent, page: usize) {
        let last = self.matching_rows().len().saturating_sub(1);
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Up | KeyCode::BackTab => self.cursor = self.cursor.checked_sub(1).unwrap_or(last),
            KeyCode::Down | KeyCode::Tab => {
                self.cursor = if self.cursor < last { self.cursor + 1 } else { 0 }
            }
            KeyCode::PageUp => self.cursor = self.cursor.saturating_sub(page),
            KeyCode::PageDown => self.cursor = (self.cursor + page).min(last),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = last,
            KeyCode::Char('u' | 'w') if is_ctrl => self.update_filter(String::clear),
            KeyCode::Char(_) if is_ctrl => {}
            KeyCode::Char(' ') if self.is_multi => self.toggle_mark(),
            KeyCode::Char(' ') if self.filter.is_empty() => {}
            KeyCode::Char(typed) => self.update_filter(|filter| filter.push(typed)),
            KeyCode::Backspace => self.update_filter(|filter| _ = filter.pop()),
            _ => {}
        }
    }

    /// The row at the cursor, if the filter lets any through.
    pub(super) fn current(&self) -> Option<&OptionRow> {
        self.matching_rows().get(self.cursor).map(|n| &self.rows[*n])
    }

    pub(super) fn marked_rows(&self) -> impl Iterator<Item = &OptionRow> {
        self.rows.iter().filter(|row| row.is_marked)
    }

    /// At most `page` rows around the cursor, and a line about those that are hidden. The row at the cursor is shown whole.
    pub(super) fn render(&self, page: usize, width: usize, symbols: &Symbols) -> Vec<StyledLine> {
        let found = self.matching_rows();
        let page = page.max(1);
        let start = self.cursor.saturating_sub(page / 2).min(found.len().saturating_sub(page));
        let seen = found.iter().enumerate().skip(start).take(page);
        let mut lines: Vec<StyledLine> = seen
            .flat_map(|(n, row)| self.render_row(&self.rows[*row], n == self.cursor, width, symbols))
            .collect();
        let mut about = Vec::new();
        if !self.filter.is_empty() {
            about.push(format!("filter: {}", self.filter));
        }
        if found.is_empty() {
            about.push("nothing matches".to_owned());
        } else if found.len() > page {
            about.push(format!("{} of {}", self.cursor + 1, found.len()));
        }
        if !about.is_empty() {
            lines.push(StyledLine::new(TextStyle::Dim, about.join(", ")));
        }
        lines
    }

    fn render_row(
        &self,
        row: &OptionRow,
        is_current: bool,
        width: usize,
        symbols: &Symbols,
    ) -> Vec<StyledLine> {
        let style = if is_current { TextStyle::Active } else { TextStyle::Dim };
        let mark = if self.is_multi {
            let pointer = if is_current { symbols.pointer } else { " " };
            format!("{pointer} {} ", symbols.checkbox[usize::from(row.is_marked)])
        } else {
            format!("{} ", symbols.radio[usize::from(is_current)])
        };
        // Among several, the marks show it.
        let default = if row.is_default && !self.is_multi { " (default)" } else { "" };
        if !is_current {
            let title = if self.is_multi { TextStyle::Plain } else { style };
            return vec![
                StyledLine::new(style, mark).with_part(title, &row.title).with_part(TextStyle::Dim, default),
            ];
        }
        let left = width.saturating_sub(mark.width());
        let mut start = mark;
        let mut lines = Vec::new();
        for line in wrap_lines(&format!("{}{default}", row.title), left) {
            let indent = " ".repeat(start.width());
            lines.push(
                StyledLine::new(style, std::mem::replace(&mut start, indent))
                    .with_part(TextStyle::Plain, line),
            );
        }
        lines
    }

    fn toggle_mark(&mut self) {
        if let Some(n) = self.matching_rows().get(self.cursor).copied() {
            self.rows[n].is_marked = !self.rows[n].is_marked;
        }
    }

    /// Changes the filter and stays at the same row, if that is still there.
    fn update_filter(&mut self, change: impl FnOnce(&mut String)) {
        let before = self.matching_rows().get(self.cursor).copied();
        change(&mut self.filter);
        self.cursor = self.matching_rows().iter().position(|n| Some(*n) == before).unwrap_or(0);
    }

    /// The rows that the filter lets through.
    fn matching_rows(&self) -> Vec<usize> {
        let wanted = self.filter.to_lowercase();
        let holds = |text: &str| text.to_lowercase().contains(&wanted);
        let fits = |row: &OptionRow| holds(&row.title) || row.value.as_deref().is_some_and(holds);
        self.rows.iter().enumerate().filter(|(_, row)| fits(row)).map(|(n, _)| n).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::symbols::UNICODE;
    use super::super::test_terminal::parse_keys;
    use super::*;

    fn list(several: bool) -> OptionList {
        let row = |title: &str| OptionRow {
            title: title.to_owned(),
            value: Some(title.to_lowercase()),
            is_default: title == "Beta",
            is_marked: title == "Beta",
        };
        OptionList::new(["Alpha", "Beta", "Gamma", "Delta"].map(row).into(), several)
    }

    #[track_caller]
    fn check(several: bool, typed: &str, page: usize, expected: &str) {
        let mut list = list(several);
        for key in parse_keys(typed) {
            list.press(key, page);
        }
        let lines: Vec<String> =
            list.render(page, 40, &UNICODE).iter().map(|line| line.render(false)).collect();
        assert_eq!(lines.join("\n"), expected, "{typed}");
    }

    #[test]
    fn single_select_moves_and_filters() {
        check(false, "", 9, "○ Alpha\n● Beta (default)\n○ Gamma\n○ Delta");
        check(false, "↓↓↓", 9, "● Alpha\n○ Beta (default)\n○ Gamma\n○ Delta");
        check(false, "↑↑", 2, "○ Gamma\n● Delta\n4 of 4");
        check(false, "⇱", 2, "● Alpha\n○ Beta (default)\n1 of 4");
        check(false, "LT", 9, "● Delta\nfilter: LT");
        check(false, " lt⌫⌫", 9, "○ Alpha\n○ Beta (default)\n○ Gamma\n● Delta");
        check(false, "xyz", 9, "filter: xyz, nothing matches");
    }

    #[test]
    fn current_row_is_wrapped_not_truncated() {
        let row = |title: &str| OptionRow {
            title: title.to_owned(),
            value: Some(title.to_owned()),
            is_default: false,
            is_marked: false,
        };
        let list = OptionList::new(["one of several words", "another one"].map(row).into(), false);
        let lines: Vec<_> = list.render(9, 12, &UNICODE).iter().map(|line| line.render(false)).collect();
        assert_eq!(lines, ["● one of", "  several", "  words", "○ another one"]);
    }

    #[test]
    fn multi_select_marks_rows() {
        check(true, "", 9, "❯ ◻ Alpha\n  ◼ Beta\n  ◻ Gamma\n  ◻ Delta");
        check(true, " ↓ ↓ ", 9, "  ◼ Alpha\n  ◻ Beta\n❯ ◼ Gamma\n  ◻ Delta");
        check(true, "gam ⌃u", 2, "  ◼ Beta\n❯ ◼ Gamma\n3 of 4");
    }

    #[test]
    fn no_row_is_current_without_matches() {
        let mut list = list(false);
        for key in parse_keys("xyz") {
            list.press(key, 9);
        }
        assert!(list.current().is_none());
    }
}
