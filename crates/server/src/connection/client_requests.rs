//! Requests from the server to the client.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::{Id, encode};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::Outbox;

/// Questions that may be open at once. Fewer than the calls that may run, so that waiting for a client never
/// keeps every place taken and the client's own answers can always be reached.
const MAX_PENDING_REQUESTS: usize = 32;

/// Who waits for the answer to which question.
type PendingRequests = HashMap<u64, oneshot::Sender<Result<Value, Value>>>;

/// The client as the recipient of requests.
pub(crate) struct ClientPeer {
    next_id: AtomicU64,
    /// `None` once the client is gone.
    pending: Mutex<Option<PendingRequests>>,
}

/// Why a request got no result.
#[derive(Debug)]
pub(crate) enum ClientRequestError {
    /// The client is gone, or too many questions are open.
    Unreachable,
    /// The client answered with an error.
    ErrorResponse,
}

impl ClientPeer {
    pub(crate) fn new() -> Self {
        Self { next_id: AtomicU64::new(1), pending: Mutex::new(Some(HashMap::new())) }
    }

    /// Asks the client through this outbox, and waits for its answer. Dropping this future tells the client
    /// to forget the question.
    pub(crate) async fn request(
        &self,
        outbox: &Arc<dyn Outbox>,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Value, ClientRequestError> {
        let question = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        {
            let mut pending = self.lock();
            let pending = pending
                .as_mut()
                .filter(|pending| pending.len() < MAX_PENDING_REQUESTS)
                .ok_or(ClientRequestError::Unreachable)?;
            pending.insert(question, sender);
        }
        let mut withdraw =
            PendingRequestGuard { peer: self, outbox, request_number: question, answered: false };
        if !outbox.send_request(encode::request(&request_id(question), method, params)) {
            return Err(ClientRequestError::Unreachable);
        }
        let outcome = receiver.await;
        withdraw.answered = true;
        match outcome {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(_)) => Err(ClientRequestError::ErrorResponse),
            Err(_) => Err(ClientRequestError::Unreachable),
        }
    }

    /// Asks the client without waiting for an answer, which is ignored when it comes.
    pub(crate) fn send_without_waiting(
        &self,
        outbox: &Arc<dyn Outbox>,
        method: &str,
        params: &impl Serialize,
    ) {
        let question = self.next_id.fetch_add(1, Ordering::Relaxed);
        outbox.send_request(encode::request(&request_id(question), method, params));
    }

    /// The client answered. Answers to what was not asked are ignored.
    pub(crate) fn resolve(&self, id: &Id, outcome: Result<Value, Value>) {
        let question =
            id.as_json().strip_prefix("\"fluxway-").and_then(|id| id.strip_suffix('"')?.parse().ok());
        let sender = question.and_then(|question: u64| self.lock().as_mut()?.remove(&question));
        if let Some(sender) = sender {
            // The one who asked may have given up.
            let _ = sender.send(outcome);
        }
    }

    /// No more answers will come.
    pub(crate) fn close(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<PendingRequests>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The id of a question on the wire: always a string, as old clients need it.
fn request_id(question: u64) -> Id {
    Id::from_text(&format!("fluxway-{question}"))
}

/// Takes a question back that is dropped before it was answered.
struct PendingRequestGuard<'a> {
    peer: &'a ClientPeer,
    outbox: &'a Arc<dyn Outbox>,
    request_number: u64,
    answered: bool,
}

impl Drop for PendingRequestGuard<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        if let Some(pending) = self.peer.lock().as_mut() {
            pending.remove(&self.request_number);
        }
        let params =
            json!({ "requestId": request_id(self.request_number), "reason": "the call was cancelled" });
        self.outbox.send_notification(encode::notification("notifications/cancelled", Some(&params)));
    }
}
