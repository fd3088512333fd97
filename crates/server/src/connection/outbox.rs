//! Where finished messages go.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use protocol::encode;

use crate::error::{self, Failure, LARGEST_ANSWER, Manner};
use crate::telemetry::request_span::RequestSpan;

/// A finished answer, and how HTTP would put it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The message.
    pub message: Vec<u8>,
    /// The HTTP status. Pipes have no word for it.
    pub status: u16,
    /// After how many seconds trying again could help.
    pub retry_after: Option<u64>,
}

impl Answer {
    /// An answer that carries a result.
    pub(crate) fn fine(message: Vec<u8>) -> Self {
        Self { message, status: 200, retry_after: None }
    }
}

/// The sending half of a transport. All calls return at once.
pub trait Outbox: Send + Sync + 'static {
    /// Sends the answer to something that came in.
    fn answer(&self, answer: Answer);
    /// Called instead of [`answer`](Self::answer) when the client no longer wants to hear it.
    fn stay_silent(&self) {}
    /// Sends a question to the client. `false` where the transport has no way to carry one.
    fn ask(&self, message: Vec<u8>) -> bool;
    /// Whether [`push`](Self::push) can reach the client.
    fn carries_news(&self) -> bool {
        true
    }
    /// Whether somebody listens to what belongs to no request.
    fn has_listener(&self) -> bool {
        self.carries_news()
    }
    /// Closes the stream that the answer would go to, where the client can come back for it.
    fn let_go(&self) {}
    /// Sends a notification. A transport that cannot carry these drops them, as does one whose reader has fallen far
    /// behind.
    fn push(&self, message: Vec<u8>);
}

/// Owes exactly one answer. Dropped without one (a panic, a forgotten path), it says "internal error".
pub(crate) struct Responder {
    to: Option<Destination>,
    manner: Manner,
    request: Arc<RequestSpan>,
}

/// Where an answer goes: out, or into its place in a batch.
pub(crate) enum Destination {
    Outbox(Arc<dyn Outbox>),
    Slot(Arc<Batch>, usize),
}

impl Responder {
    pub(crate) fn new(to: Destination, manner: Manner, request: Arc<RequestSpan>) -> Self {
        Self { to: Some(to), manner, request }
    }

    pub(crate) fn request(&self) -> &Arc<RequestSpan> {
        &self.request
    }

    /// Sends a finished answer.
    pub(crate) fn answer(mut self, message: Vec<u8>) {
        self.send(Some(Answer::fine(message)));
    }

    /// Sends the error that tells of this failure, and logs what only the operator may know.
    pub(crate) fn fail(mut self, failure: &Failure) {
        self.send_failure(failure);
    }

    fn send_failure(&mut self, failure: &Failure) {
        self.request.report(failure);
        self.send(Some(error::render(failure, self.manner, self.request.id())));
    }

    /// Sends nothing, because the client said that it no longer wants to hear.
    pub(crate) fn stay_silent(mut self) {
        self.send(None);
    }

    fn send(&mut self, answer: Option<Answer>) {
        match (self.to.take(), answer) {
            (Some(Destination::Outbox(outbox)), Some(answer)) => outbox.answer(answer),
            (Some(Destination::Outbox(outbox)), None) => outbox.stay_silent(),
            (Some(Destination::Slot(batch, slot)), answer) => {
                let fitting = |answer: Answer| {
                    if batch.has_room_for(answer.message.len()) {
                        return answer.message;
                    }
                    error::render(&Failure::NoRoomForAnswer, self.manner, self.request.id()).message
                };
                batch.fill(slot, answer.map(fitting));
            }
            (None, _) => {}
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if self.to.is_some() {
            self.send_failure(&Failure::internal("the request was dropped without an answer"));
        }
        self.request.report_panic();
    }
}

/// The answers of a batch, gathered until the last one is there.
pub(crate) struct Batch {
    answers: Mutex<Vec<Option<Vec<u8>>>>,
    bytes: AtomicUsize,
    missing: AtomicUsize,
    to: Arc<dyn Outbox>,
}

impl Batch {
    pub(crate) fn new(slots: usize, to: Arc<dyn Outbox>) -> Arc<Self> {
        let (answers, bytes) = (Mutex::new(vec![None; slots]), AtomicUsize::new(0));
        Arc::new(Self { answers, bytes, missing: AtomicUsize::new(slots), to })
    }

    /// Fifty small questions can have fifty large answers, which would all be in memory at once. What there is no room for
    /// takes none: what comes after it may fit.
    fn has_room_for(&self, bytes: usize) -> bool {
        let grown = |held: usize| held.checked_add(bytes).filter(|grown| *grown <= LARGEST_ANSWER);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
    }

    fn fill(&self, slot: usize, message: Option<Vec<u8>>) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers[slot] = message;
        if self.missing.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        if answers.iter().any(Option::is_some) {
            self.to.answer(Answer::fine(encode::batch(answers.iter().flatten().map(Vec::as_slice))));
        } else {
            self.to.stay_silent();
        }
    }
}
