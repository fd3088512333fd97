//! Which of neighbouring lines hold secrets: those that do by themselves, and those that do for what stands around them.

use std::sync::LazyLock;

use regex::Regex;

use super::secret_names::{SecretNameKind, classify_name};
use super::secret_values::{ValueSyntax, is_secret_value};
use super::single_line_secrets::{contains_secret, has_base64_body, string_literal};

/// A name whose value stands on the next lines.
static OPEN_ASSIGNMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"["'\[]*([A-Za-z_$][A-Za-z0-9_$.\-]*)["'\]]*\s*(?::\s*[A-Za-z_\[\]. |]+=|:=|=|:)\s*(\(|\[|\\|[|>][+-]?[0-9]?|[rbuf]{0,2}"""|[rbuf]{0,2}'''|`)?\s*(?:#.*)?$"#).ok()
});
/// A flag that stands alone in a list of words.
static LONE_FLAG: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"^\s*(?:-\s+)?["']?--?([A-Za-z][A-Za-z0-9_\-]*)["']?\s*[,\\]?\s*$"#).ok());
/// `- name: API_KEY`, and the value that follows.
static NAME_ENTRY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"^\s*(?:-\s+)?\{?\s*["']?(?i:name|key)["']?\s*[:=]\s*["']?([A-Za-z_][A-Za-z0-9_.\-]*)["']?\s*,?\s*$"#).ok()
});
static VALUE_ENTRY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"^\s*(?:-\s+)?["']?(?i:value)["']?\s*[:=]\s*["']?([^"'}]*)["']?,?\s*\}?\s*,?\s*$"#).ok()
});
static BASE64_LINE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[A-Za-z0-9+/]+={0,2}$").ok());
static PEM_BEGIN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"-----BEGIN ([A-Z0-9 ]+)-----(?P<rest>.*)$").ok());
static PEM_END: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(?P<rest>.*)-----END ([A-Z0-9 ]+)-----").ok());

/// The numbers, from 0, of the lines that hold a secret. The lines follow one another, without their ends; what stands above
/// the first and below the last is not known, so the inside of a key file is one by its form.
pub fn find_secret_lines(lines: &[&str]) -> Vec<usize> {
    let mut is_found: Vec<bool> = lines.iter().map(|line| contains_secret(line)).collect();
    mark_private_keys(lines, &mut is_found);
    for at in 0..lines.len() {
        mark_continued_values(lines, at, &mut is_found);
        mark_named_values(lines, at, &mut is_found);
    }
    is_found.iter().enumerate().filter(|(_, is_found)| **is_found).map(|(at, _)| at).collect()
}

/// Private keys in PEM, with their lines as they are, quoted, or behind a `#`.
fn mark_private_keys(lines: &[&str], is_found: &mut [bool]) {
    /// What stands above.
    #[derive(Clone, Copy, PartialEq)]
    enum PemState {
        Unknown,
        Other,
        Private,
        Public,
    }
    let mut above = PemState::Unknown;
    for (at, line) in lines.iter().enumerate() {
        if let Some(begin) = PEM_BEGIN.as_ref().and_then(|begin| begin.captures(line)) {
            above = if begin[1].contains("PRIVATE") { PemState::Private } else { PemState::Public };
            if begin["rest"].contains("-----END") {
                above = PemState::Other;
            }
            continue;
        }
        if let Some(end) = PEM_END.as_ref().and_then(|end| end.captures(line)) {
            let is_private = end[2].contains("PRIVATE");
            is_found[at] |= is_private && has_base64_body(&end["rest"]);
            // The lines above it are told by it, where the first line is not seen.
            if is_private {
                for above in (0..at).rev().take_while(|above| is_base64_line(lines[*above], 1)) {
                    is_found[above] = true;
                }
            } else if above == PemState::Unknown {
                for above in (0..at).rev().take_while(|above| is_base64_line(lines[*above], 1)) {
                    is_found[above] = contains_secret(lines[above]);
                }
            }
            above = PemState::Other;
            continue;
        }
        let is_header = ["Proc-Type:", "DEK-Info:"].iter().any(|header| line.contains(header));
        match above {
            PemState::Private if is_base64_line(line, 1) => is_found[at] = true,
            PemState::Private | PemState::Public
                if is_header || line.trim().is_empty() || is_base64_line(line, 1) => {}
            PemState::Unknown | PemState::Other if is_base64_line(line, 60) => is_found[at] = true,
            _ => above = PemState::Other,
        }
    }
    // The last line of such a key is shorter.
    for at in 1..lines.len() {
        let is_full = is_found[at - 1] && is_base64_line(lines[at - 1], 60);
        is_found[at] |= is_full && above != PemState::Public && is_base64_line(lines[at], 4);
    }
}

/// Whether a line is nothing but base64, of at least this length.
fn is_base64_line(line: &str, least: usize) -> bool {
    let line = strip_quoting(line);
    let is_number = line.chars().all(|c| c.is_ascii_hexdigit());
    let is_mixed =
        line.contains(|c: char| c.is_ascii_lowercase()) && line.contains(|c: char| c.is_ascii_uppercase());
    line.len() >= least
        && (least < 60 || line.len() <= 80 && !is_number && is_mixed)
        && BASE64_LINE.as_ref().is_some_and(|body| body.is_match(line))
}

/// Without quotes, line ends and signs that put it together with others.
fn strip_quoting(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['#', '"', '\'', '`', '+', '*', ' ', '(']);
    let line = line.trim_end_matches(['"', '\'', '`', '+', ',', ';', ')', '\\', ' ']);
    line.strip_suffix("\\n").or_else(|| line.strip_suffix("\\r\\n")).unwrap_or(line)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Values that stand below their names.
fn mark_continued_values(lines: &[&str], at: usize, is_found: &mut [bool]) {
    let flag = LONE_FLAG.as_ref().and_then(|flag| flag.captures(lines[at]));
    let open = OPEN_ASSIGNMENT.as_ref().and_then(|open| open.captures(lines[at]));
    let (found, mark) = match (&flag, &open) {
        (Some(flag), _) => (&flag[1], "flag"),
        (None, Some(open)) => (&open[1], open.get(2).map_or("", |mark| mark.as_str())),
        (None, None) => return,
    };
    let Some(kind) = classify_name(found).filter(|kind| *kind != SecretNameKind::Weak || mark != "flag")
    else {
        return;
    };
    let below = lines.iter().enumerate().skip(at + 1);
    match mark.chars().last() {
        Some('|' | '>' | '+' | '-' | '0'..='9') => {
            let own =
                below.take_while(|(_, line)| line.trim().is_empty() || indent(line) > indent(lines[at]));
            for (below, line) in own {
                is_found[below] |= is_secret_value(kind, line, ValueSyntax::Plain);
            }
        }
        Some(quote @ ('"' | '\'' | '`')) => {
            for (below, line) in below {
                let text = line.split(quote).next().unwrap_or_default();
                is_found[below] |= is_secret_value(kind, text, ValueSyntax::Quoted);
                if line.contains(quote) {
                    break;
                }
            }
        }
        _ => {
            let Some((below, line)) = below.into_iter().find(|(_, line)| !line.trim().is_empty()) else {
                return;
            };
            let item = line.trim();
            let item = if mark == "flag" { item.trim_start_matches("- ") } else { item };
            let is_alone = |text: &str| item.len() - text.len() <= 8 && !item.contains(": ");
            is_found[below] |= match string_literal(item) {
                Some(text) => {
                    is_alone(text)
                        && is_secret_value(kind, text, ValueSyntax::Quoted)
                        && !text.starts_with('-')
                }
                None if mark == "flag" => {
                    !item.starts_with('-') && is_secret_value(kind, item, ValueSyntax::Plain)
                }
                None => {
                    let is_below = mark.is_empty() && indent(line) > indent(lines[at]);
                    is_below && !item.contains([':', ' ']) && is_secret_value(kind, item, ValueSyntax::Loose)
                }
            };
        }
    }
}

/// `name: API_KEY` and `value: …` on the line below or above.
fn mark_named_values(lines: &[&str], at: usize, is_found: &mut [bool]) {
    let Some(name) = NAME_ENTRY.as_ref().and_then(|name| name.captures(lines[at])) else { return };
    let Some(kind) = classify_name(&name[1]) else { return };
    for beside in [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter(|at| *at < lines.len()) {
        let value = VALUE_ENTRY.as_ref().and_then(|value| value.captures(lines[beside]));
        is_found[beside] |= value.is_some_and(|value| is_secret_value(kind, &value[1], ValueSyntax::Plain));
    }
}

#[cfg(test)]
mod tests;
