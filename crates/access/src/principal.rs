//! Somebody who calls.

use crate::{KeyRecord, Scope};

/// Somebody who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    subject: String,
    tenant: String,
    scope: Scope,
    project: Option<String>,
}

/// A caller asked for more than they may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this needs the scope `{needed}`, and the caller has `{has}`; use a key with that scope, or a server without --read-only"
)]
pub struct Forbidden {
    /// What would be needed.
    pub needed: Scope,
    /// What the caller has.
    pub has: Scope,
}

impl Principal {
    /// Whoever started the process and holds the other end of its pipe.
    pub fn local_user(scope: Scope) -> Self {
        Self { subject: "local".to_owned(), tenant: "local".to_owned(), scope, project: None }
    }

    /// Whoever holds this key.
    pub fn from_key(key: &KeyRecord) -> Self {
        Self {
            subject: format!("key:{}", key.id),
            tenant: key.tenant.clone(),
            scope: key.scope,
            project: key.project.clone(),
        }
    }

    /// Whoever an authorization server vouches for.
    pub fn from_token(issuer: &str, subject: &str, tenant: &str, scope: Scope) -> Self {
        // The parts are told apart by a character that no URL holds.
        Self { subject: format!("token:{issuer} {subject}"), tenant: tenant.to_owned(), scope, project: None }
    }

    /// A name that is stable for this caller and different for every other: what sessions and tokens belong to.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Whether an authorization server sent them.
    pub fn is_from_token(&self) -> bool {
        self.subject.starts_with("token:")
    }

    /// Whose data they see.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// What they may do.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The one project that they may see, if not all.
    pub fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// The same caller, who may do no more than this.
    #[must_use]
    pub fn limit_scope(mut self, scope: Scope) -> Self {
        self.scope = self.scope.min(scope);
        self
    }

    /// Whether they may do what needs this scope.
    pub fn has_scope(&self, needed: Scope) -> bool {
        self.scope >= needed
    }

    /// Refuses what they may not do.
    pub fn require_scope(&self, needed: Scope) -> Result<(), Forbidden> {
        if self.has_scope(needed) { Ok(()) } else { Err(Forbidden { needed, has: self.scope }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_allows_only_smaller_or_equal_scopes() {
        for (has, needed, allowed) in [
            (Scope::Read, Scope::Read, true),
            (Scope::Read, Scope::Write, false),
            (Scope::Write, Scope::Read, true),
            (Scope::Write, Scope::Write, true),
            (Scope::Write, Scope::Admin, false),
            (Scope::Admin, Scope::Write, true),
            (Scope::Write, Scope::Execute, false),
            (Scope::Admin, Scope::Execute, false),
            (Scope::Execute, Scope::Execute, true),
        ] {
            assert_eq!(
                Principal::local_user(has).require_scope(needed).is_ok(),
                allowed,
                "{has:?} {needed:?}"
            );
        }
    }
}
