//! The requests of a connection that are under way.
//!
//! Most work is done in microseconds and never waits, so it is done on the thread that read the request: no
//! task, no wake-up, no second thread. What has to wait becomes a task.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio_util::sync::CancellationToken;

use crate::connection::outbox::Responder;
use crate::error::RequestError;
use crate::rpc::context::ResponseHook;
use crate::telemetry::request_span;

/// Calls of tools that may run at once on one connection.
const MAX_RUNNING_CALLS: usize = 64;
/// Requests that may wait for one of those places before the transport should stop reading.
const MAX_QUEUED_REQUESTS: usize = 1024;

/// What runs, what waits, and how it ends.
pub(crate) struct RequestScheduler {
    /// Requests that did not end on the spot, by the id that the client may cancel them with.
    running: Mutex<HashMap<String, CancellationToken>>,
    /// How many requests go on as tasks.
    tasks: watch::Sender<usize>,
    permits: Semaphore,
    /// Cancelled when time is up for whatever still runs.
    closing: CancellationToken,
}

/// An answer, and what is done once it is out.
pub(crate) struct CompletedRequest {
    pub(crate) response: Vec<u8>,
    pub(crate) after_response: Option<ResponseHook>,
}

impl From<Vec<u8>> for CompletedRequest {
    fn from(answer: Vec<u8>) -> Self {
        Self { response: answer, after_response: None }
    }
}

impl RequestScheduler {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            running: Mutex::default(),
            tasks: watch::Sender::new(0),
            permits: Semaphore::new(MAX_RUNNING_CALLS),
            closing: CancellationToken::new(),
        })
    }

    /// Answers through `responder` with whatever `work` comes to. Takes it as far as it gets without waiting;
    /// the rest is a task.
    pub(crate) fn run(
        self: &Arc<Self>,
        key: Option<String>,
        stop: CancellationToken,
        responder: Responder,
        work: impl Future<Output = Result<CompletedRequest, RequestError>> + Send + 'static,
    ) {
        let listing = RunningGuard { scheduler: Arc::clone(self), key: key.clone() };
        let request = Arc::clone(responder.request());
        let work = run_to_response(work, stop.clone(), self.closing.clone(), responder, listing);
        let mut work = Box::pin(request_span::run_in_request(request, work));
        // No waker yet: the task polls it again, and is woken from then on.
        if work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return;
        }
        if let Some(key) = key {
            self.running().insert(key, stop);
        }
        let permit = InFlightGuard::acquire(self);
        tokio::spawn(async move {
            work.await;
            drop(permit);
        });
    }

    /// Whether a request with this id is under way.
    pub(crate) fn is_running(&self, key: &str) -> bool {
        self.running().contains_key(key)
    }

    /// Waits for a place among the calls that run.
    pub(crate) async fn acquire_permit(&self) -> Result<SemaphorePermit<'_>, RequestError> {
        self.permits.acquire().await.map_err(RequestError::internal)
    }

    /// The client no longer wants this answer.
    pub(crate) fn cancel(&self, id: &Value) {
        // The id was a parameter and has been parsed, so a number may be spelled differently from what was
        // kept.
        let same = |key: &str| serde_json::from_str::<Value>(key).is_ok_and(|key| key == *id);
        let running = self.running();
        let spelled_otherwise = || running.iter().find(|(key, _)| same(key)).map(|(_, stop)| stop);
        if let Some(stop) = running.get(&id.to_string()).or_else(spelled_otherwise) {
            stop.cancel();
        }
    }

    /// The client wants no answer any more.
    pub(crate) fn cancel_all(&self) {
        self.running().values().for_each(CancellationToken::cancel);
    }

    /// Whether there is room for another request.
    pub(crate) fn has_capacity(&self) -> bool {
        *self.tasks.borrow() < MAX_RUNNING_CALLS + MAX_QUEUED_REQUESTS
    }

    /// Waits until there is room for another request.
    pub(crate) async fn wait_for_capacity(&self) {
        self.wait_until_fewer_than(MAX_RUNNING_CALLS + MAX_QUEUED_REQUESTS).await;
    }

    /// Lets what runs come to its end, and stops it when `patience` is over.
    pub(crate) async fn drain(&self, patience: Duration) {
        let in_time = tokio::time::timeout(patience, self.wait_until_fewer_than(1)).await.is_ok();
        self.closing.cancel();
        if !in_time {
            tracing::warn!(requests = *self.tasks.borrow(), "stopped what was still running");
            self.wait_until_fewer_than(1).await;
        }
    }

    async fn wait_until_fewer_than(&self, limit: usize) {
        // It fails only without its sender, and that is borrowed.
        let _ = self.tasks.subscribe().wait_for(|tasks| *tasks < limit).await;
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the tasks, until it is dropped.
struct InFlightGuard(Arc<RequestScheduler>);

impl InFlightGuard {
    fn acquire(workload: &Arc<RequestScheduler>) -> Self {
        workload.tasks.send_modify(|tasks| *tasks += 1);
        Self(Arc::clone(workload))
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.0.tasks.send_modify(|tasks| *tasks -= 1);
    }
}

/// The place of a request among those that are running, until it is dropped.
struct RunningGuard {
    scheduler: Arc<RequestScheduler>,
    key: Option<String>,
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.scheduler.running().remove(key);
        }
    }
}

/// One answer for one request: the result, the failure, or silence where the client cancelled.
async fn run_to_response(
    work: impl Future<Output = Result<CompletedRequest, RequestError>> + Send,
    stop: CancellationToken,
    closing: CancellationToken,
    responder: Responder,
    listing: RunningGuard,
) {
    let outcome = tokio::select! {
        biased;
        () = stop.cancelled() => return responder.skip_response(),
        outcome = AssertUnwindSafe(work).catch_unwind() => outcome,
        () = closing.cancelled() => Ok(Err(RequestError::ShuttingDown)),
    };
    // What the tool left running elsewhere can no longer notify the client.
    stop.cancel();
    // A client may reuse the id as soon as it has the response.
    drop(listing);
    match outcome {
        Ok(Ok(CompletedRequest { response: answer, after_response: afterwards })) => {
            responder.respond(answer);
            if let Some(act) = afterwards {
                act();
            }
        }
        Ok(Err(failure)) => responder.fail(&failure),
        Err(_panic) => {
            let site = responder.request().take_panic().unwrap_or_default();
            responder.fail(&RequestError::internal(site));
        }
    }
}
