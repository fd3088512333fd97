//! A line of text that is being typed.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::keys::Key;

/// More than anybody types; the server judges what a question allows.
const MOST_BYTES: usize = 64 * 1024;

#[derive(Default)]
pub(super) struct Editor {
    text: String,
    /// In bytes, between two characters as people see them.
    cursor: usize,
}

impl Editor {
    pub(super) fn with(text: String) -> Self {
        Self { cursor: text.len(), text }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn press(&mut self, key: &Key) {
        match key {
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => self.insert(&one_line(text)),
            Key::Left => self.cursor = self.before(),
            Key::Right => self.cursor = self.after(),
            Key::WordLeft => self.cursor = self.word_before(),
            Key::WordRight => self.cursor = self.word_after(),
            Key::Home => self.cursor = 0,
            Key::End => self.cursor = self.text.len(),
            Key::Backspace => self.erase(self.before(), self.cursor),
            Key::Delete => self.erase(self.cursor, self.after()),
            Key::EraseWord => self.erase(self.word_before(), self.cursor),
            Key::EraseToStart => self.erase(0, self.cursor),
            Key::EraseToEnd => self.erase(self.cursor, self.text.len()),
            _ => {}
        }
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
        if self.text.len() + typed.len() <= MOST_BYTES {
            self.text.insert_str(self.cursor, typed);
            self.cursor += typed.len();
        }
    }

    fn erase(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.cursor + self.text[self.cursor..].graphemes(true).next().map_or(0, str::len)
    }

    fn word_before(&self) -> usize {
        let left = self.text[..self.cursor].trim_end();
        left.char_indices().rev().find(|(_, c)| c.is_whitespace()).map_or(0, |(at, c)| at + c.len_utf8())
    }

    fn word_after(&self) -> usize {
        let right = &self.text[self.cursor..];
        let word = right.len() - right.trim_start().len();
        let end = right[word..].find(char::is_whitespace).unwrap_or(right.len() - word);
        self.cursor + word + end
    }
}

/// Text from elsewhere in one line, without anything that a terminal would obey.
fn one_line(text: &str) -> String {
    let spaced = text.trim_end_matches(['\r', '\n']).replace("\r\n", " ").replace(['\r', '\n', '\t'], " ");
    spaced.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::script::keys;
    use super::*;

    /// `|` is the cursor.
    #[track_caller]
    fn check(typed: &str, expected: &str) {
        let mut editor = Editor::default();
        for key in keys(typed) {
            editor.press(&key);
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
    fn what_is_pasted_stays_one_line() {
        let mut editor = Editor::with("a".to_owned());
        editor.press(&Key::Paste("b\r\nc\u{1b}[31m\td\n".to_owned()));
        assert_eq!(editor.text(), "ab c[31m d");
        editor.press(&Key::Paste("x".repeat(MOST_BYTES)));
        assert_eq!(editor.text(), "ab c[31m d");
    }

    #[test]
    fn a_long_line_shows_the_part_around_the_cursor() {
        let mut editor = Editor::with("0123456789".to_owned());
        assert_eq!(editor.window(20), ("0123456789", 10));
        assert_eq!(editor.window(5), ("6789", 4));
        editor.press(&Key::Home);
        assert_eq!(editor.window(5), ("01234", 0));
        assert_eq!(Editor::with("日本語".to_owned()).window(5), ("本語", 4));
        assert_eq!(Editor::with("日本語".to_owned()).window(1), ("", 0));
    }
}
