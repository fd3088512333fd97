//! Removes lines with secrets from unified diffs.
//!
//! A context line with a secret is omitted: its hunk is split there. Lines are never altered, so the
//! remaining diff can still be applied. If a changed line contains a secret, the whole diff of that file is
//! withheld, except for its name.

use std::collections::BTreeSet;
use std::fmt::Write;

/// Finds secrets in consecutive lines, passed without line terminators. Returns the 0-based indices of the
/// lines that contain one.
pub type SecretFinder = fn(&[&str]) -> Vec<usize>;

/// A diff that may be shown to a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RedactedDiff {
    pub text: String,
    /// The number of omitted context lines.
    pub omitted_lines: usize,
    /// Paths of the files whose diffs are withheld.
    pub withheld: Vec<String>,
    /// Whether `git apply` needs `--unidiff-zero`. If a change is directly above an omitted line, the hunk
    /// ends with a change, and git assumes that such a hunk ends at the end of the file. `patch` does not.
    pub needs_unidiff_zero: bool,
}

const WITHHELD_NOTICE: &str =
    "@@ withheld: a changed line contains a secret; the plan's `id` identifies the complete diff @@";

/// Redacts a diff of one or more files. A diff without secrets is returned unchanged.
pub fn redact_diff(diff: &str, find: SecretFinder) -> RedactedDiff {
    let mut shown = RedactedDiff::default();
    let files = parse_diff(diff, find);
    for file in &files {
        file.redact_into(file.changes_secret(), &mut shown);
    }
    shown
}

/// The part of a diff that is about one file.
pub(super) struct FileDiff<'d> {
    /// The `---` and `+++` lines.
    head: &'d str,
    path: &'d str,
    body: DiffBody<'d>,
}

enum DiffBody<'d> {
    Hunks(Vec<DiffHunk<'d>>),
    /// A remark in place of hunks, or text that cannot be parsed as hunks; and whether it contains a secret.
    Other(&'d str, bool),
}

struct DiffHunk<'d> {
    /// The verbatim hunk, including its header.
    text: &'d str,
    /// The number of lines before it in the old and in the new text.
    before: [usize; 2],
    lines: Vec<DiffLine<'d>>,
}

struct DiffLine<'d> {
    tag: DiffTag,
    /// Including the tag, the line terminator, and a `\ No newline at end of file` remark.
    text: &'d str,
    has_secret: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DiffTag {
    Context,
    Removed,
    Added,
}

impl DiffTag {
    fn is_on(self, side: usize) -> bool {
        match self {
            Self::Context => true,
            Self::Removed => side == 0,
            Self::Added => side == 1,
        }
    }
}

impl<'d> DiffLine<'d> {
    fn content(&self) -> &'d str {
        let line = self.text.split('\n').next().unwrap_or_default();
        let line = line.strip_suffix('\r').unwrap_or(line);
        line.get(1..).unwrap_or_default()
    }
}

/// Parses concatenated diffs of any number of files.
pub(super) fn parse_diff(diff: &str, find: SecretFinder) -> Vec<FileDiff<'_>> {
    let mut files = Vec::new();
    let mut rest = diff;
    while !rest.is_empty() {
        let (file, behind) = parse_file_diff(rest, find);
        files.push(file);
        rest = behind;
    }
    files
}

