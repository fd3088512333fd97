//! Who is calling, and what they may do.
//!
//! Rules only: no wire, no store, no clock.

/// What a caller may be allowed to do. A larger scope contains the smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Look, but change nothing.
    Read,
    /// Change things too.
    Write,
}

/// Somebody who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    subject: String,
    scope: Scope,
}

/// A caller asked for more than they may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this needs the scope {needed:?}, and the caller has {has:?}")]
pub struct Forbidden {
    /// What would be needed.
    pub needed: Scope,
    /// What the caller has.
    pub has: Scope,
}

impl Principal {
    /// Whoever started the process and holds the other end of its pipe.
    pub fn local_user(scope: Scope) -> Self {
        Self { subject: "local".to_owned(), scope }
    }

    /// A name that is stable for this caller and different for every other: what sessions and tokens belong to.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Whether they may do what needs this scope.
    pub fn may(&self, needed: Scope) -> bool {
        self.scope >= needed
    }

    /// Refuses what they may not do.
    pub fn admit(&self, needed: Scope) -> Result<(), Forbidden> {
        if self.may(needed) { Ok(()) } else { Err(Forbidden { needed, has: self.scope }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_does_not_write() {
        for (has, needed, allowed) in [
            (Scope::Read, Scope::Read, true),
            (Scope::Read, Scope::Write, false),
            (Scope::Write, Scope::Read, true),
            (Scope::Write, Scope::Write, true),
        ] {
            assert_eq!(Principal::local_user(has).admit(needed).is_ok(), allowed, "{has:?} {needed:?}");
        }
    }
}
