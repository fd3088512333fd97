//! The messages of one stream: written by connections, read by an HTTP body.
//!
//! The first event decides whether a plain response is enough or a stream is needed. The channel of a session
//! keeps sent events for a while, so that a client that lost its connection can resume.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use server::{EncodedResponse, Outbox};
use tokio::sync::Notify;

/// Maximum number of unread notifications. Further ones are dropped.
const MAX_PENDING_NOTIFICATIONS: usize = 256;
/// Maximum bytes kept for clients that resume.
const MAX_REPLAY_BYTES: usize = 256 * 1024;
/// Maximum unread bytes before the server stops reading from the client.
const MAX_UNREAD_BYTES: usize = 8 * 1024 * 1024;

pub(crate) struct Channel {
    inner: Mutex<ChannelState>,
    changed: Notify,
    /// Whether the client accepts streams. Otherwise only the response can be sent.
    accepts_notifications: bool,
    /// Whether the client can resume the stream.
    is_replayable: bool,
    /// Whether the stream ends with its only response.
    closes_after_response: bool,
    is_detached: AtomicBool,
}

#[derive(Default)]
struct ChannelState {
    events: VecDeque<ChannelEvent>,
    /// The number of the last event.
    last_number: u64,
    buffered_bytes: usize,
    is_closed: bool,
    /// The number of the last event that was read.
    last_read: u64,
    /// The id of the current reader. A new reader replaces the previous one.
    current_reader: u64,
}

#[derive(Clone)]
pub(crate) struct ChannelEvent {
    pub(crate) number: u64,
    pub(crate) message: Bytes,
    /// Set for a response: its status and `Retry-After`.
    pub(crate) response_status: Option<(u16, Option<u64>)>,
}

pub(crate) enum ChannelRead {
    Event(ChannelEvent),
    Closed,
    /// The server closes this stream, but the work continues; the client can resume it.
    Detached,
}

impl Channel {
    /// A channel for one request.
    pub(crate) fn for_request(accepts_notifications: bool) -> Arc<Self> {
        Arc::new(Self::new(accepts_notifications, false))
    }

    /// A channel that carries many responses and only ends with its stream.
    pub(crate) fn for_stream() -> Arc<Self> {
        Arc::new(Self { closes_after_response: false, ..Self::new(true, false) })
    }

    /// A channel that a client can resume.
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

    /// Whether the client has to read before the server accepts more.
    pub(crate) fn is_backlogged(&self) -> bool {
        !self.is_replayable && self.lock().buffered_bytes > MAX_UNREAD_BYTES
    }

    /// Closes the channel.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_waiters();
    }

    pub(crate) fn buffered_bytes(&self) -> usize {
        self.lock().buffered_bytes
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Whether the channel is closed and has no events after this number.
    pub(crate) fn is_exhausted_after(&self, number: u64) -> bool {
        let inner = self.lock();
        inner.is_closed && inner.events.back().is_none_or(|last| last.number <= number)
    }

    /// Reads the unread events, replacing the previous reader.
    pub(crate) fn read_unread(self: &Arc<Self>) -> ChannelReader {
        let read = self.lock().last_read;
        self.read_after(read)
    }

    /// Reads the events after this number, replacing the previous reader.
    pub(crate) fn read_after(self: &Arc<Self>, number: u64) -> ChannelReader {
        let mut inner = self.lock();
        inner.current_reader += 1;
        let reader =
            ChannelReader { channel: Arc::clone(self), after: number, reader_id: inner.current_reader };
        if inner.current_reader > 1 {
            // The client has resumed the stream.
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
    /// Removes an event that is too large to keep: it is delivered only once.
    fn remove_event(&mut self, number: u64) {
        let is_it = |event: &ChannelEvent| event.number == number;
        if let Some(event) = self.events.iter().position(is_it).and_then(|at| self.events.remove(at)) {
            self.buffered_bytes -= event.message.len();
        }
    }

    /// Drops the oldest events beyond the limit, but never the last event.
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

pub(crate) struct ChannelReader {
    channel: Arc<Channel>,
    after: u64,
    reader_id: u64,
}

impl ChannelReader {
    /// Waits for the next event.
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
        assert_eq!(describe(first.next().await), "over", "a later reader takes over");
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
        assert_eq!(large.buffered_bytes(), 0, "an oversized event is dropped once read");
        let unread = Channel::for_request(true);
        (0..2 * MAX_PENDING_NOTIFICATIONS).for_each(|_| unread.send_notification(b"x".to_vec()));
        assert_eq!(unread.lock().events.len(), MAX_PENDING_NOTIFICATIONS);
        let plain = Channel::for_request(false);
        plain.send_notification(b"x".to_vec());
        assert!(!plain.send_request(b"x".to_vec()) && plain.lock().events.is_empty());
    }
}
