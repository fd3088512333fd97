//! Patterns that choose files.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Patterns of which a path must match one. None at all match everything.
#[derive(Clone, Debug, Default)]
pub struct GlobFilter {
    set: Option<GlobSet>,
}

/// A pattern that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{glob}` is not a usable pattern: {reason}")]
pub struct GlobError {
    /// The pattern, shortened.
    pub glob: String,
    /// What is wrong with it.
    pub reason: String,
}

const MAX_PATTERNS: usize = 64;
const MAX_PATTERN_BYTES: usize = 1024;

impl GlobFilter {
    /// Compiles patterns such as `src/**/*.py`. `*` stops at a slash.
    pub fn new(patterns: &[String]) -> Result<Self, GlobError> {
        let bad = |glob: &str, reason: String| GlobError { glob: glob.chars().take(80).collect(), reason };
        if patterns.is_empty() {
            return Ok(Self::default());
        }
        if patterns.len() > MAX_PATTERNS {
            return Err(bad("…", format!("there are {}, and {MAX_PATTERNS} are the most", patterns.len())));
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

    /// Whether everything matches.
    pub fn matches_everything(&self) -> bool {
        self.set.is_none()
    }

    /// Whether this path from the root matches.
    pub fn matches(&self, path: &str) -> bool {
        self.set.as_ref().is_none_or(|set| set.is_match(path))
    }
}
