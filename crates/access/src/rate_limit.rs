//! Rate limits.
//!
//! All replicas share one token bucket per caller, in the store. A replica leases a block of tokens at a time
//! and hands them out until the block is used up or expires. A block expires after the time in which as many
//! tokens are refilled, and the bucket is smaller than the burst by one block, so all replicas together admit
//! at most `burst + rate * t` calls in any time `t`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use crate::{AccessStore, BucketParams, ClockReading, StoreError};

const MAX_CALLERS: usize = 16_384;

/// The rate limit of one caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Sustained calls per minute.
    pub per_minute: u32,
    /// Calls that can be made at once after a pause.
    pub burst: u32,
}

/// A rate limit converted to bucket parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LeasePolicy {
    rate: RateLimit,
    bucket: BucketParams,
    lease_lifetime: Duration,
}

impl LeasePolicy {
    fn from_rate_limit(rate: RateLimit) -> Self {
        let per_second = f64::from(rate.per_minute) / 60.0;
        // Lease a tenth of the burst at a time. If that is less than one, nothing is cached locally.
        let block = rate.burst / 10;
        let lease_lifetime = Duration::try_from_secs_f64(f64::from(block) / per_second).unwrap_or_default();
        let bucket = BucketParams {
            refill_per_second: per_second,
            capacity: rate.burst - block,
            max_lease: block.max(1),
        };
        Self { rate, bucket, lease_lifetime }
    }
}

pub struct RateLimiter {
    store: Arc<dyn AccessStore>,
    /// `None` disables rate limiting.
    policy: RwLock<Option<LeasePolicy>>,
    callers: Mutex<HashMap<String, Arc<CallerBucket>>>,
}

/// The tokens of one caller on this replica.
#[derive(Default)]
struct CallerBucket {
    local_tokens: Mutex<LocalTokens>,
    /// Serializes store queries per caller.
    refill_lock: futures_util::lock::Mutex<()>,
}

#[derive(Clone, Copy, Default)]
struct LocalTokens {
    tokens: u32,
    /// The uptime at which the tokens expire.
    expires_at: Duration,
    remaining_in_store: u32,
    /// The store has no tokens before this uptime, so it is not queried.
    retry_at: Duration,
    /// While the store cannot write because its disk is full: tokens counted by this replica only, and when
    /// they were last counted.
    fallback: Option<(f64, Duration)>,
}

/// The result of a rate-limit check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitStatus {
    /// How many of the requested calls are allowed.
    pub granted: u32,
    pub limit: RateLimit,
    /// How many more calls are allowed right now.
    pub remaining: u32,
    /// When to retry, if not all calls were granted.
    pub retry_after: Duration,
}

impl RateLimiter {
    /// Limits calls with the buckets in `store`. `None` disables rate limiting.
    pub fn new(store: Arc<dyn AccessStore>, rate: Option<RateLimit>) -> Self {
        let limiter = Self { store, policy: RwLock::default(), callers: Mutex::default() };
        limiter.set_limit(rate);
        limiter
    }

    /// Changes the rate limit, effective immediately.
    pub fn set_limit(&self, rate: Option<RateLimit>) {
        let plan =
            rate.filter(|rate| rate.per_minute > 0 && rate.burst > 0).map(LeasePolicy::from_rate_limit);
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = plan;
        self.lock_callers().clear();
    }

