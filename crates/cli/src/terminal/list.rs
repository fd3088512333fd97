//! Options to choose from, one or several, with a filter that is typed.

use super::keys::Key;
use super::view::{Line, Style};

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

    pub(super) fn press(&mut self, key: &Key, page: usize) {
        let last = self.found().len().saturating_sub(1);
        match key {
            Key::Up => self.at = self.at.checked_sub(1).unwrap_or(last),
            Key::Down | Key::Tab => self.at = if self.at < last { self.at + 1 } else { 0 },
            Key::PageUp => self.at = self.at.saturating_sub(page),
            Key::PageDown => self.at = (self.at + page).min(last),
            Key::Home => self.at = 0,
            Key::End => self.at = last,
            Key::Char(' ') if self.several => self.mark(),
            Key::Char(' ') if self.filter.is_empty() => {}
            Key::Char(typed) => self.narrow(|filter| filter.push(*typed)),
            Key::Backspace => self.narrow(|filter| _ = filter.pop()),
            Key::EraseToStart | Key::EraseWord => self.narrow(String::clear),
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

    /// At most `page` rows around the cursor, and a line about what is not to be seen.
    pub(super) fn lines(&self, page: usize) -> Vec<Line> {
        let found = self.found();
        let page = page.max(1);
        let start = self.at.saturating_sub(page / 2).min(found.len().saturating_sub(page));
        let seen = found.iter().enumerate().skip(start).take(page);
        let mut lines: Vec<Line> = seen.map(|(n, row)| self.line(&self.rows[*row], n == self.at)).collect();
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
            lines.push(Line::new(Style::Dim, format!("  {}", about.join(", "))));
        }
        lines
    }

    fn line(&self, row: &Row, is_current: bool) -> Line {
        let mark = match (self.several, row.is_marked) {
            (false, _) => "",
            (true, true) => "[x] ",
            (true, false) => "[ ] ",
        };
        let (pointer, style) = if is_current { ("> ", Style::Chosen) } else { ("  ", Style::Plain) };
        let line = Line::new(style, format!("{pointer}{mark}{}", row.title));
        // Of several, the marks say it.
        if row.is_default && !self.several { line.and(Style::Dim, " (default)") } else { line }
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
            list.press(&key, page);
        }
        let lines: Vec<String> = list.lines(page).iter().map(|line| line.painted(false)).collect();
        assert_eq!(lines.join("\n"), expected, "{typed}");
    }

    #[test]
    fn one_of_them() {
        check(false, "", 9, "  Alpha\n> Beta (default)\n  Gamma\n  Delta");
        check(false, "↓↓↓", 9, "> Alpha\n  Beta (default)\n  Gamma\n  Delta");
        check(false, "↑↑", 2, "  Gamma\n> Delta\n  4 of 4");
        check(false, "⇱", 2, "> Alpha\n  Beta (default)\n  1 of 4");
        check(false, "LT", 9, "> Delta\n  filter: LT");
        check(false, " lt⌫⌫", 9, "  Alpha\n  Beta (default)\n  Gamma\n> Delta");
        check(false, "xyz", 9, "  filter: xyz, nothing matches");
    }

    #[test]
    fn several_of_them() {
        check(true, "", 9, "> [ ] Alpha\n  [x] Beta\n  [ ] Gamma\n  [ ] Delta");
        check(true, " ↓ ↓ ", 9, "  [x] Alpha\n  [ ] Beta\n> [x] Gamma\n  [ ] Delta");
        check(true, "gam ⌃u", 2, "  [x] Beta\n> [x] Gamma\n  3 of 4");
    }

    #[test]
    fn nothing_is_current_where_nothing_matches() {
        let mut list = list(false);
        for key in keys("xyz") {
            list.press(&key, 9);
        }
        assert!(list.current().is_none());
    }
}
