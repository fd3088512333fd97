//! What goes to a client on one stream: written by the server's work, read by an HTTP body.
//!
//! Whoever waits for the first event learns whether a plain answer will do, or a stream is needed. A channel of a session
//! keeps what it has sent for a while, so that a client that lost its connection can come back for it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use server::{Answer, Outbox};
use tokio::sync::Notify;

/// Notifications that may wait for a client that does not read. More are dropped.
const WAITING: usize = 256;
/// Bytes that are kept for clients that come back.
const KEPT: usize = 256 * 1024;
/// Bytes that may wait for a client that does not read, before nothing more is taken from it.
const BEHIND: usize = 8 * 1024 * 1024;

/// One stream's worth of messages.
pub(crate) struct Channel {
    inner: Mutex<Inner>,
    news: Notify,
    /// Whether the client takes streams. Without one only the answer can be sent.
    carries_news: bool,
    /// Whether the client may come back for what was sent.
    keeps: bool,
    /// Whether there is one answer, which comes last.
    ends_with_answer: bool,
    is_let_go: AtomicBool,
}

#[derive(Default)]
struct Inner {
    events: VecDeque<Event>,
    /// How many there were; the next one's number is one more.
    count: u64,
    kept: usize,
    is_over: bool,
    /// The last one that somebody has read.
    read: u64,
    /// Who reads. Somebody who comes later takes the place of whoever read before.
    reader: u64,
}

/// One message on its way.
#[derive(Clone)]
pub(crate) struct Event {
    pub(crate) number: u64,
    pub(crate) message: Bytes,
    /// Set for the answer: status and when to try again.
    pub(crate) verdict: Option<(u16, Option<u64>)>,
}

/// What a reader gets.
pub(crate) enum Next {
    Event(Event),
    /// There will be no more.
    Over,
    /// The server closes this stream and goes on; the client may come back.
    LetGo,
}

impl Channel {
    /// A channel that lives as long as its request.
    pub(crate) fn for_request(carries_news: bool) -> Arc<Self> {
        Arc::new(Self::new(carries_news, false))
    }

    /// A channel that carries many answers, and ends only with its stream.
    pub(crate) fn for_stream() -> Arc<Self> {
        Arc::new(Self { ends_with_answer: false, ..Self::new(true, false) })
    }

    /// A channel that a client may come back to.
    pub(crate) fn for_session(carries_news: bool) -> Arc<Self> {
        Arc::new(Self::new(carries_news, true))
    }

    fn new(carries_news: bool, keeps: bool) -> Self {
        let (inner, news, is_let_go) = (Mutex::default(), Notify::new(), AtomicBool::new(false));
        Self { inner, news, carries_news, keeps, ends_with_answer: true, is_let_go }
    }

    fn add(&self, message: Vec<u8>, verdict: Option<(u16, Option<u64>)>) {
        let mut inner = self.lock();
        inner.count += 1;
        inner.kept += message.len();
        let number = inner.count;
        inner.events.push_back(Event { number, message: message.into(), verdict });
        inner.is_over |= verdict.is_some() && self.ends_with_answer;
        if self.keeps {
            inner.forget_old();
        }
        drop(inner);
        self.news.notify_waiters();
    }

    /// Whether so much waits for the client that it should read first.
    pub(crate) fn is_far_behind(&self) -> bool {
        !self.keeps && self.lock().kept > BEHIND
    }

    /// Nothing more will come.
    pub(crate) fn end(&self) {
        self.lock().is_over = true;
        self.news.notify_waiters();
    }

    /// How much is kept or waits.
    pub(crate) fn bytes(&self) -> usize {
        self.lock().kept
    }

    pub(crate) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Whether nothing is left to be read after this number, and nothing will come.
    pub(crate) fn is_over_after(&self, number: u64) -> bool {
        let inner = self.lock();
        inner.is_over && inner.events.back().is_none_or(|last| last.number <= number)
    }

    /// Reads what nobody has read yet, in the place of whoever read before.
    pub(crate) fn read_on(self: &Arc<Self>) -> Reader {
        let read = self.lock().read;
        self.read_after(read)
    }

    /// Reads what comes after this number, in the place of whoever read before.
    pub(crate) fn read_after(self: &Arc<Self>, number: u64) -> Reader {
        let mut inner = self.lock();
        inner.reader += 1;
        let reader = Reader { channel: Arc::clone(self), after: number, me: inner.reader };
        if inner.reader > 1 {
            // Somebody has come back.
            self.is_let_go.store(false, Ordering::Relaxed);
        }
        drop(inner);
        self.news.notify_waiters();
        reader
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// An event that is too large to be kept: it is handed over once.
    fn forget(&mut self, number: u64) {
        let is_it = |event: &Event| event.number == number;
        if let Some(event) = self.events.iter().position(is_it).and_then(|at| self.events.remove(at)) {
            self.kept -= event.message.len();
        }
    }

    /// What nobody may come back for any more. The last event stays, whatever its size.
    fn forget_old(&mut self) {
        while self.kept > KEPT && self.events.len() > 1 {
            if let Some(old) = self.events.pop_front() {
                self.kept -= old.message.len();
            }
        }
    }
}

impl Outbox for Channel {
    fn answer(&self, answer: Answer) {
        self.add(answer.message, Some((answer.status, answer.retry_after)));
    }

