//! Sessions of `/mcp` up to 2025-11-25, and of the older pair `/sse` and `/messages`. They live in this process alone: another
//! replica does not know them, and says so.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use server::{App, Connection, Outbox, Principal, QuotaPermit, RequestRejection};

use crate::channel::Channel;
use crate::metrics::GaugeGuard;

/// How long a session lives that nobody uses.
const SESSION_IDLE_TIMEOUT: Duration = Duration::from_mins(30);
/// Sessions of all callers together.
const MAX_SESSIONS: usize = 50_000;
/// Streams of one session that a client may come back to.
const MAX_RESUMABLE_STREAMS: usize = 8;
/// Bytes of all of them together.
const MAX_RESUMABLE_BYTES: usize = 512 * 1024;
/// The stream that belongs to no request.
pub(crate) const NOTIFICATION_STREAM: u64 = 0;

/// Which way of speaking a session belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionTransport {
    Streamable,
    LegacySse,
}

/// One client's session.
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
    /// Only so many, and only so many bytes. What has come to its end goes first, and the newest stays.
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

    /// Keeps a stream that a client may come back to; its number.
    pub(crate) fn add_stream(&self, channel: Arc<Channel>) -> u64 {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.last_number += 1;
        let number = streams.last_number;
        streams.channels.push_back((number, channel));
        streams.evict_old();
        number
    }

    /// The stream of this number.
    pub(crate) fn stream(&self, number: u64) -> Option<Arc<Channel>> {
        if number == NOTIFICATION_STREAM {
            return Some(Arc::clone(&self.notifications));
        }
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.channels.iter().find(|(kept, _)| *kept == number).map(|(_, channel)| Arc::clone(channel))
    }

    /// Where what belongs to no request goes.
    pub(crate) fn notification_outbox(&self) -> Arc<dyn Outbox> {
        Arc::clone(&self.notifications) as Arc<dyn Outbox>
    }

    /// Whether so much waits for the client that it should read first.
    pub(crate) fn is_backlogged(&self) -> bool {
        self.notifications.is_backlogged()
    }

    fn last_used(&self) -> Instant {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves its place to another.
    pub(crate) fn release_permit(&self) -> Option<QuotaPermit> {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes no new requests, lets what runs come to its end, and closes every stream.
    pub(crate) async fn end(&self, patience: Duration) {
        self.connection.drain(patience, true).await;
        self.notifications.close();
    }
}

/// Nobody is at work in it, and no stream of it is open.
fn is_unused(session: &Arc<HttpSession>) -> bool {
    Arc::strong_count(session) == 1
}

/// All sessions of this process.
#[derive(Default)]
pub(crate) struct HttpSessions(Mutex<HashMap<String, Arc<HttpSession>>>);

impl HttpSessions {
    /// Keeps a session under a new name.
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

    /// The caller's session of this name. What is somebody else's does not exist.
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

    /// Takes away the caller's session that was not used for longest, if there is one without an open stream.
    pub(crate) fn remove_least_recently_used(&self, principal: &Principal) -> Option<Arc<HttpSession>> {
        let mut all = self.lock();
        let theirs =
            all.iter().filter(|(_, session)| session.owner == principal.subject() && is_unused(session));
        let name = theirs.min_by_key(|(_, session)| session.last_used()).map(|(name, _)| name.clone())?;
        all.remove(&name)
    }

    /// Ends what nobody uses: no request for long, and no stream open.
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

    /// Ends all of them.
    pub(crate) async fn end_all(&self, patience: Duration) {
        let all: Vec<_> = self.lock().drain().map(|(_, session)| session).collect();
        futures_util::future::join_all(all.iter().map(|session| session.end(patience))).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<HttpSession>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
