//! Patterns that choose files.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Patterns of which a path must match one. None at all match everything.
#[derive(Clone, Debug, Default)]
pub struct Globs {
    set: Option<GlobSet>,
}

/// A pattern that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{glob}` is not a usable pattern: {reason}")]
pub struct BadGlob {
    /// The pattern, shortened.
    pub glob: String,
    /// What is wrong with it.
    pub reason: String,
}

const MOST: usize = 64;
const LONGEST: usize = 1024;

impl Globs {
    /// Compiles patterns such as `src/**/*.py`. `*` stops at a slash.
    pub fn new(patterns: &[String]) -> Result<Self, BadGlob> {
        let bad = |glob: &str, reason: String| BadGlob { glob: glob.chars().take(80).collect(), reason };
        if patterns.is_empty() {
            return Ok(Self::default());
        }
        if patterns.len() > MOST {
            return Err(bad("…", format!("there are {}, and {MOST} are the most", patterns.len())));
        }
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            if pattern.len() > LONGEST {
                return Err(bad(pattern, format!("it is longer than {LONGEST} bytes")));
            }
            let glob = GlobBuilder::new(pattern.trim_start_matches("./")).literal_separator(true).build();
            set.add(glob.map_err(|error| bad(pattern, error.kind().to_string()))?);
        }
        let set = set.build().map_err(|error| bad("…", error.to_string()))?;
        Ok(Self { set: Some(set) })
    }

    /// Whether everything matches.
    pub fn match_all(&self) -> bool {
        self.set.is_none()
    }

    /// Whether this path from the root matches.
    pub fn matches(&self, path: &str) -> bool {
        self.set.as_ref().is_none_or(|set| set.is_match(path))
    }
}
