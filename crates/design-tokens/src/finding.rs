//! What is wrong with a design system, and where.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};

use super::limits::MAX_FINDINGS;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TokenSeverity {
    /// It works, but is old, unclear or likely a mistake.
    Warning,
    /// It has no meaning in the format; the value cannot be used.
    Error,
}

/// One thing that is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenFinding {
    /// Where: the path of a token or group, for a part of a value followed by `/` and the part. Empty: the document.
    pub path: String,
    /// How bad it is.
    pub severity: TokenSeverity,
    /// What is wrong and what to do.
    pub message: String,
    /// Where in `path` the part begins: names may have a `/` too.
    part_at: usize,
}

/// Bytes of one message. Whatever a document holds, it cannot fill the memory with what is said about it.
const MAX_MESSAGE_BYTES: usize = 1_000;
/// Bytes of a name or value that a message quotes.
const MAX_EXCERPT_BYTES: usize = 100;

impl TokenFinding {
    pub(super) fn error(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path.into(), "", TokenSeverity::Error, message.into())
    }

    pub(super) fn warning(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path.into(), "", TokenSeverity::Warning, message.into())
    }

    /// A finding about a part of the value of a token: empty, or `/` and its way from the value.
    pub(super) fn new(token: String, part: &str, severity: TokenSeverity, mut message: String) -> Self {
        let part_at = token.len();
        if message.len() > MAX_MESSAGE_BYTES {
            message = truncate(&message, MAX_MESSAGE_BYTES).into_owned();
        }
        Self { path: token + part, severity, message, part_at }
    }

    /// The same, in a mode.
    pub(super) fn in_mode(mut self, mode: &str) -> Self {
        self.message = format!("{} (in mode `{}`)", self.message, excerpt(mode));
        self
    }

    /// The path of the token or group, without the part.
    pub fn token_path(&self) -> &str {
        &self.path[..self.part_at]
    }

    /// Whether it is an error.
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

/// A name or value of a document as messages quote it.
pub(super) fn excerpt(text: &str) -> Cow<'_, str> {
    truncate(text, MAX_EXCERPT_BYTES)
}

/// A way from path to path as messages show it: not more than a few of them.
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

/// Tells findings that were told before from those that are new.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenFindings {
    hasher: RandomState,
    seen: HashSet<u64>,
}

impl SeenFindings {
    /// Whether a finding is new. From now on it is not.
    pub(super) fn insert(&mut self, finding: &TokenFinding) -> bool {
        self.seen.insert(self.hasher.hash_one(finding))
    }
}

/// Findings, each of them once, and not more than anybody reads.
#[derive(Clone, Debug, Default)]
pub(super) struct FindingCollector {
    findings: Vec<TokenFinding>,
    seen: SeenFindings,
    dropped: usize,
    worst_dropped: Option<TokenSeverity>,
}

impl FindingCollector {
    /// Keeps a finding if there is room for it. Warnings leave half of the room to errors.
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

    /// The findings, and how many there are besides.
    pub(super) fn into_vec(mut self) -> Vec<TokenFinding> {
        if let Some(severity) = self.worst_dropped {
            let message = format!("{} more findings are left out; mend these first", self.dropped);
            self.findings.push(TokenFinding::new(String::new(), "", severity, message));
        }
        self.findings
    }
}
