//! How often somebody may call.
//!
//! The tokens of a caller lie in one bucket in the store, whatever number of replicas serve them. A replica takes a block of
//! them at a time and hands them out until the block is used up or has grown old. A block's life is the time in which as
//! many tokens come in again, and the bucket is smaller than the burst by one block: so in any time `t` at most
//! `burst + rate * t` calls are let in, by all replicas together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use crate::{AccessStore, Moment, StoreError, Terms};

/// Callers that are remembered at once.
const MOST: usize = 16_384;

/// How often one caller may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Calls a minute, in the long run.
    pub per_minute: u32,
    /// Calls at once, after a pause.
    pub burst: u32,
}

/// A rate in the terms of the store.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Plan {
    rate: Rate,
    terms: Terms,
    life: Duration,
}

impl Plan {
    fn of(rate: Rate) -> Self {
        let per_second = f64::from(rate.per_minute) / 60.0;
        // A tenth of the burst at a time; nothing is kept where that is less than one.
        let block = rate.burst / 10;
        let life = Duration::try_from_secs_f64(f64::from(block) / per_second).unwrap_or_default();
        let terms = Terms { per_second, capacity: rate.burst - block, block: block.max(1) };
        Self { rate, terms, life }
    }
}

/// Counts calls.
pub struct Limiter {
    store: Arc<dyn AccessStore>,
    /// `None`: nobody counts.
    plan: RwLock<Option<Plan>>,
    callers: Mutex<HashMap<String, Arc<Caller>>>,
}

/// One caller's tokens on this replica.
#[derive(Default)]
struct Caller {
    purse: Mutex<Purse>,
    /// One at a time asks the store.
    asking: futures_util::lock::Mutex<()>,
}

#[derive(Clone, Copy, Default)]
struct Purse {
    tokens: u32,
    /// The uptime at which the tokens are worth nothing any more.
    good_until: Duration,
    /// What the store had left.
    left: u32,
    /// Before this uptime it is no use to ask the store.
    nothing_before: Duration,
    /// While the store has no space left to write: tokens that this replica counts by itself, and when it last did.
    own: Option<(f64, Duration)>,
}

/// What a caller was given, and how they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// How many of the calls may be made.
    pub granted: u32,
    /// The rate that they are held to.
    pub rate: Rate,
    /// How many more could be made at once.
    pub remaining: u32,
    /// When it makes sense to try again, if not all were granted.
    pub retry_after: Duration,
}

impl Limiter {
    /// Counts in this store. Without a rate, nothing is counted.
    pub fn new(store: Arc<dyn AccessStore>, rate: Option<Rate>) -> Self {
        let limiter = Self { store, plan: RwLock::default(), callers: Mutex::default() };
        limiter.set_rate(rate);
        limiter
    }

    /// Holds callers to another rate from now on.
    pub fn set_rate(&self, rate: Option<Rate>) {
        let plan = rate.filter(|rate| rate.per_minute > 0 && rate.burst > 0).map(Plan::of);
        *self.plan.write().unwrap_or_else(PoisonError::into_inner) = plan;
        self.callers().clear();
    }

    /// Takes as many of the wanted tokens as there are. `None`: nobody counts.
    pub async fn take(
        &self,
        subject: &str,
        wanted: u32,
        now: Moment,
    ) -> Result<Option<Standing>, StoreError> {
        let Some(plan) = *self.plan.read().unwrap_or_else(PoisonError::into_inner) else { return Ok(None) };
        let caller = self.caller(subject, now.uptime);
        let mut granted = caller.purse().spend(wanted, now.uptime);
        if granted < wanted {
            let _turn = caller.asking.lock().await;
            // Whoever asked meanwhile may have brought enough for both.
            granted += caller.purse().spend(wanted - granted, now.uptime);
            if granted < wanted && caller.purse().nothing_before <= now.uptime {
                granted += match self.refill(&caller, subject, plan, wanted - granted, now).await {
                    // What can only be read is still served, by a count of this replica's own.
                    Err(StoreError::Full(_)) => caller.purse().spend_own(plan, wanted - granted, now.uptime),
                    refilled => refilled?,
                };
            }
        }
        let purse = *caller.purse();
        let retry_after = purse.nothing_before.saturating_sub(now.uptime);
        Ok(Some(Standing { granted, rate: plan.rate, remaining: purse.tokens + purse.left, retry_after }))
    }

    /// Gets tokens from the store and spends what is missing.
    async fn refill(
        &self,
        caller: &Caller,
        subject: &str,
        plan: Plan,
        missing: u32,
        now: Moment,
    ) -> Result<u32, StoreError> {
        let terms = Terms { block: plan.terms.block.max(missing), ..plan.terms };
        let lease = self.store.lease(subject, terms, now).await?;
        let spent = lease.taken.min(missing);
        let mut purse = caller.purse();
        purse.own = None;
        purse.left = lease.left;
        if spent < missing {
            purse.nothing_before = now.uptime.saturating_add(lease.next_in);
        }
        purse.tokens = lease.taken - spent;
        purse.good_until = now.uptime.saturating_add(plan.life);
        Ok(spent)
    }

    fn caller(&self, subject: &str, uptime: Duration) -> Arc<Caller> {
        let mut callers = self.callers();
        if let Some(caller) = callers.get(subject) {
            return Arc::clone(caller);
        }
        if callers.len() >= MOST {
            // Whoever has nothing in hand loses nothing by being forgotten.
            callers.retain(|_, caller| caller.purse().good_until > uptime);
        }
        let caller = Arc::<Caller>::default();
        callers.insert(subject.to_owned(), Arc::clone(&caller));
        caller
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<String, Arc<Caller>>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller {
    fn purse(&self) -> MutexGuard<'_, Purse> {
        self.purse.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Purse {
    fn spend(&mut self, wanted: u32, uptime: Duration) -> u32 {
        if self.good_until <= uptime {
            self.tokens = 0;
        }
        let spent = self.tokens.min(wanted);
        self.tokens -= spent;
        spent
    }

    /// Spends tokens that no store has counted.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between nothing and the capacity"
    )]
    fn spend_own(&mut self, plan: Plan, wanted: u32, uptime: Duration) -> u32 {
        let Terms { per_second, capacity, .. } = plan.terms;
        let (tokens, since) = self.own.unwrap_or((f64::from(capacity), uptime));
        let came_in = uptime.saturating_sub(since).as_secs_f64() * per_second;
        let tokens = (tokens + came_in).min(f64::from(capacity));
        let spent = (tokens as u32).min(wanted);
        let rest = tokens - f64::from(spent);
        (self.own, self.left) = (Some((rest, uptime)), rest as u32);
        if spent < wanted {
            let wait = Duration::try_from_secs_f64((1.0 - rest.fract()) / per_second).unwrap_or_default();
            self.nothing_before = uptime.saturating_add(wait);
        }
        spent
    }
}

#[cfg(test)]
mod tests;
