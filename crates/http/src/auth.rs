//! Authenticates requests by their headers.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use axum::http::{HeaderMap, header};
use secrecy::{ExposeSecret, SecretString};
use server::access::{
    ClockReading, JwtRejection, JwtVerifier, KeyVerifier, KeyVerifyError, RateLimit, RateLimitStatus,
    RateLimiter, StoreError,
};
use server::{LogThrottle, Principal, RequestRejection, Scope, Timestamp};

use crate::origin::single_header;

/// Beyond this many failures from one address, further ones are answered with a rate-limit error.
const MAX_AUTH_FAILURES_PER_MINUTE: u32 = 100;
const MAX_TRACKED_ADDRESSES: usize = 10_000;

pub struct Authenticator {
    mode: AuthMode,
    jwt_verifier: RwLock<Option<Arc<JwtVerifier>>>,
    rate_limiter: Option<RateLimiter>,
    /// Upper limit for the scope of every caller.
    max_scope: Scope,
    auth_failures: Mutex<HashMap<IpAddr, (i64, u32)>>,
    store_error_throttle: LogThrottle,
}

enum AuthMode {
    /// Every caller gets this principal.
    Unauthenticated(Principal),
    Keys(KeyVerifier),
}

/// The credential of a request, kept so that it can be verified again while a stream is open.
pub(crate) struct PresentedCredential(Option<SecretString>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AcceptedCredentials {
    Keys,
    KeysAndTokens,
    /// Keys and tokens, exempt from the maximum scope, so that operators can read metrics of a read-only
    /// server.
    Operators,
}

impl Authenticator {
    /// Every caller gets this principal. Only for loopback.
    pub fn without_authentication(principal: Principal) -> Self {
        let max_scope = principal.scope();
        Self {
            mode: AuthMode::Unauthenticated(principal),
            jwt_verifier: RwLock::default(),
            rate_limiter: None,
            max_scope,
            auth_failures: Mutex::default(),
            store_error_throttle: LogThrottle::default(),
        }
    }

    pub fn with_keys(verifier: KeyVerifier, limiter: RateLimiter, max_scope: Scope) -> Self {
        Self {
            mode: AuthMode::Keys(verifier),
            jwt_verifier: RwLock::default(),
            rate_limiter: Some(limiter),
            max_scope,
            auth_failures: Mutex::default(),
            store_error_throttle: LogThrottle::default(),
        }
    }

    /// Starts or stops accepting tokens.
    pub fn set_jwt_verifier(&self, tokens: Option<JwtVerifier>) {
        *self.jwt_verifier.write().unwrap_or_else(PoisonError::into_inner) = tokens.map(Arc::new);
    }

    /// Changes the rate limit, effective immediately.
    pub fn set_rate_limit(&self, rate: Option<RateLimit>) {
        if let Some(limiter) = &self.rate_limiter {
            limiter.set_limit(rate);
        }
    }

    pub(crate) fn is_unauthenticated(&self) -> bool {
        matches!(self.mode, AuthMode::Unauthenticated(_))
    }

    pub(crate) fn jwt_verifier(&self) -> Option<Arc<JwtVerifier>> {
        self.jwt_verifier.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the principal that sent these headers.
    pub(crate) async fn authenticate(
        &self,
        headers: &HeaderMap,
        from: IpAddr,
        accepted: AcceptedCredentials,
        now: Timestamp,
    ) -> Result<Principal, RequestRejection> {
        if let AuthMode::Unauthenticated(principal) = &self.mode {
            return Ok(principal.clone());
        }
        if !headers.contains_key(header::AUTHORIZATION) {
            tracing::info!(target: "audit", event = "denied", why = "missing", %from);
            return Err(RequestRejection::MissingCredentials);
        }
        let entered = match single_header(headers, &header::AUTHORIZATION).and_then(parse_bearer) {
            Some(bearer) => self.verify_bearer(bearer, accepted, now).await,
            None => Err(AuthError::Rejected("malformed")),
        };
        match entered {
            Ok(principal) => Ok(principal),
            Err(AuthError::Rejected(why)) => {
                tracing::info!(target: "audit", event = "denied", why, %from);
                Err(self.count_failure(from, now))
            }
            Err(AuthError::Unavailable(error)) => {
                Err(self.report_store_error(&error, "key store unavailable"))
            }
        }
    }

    pub(crate) fn presented_credential(&self, headers: &HeaderMap) -> PresentedCredential {
        let bearer = single_header(headers, &header::AUTHORIZATION).and_then(parse_bearer);
        PresentedCredential(bearer.filter(|_| matches!(self.mode, AuthMode::Keys(_))).map(SecretString::from))
    }

    /// Whether the credential would still be accepted.
    pub(crate) async fn is_still_valid(&self, pass: &PresentedCredential, now: Timestamp) -> bool {
        let Some(shown) = &pass.0 else { return true };
        // A short store outage must not end streams.
        !matches!(
            self.verify_bearer(shown.expose_secret(), AcceptedCredentials::KeysAndTokens, now).await,
            Err(AuthError::Rejected(_))
        )
    }

    async fn verify_bearer(
        &self,
        bearer: &str,
        accepted: AcceptedCredentials,
        now: Timestamp,
    ) -> Result<Principal, AuthError> {
        let AuthMode::Keys(verifier) = &self.mode else { return Err(AuthError::Rejected("closed")) };
        let is_key = bearer.starts_with("cf_");
        let principal = match self.jwt_verifier().filter(|_| !is_key && accepted != AcceptedCredentials::Keys)
        {
            Some(tokens) => {
                tokens.verify(bearer, now).map_err(|bad: JwtRejection| AuthError::Rejected(bad.as_str()))?
            }
            None => verifier.verify(bearer, now).await.map_err(|denied| match denied {
                KeyVerifyError::Rejected(refused) => AuthError::Rejected(refused.as_str()),
                KeyVerifyError::Store(error) => AuthError::Unavailable(error),
            })?,
        };
        Ok(if accepted == AcceptedCredentials::Operators {
            principal
        } else {
            principal.limit_scope(self.max_scope)
        })
    }

    /// Charges the rate limit for a call with `weight` messages. `None` if rate limiting is disabled.
    pub(crate) async fn charge_rate_limit(
        &self,
        principal: &Principal,
        weight: u32,
        now: ClockReading,
    ) -> Result<Option<RateLimitStatus>, RequestRejection> {
        let Some(limiter) = &self.rate_limiter else { return Ok(None) };
        let taken = limiter.acquire(principal.subject(), weight, now).await;
        taken.map_err(|error| self.report_store_error(&error, "rate-limit store unavailable"))
    }

    /// Logs an outage, throttled so that it is not logged for every request.
    fn report_store_error(&self, error: &StoreError, message: &'static str) -> RequestRejection {
        if let Some(suppressed) = self.store_error_throttle.admit(Instant::now()) {
            tracing::error!(error = error.to_string(), suppressed, message);
        }
        match error {
            StoreError::Full(_) => RequestRejection::StoreFull,
            StoreError::Unreachable(_) | StoreError::Broken(_) => RequestRejection::StoreUnavailable,
        }
    }

    /// Counts a failure from this address. Too many failures are rate-limited; valid keys are still accepted.
    fn count_failure(&self, from: IpAddr, now: Timestamp) -> RequestRejection {
        let minute = now.as_second() / 60;
        let mut failures = self.auth_failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= MAX_TRACKED_ADDRESSES {
            failures.retain(|_, (when, _)| *when == minute);
        }
        if failures.len() >= MAX_TRACKED_ADDRESSES {
            return RequestRejection::InvalidCredentials;
        }
        let entry = failures.entry(from).or_insert((minute, 0));
        if entry.0 != minute {
            *entry = (minute, 0);
        }
        entry.1 += 1;
        if entry.1 > MAX_AUTH_FAILURES_PER_MINUTE {
            let rest = 60 - u64::try_from(now.as_second().rem_euclid(60)).unwrap_or(0);
            return RequestRejection::RateLimited { retry_after: std::time::Duration::from_secs(rest) };
        }
        RequestRejection::InvalidCredentials
    }
}

enum AuthError {
    Rejected(&'static str),
    Unavailable(StoreError),
}

/// Returns the token after `Bearer`, ignoring the case of the scheme.
fn parse_bearer(value: &str) -> Option<&str> {
    let (scheme, rest) = value.split_once(' ')?;
    let rest = rest.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !rest.is_empty() && !rest.contains(char::is_whitespace))
        .then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::parse_bearer;

    #[test]
    fn bearer_header_is_scheme_and_single_token() {
        for (header, word) in [
            ("Bearer abc", Some("abc")),
            ("bearer abc", Some("abc")),
            ("BEARER   abc ", Some("abc")),
            ("Bearer", None),
            ("Bearer ", None),
            ("Basic abc", None),
            ("Bearer a b", None),
            ("", None),
            ("abc", None),
        ] {
            assert_eq!(parse_bearer(header), word, "{header}");
        }
    }
}
