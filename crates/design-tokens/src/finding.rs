//! Findings: problems of a design system.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};

use super::limits::MAX_FINDINGS;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TokenSeverity {
    /// Works, but is outdated, unclear or probably a mistake.
    Warning,
    /// Invalid in the format; the value cannot be used.
    Error,
}

/// A single problem with a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenFinding {
    /// The path of a token or group; for a part of a value, followed by `/` and the part. Empty for the
    /// document.
    pub path: String,
    pub severity: TokenSeverity,
    /// What is wrong and how to fix it.
    pub message: String,
    /// Where the part starts in `path`, because names may contain `/` as well.
    part_at: usize,
}

/// Maximum size of a message, so that messages about hostile documents cannot fill the memory.
const MAX_MESSAGE_BYTES: usize = 1_000;
/// Maximum size of a quoted name or value.
const MAX_EXCERPT_BYTES: usize = 100;

impl TokenFinding {
    pub(super) fn error(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path.into(), "", TokenSeverity::Error, message.into())
    }

    pub(super) fn warning(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path.into(), "", TokenSeverity::Warning, message.into())
    }

    /// A finding about a part of a token's value: empty, or `/` and its path inside the value.
    pub(super) fn new(token: String, part: &str, severity: TokenSeverity, mut message: String) -> Self {
        let part_at = token.len();
        if message.len() > MAX_MESSAGE_BYTES {
            message = truncate(&message, MAX_MESSAGE_BYTES).into_owned();
        }
        Self { path: token + part, severity, message, part_at }
    }

    /// Adds the mode to the message.
    pub(super) fn in_mode(mut self, mode: &str) -> Self {
        self.message = format!("{} (in mode `{}`)", self.message, excerpt(mode));
        self
    }

    /// The path of the token or group, without the part.
    pub fn token_path(&self) -> &str {
        &self.path[..self.part_at]
    }

    pub fn is_error(&self) -> bool {
        self.severity == TokenSeverity::Error
    }
}

impl fmt::Display for TokenFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = if self.is_error() { "error" } else { "warning" };
        if self.path.is_empty() {
            write!(f, "{severity}: {}", self.message)
        } else {
            write!(f, "{severity}: {}: {}", self.path, self.message)
        }
    }
}

/// Truncates a name or value for a message.
pub(super) fn excerpt(text: &str) -> Cow<'_, str> {
    truncate(text, MAX_EXCERPT_BYTES)
}

/// Formats a chain of paths for a message, shortened in the middle.
pub(super) fn format_path_chain(paths: &[&str]) -> String {
    const MAX_LEADING_PATHS: usize = 8;
    let mut names: Vec<_> = paths.iter().take(MAX_LEADING_PATHS).map(|path| excerpt(path)).collect();
    if let [_, rest @ .., last] = &paths[MAX_LEADING_PATHS.min(paths.len())..] {
        names.push(Cow::Owned(format!("… {} more …", rest.len() + 1)));
        names.push(excerpt(last));
    } else {
        names.extend(paths.iter().skip(MAX_LEADING_PATHS).map(|path| excerpt(path)));
    }
    names.join(" → ")
}

fn truncate(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(most)]))
}

/// Remembers findings, to detect duplicates.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenFindings {
    hasher: RandomState,
    seen: HashSet<u64>,
}

impl SeenFindings {
    /// Returns whether the finding is new, and remembers it.
    pub(super) fn insert(&mut self, finding: &TokenFinding) -> bool {
        self.seen.insert(self.hasher.hash_one(finding))
    }
}

/// Collects findings without duplicates, up to a limit.
#[derive(Clone, Debug, Default)]
pub(super) struct FindingCollector {
    findings: Vec<TokenFinding>,
    seen: SeenFindings,
    dropped: usize,
    worst_dropped: Option<TokenSeverity>,
}

impl FindingCollector {
    /// Adds a finding if there is room. Warnings leave half of the room for errors.
    pub(super) fn push(&mut self, finding: TokenFinding) {
        if !self.seen.insert(&finding) {
            return;
        }
        let room = if finding.is_error() { MAX_FINDINGS } else { MAX_FINDINGS / 2 };
        if self.findings.len() < room {
            self.findings.push(finding);
        } else {
            self.dropped += 1;
            self.worst_dropped = self.worst_dropped.max(Some(finding.severity));
        }
    }

    pub(super) fn extend(&mut self, findings: impl IntoIterator<Item = TokenFinding>) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }

    /// The findings, plus one with the number of those dropped.
    pub(super) fn into_vec(mut self) -> Vec<TokenFinding> {
        if let Some(severity) = self.worst_dropped {
            let message = format!("{} more findings are omitted; fix these first", self.dropped);
            self.findings.push(TokenFinding::new(String::new(), "", severity, message));
        }
        self.findings
    }
}