fn parse_file_diff(diff: &str, find: SecretFinder) -> (FileDiff<'_>, &str) {
    let unreadable = |head: usize, path| {
        let (head, body) = diff.split_at(head);
        (FileDiff { head, path, body: DiffBody::Other(body, contains_secret(body, find)) }, "")
    };
    let Some((head, path)) = parse_file_header(diff) else { return unreadable(0, "") };
    let mut rest = &diff[head..];
    let mut hunks = Vec::new();
    while rest.starts_with("@@ ") {
        match parse_hunk(rest, find) {
            Some((hunk, behind)) => {
                hunks.push(hunk);
                rest = behind;
            }
            None if hunks.is_empty() => {
                // A remark is a single line.
                let (remark, behind) = rest.split_at(next_line_start(rest));
                if !behind.is_empty() && parse_file_header(behind).is_none() {
                    return unreadable(head, path);
                }
                let body = DiffBody::Other(remark, contains_secret(remark, find));
                return (FileDiff { head: &diff[..head], path, body }, behind);
            }
            None => return unreadable(head, path),
        }
    }
    if hunks.is_empty() || !rest.is_empty() && parse_file_header(rest).is_none() {
        return unreadable(head, path);
    }
    (FileDiff { head: &diff[..head], path, body: DiffBody::Hunks(hunks) }, rest)
}

fn next_line_start(text: &str) -> usize {
    text.find('\n').map_or(text.len(), |end| end + 1)
}

/// The end of the `---` and `+++` lines, and the path they name.
fn parse_file_header(diff: &str) -> Option<(usize, &str)> {
    let (old, rest) = diff.strip_prefix("--- ")?.split_once('\n')?;
    let (new, rest) = rest.strip_prefix("+++ ")?.split_once('\n')?;
    let path = new.strip_prefix("b/").or_else(|| old.strip_prefix("a/"))?;
    Some((diff.len() - rest.len(), path))
}

fn parse_hunk(diff: &str, find: SecretFinder) -> Option<(DiffHunk<'_>, &str)> {
    let (header, mut rest) = diff.split_once('\n')?;
    let (old, new) = header.strip_prefix("@@ -")?.strip_suffix(" @@")?.split_once(" +")?;
    let (old, new) = (parse_range(old)?, parse_range(new)?);
    let mut wanted = [old.1, new.1];
    let mut lines = Vec::new();
    while wanted != [0, 0] {
        let tag = match rest.as_bytes().first()? {
            b' ' => DiffTag::Context,
            b'-' => DiffTag::Removed,
            b'+' => DiffTag::Added,
            _ => return None,
        };
        for side in [0, 1].into_iter().filter(|side| tag.is_on(*side)) {
            wanted[side] = wanted[side].checked_sub(1)?;
        }
        let mut end = next_line_start(rest);
        if rest[end..].starts_with("\\ ") {
            end += next_line_start(&rest[end..]);
        }
        let line = DiffLine { tag, text: &rest[..end], has_secret: false };
        // A lone carriage return was counted as a line end in the hunk header, so the counts do not match.
        if line.content().contains('\r') {
            return None;
        }
        lines.push(line);
        rest = &rest[end..];
    }
    for side in [0, 1] {
        let own: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].tag.is_on(side)).collect();
        let contents: Vec<&str> = own.iter().map(|at| lines[*at].content()).collect();
        for at in find(&contents) {
            if let Some(at) = own.get(at) {
                lines[*at].has_secret = true;
            }
        }
    }
    let text = &diff[..diff.len() - rest.len()];
    Some((DiffHunk { text, before: [old.0, new.0], lines }, rest))
}

/// Parses `3,2` or `3` into the number of lines before the range and its length.
fn parse_range(range: &str) -> Option<(usize, usize)> {
    let (start, length) = match range.split_once(',') {
        Some((start, length)) => (start.parse::<usize>().ok()?, length.parse().ok()?),
        None => (range.parse().ok()?, 1),
    };
    // An empty range is identified by the line before it.
    Some((if length == 0 { start } else { start.checked_sub(1)? }, length))
}

pub(super) fn contains_secret(text: &str, find: SecretFinder) -> bool {
    let lines: Vec<&str> = text.split(['\n', '\r']).collect();
    // The text may be a diff: also check its lines without the diff markers.
    let bare: Vec<&str> =
        lines.iter().map(|line| line.strip_prefix(['+', '-', ' ']).unwrap_or(line)).collect();
    !find(&lines).is_empty() || !find(&bare).is_empty()
}