    fn stay_silent(&self) {
        if self.ends_with_answer {
            self.end();
        }
    }

    fn ask(&self, message: Vec<u8>) -> bool {
        if self.carries_news {
            self.add(message, None);
        }
        self.carries_news
    }

    fn carries_news(&self) -> bool {
        self.carries_news
    }

    fn has_listener(&self) -> bool {
        self.carries_news && self.lock().reader > 0
    }

    fn let_go(&self) {
        if self.keeps {
            self.is_let_go.store(true, Ordering::Relaxed);
            self.news.notify_waiters();
        }
    }

    fn push(&self, message: Vec<u8>) {
        let has_room = {
            let inner = self.lock();
            !inner.is_over && (self.keeps || inner.events.len() < WAITING)
        };
        if self.carries_news && has_room {
            self.add(message, None);
        }
    }
}

/// Reads a channel from some event on.
pub(crate) struct Reader {
    channel: Arc<Channel>,
    after: u64,
    me: u64,
}

impl Reader {
    /// The next event, as soon as there is one.
    pub(crate) async fn next(&mut self) -> Next {
        let channel = Arc::clone(&self.channel);
        loop {
            let mut news = std::pin::pin!(channel.news.notified());
            news.as_mut().enable();
            if let Some(next) = self.look() {
                return next;
            }
            news.await;
        }
    }

    fn look(&mut self) -> Option<Next> {
        let mut inner = self.channel.lock();
        if inner.reader != self.me {
            return Some(Next::Over);
        }
        let event = if self.channel.keeps {
            inner.events.iter().find(|event| event.number > self.after).cloned()
        } else {
            inner.events.pop_front().inspect(|event| inner.kept -= event.message.len())
        };
        if let Some(event) = event {
            self.after = event.number;
            inner.read = inner.read.max(event.number);
            if self.channel.keeps && event.message.len() > KEPT {
                inner.forget(event.number);
            }
            return Some(Next::Event(event));
        }
        if inner.is_over {
            return Some(Next::Over);
        }
        self.channel.is_let_go.load(Ordering::Relaxed).then_some(Next::LetGo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(next: Next) -> String {
        match next {
            Next::Event(event) => format!("{} {}", event.number, String::from_utf8_lossy(&event.message)),
            Next::Over => "over".to_owned(),
            Next::LetGo => "let go".to_owned(),
        }
    }

    #[tokio::test]
    async fn a_client_comes_back_for_what_it_missed() {
        let channel = Channel::for_session(true);
        let mut first = channel.read_after(0);
        channel.push(b"a".to_vec());
        channel.push(b"b".to_vec());
        assert_eq!(text(first.next().await), "1 a");
        let mut second = channel.read_after(1);
        assert_eq!(text(first.next().await), "over", "whoever comes later takes over");
        assert_eq!(text(second.next().await), "2 b");
        channel.let_go();
        assert_eq!(text(second.next().await), "let go");
        channel.answer(Answer { message: b"c".to_vec(), status: 200, retry_after: None });
        let mut third = channel.read_after(2);
        assert_eq!([text(third.next().await), text(third.next().await)], ["3 c", "over"]);
    }

    #[tokio::test]
    async fn what_is_kept_is_bounded() {
        let channel = Channel::for_session(true);
        for _ in 0..40 {
            channel.push(vec![b'x'; KEPT / 8]);
        }
        assert!(channel.lock().kept <= KEPT);
        assert!(matches!(channel.read_after(0).next().await, Next::Event(event) if event.number > 30));
        let large = Channel::for_session(true);
        large.answer(Answer { message: vec![b'x'; KEPT + 1], status: 200, retry_after: None });
        let mut reader = large.read_after(0);
        assert!(matches!(reader.next().await, Next::Event(_)));
        assert!(matches!(reader.next().await, Next::Over));
        assert_eq!(large.bytes(), 0, "what was read and is too large is gone");
        let unread = Channel::for_request(true);
        (0..2 * WAITING).for_each(|_| unread.push(b"x".to_vec()));
        assert_eq!(unread.lock().events.len(), WAITING);
        let plain = Channel::for_request(false);
        plain.push(b"x".to_vec());
        assert!(!plain.ask(b"x".to_vec()) && plain.lock().events.is_empty());
    }
}
