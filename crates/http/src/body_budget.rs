//! Limits the memory that request bodies use while they arrive, and how many may be in flight at once.
//!
//! A body is counted from its first byte until its request is answered, per key, per address and in total. A
//! caller that starts many large bodies and finishes none of them can only exhaust its own share.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use server::RequestRejection;

use crate::connections::AddressGroup;

/// This much of each body is not counted, because most requests are smaller.
const UNCOUNTED_BYTES_PER_BODY: usize = 16 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyLimits {
    /// Maximum bytes of all bodies together.
    pub total: usize,
    /// Maximum bytes of the bodies from one address.
    pub per_address: usize,
    /// Maximum bytes of the bodies of one key.
    pub per_key: usize,
    /// Maximum number of incomplete bodies per key.
    pub unfinished_per_key: usize,
}

impl BodyLimits {
    /// Divides `total`: a quarter per address and an eighth per key, but never less than one message.
    pub fn new(total: usize, longest_message: usize) -> Self {
        let share = |part: usize| (total / part).max(longest_message);
        Self { total: share(1), per_address: share(4), per_key: share(8), unfinished_per_key: 64 }
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct KeyBodyUsage {
    bytes: usize,
    unfinished: usize,
}

#[derive(Default)]
struct BodyUsage {
    bytes: usize,
    addresses: HashMap<AddressGroup, usize>,
    keys: HashMap<Arc<str>, KeyBodyUsage>,
}

pub(crate) struct BodyBudget {
    limits: BodyLimits,
    usage: Mutex<BodyUsage>,
}

/// The reservation of one body, released on drop.
pub(crate) struct BodyReservation {
    budget: Arc<BodyBudget>,
    address: AddressGroup,
    key: Option<Arc<str>>,
    received_bytes: usize,
    counted_bytes: usize,
    is_finished: bool,
}

impl BodyBudget {
    pub(crate) fn new(limits: BodyLimits) -> Arc<Self> {
        Arc::new(Self { limits, usage: Mutex::default() })
    }

    /// Starts a body. Without a key it only counts towards its address.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        address: IpAddr,
        key: Option<&str>,
    ) -> Result<BodyReservation, RequestRejection> {
        let address = AddressGroup::new(address);
        let mut reserved = self.lock();
        let key = match key {
            None => None,
            Some(key) => {
                let known = reserved.keys.get_key_value(key).map(|(key, _)| Arc::clone(key));
                let key = known.unwrap_or_else(|| key.into());
                let share = reserved.keys.entry(Arc::clone(&key)).or_default();
                if share.unfinished >= self.limits.unfinished_per_key {
                    return Err(RequestRejection::TooManyBodies { limit: self.limits.unfinished_per_key });
                }
                share.unfinished += 1;
                Some(key)
            }
        };
        drop(reserved);
        Ok(BodyReservation {
            budget: Arc::clone(self),
            address,
            key,
            received_bytes: 0,
            counted_bytes: 0,
            is_finished: false,
        })
    }

    fn lock(&self) -> MutexGuard<'_, BodyUsage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BodyReservation {
    /// Counts more bytes of the body.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), RequestRejection> {
        self.received_bytes += bytes;
        let more = self.received_bytes.saturating_sub(UNCOUNTED_BYTES_PER_BODY) - self.counted_bytes;
        if more == 0 {
            return Ok(());
        }
        let limits = self.budget.limits;
        let mut reserved = self.budget.lock();
        let BodyUsage { bytes: total, addresses, keys } = &mut *reserved;
        if *total + more > limits.total {
            return Err(RequestRejection::Busy);
        }
        // Only reserved bytes get an entry, so a rejection leaves none behind.
        let of_address = addresses.get(&self.address).copied().unwrap_or(0);
        if of_address + more > limits.per_address {
            return Err(RequestRejection::TooManyBodyBytes { limit: limits.per_address });
        }
        if let Some(share) = self.key.as_ref().and_then(|key| keys.get_mut(key)) {
            if share.bytes + more > limits.per_key {
                return Err(RequestRejection::TooManyBodyBytes { limit: limits.per_key });
            }
            share.bytes += more;
        }
        *addresses.entry(self.address).or_default() += more;
        *total += more;
        self.counted_bytes += more;
        Ok(())
    }

