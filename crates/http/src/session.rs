//! Sessions of `/mcp` up to 2025-11-25, and of the older pair `/sse` and `/messages`. They live in this process alone: another
//! replica does not know them, and says so.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use server::{App, Connection, Outbox, Principal, Refusal, Seat};

use crate::channel::Channel;
use crate::metrics::Counted;

/// How long a session lives that nobody uses.
const IDLE: Duration = Duration::from_mins(30);
/// Sessions of all callers together.
const MOST: usize = 50_000;
/// Streams of one session that a client may come back to.
const STREAMS: usize = 8;
/// Bytes of all of them together.
const BYTES: usize = 512 * 1024;
/// The stream that belongs to no request.
pub(crate) const NEWS: u64 = 0;

/// Which way of speaking a session belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Streamable,
    Pair,
}

/// One client's session.
pub(crate) struct Session {
    pub(crate) connection: Arc<Connection>,
    kind: Kind,
    owner: String,
    news: Arc<Channel>,
    streams: Mutex<Streams>,
    last_used: Mutex<Instant>,
    seat: Mutex<Option<Seat>>,
    _counted: Counted,
}

#[derive(Default)]
struct Streams {
    count: u64,
    kept: VecDeque<(u64, Arc<Channel>)>,
}

impl Streams {
    /// Only so many, and only so many bytes. What has come to its end goes first, and the newest stays.
    fn forget_old(&mut self) {
        let bytes = |kept: &VecDeque<(u64, Arc<Channel>)>| {
            kept.iter().map(|(_, channel)| channel.bytes()).sum::<usize>()
        };
        while self.kept.len() > 1 && (self.kept.len() > STREAMS || bytes(&self.kept) > BYTES) {
            let oldest = self.kept.iter().position(|(_, channel)| channel.is_over()).unwrap_or(0);
            self.kept.remove(oldest);
        }
    }
}

impl Session {
    pub(crate) fn new(
        kind: Kind,
        principal: &Principal,
        connection: Arc<Connection>,
        news: Arc<Channel>,
        held: (Seat, Counted),
    ) -> Arc<Self> {
        tokio::spawn(Arc::clone(&connection).announce_changes());
        Arc::new(Self {
            connection,
            kind,
            owner: principal.subject().to_owned(),
            news,
            streams: Mutex::default(),
            last_used: Mutex::new(Instant::now()),
            seat: Mutex::new(Some(held.0)),
            _counted: held.1,
        })
    }

    /// Keeps a stream that a client may come back to; its number.
    pub(crate) fn keep(&self, channel: Arc<Channel>) -> u64 {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.count += 1;
        let number = streams.count;
        streams.kept.push_back((number, channel));
        streams.forget_old();
        number
    }

    /// The stream of this number.
    pub(crate) fn stream(&self, number: u64) -> Option<Arc<Channel>> {
        if number == NEWS {
            return Some(Arc::clone(&self.news));
        }
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.kept.iter().find(|(kept, _)| *kept == number).map(|(_, channel)| Arc::clone(channel))
    }

    /// Where what belongs to no request goes.
    pub(crate) fn news(&self) -> Arc<dyn Outbox> {
        Arc::clone(&self.news) as Arc<dyn Outbox>
    }

    /// Whether so much waits for the client that it should read first.
    pub(crate) fn is_far_behind(&self) -> bool {
        self.news.is_far_behind()
    }

    fn last_used(&self) -> Instant {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves its place to another.
    pub(crate) fn give_up_seat(&self) -> Option<Seat> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes no new requests, lets what runs come to its end, and closes every stream.
    pub(crate) async fn end(&self, patience: Duration) {
        self.connection.drain(patience, true).await;
        self.news.end();
    }
}

/// Nobody is at work in it, and no stream of it is open.
fn is_unused(session: &Arc<Session>) -> bool {
    Arc::strong_count(session) == 1
}

/// All sessions of this process.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<String, Arc<Session>>>);

impl Sessions {
    /// Keeps a session under a new name.
    pub(crate) fn add(&self, app: &App, session: Arc<Session>) -> Result<String, Refusal> {
        let mut bytes = [0; 24];
        app.random(&mut bytes);
        let name = URL_SAFE_NO_PAD.encode(bytes);
        let mut all = self.lock();
        if all.len() >= MOST {
            tokio::spawn(async move { session.end(Duration::ZERO).await });
            return Err(Refusal::Busy);
        }
        all.insert(name.clone(), session);
        Ok(name)
    }

    /// The caller's session of this name. What is somebody else's does not exist.
    pub(crate) fn find(
        &self,
        name: &str,
        kind: Kind,
        principal: &Principal,
    ) -> Result<Arc<Session>, Refusal> {
        let all = self.lock();
        let session =
            all.get(name).filter(|session| session.kind == kind && session.owner == principal.subject());
        let session = session.cloned().ok_or(Refusal::SessionUnknown)?;
        *session.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(session)
    }

    pub(crate) fn remove(&self, name: &str) -> Option<Arc<Session>> {
        self.lock().remove(name)
    }

    /// Takes away the caller's session that was not used for longest, if there is one without an open stream.
    pub(crate) fn remove_unused(&self, principal: &Principal) -> Option<Arc<Session>> {
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
            let is_over = |session: &Arc<Session>| is_unused(session) && session.last_used().elapsed() > IDLE;
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

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
