//! Glob patterns that select files.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A path must match one of the patterns. An empty filter matches everything.
#[derive(Clone, Debug, Default)]
pub struct GlobFilter {
    set: Option<GlobSet>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid pattern `{glob}`: {reason}")]
pub struct GlobError {
    /// The pattern, truncated.
    pub glob: String,
    pub reason: String,
}

const MAX_PATTERNS: usize = 64;
const MAX_PATTERN_BYTES: usize = 1024;

impl GlobFilter {
    /// Compiles patterns such as `src/**/*.py`. `*` does not match a slash.
    pub fn new(patterns: &[String]) -> Result<Self, GlobError> {
        let bad = |glob: &str, reason: String| GlobError { glob: glob.chars().take(80).collect(), reason };
        if patterns.is_empty() {
            return Ok(Self::default());
        }
        if patterns.len() > MAX_PATTERNS {
            return Err(bad("…", format!("{} patterns given, the limit is {MAX_PATTERNS}", patterns.len())));
        }
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            if pattern.len() > MAX_PATTERN_BYTES {
                return Err(bad(pattern, format!("it is longer than {MAX_PATTERN_BYTES} bytes")));
            }
            let glob = GlobBuilder::new(pattern.trim_start_matches("./")).literal_separator(true).build();
            set.add(glob.map_err(|error| bad(pattern, error.kind().to_string()))?);
        }
        let set = set.build().map_err(|error| bad("…", error.to_string()))?;
        Ok(Self { set: Some(set) })
    }

    pub fn matches_everything(&self) -> bool {
        self.set.is_none()
    }

    pub fn matches(&self, path: &str) -> bool {
        self.set.as_ref().is_none_or(|set| set.is_match(path))
    }
}
