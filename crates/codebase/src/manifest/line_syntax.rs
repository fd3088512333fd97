//! Helpers for manifests written in a programming language: blanking comments, and the strings in a line.

/// Blanks out comments but keeps line numbers. `line` and `block` are the comment markers outside strings.
pub(crate) fn blank_comments(text: &str, line: &str, block: Option<(&str, &str)>) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    let mut quote = None;
    while let Some(next) = rest.chars().next() {
        match quote {
            None if rest.starts_with(line) => {
                rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
                continue;
            }
            None if block.is_some_and(|(open, _)| rest.starts_with(open)) => {
                let (open, close) = block.unwrap_or_default();
                let body = &rest[open.len()..];
                let end = body.find(close).map_or(body.len(), |at| at + close.len());
                kept.extend(open.chars().chain(body[..end].chars()).filter(|c| *c == '\n'));
                rest = &body[end..];
                continue;
            }
            None if next == '"' || next == '\'' => quote = Some(next),
            Some(_) if next == '\\' => {
                kept.push(next);
                rest = &rest[1..];
                let Some(escaped) = rest.chars().next() else { break };
                kept.push(escaped);
                rest = &rest[escaped.len_utf8()..];
                continue;
            }
            // A string ends at the end of its line: an apostrophe in prose must not swallow the rest of the
            // file.
            Some(open) if next == open || next == '\n' => quote = None,
            _ => {}
        }
        kept.push(next);
        rest = &rest[next.len_utf8()..];
    }
    kept
}

pub(super) fn quoted_strings(line: &str) -> Vec<&str> {
    let mut strings = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find(['"', '\'']) {
        let quote = char::from(rest.as_bytes()[at]);
        let body = &rest[at + 1..];
        let Some(end) = body.find(quote) else { break };
        strings.push(&body[..end]);
        rest = &body[end + 1..];
    }
    strings
}

/// Lines with their numbers, counted from 1.
pub(crate) fn numbered_lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    (1..).zip(text.lines())
}
