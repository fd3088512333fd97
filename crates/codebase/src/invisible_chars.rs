//! Invisible and bidirectional characters, which can hide content from a reader.

/// Whether a character is invisible or reorders text: controls, and the default-ignorable code points of
/// Unicode.
///
/// The text and emoji variation selectors are excluded, since they hide nothing by themselves.
/// [`find_invisible_chars`] finds those without a base character.
pub fn is_invisible_char(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Finds invisible and reordering characters, each with its byte offset.
pub fn find_invisible_chars(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut before = None;
    let mut characters = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (at, c) = characters.next()?;
        let next = characters.peek().map(|(_, next)| *next);
        let is_hidden = is_invisible_char(c) || (is_variation_selector(c) && !has_base_char(before, next));
        before = Some(c);
        Some(is_hidden.then_some((at, c)))
    })
    .flatten()
}

/// Replaces all invisible characters by the result of `show`.
pub fn replace_invisible_chars(text: &str, mut show: impl FnMut(char) -> String) -> String {
    let (mut shown, mut done) = (String::with_capacity(text.len()), 0);
    for (at, c) in find_invisible_chars(text) {
        shown.push_str(&text[done..at]);
        shown.push_str(&show(c));
        done = at + c.len_utf8();
    }
    shown.push_str(&text[done..]);
    shown
}

fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

/// Whether a variation selector follows a symbol, or a digit that becomes a keycap. Repeated selectors, or
/// one after a letter, produce strings that differ but look the same.
fn has_base_char(before: Option<char>, next: Option<char>) -> bool {
    match before {
        None => false,
        Some(c) if c.is_ascii() => matches!(c, '0'..='9' | '#' | '*') && next == Some('\u{20e3}'),
        Some(c) => !c.is_whitespace() && !is_invisible_char(c) && !is_variation_selector(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_chars_are_recognized() {
        for (first, last) in [
            ('\u{0}', '\u{1f}'),
            ('\u{7f}', '\u{9f}'),
            ('\u{ad}', '\u{ad}'),
            ('\u{61c}', '\u{61c}'),
            ('\u{115f}', '\u{1160}'),
            ('\u{180b}', '\u{180f}'),
            ('\u{200b}', '\u{200f}'),
            ('\u{2028}', '\u{202e}'),
            ('\u{2060}', '\u{206f}'),
            ('\u{3164}', '\u{3164}'),
            ('\u{fe00}', '\u{fe0d}'),
            ('\u{feff}', '\u{feff}'),
            ('\u{fff9}', '\u{fffb}'),
            ('\u{e0000}', '\u{e007f}'),
            ('\u{e0100}', '\u{e01ef}'),
        ] {
            assert!((first..=last).all(is_invisible_char), "{first:?} to {last:?}");
        }
        for seen in ['a', ' ', '~', '\u{a0}', 'é', '\u{2003}', '日', '\u{3000}', '\u{fffd}', '😀', '\u{301}']
        {
            assert!(!is_invisible_char(seen), "{seen:?}");
        }
    }

    #[test]
    fn invisible_chars_are_replaced() {
        for (text, expected) in [
            ("", ""),
            (
                "Grüße, 日本 ❤\u{fe0f} 1\u{fe0f}\u{20e3} ☂\u{fe0e}",
                "Grüße, 日本 ❤\u{fe0f} 1\u{fe0f}\u{20e3} ☂\u{fe0e}",
            ),
            ("a\u{202e}b\u{9b}c", "a<202e>b<9b>c"),
            ("\u{e0041}\u{e0042}", "<e0041><e0042>"),
            ("❤\u{fe0f}\u{fe0f}\u{fe0e}", "❤\u{fe0f}<fe0f><fe0e>"),
            ("name\u{fe0f} = 1\u{fe0f}", "name<fe0f> = 1<fe0f>"),
            ("\u{fe0f} \u{fe0e}x\u{feff}\u{fe0f}", "<fe0f> <fe0e>x<feff><fe0f>"),
        ] {
            assert_eq!(replace_invisible_chars(text, |c| format!("<{:x}>", u32::from(c))), expected);
            assert_eq!(find_invisible_chars(text).count(), expected.matches('<').count());
        }
    }
}
