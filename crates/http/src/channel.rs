//! What goes to a client on one stream: written by the server's work, read by an HTTP body.
//!
//! Whoever waits for the first event learns whether a plain answer will do, or a stream is needed. A channel of a session
//! keeps what it has sent for a while, so that a client that lost its connection can come back for it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use server::{EncodedResponse, Outbox};
use tokio::sync::Notify;

/// Notifications that may wait for a client that does not read. More are dropped.
const MAX_PENDING_NOTIFICATIONS: usize = 256;
/// Bytes that are kept for clients that come back.
const MAX_REPLAY_BYTES: usize = 256 * 1024;
/// Bytes that may wait for a client that does not read, before nothing more is taken from it.
const MAX_UNREAD_BYTES: usize = 8 * 1024 * 1024;

/// One stream's worth of messages.
pub(crate) struct Channel {
    inner: Mutex<ChannelState>,
    changed: Notify,
    /// Whether the client takes streams. Without one only the answer can be sent.
    accepts_notifications: bool,
    /// Whether the client may come back for what was sent.
    is_replayable: bool,
    /// Whether there is one answer, which comes last.
    closes_after_response: bool,
    is_detached: AtomicBool,
}

#[derive(Default)]
struct ChannelState {
    events: VecDeque<ChannelEvent>,
    /// How many there were; the next one's number is one more.
    last_number: u64,
    buffered_bytes: usize,
    is_closed: bool,
    /// The last one that somebody has read.
    last_read: u64,
    /// Who reads. Somebody who comes later takes the place of whoever read before.
    current_reader: u64,
}

/// One message on its way.
#[derive(Clone)]
pub(crate) struct ChannelEvent {
    pub(crate) number: u64,
    pub(crate) message: Bytes,
    /// Set for the answer: status and when to try again.
    pub(crate) response_status: Option<(u16, Option<u64>)>,
}

/// What a reader gets.
pub(crate) enum ChannelRead {
    Event(ChannelEvent),
    /// There will be no more.
    Closed,
    /// The server closes this stream and goes on; the client may come back.
    Detached,
}

impl Channel {
    /// A channel that lives as long as its request.
    pub(crate) fn for_request(accepts_notifications: bool) -> Arc<Self> {
        Arc::new(Self::new(accepts_notifications, false))
    }

    /// A channel that carries many answers, and ends only with its stream.
    pub(crate) fn for_stream() -> Arc<Self> {
        Arc::new(Self { closes_after_response: false, ..Self::new(true, false) })
    }

    /// A channel that a client may come back to.
    pub(crate) fn for_session(carries_news: bool) -> Arc<Self> {
        Arc::new(Self::new(carries_news, true))
    }

    fn new(accepts_notifications: bool, is_replayable: bool) -> Self {
        let (inner, changed, is_detached) = (Mutex::default(), Notify::new(), AtomicBool::new(false));
        Self {
            inner,
            changed,
            accepts_notifications,
            is_replayable,
            closes_after_response: true,
            is_detached,
        }
    }

    fn append(&self, message: Vec<u8>, status: Option<(u16, Option<u64>)>) {
        let mut inner = self.lock();
        inner.last_number += 1;
        inner.buffered_bytes += message.len();
        let number = inner.last_number;
        inner.events.push_back(ChannelEvent { number, message: message.into(), response_status: status });
        inner.is_closed |= status.is_some() && self.closes_after_response;
        if self.is_replayable {
            inner.evict_old();
        }
        drop(inner);
        self.changed.notify_waiters();
    }

    /// Whether so much waits for the client that it should read first.
    pub(crate) fn is_backlogged(&self) -> bool {
        !self.is_replayable && self.lock().buffered_bytes > MAX_UNREAD_BYTES
    }

    /// Nothing more will come.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_waiters();
    }

    /// How much is kept or waits.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.lock().buffered_bytes
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Whether nothing is left to be read after this number, and nothing will come.
    pub(crate) fn is_exhausted_after(&self, number: u64) -> bool {
        let inner = self.lock();
        inner.is_closed && inner.events.back().is_none_or(|last| last.number <= number)
    }

    /// Reads what nobody has read yet, in the place of whoever read before.
    pub(crate) fn read_unread(self: &Arc<Self>) -> ChannelReader {
        let read = self.lock().last_read;
        self.read_after(read)
    }

    /// Reads what comes after this number, in the place of whoever read before.
    pub(crate) fn read_after(self: &Arc<Self>, number: u64) -> ChannelReader {
        let mut inner = self.lock();
        inner.current_reader += 1;
        let reader =
            ChannelReader { channel: Arc::clone(self), after: number, reader_id: inner.current_reader };
        if inner.current_reader > 1 {
            // Somebody has come back.
            self.is_detached.store(false, Ordering::Relaxed);
        }
        drop(inner);
        self.changed.notify_waiters();
        reader
    }

    fn lock(&self) -> MutexGuard<'_, ChannelState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChannelState {
    /// An event that is too large to be kept: it is handed over once.
    fn remove_event(&mut self, number: u64) {
        let is_it = |event: &ChannelEvent| event.number == number;
        if let Some(event) = self.events.iter().position(is_it).and_then(|at| self.events.remove(at)) {
            self.buffered_bytes -= event.message.len();
        }
    }

    /// What nobody may come back for any more. The last event stays, whatever its size.
    fn evict_old(&mut self) {
        while self.buffered_bytes > MAX_REPLAY_BYTES && self.events.len() > 1 {
            if let Some(old) = self.events.pop_front() {
                self.buffered_bytes -= old.message.len();
            }
        }
    }
}

