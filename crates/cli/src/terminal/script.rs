//! Keys as tests write them, and a screen that they can read.

use std::num::NonZero;

use super::keys::Key;

pub(super) fn screen(rows: u16, columns: u16) -> vt100::Parser {
    vt100::Parser::new(NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap(), 0)
}

/// Each character is a key; these stand for keys that are none: `⏎⎋⌫⌦←→↑↓⇱⇲`, `⌃` and a letter, `⇥` for Tab.
pub(super) fn keys(typed: &str) -> Vec<Key> {
    let mut characters = typed.chars();
    let mut keys = Vec::new();
    while let Some(character) = characters.next() {
        keys.push(match character {
            '⏎' => Key::Enter,
            '⎋' => Key::Escape,
            '⌫' => Key::Backspace,
            '⌦' => Key::Delete,
            '←' => Key::Left,
            '→' => Key::Right,
            '↑' => Key::Up,
            '↓' => Key::Down,
            '⇱' => Key::Home,
            '⇲' => Key::End,
            '⇥' => Key::Tab,
            '⌃' => match characters.next() {
                Some('c') => Key::Stop,
                Some('d') => Key::Gone,
                Some('k') => Key::EraseToEnd,
                Some('u') => Key::EraseToStart,
                Some('w') => Key::EraseWord,
                other => panic!("no key for ⌃{other:?}"),
            },
            character => Key::Char(character),
        });
    }
    keys
}
