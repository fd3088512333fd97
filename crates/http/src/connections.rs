//! Limits open connections: shares per address, shedding of the connection that has waited longest, and a
//! reserve for health checks and callers with keys.
//!
//! A connection *serves* while a request of an authenticated caller is being answered or a stream of theirs
//! is open. All others are *waiting*: for a first byte, the rest of a head, a valid key, or the next request.
//! Only waiting connections are shed, so idle connections never lock out active callers.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Total limit, excluding the reserve.
    pub total: usize,
    /// The share of one address when all connections are in use. Trusted proxies are exempt, because they
    /// carry the connections of many clients.
    pub per_address: usize,
}

impl ConnectionLimits {
    /// Limits the total, and each address to a quarter of it.
    pub fn new(total: usize) -> Self {
        Self { total, per_address: (total / 4).max(1) }
    }

    /// Connections beyond the total for requests with keys and for health checks.
    fn key_reserve(self) -> usize {
        (self.total / 32).clamp(2, 64)
    }

    /// Connections beyond that only for health checks.
    fn probe_reserve(self) -> usize {
        (self.total / 64).clamp(2, 32)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AllowedUse {
    Everything,
    /// Taken from the reserve: only authenticated callers and health checks.
    KeysAndProbes,
    /// Taken from the last reserve: only health checks.
    ProbesOnly,
}

/// Addresses that count as one: an IPv6 client controls its whole /64 network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AddressGroup(IpAddr);

impl AddressGroup {
    pub(crate) fn new(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                const NETWORK: u128 = !(u64::MAX as u128);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK))
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

struct ConnectionActivity {
    /// Whether its task has run, so that everything the client had sent by then has been read.
    has_started: AtomicBool,
    /// The number of active requests and open streams.
    serving: AtomicUsize,
    /// Whether an authenticated caller has used the connection.
    is_authenticated: AtomicBool,
    /// Start of the current wait, in microseconds since the table was created.
    waiting_since: AtomicU64,
}

struct ConnectionEntry {
    group: Option<AddressGroup>,
    activity: Arc<ConnectionActivity>,
    close: CancellationToken,
}

#[derive(Default)]
struct ConnectionTable {
    next: u64,
    entries: HashMap<u64, ConnectionEntry>,
    per_address: HashMap<AddressGroup, usize>,
}

pub(crate) struct Connections {
    limits: ConnectionLimits,
    created_at: Instant,
    table: Mutex<ConnectionTable>,
}

/// The slot of a connection, released when the connection and everything it serves have ended.
pub(crate) struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
    close: CancellationToken,
    activity: Arc<ConnectionActivity>,
    pub(crate) allowed_use: AllowedUse,
}

/// While this exists, a request is being answered or a stream is open, and the connection is not shed.
pub(crate) struct ServingGuard(Arc<ConnectionSlot>);

pub(crate) enum ConnectionAdmission {
    /// `shed` is set if another connection was closed for this one.
    Accepted {
        slot: Arc<ConnectionSlot>,
        shed: bool,
    },
    Rejected,
}

impl Connections {
    pub(crate) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, created_at: Instant::now(), table: Mutex::default() })
    }

    /// Admits a connection from this address. Pass `None` for a proxy, whose address does not identify its
    /// clients.
    pub(crate) fn admit(self: &Arc<Self>, address: Option<IpAddr>) -> ConnectionAdmission {
        let group = address.map(AddressGroup::new);
        let mut table = self.lock();
        let ConnectionLimits { total, per_address } = self.limits;
        // An address that has used up its share can only shed its own connections.
        let has_share = table.count_open_from(group) >= per_address;
        let is_full = table.entries.len() >= total;
        let shed = is_full && table.shed(per_address, |entry| !has_share || entry.group == group);
        let for_keys = total + self.limits.key_reserve();
        let admits = match table.entries.len() {
            open if open < total => AllowedUse::Everything,
            open if open < for_keys && !has_share => AllowedUse::KeysAndProbes,
            open if open < for_keys + self.limits.probe_reserve() => AllowedUse::ProbesOnly,
            _ => return ConnectionAdmission::Rejected,
        };
        let activity = Arc::new(ConnectionActivity {
            has_started: AtomicBool::new(false),
            serving: AtomicUsize::new(0),
            is_authenticated: AtomicBool::new(false),
            waiting_since: AtomicU64::new(self.elapsed_micros()),
        });
        let close = CancellationToken::new();
        let number = table.next;
        table.next += 1;
        if let Some(group) = group {
            *table.per_address.entry(group).or_default() += 1;
        }
        table
            .entries
            .insert(number, ConnectionEntry { group, activity: Arc::clone(&activity), close: close.clone() });
        let slot = Arc::new(ConnectionSlot {
            connections: Arc::clone(self),
            number,
            close,
            activity,
            allowed_use: admits,
        });
        ConnectionAdmission::Accepted { slot, shed }
    }

    fn elapsed_micros(&self) -> u64 {
        u64::try_from(self.created_at.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionTable {
    /// The number of connections of an address; always zero for proxies.
    fn count_open_from(&self, group: Option<AddressGroup>) -> usize {
        group.and_then(|group| self.per_address.get(&group)).copied().unwrap_or(0)
    }

    /// Sheds one of the eligible connections. Connections of addresses over their share go first, then
    /// unauthenticated ones, then those whose input has been read, then those that have waited longest. In a
    /// flood, a connection that has not been read yet may contain the request of an honest client.
    fn shed(&mut self, share: usize, may_go: impl Fn(&ConnectionEntry) -> bool) -> bool {
        let waiting = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.activity.serving.load(Ordering::Relaxed) == 0 && may_go(entry));
        let longest = waiting.min_by_key(|(number, entry)| {
            let ConnectionActivity { has_started, is_authenticated: is_known, waiting_since, .. } =
                &*entry.activity;
            let is_unread = !has_started.load(Ordering::Relaxed);
            (
                self.count_open_from(entry.group) <= share,
                is_known.load(Ordering::Relaxed),
                is_unread,
                waiting_since.load(Ordering::Relaxed),
                **number,
            )
        });
        let Some(number) = longest.map(|(number, _)| *number) else { return false };
        if let Some(entry) = self.remove(number) {
            entry.close.cancel();
        }
        true
    }

    fn remove(&mut self, number: u64) -> Option<ConnectionEntry> {
        let entry = self.entries.remove(&number)?;
        if let Some(group) = entry.group
            && let Some(open) = self.per_address.get_mut(&group)
        {
            *open -= 1;
            if *open == 0 {
                self.per_address.remove(&group);
            }
        }
        Some(entry)
    }
}

impl ConnectionSlot {
    /// Resolves when the connection is shed.
    pub(crate) async fn wait_until_shed(&self) {
        self.close.cancelled().await;
    }

    pub(crate) fn mark_started(&self) {
        self.activity.has_started.store(true, Ordering::Relaxed);
    }

    /// Marks the connection as serving an authenticated caller until the guard is dropped. `None` if the
    /// connection is being shed: nothing may be started on it, because the response would be lost.
    pub(crate) fn begin_serving(self: &Arc<Self>) -> Option<ServingGuard> {
        // Shedding decides under the same lock.
        let table = self.connections.lock();
        table.entries.contains_key(&self.number).then(|| self.count_serving())
    }

    fn count_serving(self: &Arc<Self>) -> ServingGuard {
        self.activity.serving.fetch_add(1, Ordering::Relaxed);
        self.activity.is_authenticated.store(true, Ordering::Relaxed);
        ServingGuard(Arc::clone(self))
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.lock().remove(self.number);
    }
}

impl ServingGuard {
    /// Another guard, for work that outlives the request, such as a stream.
    pub(crate) fn duplicate(&self) -> Self {
        self.0.count_serving()
    }
}

impl Drop for ServingGuard {
    fn drop(&mut self) {
        let ConnectionSlot { connections, activity, .. } = &*self.0;
        activity.waiting_since.store(connections.elapsed_micros(), Ordering::Relaxed);
        activity.serving.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::AllowedUse::{Everything, KeysAndProbes, ProbesOnly};
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn slot(admitted: ConnectionAdmission) -> Option<Arc<ConnectionSlot>> {
        match admitted {
            ConnectionAdmission::Accepted { slot, .. } => Some(slot),
            ConnectionAdmission::Rejected => None,
        }
    }

    fn is_shed(slot: &Arc<ConnectionSlot>) -> bool {
        slot.close.is_cancelled()
    }

    #[test]
    fn longest_waiting_connection_is_shed_first() {
        let connections = Connections::new(ConnectionLimits { total: 3, per_address: 3 });
        let mut open: Vec<_> = (0..3).map(|n| slot(connections.admit(Some(address(n)))).unwrap()).collect();
        // The first connection has served and so has waited least; the second is serving.
        drop(open[0].begin_serving().unwrap());
        let serving = open[1].begin_serving().unwrap();
        open.push(slot(connections.admit(Some(address(9)))).unwrap());
        assert_eq!(open.iter().map(is_shed).collect::<Vec<_>>(), [false, false, true, false]);
        assert!(open[2].begin_serving().is_none(), "nothing is started on a shed connection");
        // Authenticated connections are kept over unauthenticated ones.
        open.push(slot(connections.admit(Some(address(9)))).unwrap());
        assert_eq!(open.iter().map(is_shed).collect::<Vec<_>>(), [false, false, true, true, false]);
        assert!(open.iter().filter(|one| !is_shed(one)).all(|one| one.allowed_use == Everything));
        drop(serving);
    }

    #[test]
    fn unread_connection_is_kept_over_silent_one() {
        let connections = Connections::new(ConnectionLimits { total: 3, per_address: 3 });
        let open: Vec<_> = (0..3).map(|n| slot(connections.admit(Some(address(n)))).unwrap()).collect();
        open[1].mark_started();
        open[2].mark_started();
        let _new = [7, 8, 9].map(|n| slot(connections.admit(Some(address(n)))).unwrap());
        assert_eq!(open.iter().map(is_shed).collect::<Vec<_>>(), [true, true, true]);
        let open: Vec<_> = (0..3).map(|n| slot(connections.admit(Some(address(n)))).unwrap()).collect();
        open[1].mark_started();
        let _new = slot(connections.admit(Some(address(9)))).unwrap();
        assert_eq!(open.iter().map(is_shed).collect::<Vec<_>>(), [false, true, false]);
    }

    #[test]
    fn address_over_its_share_is_shed_first() {
        let connections = Connections::new(ConnectionLimits { total: 6, per_address: 2 });
        let admit = |from: u8| slot(connections.admit(Some(address(from))));
        let other = admit(1).unwrap();
        let quotas: Vec<_> = (0..5).map(|_| admit(2).unwrap()).collect();
        assert!(!is_shed(&other) && !quotas.iter().any(is_shed), "none is shed below the limit");
        let late = [admit(3).unwrap(), admit(3).unwrap()];
        assert_eq!(quotas.iter().map(is_shed).collect::<Vec<_>>(), [true, true, false, false, false]);
        let more = admit(2).unwrap();
        assert_eq!(quotas.iter().map(is_shed).collect::<Vec<_>>(), [true, true, true, false, false]);
        assert!(!is_shed(&other) && !late.iter().any(is_shed), "an address only sheds its own connections");
        let serving = [&quotas[3], &quotas[4], &more].map(|slot| slot.begin_serving().unwrap());
        let probe = admit(2).unwrap();
        assert_eq!(probe.allowed_use, ProbesOnly, "its whole share is serving");
        let proxy = slot(connections.admit(None)).unwrap();
        assert!(is_shed(&probe) && !is_shed(&other), "connections over the share are shed first");
        assert_eq!(proxy.allowed_use, KeysAndProbes, "all six slots are taken");
        drop((serving, quotas, late, other, more, probe, proxy));
        let table = connections.lock();
        assert!(table.entries.is_empty() && table.per_address.is_empty(), "all slots were released");
    }

    #[test]
    fn busy_server_reserves_slots_for_keys_then_probes() {
        let connections = Connections::new(ConnectionLimits { total: 2, per_address: 100 });
        let mut open = Vec::new();
        while let Some(slot) = slot(connections.admit(Some(address(1)))) {
            let serving = slot.begin_serving().unwrap();
            open.push((slot, serving));
        }
        let admits: Vec<_> = open.iter().map(|(slot, _)| slot.allowed_use).collect();
        assert_eq!(admits, [Everything, Everything, KeysAndProbes, KeysAndProbes, ProbesOnly, ProbesOnly]);
        // A waiting connection in the reserve is shed like any other.
        let (last, serving) = open.pop().unwrap();
        drop(serving);
        assert!(slot(connections.admit(Some(address(1)))).is_some_and(|new| new.allowed_use == ProbesOnly));
        assert!(is_shed(&last));
    }

    #[test]
    fn ipv6_addresses_are_grouped_by_network() {
        for (one, other, are_same) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
        ] {
            let group = |text: &str| AddressGroup::new(text.parse().unwrap());
            assert_eq!(group(one) == group(other), are_same, "{one} {other}");
        }
    }
}
