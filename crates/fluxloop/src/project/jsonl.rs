//! JSON Lines, read line by line: one line is in memory at a time, and a line that is too long is skipped.

use std::io::{BufRead, BufReader, Read};

use tree::{Budget, Tree};

use super::file::json_words;
use super::limits;
use super::warning::{Warnings, reason};

/// What came of a file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lines {
    /// Lines that are not empty.
    pub(super) lines: u64,
    /// Those of them that could not be used.
    pub(super) broken: u64,
}

/// How often the budget is asked.
const LINES_BETWEEN_LOOKS: u64 = 256;

/// Shows each line to `take`, which says what is wrong with it. `None` if there is no such file, or it cannot be read.
pub(super) fn each(
    tree: &Tree,
    path: &str,
    budget: &Budget,
    warnings: &mut Warnings,
    mut take: impl FnMut(&str) -> Result<(), String>,
) -> Option<Lines> {
    let stream = match tree.stream(path, limits::LINES) {
        Ok(stream) => stream,
        Err(error) => {
            if let Some(what) = reason(tree, path, &error) {
                warnings.add(path, None, what);
            }
            return None;
        }
    };
    let mut reader = BufReader::with_capacity(64 << 10, stream);
    let (mut line, mut number, mut read) = (Vec::new(), 0, Lines::default());
    loop {
        match next(&mut reader, &mut line) {
            Ok(Next::End) => return Some(read),
            Ok(found) => {
                number += 1;
                if line.iter().all(u8::is_ascii_whitespace) && found == Next::Line {
                    continue;
                }
                read.lines += 1;
                let taken = match found {
                    Next::TooLong => Err(format!("longer than {} bytes; the line is skipped", limits::LINE)),
                    _ => str::from_utf8(&line).map_err(|_| "not UTF-8".to_owned()).and_then(&mut take),
                };
                if let Err(what) = taken {
                    read.broken += 1;
                    warnings.add(path, number, what);
                }
            }
            Err(error) => {
                warnings.add(path, number + 1, format!("cannot be read further: {error}"));
                return Some(read);
            }
        }
        if read.lines % LINES_BETWEEN_LOOKS == 0 && (budget.is_stopped() || budget.is_over()) {
            warnings.add(path, number, "the time was up here; the rest is left out");
            return Some(read);
        }
    }
}

/// A line as an object of this shape.
pub(super) fn object<'a, T: serde::Deserialize<'a>>(line: &'a str) -> Result<T, String> {
    // A list would do for serde: it takes its items for the fields in their order.
    if !line.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok() {
        return Err("no object; the line is left out".to_owned());
    }
    serde_json::from_str(line).map_err(|error| format!("{}; the line is left out", json_words(&error)))
}

#[derive(PartialEq)]
enum Next {
    Line,
    TooLong,
    End,
}

fn next(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<Next> {
    line.clear();
    if reader.by_ref().take(limits::LINE as u64 + 1).read_until(b'\n', line)? == 0 {
        return Ok(Next::End);
    }
    if line.len() <= limits::LINE || line.ends_with(b"\n") {
        return Ok(Next::Line);
    }
    line.clear();
    line.shrink_to(64 << 10);
    reader.skip_until(b'\n')?;
    Ok(Next::TooLong)
}
