//! Matching paths against `.gitignore` files.

use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The rules that apply in a folder: its own and those of its parents, up to the root.
#[derive(Clone, Default)]
pub(crate) struct IgnoreRules {
    innermost: Option<Arc<IgnoreLevel>>,
}

struct IgnoreLevel {
    rules: Gitignore,
    outer: IgnoreRules,
}

impl IgnoreRules {
    /// Adds the rules of the `.gitignore` in `folder` (a path relative to the root).
    pub(crate) fn extended_with(&self, folder: &str, text: &[u8]) -> Self {
        let mut builder = GitignoreBuilder::new(folder);
        let text = String::from_utf8_lossy(text);
        for line in text.trim_start_matches('\u{feff}').lines() {
            // Like git, skip lines that are not valid patterns.
            let _ = builder.add_line(None, line);
        }
        match builder.build() {
            Ok(rules) if !rules.is_empty() => {
                Self { innermost: Some(Arc::new(IgnoreLevel { rules, outer: self.clone() })) }
            }
            _ => self.clone(),
        }
    }

    /// Whether git would ignore this path. The innermost file with a matching rule decides.
    pub(crate) fn is_ignored(&self, path: &str, is_dir: bool) -> bool {
        let mut next = self.innermost.as_deref();
        while let Some(level) = next {
            match level.rules.matched(path, is_dir) {
                ignore::Match::Ignore(_) => return true,
                ignore::Match::Whitelist(_) => return false,
                ignore::Match::None => next = level.outer.innermost.as_deref(),
            }
        }
        false
    }
}
