//! Where finished messages go.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use protocol::encode;

use crate::error::{self, ErrorFormat, MAX_RESPONSE_BYTES, RequestError};
use crate::telemetry::request_span::RequestSpan;

/// A finished answer, and how HTTP would put it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedResponse {
    /// The message.
    pub message: Vec<u8>,
    /// The HTTP status. Pipes have no word for it.
    pub status: u16,
    /// After how many seconds trying again could help.
    pub retry_after: Option<u64>,
}

impl EncodedResponse {
    /// An answer that carries a result.
    pub(crate) fn ok(message: Vec<u8>) -> Self {
        Self { message, status: 200, retry_after: None }
    }
}

/// The sending half of a transport. All calls return at once.
pub trait Outbox: Send + Sync + 'static {
    /// Sends the answer to something that came in.
    fn send_response(&self, response: EncodedResponse);
    /// Called instead of [`send_response`](Self::send_response) when the client no longer wants to hear it.
    fn skip_response(&self) {}
    /// Sends a question to the client. `false` where the transport has no way to carry one.
    fn send_request(&self, message: Vec<u8>) -> bool;
    /// Whether [`send_notification`](Self::send_notification) can reach the client.
    fn supports_notifications(&self) -> bool {
        true
    }
    /// Whether the client listens for messages that belong to no request.
    fn has_listener(&self) -> bool {
        self.supports_notifications()
    }
    /// Closes the stream that the answer would go to, where the client can come back for it.
    fn detach(&self) {}
    /// Sends a notification. A transport that cannot carry these drops them, as does one whose reader has
    /// fallen far behind.
    fn send_notification(&self, message: Vec<u8>);
}

/// Owes exactly one answer. Dropped without one (a panic, a forgotten path), it says "internal error".
pub(crate) struct Responder {
    destination: Option<Destination>,
    format: ErrorFormat,
    request: Arc<RequestSpan>,
}

/// Where an answer goes: out, or into its place in a batch.
pub(crate) enum Destination {
    Outbox(Arc<dyn Outbox>),
    Slot(Arc<ResponseBatch>, usize),
}

impl Responder {
    pub(crate) fn new(to: Destination, format: ErrorFormat, request: Arc<RequestSpan>) -> Self {
        Self { destination: Some(to), format, request }
    }

    pub(crate) fn request(&self) -> &Arc<RequestSpan> {
        &self.request
    }

    /// Sends a finished answer.
    pub(crate) fn respond(mut self, message: Vec<u8>) {
        self.send(Some(EncodedResponse::ok(message)));
    }

    /// Sends the error that tells of this failure, and logs what only the operator may know.
    pub(crate) fn fail(mut self, failure: &RequestError) {
        self.send_failure(failure);
    }

    fn send_failure(&mut self, failure: &RequestError) {
        self.request.report(failure);
        self.send(Some(error::render(failure, self.format, self.request.id())));
    }

    /// Sends nothing, because the client said that it no longer wants to hear.
    pub(crate) fn skip_response(mut self) {
        self.send(None);
    }

    fn send(&mut self, response: Option<EncodedResponse>) {
        match (self.destination.take(), response) {
            (Some(Destination::Outbox(outbox)), Some(answer)) => outbox.send_response(answer),
            (Some(Destination::Outbox(outbox)), None) => outbox.skip_response(),
            (Some(Destination::Slot(batch, slot)), answer) => {
                let fitting = |answer: EncodedResponse| {
                    if batch.try_reserve(answer.message.len()) {
                        return answer.message;
                    }
                    error::render(&RequestError::BatchResponseTooLarge, self.format, self.request.id())
                        .message
                };
                batch.fill_slot(slot, answer.map(fitting));
            }
            (None, _) => {}
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if self.destination.is_some() {
            self.send_failure(&RequestError::internal("the request was dropped without an answer"));
        }
        self.request.report_panic();
    }
}

/// The answers of a batch, gathered until the last one is there.
pub(crate) struct ResponseBatch {
    responses: Mutex<Vec<Option<Vec<u8>>>>,
    bytes: AtomicUsize,
    pending: AtomicUsize,
    outbox: Arc<dyn Outbox>,
}

impl ResponseBatch {
    pub(crate) fn new(slots: usize, to: Arc<dyn Outbox>) -> Arc<Self> {
        let (answers, bytes) = (Mutex::new(vec![None; slots]), AtomicUsize::new(0));
        Arc::new(Self { responses: answers, bytes, pending: AtomicUsize::new(slots), outbox: to })
    }

    /// Fifty small questions can have fifty large answers, which would all be in memory at once. What there
    /// is no room for takes none: what comes after it may fit.
    fn try_reserve(&self, bytes: usize) -> bool {
        let grown = |held: usize| held.checked_add(bytes).filter(|grown| *grown <= MAX_RESPONSE_BYTES);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
    }

    fn fill_slot(&self, slot: usize, message: Option<Vec<u8>>) {
        let mut answers = self.responses.lock().unwrap_or_else(PoisonError::into_inner);
        answers[slot] = message;
        if self.pending.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        if answers.iter().any(Option::is_some) {
            self.outbox.send_response(EncodedResponse::ok(encode::batch(
                answers.iter().flatten().map(Vec::as_slice),
            )));
        } else {
            self.outbox.skip_response();
        }
    }
}
