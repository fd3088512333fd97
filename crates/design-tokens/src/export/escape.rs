//! Escaping: strings that cannot break out of their context.

use std::fmt::Write as _;

/// An identifier: letters, digits, `-` and `_`; everything else becomes `-`.
pub(super) fn identifier(path: &str) -> String {
    let names = path.split('.').filter(|name| *name != "$root");
    let joined = names.collect::<Vec<_>>().join("-");
    let safe = |decoded: char| if decoded.is_alphanumeric() || decoded == '_' { decoded } else { '-' };
    let text: String = joined.chars().map(safe).collect();
    if text.is_empty() { "token".to_owned() } else { text }
}

/// A quoted string for CSS and SCSS.
///
/// Everything except letters, digits and a few harmless characters is escaped by its code point: quotes, line
/// breaks and `\`, but also `<` (the sheet may be embedded in HTML) and `#` (`#{` runs code in SCSS).
pub(super) fn quote_string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for decoded in text.chars() {
        if decoded.is_alphanumeric() || " -_.,:()+$".contains(decoded) {
            quoted.push(decoded);
        } else if decoded == '\0' {
            quoted.push('\u{fffd}');
        } else {
            // The space terminates the number, whatever follows.
            let _ = write!(quoted, "\\{:x} ", u32::from(decoded));
        }
    }
    quoted.push('"');
    quoted
}

/// A single line of text for a comment, which cannot end the comment.
pub(super) fn escape_comment(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for decoded in text.chars() {
        let decoded =
            if decoded.is_control() || decoded.is_whitespace() || "\u{2028}\u{2029}".contains(decoded) {
                ' '
            } else {
                decoded
            };
        // `*/` ends a comment, `/*` starts one where they nest, `</` ends a style element, `#{` runs code.
        let split = matches!(
            (line.chars().last(), decoded),
            (Some('*'), '/') | (Some('/'), '*') | (Some('<'), '/' | '!') | (Some('#'), '{')
        );
        if split || (decoded == ' ' && line.ends_with(' ')) {
            line.push_str(if split { " " } else { "" });
        }
        if !(decoded == ' ' && line.ends_with(' ')) {
            line.push(decoded);
        }
    }
    line.trim().to_owned()
}

/// Font families that are CSS keywords rather than font names.
const GENERIC_FAMILIES: [&str; 14] = [
    "serif",
    "sans-serif",
    "monospace",
    "cursive",
    "fantasy",
    "system-ui",
    "ui-serif",
    "ui-sans-serif",
    "ui-monospace",
    "ui-rounded",
    "math",
    "emoji",
    "-apple-system",
    "BlinkMacSystemFont",
];

/// A font family: CSS keywords as they are, anything else quoted.
pub(super) fn quote_font_family(name: &str) -> String {
    if GENERIC_FAMILIES.contains(&name) { name.to_owned() } else { quote_string(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        for (text, expected) in [
            ("Fira Sans", r#""Fira Sans""#),
            ("a\"b", r#""a\22 b""#),
            ("#{evil()}", r#""\23 \7b evil()\7d ""#),
            ("</style>", r#""\3c \2f style\3e ""#),
            ("a\\\n", r#""a\5c \a ""#),
            ("é", "\"é\""),
            ("\0", "\"\u{fffd}\""),
        ] {
            assert_eq!(quote_string(text), expected, "{text:?}");
        }
    }
}
