//! What a terminal is sent: harmless, and in colour where that is welcome.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;
use textwrap::WordSeparator;
use unicode_width::UnicodeWidthStr as _;

/// Whether colours are welcome on stdout.
pub(crate) fn use_colour_on_stdout() -> bool {
    io::stdout().is_terminal() && is_colour_allowed()
}

/// Whether colours are welcome on stderr.
pub(crate) fn use_colour_on_stderr() -> bool {
    io::stderr().is_terminal() && is_colour_allowed()
}

/// Whether the terminal does nothing but print lines.
pub(crate) fn is_dumb() -> bool {
    matches!(env_var("TERM").as_str(), "" | "dumb")
}

/// Columns of the terminal on stdout, or `COLUMNS` if stdout is no terminal. Without both, lines are not wrapped.
pub(crate) fn stdout_columns() -> Option<usize> {
    terminal_columns(io::stdout()).or_else(|| env_var("COLUMNS").parse().ok()).filter(|columns| *columns > 0)
}

pub(crate) fn stderr_columns() -> Option<usize> {
    terminal_columns(io::stderr())
}

fn terminal_columns(stream: impl AsFd) -> Option<usize> {
    tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// A message for stderr: wrapped to the terminal, its label in colour.
pub(crate) fn render_notice(text: &str) -> String {
    render_message(text, use_colour_on_stderr(), stderr_columns().unwrap_or(usize::MAX))
}

/// A page for stdout: wrapped to the terminal, with diffs and labels in colour.
pub(crate) fn render_page(text: &str) -> String {
    render_message(text, use_colour_on_stdout(), stdout_columns().unwrap_or(usize::MAX))
}

fn is_colour_allowed() -> bool {
    env_var("NO_COLOR").is_empty() && !is_dumb()
}

/// The locale of characters; empty if none is set.
pub(crate) fn locale() -> String {
    ["LC_ALL", "LC_CTYPE", "LANG"].map(env_var).into_iter().find(|name| !name.is_empty()).unwrap_or_default()
}

#[expect(
    clippy::disallowed_methods,
    reason = "NO_COLOR, TERM, COLUMNS and LANG are conventions of all programs, not settings of ours"
)]
pub(crate) fn env_var(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// Names of files may hold anything; a terminal obeys what it is sent, and a line break may forge a line.
pub(crate) fn escape_controls(text: &str) -> String {
    server::replace_invisible_chars(text, |c| c.escape_default().to_string())
}

/// All that is painted with, here and in logs.
const ALLOWED_SEQUENCES: [&str; 10] = [
    "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[3m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[34m", "\x1b[35m",
    "\x1b[36m",
];

/// What a terminal gets of a whole answer: besides colours, tabs and line breaks, nothing that commands it or is not seen.
/// That is written as JSON writes it, so that an answer in JSON stays the same one.
pub(crate) fn sanitize_for_terminal(text: &str) -> String {
    let is_welcome = |at: usize, c: char| {
        matches!(c, '\n' | '\t') || ALLOWED_SEQUENCES.iter().any(|colour| text[at..].starts_with(colour))
    };
    let (mut shown, mut done) = (String::with_capacity(text.len()), 0);
    for (at, c) in server::find_invisible_chars(text).filter(|(at, c)| !is_welcome(*at, *c)) {
        shown.push_str(&text[done..at]);
        shown.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        done = at + c.len_utf8();
    }
    shown.push_str(&text[done..]);
    shown
}

/// stderr for logs, made harmless: they contain names of files and clients, and a terminal obeys control sequences.
pub(crate) struct LogWriter {
    is_terminal: bool,
}

impl LogWriter {
    pub(crate) fn open() -> Self {
        Self { is_terminal: io::stderr().is_terminal() }
    }
}

impl Write for LogWriter {
    /// Takes everything or nothing: a character must not be cut in two.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_terminal {
            io::stderr().write_all(sanitize_for_terminal(&String::from_utf8_lossy(bytes)).as_bytes())?;
        } else {
            io::stderr().write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

pub(crate) fn dim(text: &str, coloured: bool) -> String {
    colourize(text, if coloured { "2" } else { "" })
}

pub(crate) fn bold(text: &str, coloured: bool) -> String {
    colourize(text, if coloured { "1" } else { "" })
}

fn colourize(text: &str, colour: &str) -> String {
    if colour.is_empty() { text.to_owned() } else { format!("\x1b[{colour}m{text}\x1b[0m") }
}

/// Markdown for a terminal: headings stand out, prose is wrapped, code and tables stay as they are.
pub(crate) fn render_markdown(text: &str, coloured: bool, width: usize) -> String {
    let lines =
        if width == usize::MAX { text.lines().map(str::to_owned).collect() } else { join_paragraphs(text) };
    let mut in_code = false;
    let mut shown = String::new();
    for line in &lines {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        let (colour, wraps) = match line.as_bytes() {
            _ if is_fence => ("2", false),
            _ if in_code => ("36", false),
            [b'#', ..] => ("1", true),
            [b'|', ..] => ("", false),
            _ => ("", true),
        };
        let colour = if coloured { colour } else { "" };
        for part in if wraps { wrap_hanging(line, width) } else { vec![line.clone()] } {
            let part = part.split('\t').map(escape_controls).collect::<Vec<_>>().join("\t");
            shown.push_str(&colourize(&part, colour));
            shown.push('\n');
        }
    }
    shown
}

/// The lines of a Markdown text, each paragraph and each item of a list on one: they were broken for another width.
fn join_paragraphs(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let (mut in_code, mut is_open) = (false, false);
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        let begins_item = marker_length(line.trim_start()) > 0;
        // Below a paragraph, an indent does not make code.
        let is_indented_code = line.starts_with("    ") && !is_open && !begins_item;
        let is_prose = !is_fence && !in_code && !is_indented_code && !is_block(line);
        in_code ^= is_fence;
        match lines.last_mut() {
            Some(last) if is_open && is_prose && !begins_item => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ if is_prose => lines.push(line.trim_end().to_owned()),
            _ => lines.push(line.to_owned()),
        }
        // Two spaces or a backslash at the end are a line break.
        is_open = is_prose && !line.ends_with("  ") && !line.ends_with('\\');
    }
    lines
}

/// Whether a line of Markdown stands for itself: a blank one, a heading, a row of a table, a quote, a rule, HTML.
fn is_block(line: &str) -> bool {
    let line = line.trim();
    let is_rule = |line: &str| {
        line.len() >= 3 && ['-', '=', '*', '_'].iter().any(|mark| line.chars().all(|c| c == *mark))
    };
    line.is_empty() || line.starts_with(['#', '|', '>', '<']) || is_rule(line)
}

/// The length of what a list item begins with: `- `, `* `, `+ ` or `1. `.
fn marker_length(body: &str) -> usize {
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    match body.as_bytes() {
        [b'-' | b'*' | b'+', b' ', ..] => 2,
        _ if digits > 0 && body[digits..].starts_with(". ") => digits + 2,
        _ => 0,
    }
}

/// Whether a text is a unified diff.
pub(crate) fn is_diff(text: &str) -> bool {
    text.starts_with("--- ") && text.contains("\n+++ ") && text.contains("\n@@ ")
}

/// A diff with its lines, each made harmless, in colour if there may be some.
pub(crate) fn render_diff(text: &str, coloured: bool) -> String {
    text.lines().map(|line| render_diff_line(line, coloured)).collect()
}

/// A text for people: diffs are coloured and never wrapped, other lines are wrapped between words, and a label such as
/// `warning:` at the beginning of a line gets its colour. Every line is made harmless.
pub(crate) fn render_message(text: &str, coloured: bool, width: usize) -> String {
    let mut hunk = HunkCounter::default();
    let mut lines = text.lines().peekable();
    let mut shown = String::new();
    let mut in_head = false;
    while let Some(line) = lines.next() {
        // Prose has lines with dashes and plus signs too; only two together are the head of a diff.
        let begins = line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "));
        let is_diff = hunk.consume_line(line) || begins || (in_head && line.starts_with("+++ "));
        in_head = begins;
        if is_diff {
            shown.push_str(&render_diff_line(line, coloured));
            continue;
        }
        let label = label_style(line).filter(|_| coloured);
        for (number, part) in wrap_hanging(line, width).iter().enumerate() {
            let part = render_diff_line(part, false);
            match label {
                Some((length, colour)) if number == 0 => {
                    let (label, rest) = part.split_at(length.min(part.len()));
                    shown.push_str(&colourize(label, colour));
                    shown.push_str(rest);
                }
                _ => shown.push_str(&part),
            }
        }
    }
    shown
}

/// Words at the beginning of a line that say how to take it, with their colours.
const LABELS: [(&str, &str); 11] = [
    ("error:", "31"),
    ("blocked:", "31"),
    ("failed:", "31"),
    ("warning:", "33"),
    ("skipped:", "33"),
    ("stopped:", "33"),
    ("passed:", "32"),
    ("note:", "34"),
    ("hint:", "36"),
    ("needed:", "36"),
    ("check:", "35"),
];

/// The length of a line's label, and its colour.
fn label_style(line: &str) -> Option<(usize, &'static str)> {
    LABELS.iter().find(|(label, _)| line.starts_with(label)).map(|(label, colour)| (label.len(), *colour))
}

/// Wraps a line so that what follows is indented like it: a list item under its text, a labelled line by two, an option
/// further than its description. A command to copy stays in one piece.
pub(crate) fn wrap_hanging(line: &str, width: usize) -> Vec<String> {
    let body = line.trim_start();
    let indent = line.len() - body.len();
    if indent >= 2
        && ["fluxway ", "$ ", "cd ", "uv ", "pip ", "claude "].iter().any(|start| body.starts_with(start))
    {
        return vec![line.to_owned()];
    }
    let hanging = match body.as_bytes() {
        _ if label_style(line).is_some() => indent + 2,
        [b'-', b'-', ..] if indent >= 2 => indent + 6,
        _ => indent + marker_length(body),
    };
    // A terminal that is too narrow for the indent gets none.
    let hanging = if hanging + 20 > width { 0 } else { hanging };
    fill_lines(line, width, &" ".repeat(hanging))
}

/// Puts as much of a line into each line as fits. What is longer than a line stays whole: a path or a command that is cut
/// cannot be copied.
fn fill_lines(line: &str, width: usize, hanging: &str) -> Vec<String> {
    let finish = |filled: &str| filled.trim_end_matches(' ').to_owned();
    // No character is wider than its bytes are many.
    if line.len() <= width {
        return vec![finish(line)];
    }
    let (mut lines, mut filled, mut used) = (Vec::new(), String::new(), 0);
    for part in breakable_parts(line, width.saturating_sub(hanging.len())) {
        let is_begun = !filled.trim_start().is_empty();
        if is_begun && used + part.trim_end_matches(' ').width() > width {
            lines.push(finish(&filled));
            hanging.clone_into(&mut filled);
            used = hanging.len();
        }
        filled.push_str(part);
        used += part.width();
    }
    lines.push(finish(&filled));
    lines
}

/// The parts between which a line may be broken, each with the spaces behind it: words, not parts of them, and not words
/// between backticks if all of them fit into `room` columns. A list of options may be broken between two of them.
fn breakable_parts(line: &str, room: usize) -> Vec<&str> {
    // Unicode allows breaks after a slash; a path that is broken cannot be copied.
    let separator = if line.is_ascii() { WordSeparator::AsciiSpace } else { WordSeparator::new() };
    let mut parts = Vec::new();
    let (mut start, mut end) = (0, 0);
    for word in separator.find_words(line) {
        end += word.word.len() + word.whitespace.len();
        if is_unfinished_code(line, start, end, room) {
            continue;
        }
        let part = &line[start..end];
        if part.starts_with('<') && part.contains('|') {
            parts.extend(part.split_inclusive('|'));
        } else {
            parts.push(part);
        }
        start = end;
    }
    parts
}

/// Whether a part of a line ends between two backticks and, with the word that has the second one, fits into `room` columns.
fn is_unfinished_code(line: &str, start: usize, end: usize, room: usize) -> bool {
    // Counted first: a part is short, and the rest of a line may be very long.
    if line[start..end].matches('`').count().is_multiple_of(2) {
        return false;
    }
    let Some(close) = line[end..].find('`').map(|at| end + at) else { return false };
    let stop = line[close..].find(' ').map_or(line.len(), |at| close + at);
    line[start..stop].width() <= room
}

/// A text in lines of at most `width` columns, broken between words.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    // Not at hyphens: `Ctrl-C` is one word. Inside of words if need be: where lines are drawn over, one that the terminal
    // breaks would spoil the drawing.
    let options = textwrap::Options::new(width.max(1))
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
        .break_words(true);
    textwrap::wrap(text, options).into_iter().map(Into::into).collect()
}

