//! Options to choose from, one or several, and a filter that is typed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_width::UnicodeWidthStr;

use super::prompt::wrapped;
use super::screen::{Line, Style};
use super::symbols::Symbols;

#[derive(Debug)]
pub(super) struct Row {
    pub(super) title: String,
    /// What is sent for it; nothing for the row that gives no answer.
    pub(super) value: Option<String>,
    pub(super) is_default: bool,
    pub(super) is_marked: bool,
}

pub(super) struct List {
    rows: Vec<Row>,
    several: bool,
    filter: String,
    /// Which of the rows that the filter lets through.
    at: usize,
}

impl List {
    /// A list with the cursor at the first row that is marked.
    pub(super) fn new(rows: Vec<Row>, several: bool) -> Self {
        let at = rows.iter().position(|row| row.is_marked && !several).unwrap_or(0);
        Self { rows, several, filter: String::new(), at }
    }

    pub(super) fn press(&mut self, key: KeyEvent, page: usize) {
        let last = self.found().len().saturating_sub(1);
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Up | KeyCode::BackTab => self.at = self.at.checked_sub(1).unwrap_or(last),
            KeyCode::Down | KeyCode::Tab => self.at = if self.at < last { self.at + 1 } else { 0 },
            KeyCode::PageUp => self.at = self.at.saturating_sub(page),
            KeyCode::PageDown => self.at = (self.at + page).min(last),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = last,
            KeyCode::Char('u' | 'w') if is_ctrl => self.narrow(String::clear),
            KeyCode::Char(_) if is_ctrl => {}
            KeyCode::Char(' ') if self.several => self.mark(),
            KeyCode::Char(' ') if self.filter.is_empty() => {}
            KeyCode::Char(typed) => self.narrow(|filter| filter.push(typed)),
            KeyCode::Backspace => self.narrow(|filter| _ = filter.pop()),
            _ => {}
        }
    }

    /// The row at the cursor, if the filter lets any through.
    pub(super) fn current(&self) -> Option<&Row> {
        self.found().get(self.at).map(|n| &self.rows[*n])
    }

    pub(super) fn marked(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.is_marked)
    }

    /// At most `page` rows around the cursor, and a line about those that are hidden. The row at the cursor is shown whole.
    pub(super) fn lines(&self, page: usize, width: usize, symbols: &Symbols) -> Vec<Line> {
        let found = self.found();
        let page = page.max(1);
        let start = self.at.saturating_sub(page / 2).min(found.len().saturating_sub(page));
        let seen = found.iter().enumerate().skip(start).take(page);
        let mut lines: Vec<Line> =
            seen.flat_map(|(n, row)| self.row(&self.rows[*row], n == self.at, width, symbols)).collect();
        let mut about = Vec::new();
        if !self.filter.is_empty() {
            about.push(format!("filter: {}", self.filter));
        }
        if found.is_empty() {
            about.push("nothing matches".to_owned());
        } else if found.len() > page {
            about.push(format!("{} of {}", self.at + 1, found.len()));
        }
        if !about.is_empty() {
            lines.push(Line::new(Style::Dim, about.join(", ")));
        }
        lines
    }

    fn row(&self, row: &Row, is_current: bool, width: usize, symbols: &Symbols) -> Vec<Line> {
        let style = if is_current { Style::Active } else { Style::Dim };
        let mark = if self.several {
            let pointer = if is_current { symbols.pointer } else { " " };
            format!("{pointer} {} ", symbols.checkbox[usize::from(row.is_marked)])
        } else {
            format!("{} ", symbols.radio[usize::from(is_current)])
        };
        // Among several, the marks show it.
        let default = if row.is_default && !self.several { " (default)" } else { "" };
        if !is_current {
            let title = if self.several { Style::Plain } else { style };
            return vec![Line::new(style, mark).and(title, &row.title).and(Style::Dim, default)];
        }
        let left = width.saturating_sub(mark.width());
        let mut start = mark;
        let mut lines = Vec::new();
        for line in wrapped(&format!("{}{default}", row.title), left) {
            let indent = " ".repeat(start.width());
            lines.push(Line::new(style, std::mem::replace(&mut start, indent)).and(Style::Plain, line));
        }
        lines
    }

    fn mark(&mut self) {
        if let Some(n) = self.found().get(self.at).copied() {
            self.rows[n].is_marked = !self.rows[n].is_marked;
        }
    }

    /// Changes the filter and stays at the same row, if that is still there.
    fn narrow(&mut self, change: impl FnOnce(&mut String)) {
        let before = self.found().get(self.at).copied();
        change(&mut self.filter);
        self.at = self.found().iter().position(|n| Some(*n) == before).unwrap_or(0);
    }

    /// The rows that the filter lets through.
    fn found(&self) -> Vec<usize> {
        let wanted = self.filter.to_lowercase();
        let holds = |text: &str| text.to_lowercase().contains(&wanted);
        let fits = |row: &Row| holds(&row.title) || row.value.as_deref().is_some_and(holds);
        self.rows.iter().enumerate().filter(|(_, row)| fits(row)).map(|(n, _)| n).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::keys;
    use super::super::symbols::UNICODE;
    use super::*;

    fn list(several: bool) -> List {
        let row = |title: &str| Row {
            title: title.to_owned(),
            value: Some(title.to_lowercase()),
            is_default: title == "Beta",
            is_marked: title == "Beta",
        };
        List::new(["Alpha", "Beta", "Gamma", "Delta"].map(row).into(), several)
    }

    #[track_caller]
    fn check(several: bool, typed: &str, page: usize, expected: &str) {
        let mut list = list(several);
        for key in keys(typed) {
            list.press(key, page);
        }
        let lines: Vec<String> =
            list.lines(page, 40, &UNICODE).iter().map(|line| line.painted(false)).collect();
        assert_eq!(lines.join("\n"), expected, "{typed}");
    }

    #[test]
    fn one_of_them() {
        check(false, "", 9, "○ Alpha\n● Beta (default)\n○ Gamma\n○ Delta");
        check(false, "↓↓↓", 9, "● Alpha\n○ Beta (default)\n○ Gamma\n○ Delta");
        check(false, "↑↑", 2, "○ Gamma\n● Delta\n4 of 4");
        check(false, "⇱", 2, "● Alpha\n○ Beta (default)\n1 of 4");
        check(false, "LT", 9, "● Delta\nfilter: LT");
        check(false, " lt⌫⌫", 9, "○ Alpha\n○ Beta (default)\n○ Gamma\n● Delta");
        check(false, "xyz", 9, "filter: xyz, nothing matches");
    }

    #[test]
    fn the_current_row_is_shown_whole() {
        let row = |title: &str| Row {
            title: title.to_owned(),
            value: Some(title.to_owned()),
            is_default: false,
            is_marked: false,
        };
        let list = List::new(["one of several words", "another one"].map(row).into(), false);
        let lines: Vec<_> = list.lines(9, 12, &UNICODE).iter().map(|line| line.painted(false)).collect();
        assert_eq!(lines, ["● one of", "  several", "  words", "○ another one"]);
    }

    #[test]
    fn several_of_them() {
        check(true, "", 9, "❯ ◻ Alpha\n  ◼ Beta\n  ◻ Gamma\n  ◻ Delta");
        check(true, " ↓ ↓ ", 9, "  ◼ Alpha\n  ◻ Beta\n❯ ◼ Gamma\n  ◻ Delta");
        check(true, "gam ⌃u", 2, "  ◼ Beta\n❯ ◼ Gamma\n3 of 4");
    }

    #[test]
    fn nothing_is_current_where_nothing_matches() {
        let mut list = list(false);
        for key in keys("xyz") {
            list.press(key, 9);
        }
        assert!(list.current().is_none());
    }
}
