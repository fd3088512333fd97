//! What a keyboard sends, as keys.

/// A key, or what several of them mean together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    /// Text from the clipboard: its line breaks are not meant as Enter.
    Paste(String),
    Enter,
    Escape,
    Tab,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
    EraseToStart,
    EraseToEnd,
    EraseWord,
    /// Ctrl-C.
    Stop,
    /// Ctrl-D, or nobody is at the keyboard any more.
    Gone,
    /// One that means nothing here.
    Other,
}

const ESCAPE: u8 = 0x1b;
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";
/// No key sends more than this.
const LONGEST_SEQUENCE: usize = 32;

/// The first key in `bytes` and how many of them it took; nothing while more must come.
pub(super) fn decode(bytes: &[u8]) -> Option<(Key, usize)> {
    match bytes {
        [] => None,
        [ESCAPE, rest @ ..] => escaped(bytes, rest),
        [byte, ..] if byte.is_ascii() => Some((ascii(*byte), 1)),
        _ => character(bytes),
    }
}

/// Whether `bytes` begin a text from the clipboard, which may take its time.
pub(super) fn is_paste(bytes: &[u8]) -> bool {
    bytes.starts_with(PASTE_BEGINS)
}

/// What `bytes` are if nothing comes after them: Escape alone also begins the other keys.
pub(super) fn settle(bytes: &[u8]) -> Key {
    match bytes {
        [ESCAPE] => Key::Escape,
        _ => match bytes.strip_prefix(PASTE_BEGINS) {
            Some(text) => Key::Paste(String::from_utf8_lossy(text).into_owned()),
            None => Key::Other,
        },
    }
}

fn ascii(byte: u8) -> Key {
    match byte {
        b'\r' | b'\n' => Key::Enter,
        b'\t' => Key::Tab,
        0x7f | 0x08 => Key::Backspace,
        0x01 => Key::Home,
        0x02 => Key::Left,
        0x03 => Key::Stop,
        0x04 => Key::Gone,
        0x05 => Key::End,
        0x06 => Key::Right,
        0x0b => Key::EraseToEnd,
        0x0e => Key::Down,
        0x10 => Key::Up,
        0x15 => Key::EraseToStart,
        0x17 => Key::EraseWord,
        byte if byte.is_ascii_control() => Key::Other,
        byte => Key::Char(char::from(byte)),
    }
}

fn character(bytes: &[u8]) -> Option<(Key, usize)> {
    let length = match bytes.first()? {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some((Key::Other, 1)),
    };
    let found = std::str::from_utf8(bytes.get(..length)?).ok().and_then(|text| text.chars().next());
    Some(found.map_or((Key::Other, 1), |c| (Key::Char(c), length)))
}

/// What follows Escape: a sequence of the terminal, or a key that was pressed with Alt.
fn escaped(bytes: &[u8], rest: &[u8]) -> Option<(Key, usize)> {
    match rest {
        [] | [b'O'] => None,
        // Two in a row: the first was the key.
        [ESCAPE, ..] => Some((Key::Escape, 1)),
        [b'[', ..] if is_paste(bytes) => paste(bytes),
        // The function keys of the Linux console.
        [b'[', b'[', _, ..] => Some((Key::Other, 4)),
        [b'[', rest @ ..] => control_sequence(rest).map(|(key, used)| (key, used + 2)),
        [b'O', last, ..] => Some((named(*last, false), 3)),
        [b'b', ..] => Some((Key::WordLeft, 2)),
        [b'f', ..] => Some((Key::WordRight, 2)),
        [0x7f | 0x08, ..] => Some((Key::EraseWord, 2)),
        _ => decode(rest).map(|(_, used)| (Key::Other, used + 1)),
    }
}

fn paste(bytes: &[u8]) -> Option<(Key, usize)> {
    let text = bytes.strip_prefix(PASTE_BEGINS)?;
    let end = text.windows(PASTE_ENDS.len()).position(|window| window == PASTE_ENDS)?;
    let used = PASTE_BEGINS.len() + end + PASTE_ENDS.len();
    Some((Key::Paste(String::from_utf8_lossy(&text[..end]).into_owned()), used))
}

