//! JSON Lines, read line by line: one line is in memory at a time, and a line that is too long is skipped.

use std::io::{BufRead, BufReader, Read};

use tree::{Tree, WorkBudget};

use super::file::json_error_message;
use super::limits;
use super::warning::{FileWarnings, read_error_reason};

/// What came of a file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineCounts {
    /// Lines that are not empty.
    pub(super) lines: u64,
    /// Those of them that could not be used.
    pub(super) broken: u64,
}

/// How often the budget is asked.
const BUDGET_CHECK_INTERVAL_LINES: u64 = 256;

/// Shows each line to `take`, which says what is wrong with it. `None` if there is no such file, or it cannot be read.
pub(super) fn for_each_line(
    tree: &Tree,
    path: &str,
    budget: &WorkBudget,
    warnings: &mut FileWarnings,
    mut take: impl FnMut(&str) -> Result<(), String>,
) -> Option<LineCounts> {
    let stream = match tree.stream(path, limits::MAX_JSONL_BYTES) {
        Ok(stream) => stream,
        Err(error) => {
            if let Some(what) = read_error_reason(tree, path, &error) {
                warnings.add(path, None, what);
            }
            return None;
        }
    };
    let mut reader = BufReader::with_capacity(64 << 10, stream);
    let (mut line, mut number, mut read) = (Vec::new(), 0, LineCounts::default());
    loop {
        match read_line(&mut reader, &mut line) {
            Ok(NextLine::End) => return Some(read),
            Ok(found) => {
                number += 1;
                if line.iter().all(u8::is_ascii_whitespace) && found == NextLine::Line {
                    continue;
                }
                read.lines += 1;
                let taken = match found {
                    NextLine::TooLong => {
                        Err(format!("longer than {} bytes; the line is skipped", limits::MAX_LINE_BYTES))
                    }
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
        if read.lines % BUDGET_CHECK_INTERVAL_LINES == 0 && (budget.is_cancelled() || budget.is_expired()) {
            warnings.add(path, number, "the time was up here; the rest is left out");
            return Some(read);
        }
    }
}

/// A line as an object of this shape.
pub(super) fn parse_object<'a, T: serde::Deserialize<'a>>(line: &'a str) -> Result<T, String> {
    // A list would do for serde: it takes its items for the fields in their order.
    if !line.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok() {
        return Err("no object; the line is left out".to_owned());
    }
    serde_json::from_str(line)
        .map_err(|error| format!("{}; the line is left out", json_error_message(&error)))
}

#[derive(PartialEq)]
enum NextLine {
    Line,
    TooLong,
    End,
}

fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<NextLine> {
    line.clear();
    if reader.by_ref().take(limits::MAX_LINE_BYTES as u64 + 1).read_until(b'\n', line)? == 0 {
        return Ok(NextLine::End);
    }
    if line.len() <= limits::MAX_LINE_BYTES || line.ends_with(b"\n") {
        return Ok(NextLine::Line);
    }
    line.clear();
    line.shrink_to(64 << 10);
    reader.skip_until(b'\n')?;
    Ok(NextLine::TooLong)
}
