//! The authenticated caller.

use crate::{KeyRecord, Scope};

/// An authenticated caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    subject: String,
    tenant: String,
    scope: Scope,
    project: Option<String>,
}

/// The caller lacks the required scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this requires the scope `{needed}`, but the caller has `{has}`; use a key with that scope, or a server without --read-only"
)]
pub struct Forbidden {
    pub needed: Scope,
    pub has: Scope,
}

impl Principal {
    /// The user who started the process and is connected over stdio.
    pub fn local_user(scope: Scope) -> Self {
        Self { subject: "local".to_owned(), tenant: "local".to_owned(), scope, project: None }
    }

    pub fn from_key(key: &KeyRecord) -> Self {
        Self {
            subject: format!("key:{}", key.id),
            tenant: key.tenant.clone(),
            scope: key.scope,
            project: key.project.clone(),
        }
    }

    pub fn from_token(issuer: &str, subject: &str, tenant: &str, scope: Scope) -> Self {
        // A space separates the parts, because no URL contains one.
        Self { subject: format!("token:{issuer} {subject}"), tenant: tenant.to_owned(), scope, project: None }
    }

    /// A stable name that is unique to this caller. Sessions and tokens belong to it.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Whether the caller authenticated with a token of an authorization server.
    pub fn is_from_token(&self) -> bool {
        self.subject.starts_with("token:")
    }

    /// The tenant whose data the caller can access.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The only project that the caller may access, if restricted.
    pub fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// Reduces the scope to at most `scope`.
    #[must_use]
    pub fn limit_scope(mut self, scope: Scope) -> Self {
        self.scope = self.scope.min(scope);
        self
    }

    /// Whether the scope of the caller includes `needed`.
    pub fn has_scope(&self, needed: Scope) -> bool {
        self.scope >= needed
    }

    /// Returns an error unless the scope of the caller includes `needed`.
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
