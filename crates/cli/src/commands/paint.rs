//! Diffs in colour.

use std::io::{self, IsTerminal};

use super::readable::safe;

/// Whether colours are welcome on stdout.
#[expect(
    clippy::disallowed_methods,
    reason = "NO_COLOR is a convention of all programs, not a setting of ours"
)]
pub(crate) fn on_stdout() -> bool {
    io::stdout().is_terminal() && std::env::var("NO_COLOR").map_or(true, |value| value.is_empty())
}

/// Whether a text is a unified diff.
pub(crate) fn is_diff(text: &str) -> bool {
    text.starts_with("--- ") && text.contains("\n+++ ") && text.contains("\n@@ ")
}

/// A diff with its lines, each made harmless, in colour if there may be some.
pub(crate) fn diff(text: &str, coloured: bool) -> String {
    let line = |line: &str| {
        let parts: Vec<String> = line.trim_end_matches('\r').split('\t').map(safe).collect();
        let shown = parts.join("\t");
        let colour = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "1",
            [b'@', b'@', ..] => "36",
            [b'+', ..] => "32",
            [b'-', ..] => "31",
            _ => "",
        };
        if coloured && !colour.is_empty() {
            format!("\x1b[{colour}m{shown}\x1b[0m\n")
        } else {
            format!("{shown}\n")
        }
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_their_colours_and_nothing_else() {
        let text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\u{1b}[31m\n+\tb\n c\n";
        assert!(is_diff(text));
        assert_eq!(diff(text, false), "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\\u{1b}[31m\n+\tb\n c\n");
        assert!(diff(text, true).contains("\x1b[32m+\tb\x1b[0m\n c\n"));
    }
}
