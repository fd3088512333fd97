//! What a caller may be allowed to do.

use std::fmt;
use std::str::FromStr;

/// What a caller may be allowed to do. A larger scope contains the smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Look, but change nothing.
    Read,
    /// Change things too.
    Write,
    /// Change who may do what.
    Admin,
    /// Run programs on the server, where its operator allows that. A program could take everything else, so this scope
    /// contains all of it; `admin` does not contain this one.
    Execute,
}

impl Scope {
    /// All of them, the smallest first.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Admin, Self::Execute];

    /// Its name in settings, stores and tokens.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
            Self::Execute => "execute",
        }
    }

    /// The largest of the scopes that a list names. Words that are no scopes are the caller's to judge.
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
            .ok_or_else(|| format!("there is no scope `{name}`; there are read, write, admin, execute"))
    }
}
