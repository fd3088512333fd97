//! Scopes: what a caller may do.

use std::fmt;
use std::str::FromStr;

/// What a caller may do. Each scope includes the previous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Read only.
    Read,
    /// Read and write.
    Write,
    /// Manage access.
    Admin,
    /// Run programs on the server, if its operator allows that. A program can gain every other permission, so
    /// this scope includes them all; `admin` does not include this one.
    Execute,
}

impl Scope {
    /// All scopes, smallest first.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Admin, Self::Execute];

    /// The name used in settings, stores and tokens.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
            Self::Execute => "execute",
        }
    }

    /// The largest scope in a list of words. Unknown words are ignored.
    pub fn largest<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        words.into_iter().filter_map(|word| word.parse().ok()).max()
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.as_str() == name)
            .ok_or_else(|| format!("unknown scope `{name}`; use read, write, admin or execute"))
    }
}
