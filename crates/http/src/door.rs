//! Who is let in, from headers alone.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use axum::http::{HeaderMap, header};
use secrecy::{ExposeSecret, SecretString};
use server::access::{BadToken, Denied, Gate, Limiter, Moment, Rate, Standing, StoreError, Tokens};
use server::{LogThrottle, Principal, Refusal, Scope, Timestamp};

use crate::guard::single;

/// Failures from one address within a minute after which more of them are only told to wait.
const PATIENCE: u32 = 100;
/// Addresses whose failures are counted at once.
const ADDRESSES: usize = 10_000;

/// Who is let in, and how often.
pub struct Door {
    entry: Entry,
    tokens: RwLock<Option<Arc<Tokens>>>,
    limiter: Option<Limiter>,
    /// Nobody may do more than this here.
    most: Scope,
    failures: Mutex<HashMap<IpAddr, (i64, u32)>>,
    store_failures: LogThrottle,
}

enum Entry {
    /// Everybody is this one.
    Open(Principal),
    Keys(Gate),
}

/// What somebody showed, so that it can be looked at again while a stream stays open.
pub(crate) struct Pass(Option<SecretString>);

/// Which credentials an endpoint takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Keys,
    KeysAndTokens,
    /// Both, and whoever runs the server may do what they may, also where nobody else may change things.
    Operators,
}

impl Door {
    /// Everybody who can reach the server is this one. For loopback alone.
    pub fn open(principal: Principal) -> Self {
        let most = principal.scope();
        Self {
            entry: Entry::Open(principal),
            tokens: RwLock::default(),
            limiter: None,
            most,
            failures: Mutex::default(),
            store_failures: LogThrottle::default(),
        }
    }

    /// Holders of keys, as often as the limiter allows.
    pub fn with_keys(gate: Gate, limiter: Limiter, most: Scope) -> Self {
        Self {
            entry: Entry::Keys(gate),
            tokens: RwLock::default(),
            limiter: Some(limiter),
            most,
            failures: Mutex::default(),
            store_failures: LogThrottle::default(),
        }
    }

    /// Also takes tokens from now on, or no longer.
    pub fn set_tokens(&self, tokens: Option<Tokens>) {
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = tokens.map(Arc::new);
    }

    /// Holds callers to another rate from now on.
    pub fn set_rate(&self, rate: Option<Rate>) {
        if let Some(limiter) = &self.limiter {
            limiter.set_rate(rate);
        }
    }

    /// Whether everybody is let in.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.entry, Entry::Open(_))
    }

    pub(crate) fn tokens(&self) -> Option<Arc<Tokens>> {
        self.tokens.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Who sends these headers.
    pub(crate) async fn enter(
        &self,
        headers: &HeaderMap,
        from: IpAddr,
        takes: Takes,
        now: Timestamp,
    ) -> Result<Principal, Refusal> {
        if let Entry::Open(principal) = &self.entry {
            return Ok(principal.clone());
        }
        if !headers.contains_key(header::AUTHORIZATION) {
            tracing::info!(target: "audit", event = "denied", why = "missing", %from);
            return Err(Refusal::NoKey);
        }
        let entered = match single(headers, &header::AUTHORIZATION).and_then(bearer) {
            Some(bearer) => self.judge(bearer, takes, now).await,
            None => Err(Turned::Away("malformed")),
        };
        match entered {
            Ok(principal) => Ok(principal),
            Err(Turned::Away(why)) => {
                tracing::info!(target: "audit", event = "denied", why, %from);
                Err(self.count_failure(from, now))
            }
            Err(Turned::NobodyKnows(error)) => {
                Err(self.store_failed(&error, "the store failed, so no key can be checked"))
            }
        }
    }

    /// What these headers show.
    pub(crate) fn pass(&self, headers: &HeaderMap) -> Pass {
        let bearer = single(headers, &header::AUTHORIZATION).and_then(bearer);
        Pass(bearer.filter(|_| matches!(self.entry, Entry::Keys(_))).map(SecretString::from))
    }

    /// Whether what was shown would still be let in.
    pub(crate) async fn still_good(&self, pass: &Pass, now: Timestamp) -> bool {
        let Some(shown) = &pass.0 else { return true };
        // A store that is out of reach for a moment ends no stream.
        !matches!(self.judge(shown.expose_secret(), Takes::KeysAndTokens, now).await, Err(Turned::Away(_)))
    }

    async fn judge(&self, bearer: &str, takes: Takes, now: Timestamp) -> Result<Principal, Turned> {
        let Entry::Keys(gate) = &self.entry else { return Err(Turned::Away("closed")) };
        let is_key = bearer.starts_with("cf_");
        let principal = match self.tokens().filter(|_| !is_key && takes != Takes::Keys) {
            Some(tokens) => tokens.enter(bearer, now).map_err(|bad: BadToken| Turned::Away(bad.as_str()))?,
            None => gate.enter(bearer, now).await.map_err(|denied| match denied {
                Denied::Key(refused) => Turned::Away(refused.as_str()),
                Denied::Store(error) => Turned::NobodyKnows(error),
            })?,
        };
        Ok(if takes == Takes::Operators { principal } else { principal.at_most(self.most) })
    }

    /// Counts this call, which carries so many messages. `None`: nobody counts.
    pub(crate) async fn count(
        &self,
        principal: &Principal,
        weight: u32,
        now: Moment,
    ) -> Result<Option<Standing>, Refusal> {
        let Some(limiter) = &self.limiter else { return Ok(None) };
        let taken = limiter.take(principal.subject(), weight, now).await;
        taken.map_err(|error| self.store_failed(&error, "the store failed, so no call can be counted"))
    }

    /// Logs an outage now and then, not for each of its requests.
    fn store_failed(&self, error: &StoreError, message: &'static str) -> Refusal {
        if let Some(suppressed) = self.store_failures.admit(Instant::now()) {
            tracing::error!(error = error.to_string(), suppressed, message);
        }
        match error {
            StoreError::Full(_) => Refusal::StoreFull,
            StoreError::Unreachable(_) | StoreError::Broken(_) => Refusal::StoreUnavailable,
        }
    }

    /// One more failure from this address. Who fails again and again is told to wait: a right key is still let in.
    fn count_failure(&self, from: IpAddr, now: Timestamp) -> Refusal {
        let minute = now.as_second() / 60;
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= ADDRESSES {
            failures.retain(|_, (when, _)| *when == minute);
        }
        if failures.len() >= ADDRESSES {
            return Refusal::BadKey;
        }
        let entry = failures.entry(from).or_insert((minute, 0));
        if entry.0 != minute {
            *entry = (minute, 0);
        }
        entry.1 += 1;
        if entry.1 > PATIENCE {
            let rest = 60 - u64::try_from(now.as_second().rem_euclid(60)).unwrap_or(0);
            return Refusal::RateLimited { retry_after: std::time::Duration::from_secs(rest) };
        }
        Refusal::BadKey
    }
}

enum Turned {
    Away(&'static str),
    NobodyKnows(StoreError),
}

/// What stands after `Bearer`, which may be spelled in any case.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, rest) = value.split_once(' ')?;
    let rest = rest.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !rest.is_empty() && !rest.contains(char::is_whitespace))
        .then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::bearer;

    #[test]
    fn a_bearer_is_a_scheme_and_one_word() {
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
            assert_eq!(bearer(header), word, "{header}");
        }
    }
}