    /// Takes up to `wanted` tokens. Returns `None` if rate limiting is disabled.
    pub async fn acquire(
        &self,
        subject: &str,
        wanted: u32,
        now: ClockReading,
    ) -> Result<Option<RateLimitStatus>, StoreError> {
        let Some(plan) = *self.policy.read().unwrap_or_else(PoisonError::into_inner) else { return Ok(None) };
        let caller = self.bucket_for(subject, now.uptime);
        let mut granted = caller.lock_tokens().spend(wanted, now.uptime);
        if granted < wanted {
            let _turn = caller.refill_lock.lock().await;
            // The previous holder of the lock may have leased enough for both.
            granted += caller.lock_tokens().spend(wanted - granted, now.uptime);
            if granted < wanted && caller.lock_tokens().retry_at <= now.uptime {
                granted += match self.refill(&caller, subject, plan, wanted - granted, now).await {
                    // A full disk must not block reads, so fall back to counting locally.
                    Err(StoreError::Full(_)) => {
                        caller.lock_tokens().spend_fallback(plan, wanted - granted, now.uptime)
                    }
                    refilled => refilled?,
                };
            }
        }
        let local_tokens = *caller.lock_tokens();
        let retry_after = local_tokens.retry_at.saturating_sub(now.uptime);
        Ok(Some(RateLimitStatus {
            granted,
            limit: plan.rate,
            remaining: local_tokens.tokens + local_tokens.remaining_in_store,
            retry_after,
        }))
    }

    /// Leases tokens from the store and spends the missing ones.
    async fn refill(
        &self,
        caller: &CallerBucket,
        subject: &str,
        plan: LeasePolicy,
        missing: u32,
        now: ClockReading,
    ) -> Result<u32, StoreError> {
        let terms = BucketParams { max_lease: plan.bucket.max_lease.max(missing), ..plan.bucket };
        let lease = self.store.lease_tokens(subject, terms, now).await?;
        let spent = lease.granted.min(missing);
        let mut local_tokens = caller.lock_tokens();
        local_tokens.fallback = None;
        local_tokens.remaining_in_store = lease.remaining;
        if spent < missing {
            local_tokens.retry_at = now.uptime.saturating_add(lease.next_token_in);
        }
        local_tokens.tokens = lease.granted - spent;
        local_tokens.expires_at = now.uptime.saturating_add(plan.lease_lifetime);
        Ok(spent)
    }

    fn bucket_for(&self, subject: &str, uptime: Duration) -> Arc<CallerBucket> {
        let mut callers = self.lock_callers();
        if let Some(caller) = callers.get(subject) {
            return Arc::clone(caller);
        }
        if callers.len() >= MAX_CALLERS {
            // Dropping a caller without local tokens loses nothing.
            callers.retain(|_, caller| caller.lock_tokens().expires_at > uptime);
        }
        let caller = Arc::<CallerBucket>::default();
        callers.insert(subject.to_owned(), Arc::clone(&caller));
        caller
    }

    fn lock_callers(&self) -> MutexGuard<'_, HashMap<String, Arc<CallerBucket>>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallerBucket {
    fn lock_tokens(&self) -> MutexGuard<'_, LocalTokens> {
        self.local_tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LocalTokens {
    fn spend(&mut self, wanted: u32, uptime: Duration) -> u32 {
        if self.expires_at <= uptime {
            self.tokens = 0;
        }
        let spent = self.tokens.min(wanted);
        self.tokens -= spent;
        spent
    }

    /// Spends tokens that are counted only on this replica.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between zero and the capacity"
    )]
    fn spend_fallback(&mut self, plan: LeasePolicy, wanted: u32, uptime: Duration) -> u32 {
        let BucketParams { refill_per_second: per_second, capacity, .. } = plan.bucket;
        let (tokens, since) = self.fallback.unwrap_or((f64::from(capacity), uptime));
        let came_in = uptime.saturating_sub(since).as_secs_f64() * per_second;
        let tokens = (tokens + came_in).min(f64::from(capacity));
        let spent = (tokens as u32).min(wanted);
        let rest = tokens - f64::from(spent);
        (self.fallback, self.remaining_in_store) = (Some((rest, uptime)), rest as u32);
        if spent < wanted {
            let wait = Duration::try_from_secs_f64((1.0 - rest.fract()) / per_second).unwrap_or_default();
            self.retry_at = uptime.saturating_add(wait);
        }
        spent
    }
}

#[cfg(test)]
mod tests;