    /// Marks the body as complete. Its bytes stay reserved until the request is answered.
    pub(crate) fn finish(&mut self) {
        self.release(0);
    }

    fn release(&mut self, bytes: usize) {
        let ends = !std::mem::replace(&mut self.is_finished, true);
        if bytes == 0 && (!ends || self.key.is_none()) {
            return;
        }
        let mut reserved = self.budget.lock();
        reserved.bytes -= bytes;
        if bytes > 0
            && let Some(of_address) = reserved.addresses.get_mut(&self.address)
        {
            *of_address -= bytes;
            if *of_address == 0 {
                reserved.addresses.remove(&self.address);
            }
        }
        if let Some(key) = &self.key
            && let Some(share) = reserved.keys.get_mut(key)
        {
            share.bytes -= bytes;
            share.unfinished -= usize::from(ends);
            if *share == KeyBodyUsage::default() {
                reserved.keys.remove(key);
            }
        }
    }
}

impl Drop for BodyReservation {
    fn drop(&mut self) {
        self.release(self.counted_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BodyLimits =
        BodyLimits { total: 100 << 10, per_address: 60 << 10, per_key: 40 << 10, unfinished_per_key: 3 };

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    /// Reserves a body with `kib` KiB beyond the uncounted bytes.
    fn reserve_body(
        budget: &Arc<BodyBudget>,
        from: u8,
        key: Option<&str>,
        kib: usize,
    ) -> Result<BodyReservation, RequestRejection> {
        let mut body = budget.reserve(address(from), key)?;
        body.grow(UNCOUNTED_BYTES_PER_BODY + (kib << 10)).map(|()| body)
    }

    #[test]
    fn body_bytes_are_limited_per_key_per_address_and_in_total() {
        let budget = BodyBudget::new(LIMITS);
        let first = reserve_body(&budget, 1, Some("a"), 30).ok();
        for (from, key, kib, expected) in [
            (1, Some("a"), 11, Some(RequestRejection::TooManyBodyBytes { limit: LIMITS.per_key })),
            (1, Some("b"), 31, Some(RequestRejection::TooManyBodyBytes { limit: LIMITS.per_address })),
            (2, Some("a"), 11, Some(RequestRejection::TooManyBodyBytes { limit: LIMITS.per_key })),
            (2, None, 61, Some(RequestRejection::TooManyBodyBytes { limit: LIMITS.per_address })),
            (1, Some("a"), 10, None),
            (2, Some("b"), 40, None),
            (2, None, 60, None),
        ] {
            assert_eq!(reserve_body(&budget, from, key, kib).err(), expected, "{from} {key:?} {kib}");
        }
        let second = reserve_body(&budget, 2, Some("b"), 40).ok();
        assert_eq!(reserve_body(&budget, 3, None, 31).err(), Some(RequestRejection::Busy), "total limit");
        assert!(
            reserve_body(&budget, 9, Some("a"), 41).is_err() && reserve_body(&budget, 8, None, 61).is_err()
        );
        drop((first, second));
        let reserved = budget.lock();
        assert!(
            reserved.bytes == 0 && reserved.addresses.is_empty() && reserved.keys.is_empty(),
            "everything is released"
        );
    }

    #[test]
    fn unfinished_bodies_are_limited_per_key() {
        let budget = BodyBudget::new(LIMITS);
        let begin = |key| budget.reserve(address(1), Some(key));
        let mut open: Vec<_> = (0..3).map(|_| begin("a").unwrap()).collect();
        assert_eq!(begin("a").err(), Some(RequestRejection::TooManyBodies { limit: 3 }));
        assert!(begin("b").is_ok() && budget.reserve(address(1), None).is_ok());
        open[0].finish();
        open[0].finish();
        assert!(begin("a").is_ok(), "one has ended");
        drop(open);
        assert!(budget.lock().keys.is_empty());
    }
}
