//! The requests of a connection that are under way.
//!
//! Most work is done in microseconds and never waits, so it is done on the thread that read the request: no task, no
//! wake-up, no second thread. What has to wait becomes a task.

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
use crate::error::Failure;
use crate::rpc::context::Afterwards;
use crate::telemetry::request_span;

/// Calls of tools that may run at once on one connection.
const RUNNING: usize = 64;
/// Requests that may wait for one of those places before the transport should stop reading.
const WAITING: usize = 1024;

/// What runs, what waits, and how it ends.
pub(crate) struct Workload {
    /// Requests that did not end on the spot, by the id that the client may cancel them with.
    running: Mutex<HashMap<String, CancellationToken>>,
    /// How many requests go on as tasks.
    tasks: watch::Sender<usize>,
    places: Semaphore,
    /// Cancelled when time is up for whatever still runs.
    closing: CancellationToken,
}

/// An answer, and what is done once it is out.
pub(crate) struct Spoken {
    pub(crate) answer: Vec<u8>,
    pub(crate) afterwards: Option<Afterwards>,
}

impl From<Vec<u8>> for Spoken {
    fn from(answer: Vec<u8>) -> Self {
        Self { answer, afterwards: None }
    }
}

impl Workload {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            running: Mutex::default(),
            tasks: watch::Sender::new(0),
            places: Semaphore::new(RUNNING),
            closing: CancellationToken::new(),
        })
    }

    /// Answers through `responder` with whatever `work` comes to. Takes it as far as it gets without waiting; the rest is
    /// a task.
    pub(crate) fn run(
        self: &Arc<Self>,
        key: Option<String>,
        stop: CancellationToken,
        responder: Responder,
        work: impl Future<Output = Result<Spoken, Failure>> + Send + 'static,
    ) {
        let listing = Listing { workload: Arc::clone(self), key: key.clone() };
        let request = Arc::clone(responder.request());
        let work = finish(work, stop.clone(), self.closing.clone(), responder, listing);
        let mut work = Box::pin(request_span::work_on(request, work));
        // No waker yet: the task polls it again, and is woken from then on.
        if work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return;
        }
        if let Some(key) = key {
            self.running().insert(key, stop);
        }
        let seat = Seat::take(self);
        tokio::spawn(async move {
            work.await;
            drop(seat);
        });
    }

    /// Whether a request with this id is under way.
    pub(crate) fn is_running(&self, key: &str) -> bool {
        self.running().contains_key(key)
    }

    /// Waits for a place among the calls that run.
    pub(crate) async fn place(&self) -> Result<SemaphorePermit<'_>, Failure> {
        self.places.acquire().await.map_err(Failure::internal)
    }

    /// The client no longer wants this answer.
    pub(crate) fn cancel(&self, id: &Value) {
        // The id was a parameter and has been parsed, so a number may be spelled differently from what was kept.
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
    pub(crate) fn has_room(&self) -> bool {
        *self.tasks.borrow() < RUNNING + WAITING
    }

    /// Waits until there is room for another request.
    pub(crate) async fn room(&self) {
        self.fewer_tasks_than(RUNNING + WAITING).await;
    }

    /// Lets what runs come to its end, and stops it when `patience` is over.
    pub(crate) async fn drain(&self, patience: Duration) {
        let in_time = tokio::time::timeout(patience, self.fewer_tasks_than(1)).await.is_ok();
        self.closing.cancel();
        if !in_time {
            tracing::warn!(requests = *self.tasks.borrow(), "stopped what was still running");
            self.fewer_tasks_than(1).await;
        }
    }

    async fn fewer_tasks_than(&self, limit: usize) {
        // It fails only without its sender, and that is borrowed.
        let _ = self.tasks.subscribe().wait_for(|tasks| *tasks < limit).await;
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the tasks, until it is dropped.
struct Seat(Arc<Workload>);

impl Seat {
    fn take(workload: &Arc<Workload>) -> Self {
        workload.tasks.send_modify(|tasks| *tasks += 1);
        Self(Arc::clone(workload))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.tasks.send_modify(|tasks| *tasks -= 1);
    }
}

/// The place of a request among those that are running, until it is dropped.
struct Listing {
    workload: Arc<Workload>,
    key: Option<String>,
}

impl Drop for Listing {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.workload.running().remove(key);
        }
    }
}

/// One answer for one request: the result, the failure, or silence where the client cancelled.
async fn finish(
    work: impl Future<Output = Result<Spoken, Failure>> + Send,
    stop: CancellationToken,
    closing: CancellationToken,
    responder: Responder,
    listing: Listing,
) {
    let outcome = tokio::select! {
        biased;
        () = stop.cancelled() => return responder.stay_silent(),
        outcome = AssertUnwindSafe(work).catch_unwind() => outcome,
        () = closing.cancelled() => Ok(Err(Failure::ShuttingDown)),
    };
    // Whatever the tool left running elsewhere has nobody to talk to any more.
    stop.cancel();
    // Whoever reads the answer may use the id again at once.
    drop(listing);
    match outcome {
        Ok(Ok(Spoken { answer, afterwards })) => {
            responder.answer(answer);
            if let Some(act) = afterwards {
                act();
            }
        }
        Ok(Err(failure)) => responder.fail(&failure),
        Err(_panic) => {
            let site = responder.request().take_panic().unwrap_or_default();
            responder.fail(&Failure::internal(site));
        }
    }
}
