//! Unified diffs.

use diffy::{DiffOptions, PatchFormatter};

/// Above this many pairs of differing lines the diff is too long to be useful and too slow to compute.
const MAX_LINE_PAIRS: usize = 4_000_000;

/// A unified diff that `git apply` accepts. A missing file is `/dev/null`.
pub fn unified_diff(path: &str, old: Option<&str>, new: Option<&str>) -> String {
    let name = |side: &str, text: Option<&str>| match text {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (from, to) = (name("a", old), name("b", new));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    if is_too_different(old, new) {
        return format!("--- {from}\n+++ {to}\n@@ diff omitted: too many changed lines @@\n");
    }
    if old == new {
        return String::new();
    }
    let mut options = DiffOptions::new();
    let changes = options.set_original_filename(from).set_modified_filename(to).create_patch(old, new);
    // Like git, write a space before an empty context line.
    PatchFormatter::new().suppress_blank_empty(false).fmt_patch(&changes).to_string()
}

fn is_too_different(old: &str, new: &str) -> bool {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    (old.len() - head - tail).saturating_mul(new.len() - head - tail) > MAX_LINE_PAIRS
}