impl Outbox for Channel {
    fn send_response(&self, response: EncodedResponse) {
        self.append(response.message, Some((response.status, response.retry_after)));
    }

    fn skip_response(&self) {
        if self.closes_after_response {
            self.close();
        }
    }

    fn send_request(&self, message: Vec<u8>) -> bool {
        if self.accepts_notifications {
            self.append(message, None);
        }
        self.accepts_notifications
    }

    fn supports_notifications(&self) -> bool {
        self.accepts_notifications
    }

    fn has_listener(&self) -> bool {
        self.accepts_notifications && self.lock().current_reader > 0
    }

    fn detach(&self) {
        if self.is_replayable {
            self.is_detached.store(true, Ordering::Relaxed);
            self.changed.notify_waiters();
        }
    }

    fn send_notification(&self, message: Vec<u8>) {
        let has_room = {
            let inner = self.lock();
            !inner.is_closed && (self.is_replayable || inner.events.len() < MAX_PENDING_NOTIFICATIONS)
        };
        if self.accepts_notifications && has_room {
            self.append(message, None);
        }
    }
}

/// Reads a channel from some event on.
pub(crate) struct ChannelReader {
    channel: Arc<Channel>,
    after: u64,
    reader_id: u64,
}

impl ChannelReader {
    /// The next event, as soon as there is one.
    pub(crate) async fn next(&mut self) -> ChannelRead {
        let channel = Arc::clone(&self.channel);
        loop {
            let mut news = std::pin::pin!(channel.changed.notified());
            news.as_mut().enable();
            if let Some(next) = self.try_next() {
                return next;
            }
            news.await;
        }
    }

    fn try_next(&mut self) -> Option<ChannelRead> {
        let mut inner = self.channel.lock();
        if inner.current_reader != self.reader_id {
            return Some(ChannelRead::Closed);
        }
        let event = if self.channel.is_replayable {
            inner.events.iter().find(|event| event.number > self.after).cloned()
        } else {
            inner.events.pop_front().inspect(|event| inner.buffered_bytes -= event.message.len())
        };
        if let Some(event) = event {
            self.after = event.number;
            inner.last_read = inner.last_read.max(event.number);
            if self.channel.is_replayable && event.message.len() > MAX_REPLAY_BYTES {
                inner.remove_event(event.number);
            }
            return Some(ChannelRead::Event(event));
        }
        if inner.is_closed {
            return Some(ChannelRead::Closed);
        }
        self.channel.is_detached.load(Ordering::Relaxed).then_some(ChannelRead::Detached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(next: ChannelRead) -> String {
        match next {
            ChannelRead::Event(event) => {
                format!("{} {}", event.number, String::from_utf8_lossy(&event.message))
            }
            ChannelRead::Closed => "over".to_owned(),
            ChannelRead::Detached => "let go".to_owned(),
        }
    }

    #[tokio::test]
    async fn reconnected_reader_gets_missed_events() {
        let channel = Channel::for_session(true);
        let mut first = channel.read_after(0);
        channel.send_notification(b"a".to_vec());
        channel.send_notification(b"b".to_vec());
        assert_eq!(describe(first.next().await), "1 a");
        let mut second = channel.read_after(1);
        assert_eq!(describe(first.next().await), "over", "whoever comes later takes over");
        assert_eq!(describe(second.next().await), "2 b");
        channel.detach();
        assert_eq!(describe(second.next().await), "let go");
        channel.send_response(EncodedResponse { message: b"c".to_vec(), status: 200, retry_after: None });
        let mut third = channel.read_after(2);
        assert_eq!([describe(third.next().await), describe(third.next().await)], ["3 c", "over"]);
    }

    #[tokio::test]
    async fn buffered_events_are_bounded() {
        let channel = Channel::for_session(true);
        for _ in 0..40 {
            channel.send_notification(vec![b'x'; MAX_REPLAY_BYTES / 8]);
        }
        assert!(channel.lock().buffered_bytes <= MAX_REPLAY_BYTES);
        assert!(matches!(channel.read_after(0).next().await, ChannelRead::Event(event) if event.number > 30));
        let large = Channel::for_session(true);
        large.send_response(EncodedResponse {
            message: vec![b'x'; MAX_REPLAY_BYTES + 1],
            status: 200,
            retry_after: None,
        });
        let mut reader = large.read_after(0);
        assert!(matches!(reader.next().await, ChannelRead::Event(_)));
        assert!(matches!(reader.next().await, ChannelRead::Closed));
        assert_eq!(large.buffered_bytes(), 0, "what was read and is too large is gone");
        let unread = Channel::for_request(true);
        (0..2 * MAX_PENDING_NOTIFICATIONS).for_each(|_| unread.send_notification(b"x".to_vec()));
        assert_eq!(unread.lock().events.len(), MAX_PENDING_NOTIFICATIONS);
        let plain = Channel::for_request(false);
        plain.send_notification(b"x".to_vec());
        assert!(!plain.send_request(b"x".to_vec()) && plain.lock().events.is_empty());
    }
}