impl<'d> FileDiff<'d> {
    /// The path of the file; empty if the header could not be parsed.
    pub(super) fn path(&self) -> &'d str {
        self.path
    }

    /// Whether a changed line contains a secret.
    pub(super) fn changes_secret(&self) -> bool {
        match &self.body {
            DiffBody::Hunks(hunks) => {
                let mut lines = hunks.iter().flat_map(|hunk| &hunk.lines);
                lines.any(|line| line.has_secret && line.tag != DiffTag::Context)
            }
            DiffBody::Other(_, holds) => *holds,
        }
    }

    pub(super) fn secret_lines(&self) -> impl Iterator<Item = &'d str> {
        let hunks: &[DiffHunk<'d>] = match &self.body {
            DiffBody::Hunks(hunks) => hunks,
            DiffBody::Other(..) => &[],
        };
        let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.filter(|line| line.has_secret).map(DiffLine::content)
    }

    /// The 0-based numbers of the lines with secrets in the old text.
    pub(super) fn secret_line_numbers(&self) -> BTreeSet<usize> {
        let DiffBody::Hunks(hunks) = &self.body else { return BTreeSet::new() };
        let places = |hunk: &DiffHunk<'d>| -> Vec<usize> {
            let old = hunk.lines.iter().filter(|line| line.tag.is_on(0));
            let numbered = (hunk.before[0]..).zip(old);
            numbered.filter(|(_, line)| line.has_secret).map(|(at, _)| at).collect()
        };
        hunks.iter().flat_map(places).collect()
    }

    /// Appends the redacted diff to `shown`.
    pub(super) fn redact_into(&self, is_withheld: bool, shown: &mut RedactedDiff) {
        shown.text.push_str(self.head);
        match &self.body {
            _ if is_withheld => {
                shown.text.push_str(WITHHELD_NOTICE);
                shown.text.push('\n');
                shown.withheld.push(self.path.to_owned());
            }
            DiffBody::Other(text, _) => shown.text.push_str(text),
            DiffBody::Hunks(hunks) => {
                let start = shown.text.len();
                for hunk in hunks {
                    hunk.redact_into(shown);
                }
                // Without any hunk, a header alone would not be a valid diff.
                if shown.text.len() == start {
                    shown.text.truncate(start - self.head.len());
                }
            }
        }
    }
}

impl DiffHunk<'_> {
    fn redact_into(&self, shown: &mut RedactedDiff) {
        if !self.lines.iter().any(|line| line.has_secret) {
            shown.text.push_str(self.text);
            return;
        }
        let mut before = self.before;
        for (at, part) in self.lines.split(|line| line.has_secret).enumerate() {
            if at > 0 {
                // The omitted line is a context line, so it counts on both sides.
                shown.omitted_lines += 1;
                before = before.map(|lines| lines + 1);
            }
            let lengths = [0, 1].map(|side| part.iter().filter(|line| line.tag.is_on(side)).count());
            if part.iter().any(|line| line.tag != DiffTag::Context) {
                let [old, new] = [0, 1].map(|side| format_range(before[side], lengths[side]));
                let _ = writeln!(shown.text, "@@ -{old} +{new} @@"); // writing to a string cannot fail
                shown.text.extend(part.iter().map(|line| line.text));
                // Git takes a hunk that begins with `-1` for the beginning of the file.
                shown.needs_unidiff_zero |= lengths[0] == 0 && before[0] == 1;
            }
            before = [before[0] + lengths[0], before[1] + lengths[1]];
        }
        let mut pairs = self.lines.windows(2);
        shown.needs_unidiff_zero |= pairs.any(|pair| pair[0].tag != DiffTag::Context && pair[1].has_secret);
    }
}

/// Formats a range for a hunk header.
fn format_range(before: usize, length: usize) -> String {
    match length {
        0 => format!("{before},0"),
        1 => format!("{}", before + 1),
        _ => format!("{},{length}", before + 1),
    }
}
