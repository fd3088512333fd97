//! Sessions of `/mcp` up to 2025-11-25, and of the older pair `/sse` and `/messages`. They exist only in this
//! process: another replica does not know them and reports so.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use server::{App, Connection, Outbox, Principal, QuotaPermit, RequestRejection};

use crate::channel::Channel;
use crate::metrics::GaugeGuard;

const SESSION_IDLE_TIMEOUT: Duration = Duration::from_mins(30);
/// Limit for all callers together.
const MAX_SESSIONS: usize = 50_000;
/// Maximum number of resumable streams per session.
const MAX_RESUMABLE_STREAMS: usize = 8;
/// Maximum bytes of all resumable streams of a session.
const MAX_RESUMABLE_BYTES: usize = 512 * 1024;
/// The number of the stream for messages that belong to no request.
pub(crate) const NOTIFICATION_STREAM: u64 = 0;

/// The transport of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionTransport {
    Streamable,
    LegacySse,
}

pub(crate) struct HttpSession {
    pub(crate) connection: Arc<Connection>,
    transport: SessionTransport,
    owner: String,
    notifications: Arc<Channel>,
    streams: Mutex<ResumableStreams>,
    last_used: Mutex<Instant>,
    permit: Mutex<Option<QuotaPermit>>,
    _counted: GaugeGuard,
}

#[derive(Default)]
struct ResumableStreams {
    last_number: u64,
    channels: VecDeque<(u64, Arc<Channel>)>,
}

impl ResumableStreams {
    /// Enforces the limits on streams and bytes. Closed streams go first, and the newest always stays.
    fn evict_old(&mut self) {
        let bytes = |kept: &VecDeque<(u64, Arc<Channel>)>| {
            kept.iter().map(|(_, channel)| channel.buffered_bytes()).sum::<usize>()
        };
        while self.channels.len() > 1
            && (self.channels.len() > MAX_RESUMABLE_STREAMS || bytes(&self.channels) > MAX_RESUMABLE_BYTES)
        {
            let oldest = self.channels.iter().position(|(_, channel)| channel.is_closed()).unwrap_or(0);
            self.channels.remove(oldest);
        }
    }
}

impl HttpSession {
    pub(crate) fn new(
        kind: SessionTransport,
        principal: &Principal,
        connection: Arc<Connection>,
        news: Arc<Channel>,
        reserved: (QuotaPermit, GaugeGuard),
    ) -> Arc<Self> {
        tokio::spawn(Arc::clone(&connection).announce_changes());
        Arc::new(Self {
            connection,
            transport: kind,
            owner: principal.subject().to_owned(),
            notifications: news,
            streams: Mutex::default(),
            last_used: Mutex::new(Instant::now()),
            permit: Mutex::new(Some(reserved.0)),
            _counted: reserved.1,
        })
    }

    /// Adds a resumable stream and returns its number.
    pub(crate) fn add_stream(&self, channel: Arc<Channel>) -> u64 {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.last_number += 1;
        let number = streams.last_number;
        streams.channels.push_back((number, channel));
        streams.evict_old();
        number
    }

    pub(crate) fn stream(&self, number: u64) -> Option<Arc<Channel>> {
        if number == NOTIFICATION_STREAM {
            return Some(Arc::clone(&self.notifications));
        }
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.channels.iter().find(|(kept, _)| *kept == number).map(|(_, channel)| Arc::clone(channel))
    }

    /// Outbox for messages that belong to no request.
    pub(crate) fn notification_outbox(&self) -> Arc<dyn Outbox> {
        Arc::clone(&self.notifications) as Arc<dyn Outbox>
    }

    /// Whether the client has to read before the server accepts more.
    pub(crate) fn is_backlogged(&self) -> bool {
        self.notifications.is_backlogged()
    }

    fn last_used(&self) -> Instant {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives up the quota permit, so that another session can use it.
    pub(crate) fn release_permit(&self) -> Option<QuotaPermit> {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Stops accepting requests, lets running ones finish, and closes every stream.
    pub(crate) async fn end(&self, patience: Duration) {
        self.connection.drain(patience, true).await;
        self.notifications.close();
    }
}

/// Whether the session has no running request and no open stream.
fn is_unused(session: &Arc<HttpSession>) -> bool {
    Arc::strong_count(session) == 1
}

#[derive(Default)]
pub(crate) struct HttpSessions(Mutex<HashMap<String, Arc<HttpSession>>>);

impl HttpSessions {
    /// Adds a session and returns its random name.
    pub(crate) fn add(&self, app: &App, session: Arc<HttpSession>) -> Result<String, RequestRejection> {
        let mut bytes = [0; 24];
        app.fill_random(&mut bytes);
        let name = URL_SAFE_NO_PAD.encode(bytes);
        let mut all = self.lock();
        if all.len() >= MAX_SESSIONS {
            tokio::spawn(async move { session.end(Duration::ZERO).await });
            return Err(RequestRejection::Busy);
        }
        all.insert(name.clone(), session);
        Ok(name)
    }

    /// Finds a session of the caller. Sessions of other callers are reported as unknown.
    pub(crate) fn find(
        &self,
        name: &str,
        kind: SessionTransport,
        principal: &Principal,
    ) -> Result<Arc<HttpSession>, RequestRejection> {
        let all = self.lock();
        let session =
            all.get(name).filter(|session| session.transport == kind && session.owner == principal.subject());
        let session = session.cloned().ok_or(RequestRejection::UnknownSession)?;
        *session.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(session)
    }

    pub(crate) fn remove(&self, name: &str) -> Option<Arc<HttpSession>> {
        self.lock().remove(name)
    }

    /// Removes the caller's least recently used session that has no open stream.
    pub(crate) fn remove_least_recently_used(&self, principal: &Principal) -> Option<Arc<HttpSession>> {
        let mut all = self.lock();
        let theirs =
            all.iter().filter(|(_, session)| session.owner == principal.subject() && is_unused(session));
        let name = theirs.min_by_key(|(_, session)| session.last_used()).map(|(name, _)| name.clone())?;
        all.remove(&name)
    }

    /// Ends sessions that have been idle for too long and have no open stream.
    pub(crate) fn sweep(&self) {
        let idle: Vec<_> = {
            let mut all = self.lock();
            let is_over = |session: &Arc<HttpSession>| {
                is_unused(session) && session.last_used().elapsed() > SESSION_IDLE_TIMEOUT
            };
            let names: Vec<_> =
                all.iter().filter(|(_, session)| is_over(session)).map(|(name, _)| name.clone()).collect();
            names.iter().filter_map(|name| all.remove(name)).collect()
        };
        for session in idle {
            tokio::spawn(async move { session.end(Duration::ZERO).await });
        }
    }

    pub(crate) async fn end_all(&self, patience: Duration) {
        let all: Vec<_> = self.lock().drain().map(|(_, session)| session).collect();
        futures_util::future::join_all(all.iter().map(|session| session.end(patience))).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<HttpSession>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