/// Numbers with semicolons, and the letter that ends them.
fn control_sequence(bytes: &[u8]) -> Option<(Key, usize)> {
    let Some(end) = bytes.iter().take(LONGEST_SEQUENCE).position(|byte| (0x40..=0x7e).contains(byte)) else {
        return (bytes.len() >= LONGEST_SEQUENCE).then_some((Key::Other, LONGEST_SEQUENCE));
    };
    let numbers = String::from_utf8_lossy(&bytes[..end]);
    let mut numbers = numbers.split(';');
    let first = numbers.next().unwrap_or_default();
    // The second number says what was held down: 3 is Alt, 5 is Ctrl.
    let by_words = matches!(numbers.next(), Some("3" | "5"));
    let key = match (bytes[end], first) {
        (b'~', "1" | "7") => Key::Home,
        (b'~', "4" | "8") => Key::End,
        (b'~', "3") => Key::Delete,
        (b'~', "5") => Key::PageUp,
        (b'~', "6") => Key::PageDown,
        (letter, _) => named(letter, by_words),
    };
    Some((key, end + 1))
}

fn named(letter: u8, by_words: bool) -> Key {
    match (letter, by_words) {
        (b'A' | b'Z', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', false) => Key::Right,
        (b'C', true) => Key::WordRight,
        (b'D', false) => Key::Left,
        (b'D', true) => Key::WordLeft,
        (b'F', _) => Key::End,
        (b'H', _) => Key::Home,
        (b'M', _) => Key::Enter,
        _ => Key::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mut bytes: &[u8], expected: &[Key]) {
        let mut found = Vec::new();
        while let Some((key, used)) = decode(bytes) {
            found.push(key);
            bytes = &bytes[used..];
        }
        assert_eq!(found, expected);
        assert_eq!(bytes, b"", "left over");
    }

    #[test]
    fn bytes_become_keys() {
        check("aß€😀".as_bytes(), &['a', 'ß', '€', '😀'].map(Key::Char));
        check(
            b"\r\n\t\x7f\x03\x04",
            &[Key::Enter, Key::Enter, Key::Tab, Key::Backspace, Key::Stop, Key::Gone],
        );
        check(b"\x1b[A\x1b[B\x1bOC\x1b[D", &[Key::Up, Key::Down, Key::Right, Key::Left]);
        check(b"\x1b[H\x1b[4~\x1bOH\x1b[3~", &[Key::Home, Key::End, Key::Home, Key::Delete]);
        check(
            b"\x1b[1;5C\x1b[1;3D\x1bf\x1b[1;2C",
            &[Key::WordRight, Key::WordLeft, Key::WordRight, Key::Right],
        );
        check(
            b"\x1b[5~\x1b[6~\x15\x0b\x17",
            &[Key::PageUp, Key::PageDown, Key::EraseToStart, Key::EraseToEnd, Key::EraseWord],
        );
        check(b"\x1b[200~a\rb\x1b[201~c", &[Key::Paste("a\rb".to_owned()), Key::Char('c')]);
    }

    #[test]
    fn what_means_nothing_does_no_harm() {
        check(b"\x1b[15~x", &[Key::Other, Key::Char('x')]);
        check(b"\x1b[[Ax", &[Key::Other, Key::Char('x')]);
        check(b"\x1bxy", &[Key::Other, Key::Char('y')]);
        check(b"\x1b\xc3\xa4y", &[Key::Other, Key::Char('y')]);
        check(b"\xff\xc3(y", &[Key::Other, Key::Other, Key::Char('('), Key::Char('y')]);
        check(
            &[b"\x1b[".as_slice(), &[b'1'; LONGEST_SEQUENCE], b"y"].concat(),
            &[Key::Other, Key::Char('y')],
        );
    }

    #[test]
    fn what_is_not_complete_waits() {
        for part in [&b""[..], b"\x1b", b"\x1b[", b"\x1b[1;5", b"\x1bO", b"\xe2\x82", b"\x1b[200~abc"] {
            assert_eq!(decode(part), None, "{part:?}");
        }
        assert_eq!(settle(b"\x1b"), Key::Escape);
        assert_eq!(decode(b"\x1b\x1b[A"), Some((Key::Escape, 1)));
        assert_eq!(settle(b"\x1b[1;5"), Key::Other);
        assert_eq!(settle(b"\x1b[200~abc"), Key::Paste("abc".to_owned()));
    }
}
