//! Keys as tests write them, and a terminal whose screen they can read.

use std::num::NonZero;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

pub(super) fn new_terminal(rows: u16, columns: u16) -> vt100::Parser {
    vt100::Parser::new(NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap(), 0)
}

/// Each character is a key. These stand for others: `⏎⎋⌫⌦←→↑↓⇱⇲`, `⇥` for Tab, `⌃` and a letter for Ctrl.
pub(super) fn parse_keys(typed: &str) -> Vec<KeyEvent> {
    let mut characters = typed.chars();
    let mut keys = Vec::new();
    while let Some(character) = characters.next() {
        let (code, modifiers) = match character {
            '⏎' => (KeyCode::Enter, KeyModifiers::NONE),
            '⎋' => (KeyCode::Esc, KeyModifiers::NONE),
            '⌫' => (KeyCode::Backspace, KeyModifiers::NONE),
            '⌦' => (KeyCode::Delete, KeyModifiers::NONE),
            '←' => (KeyCode::Left, KeyModifiers::NONE),
            '→' => (KeyCode::Right, KeyModifiers::NONE),
            '↑' => (KeyCode::Up, KeyModifiers::NONE),
            '↓' => (KeyCode::Down, KeyModifiers::NONE),
            '⇱' => (KeyCode::Home, KeyModifiers::NONE),
            '⇲' => (KeyCode::End, KeyModifiers::NONE),
            '⇥' => (KeyCode::Tab, KeyModifiers::NONE),
            '⌃' => (KeyCode::Char(characters.next().unwrap()), KeyModifiers::CONTROL),
            character => (KeyCode::Char(character), KeyModifiers::NONE),
        };
        keys.push(KeyEvent::new(code, modifiers));
    }
    keys
}
