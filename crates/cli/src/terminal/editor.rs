//! A line of text that is being typed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// More than anyone types. The server decides what a question allows.
const MAX_BYTES: usize = 64 * 1024;

#[derive(Default)]
pub(super) struct LineEditor {
    text: String,
    /// In bytes, between two graphemes.
    cursor: usize,
}

impl LineEditor {
    pub(super) fn with_text(text: String) -> Self {
        Self { cursor: text.len(), text }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn press(&mut self, key: KeyEvent) {
        let is_command = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Char(c) if !is_command => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Left | KeyCode::Char('b') if is_command => self.cursor = self.previous_word(),
            KeyCode::Right | KeyCode::Char('f') if is_command => self.cursor = self.next_word(),
            KeyCode::Left => self.cursor = self.previous_grapheme(),
            KeyCode::Right => self.cursor = self.next_grapheme(),
            KeyCode::Home | KeyCode::Char('a') => self.cursor = 0,
            KeyCode::End | KeyCode::Char('e') => self.cursor = self.text.len(),
            KeyCode::Backspace if is_command => self.erase(self.previous_word(), self.cursor),
            KeyCode::Backspace | KeyCode::Char('h') => self.erase(self.previous_grapheme(), self.cursor),
            KeyCode::Delete => self.erase(self.cursor, self.next_grapheme()),
            KeyCode::Char('w') => self.erase(self.previous_word(), self.cursor),
            KeyCode::Char('u') => self.erase(0, self.cursor),
            KeyCode::Char('k') => self.erase(self.cursor, self.text.len()),
            _ => {}
        }
    }

    /// Inserts text from the clipboard: a line break in it is not Enter.
    pub(super) fn paste(&mut self, text: &str) {
        self.insert(&to_single_line(text));
    }

    /// The part that fits into `width` columns with the cursor in it, and the column of the cursor.
    pub(super) fn window(&self, width: usize) -> (&str, usize) {
        let mut column = 0;
        let mut start = self.cursor;
        for (at, character) in self.text[..self.cursor].grapheme_indices(true).rev() {
            if column + character.width() >= width {
                break;
            }
            column += character.width();
            start = at;
        }
        let mut used = 0;
        let end = self.text[start..].grapheme_indices(true).find_map(|(at, character)| {
            used += character.width();
            (used > width).then_some(start + at)
        });
        (&self.text[start..end.unwrap_or(self.text.len())], column)
    }

    fn insert(&mut self, typed: &str) {
        if self.text.len() + typed.len() <= MAX_BYTES {
            self.text.insert_str(self.cursor, typed);
            self.cursor += typed.len();
        }
    }

    fn erase(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn previous_grapheme(&self) -> usize {
        self.text[..self.cursor].grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn next_grapheme(&self) -> usize {
        self.cursor + self.text[self.cursor..].graphemes(true).next().map_or(0, str::len)
    }

    fn previous_word(&self) -> usize {
        let left = self.text[..self.cursor].trim_end();
        left.char_indices().rev().find(|(_, c)| c.is_whitespace()).map_or(0, |(at, c)| at + c.len_utf8())
    }

    fn next_word(&self) -> usize {
        let right = &self.text[self.cursor..];
        let word = right.len() - right.trim_start().len();
        let end = right[word..].find(char::is_whitespace).unwrap_or(right.len() - word);
        self.cursor + word + end
    }
}

/// Text on one line, without control characters.
fn to_single_line(text: &str) -> String {
    let spaced = text.trim_end_matches(['\r', '\n']).replace("\r\n", " ").replace(['\r', '\n', '\t'], " ");
    spaced.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::test_terminal::parse_keys;
    use super::*;

    /// `|` is the cursor.
    #[track_caller]
    fn check(typed: &str, expected: &str) {
        let mut editor = LineEditor::default();
        for key in parse_keys(typed) {
            editor.press(key);
        }
        let (left, right) = editor.text().split_at(editor.cursor);
        assert_eq!(format!("{left}|{right}"), expected);
    }

    #[test]
    fn a_line_is_edited_where_the_cursor_is() {
        check("Lisbon", "Lisbon|");
        check("Lisbn←o", "Lisbo|n");
        check("isbon⇱L", "L|isbon");
        check("Lisbon⇱→→⌦", "Li|bon");
        check("Lisbon←←⌫⇲!", "Lison!|");
        check("⌫⌦←→", "|");
        check("two words⌃w", "two |");
        check("two words⌃w⌃w⌃w", "|");
        check("two words←⌃u", "|s");
        check("two words⇱→⌃k", "t|");
        check("äö👩‍👧e\u{301}⌫⌫", "äö|");
    }

    #[test]
    fn pasted_text_stays_on_one_line() {
        let mut editor = LineEditor::with_text("a".to_owned());
        editor.paste("b\r\nc\u{1b}[31m\td\n");
        assert_eq!(editor.text(), "ab c[31m d");
        editor.paste(&"x".repeat(MAX_BYTES));
        assert_eq!(editor.text(), "ab c[31m d");
    }

    #[test]
    fn a_long_line_shows_the_part_around_the_cursor() {
        let mut editor = LineEditor::with_text("0123456789".to_owned());
        assert_eq!(editor.window(20), ("0123456789", 10));
        assert_eq!(editor.window(5), ("6789", 4));
        editor.press(KeyCode::Home.into());
        assert_eq!(editor.window(5), ("01234", 0));
        assert_eq!(LineEditor::with_text("日本語".to_owned()).window(5), ("本語", 4));
        assert_eq!(LineEditor::with_text("日本語".to_owned()).window(1), ("", 0));
    }
}