fn render_diff_line(line: &str, coloured: bool) -> String {
    let parts: Vec<String> = line.trim_end_matches('\r').split('\t').map(escape_controls).collect();
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
}

/// How many lines of a part of a diff are still to come.
#[derive(Default)]
struct HunkCounter {
    old: usize,
    new: usize,
}

impl HunkCounter {
    /// Whether a line is of the diff: it begins a part, or is among those that the part counts.
    fn consume_line(&mut self, line: &str) -> bool {
        if self.old + self.new == 0 {
            let begun = Self::parse_header(line);
            let begins = begun.is_some();
            *self = begun.unwrap_or_default();
            return begins;
        }
        let (old, new) = match line.as_bytes().first() {
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            Some(b'\\') => (0, 0),
            _ => (1, 1),
        };
        self.old = self.old.saturating_sub(old);
        self.new = self.new.saturating_sub(new);
        true
    }

    /// `@@ -1,3 +1,4 @@`; a count of one may be left out.
    fn parse_header(line: &str) -> Option<Self> {
        let (old, new) = line.strip_prefix("@@ -")?.split_once(" @@")?.0.split_once(" +")?;
        let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
        Some(Self { old: count(old)?, new: count(new)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_lines_are_coloured_and_escaped() {
        let text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\u{1b}[31m\n+\tb\n c\n";
        assert!(is_diff(text));
        assert_eq!(render_diff(text, false), "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\\u{1b}[31m\n+\tb\n c\n");
        assert!(render_diff(text, true).contains("\x1b[32m+\tb\x1b[0m\n c\n"));
    }

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        for (text, alone, on_terminal) in [
            ("plain é 日本 ❤\u{fe0f}", "plain é 日本 ❤\u{fe0f}", "plain é 日本 ❤\u{fe0f}"),
            ("a\u{9b}31mb", "a\\u{9b}31mb", "a\\u009b31mb"),
            ("\u{202e}\u{feff}\u{ad}", "\\u{202e}\\u{feff}\\u{ad}", "\\u202e\\ufeff\\u00ad"),
            ("\u{e0041}", "\\u{e0041}", "\\udb40\\udc41"),
            ("a\tb\nc\r", "a\\tb\\nc\\r", "a\tb\nc\\u000d"),
            ("\x1b[31mred\x1b[0m", "\\u{1b}[31mred\\u{1b}[0m", "\x1b[31mred\x1b[0m"),
            (
                "\x1b[8mx\x1b]0;t\x07\x1b[2J",
                "\\u{1b}[8mx\\u{1b}]0;t\\u{7}\\u{1b}[2J",
                "\\u001b[8mx\\u001b]0;t\\u0007\\u001b[2J",
            ),
        ] {
            assert_eq!(
                (escape_controls(text).as_str(), sanitize_for_terminal(text).as_str()),
                (alone, on_terminal)
            );
        }
        let value = serde_json::json!({ "a\u{202e}": ["\u{e0041}\u{7f}\u{85}\n", "\u{1b}"] });
        let shown = sanitize_for_terminal(&value.to_string());
        assert!(shown.is_ascii(), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn lines_are_wrapped_under_their_text() {
        for (line, width, expected) in [
            ("warning: one two three four five", 24, "warning: one two three\n  four five\n"),
            ("  - one two three four five six", 24, "  - one two three four\n    five six\n"),
            ("  plain words that go on and on", 24, "  plain words that go on\n  and on\n"),
            ("  fluxway apply 0123456789abcdef", 24, "  fluxway apply 0123456789abcdef\n"),
            ("/a/very/long/path/that/is/not/cut", 24, "/a/very/long/path/that/is/not/cut\n"),
            ("    /a/path/that/is/not/cut either", 24, "    /a/path/that/is/not/cut\n    either\n"),
            (" 10. one two three four five six", 26, " 10. one two three four\n     five six\n"),
            ("run it with `uv run fluxloop`, twice", 24, "run it with\n`uv run fluxloop`, twice\n"),
            ("run `one two three four five six`", 24, "run `one two three four\nfive six`\n"),
            ("a ` is not closed by anything here", 24, "a ` is not closed by\nanything here\n"),
            ("日本 `a b` and the `c d e f`", 20, "日本 `a b` and the\n`c d e f`\n"),
            ("  --kind <one|two|three|four|five>", 28, "  --kind <one|two|three|\n        four|five>\n"),
            ("one two three four five    ", 24, "one two three four five\n"),
            ("\n", 24, "\n"),
        ] {
            assert_eq!(render_message(line, false, width), expected);
        }
        let coloured = render_message("warning: one two three four five", true, 24);
        assert_eq!(coloured, "\x1b[33mwarning:\x1b[0m one two three\n  four five\n");
    }

    #[test]
    fn paragraphs_of_markdown_are_joined_and_nothing_else_is() {
        for (text, expected) in [
            ("one\ntwo\n\nthree", "one two\n\nthree\n"),
            ("# Head\none\ntwo\n## Next\nthree", "# Head\none two\n## Next\nthree\n"),
            ("- one\n  two\n- three\n1. four\nfive", "- one two\n- three\n1. four five\n"),
            ("one\n```\na\nb\n```\ntwo", "one\n```\na\nb\n```\ntwo\n"),
            ("| a | b |\n| c | d |", "| a | b |\n| c | d |\n"),
            ("one  \ntwo\\\nthree", "one\ntwo\\\nthree\n"),
            ("one\n\n    a = 1\n    b = 2", "one\n\n    a = 1\n    b = 2\n"),
            ("> one\n> two\n---\nthree", "> one\n> two\n---\nthree\n"),
        ] {
            assert_eq!(render_markdown(text, false, 80), expected);
        }
        let source = "one\ntwo\n";
        assert_eq!(
            render_markdown(source, false, usize::MAX),
            source,
            "a program gets the lines of the source"
        );
    }

    #[test]
    fn only_diffs_inside_a_message_are_coloured() {
        let text = "Apply?\n- one\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ f\n-a\n+b\n c\n- two\n+++ three\n";
        let expected = "Apply?\n- one\n\x1b[1m--- a/x\x1b[0m\n\x1b[1m+++ b/x\x1b[0m\n\x1b[36m@@ -1,2 +1,2 @@ f\x1b[0m\n\
                        \x1b[31m-a\x1b[0m\n\x1b[32m+b\x1b[0m\n c\n- two\n+++ three\n";
        assert_eq!(render_message(text, true, usize::MAX), expected);
        assert_eq!(render_message(text, false, usize::MAX), text);
    }
}
