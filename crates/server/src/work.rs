//! The requests of a connection that are under way.
//!
//! Most work is done in microseconds and never waits, so it is done on the thread that read the request: no task, no
//! wake-up, no second thread. Work that waits for the client's answer to a question is parked, and goes on on the
//! thread that reads the answer. What waits for something else sleeps, and becomes a task when it is woken.

mod sleep;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::context::Afterwards;
use crate::error::Failure;
use crate::outbox::Responder;
use crate::peer;
use crate::request;
use sleep::{Work, sleep};

/// Calls of tools that may run at once on one connection.
const RUNNING: usize = 64;
/// Requests that may wait for one of those places before the transport should stop reading.
const WAITING: usize = 1024;

/// What runs, what waits, and how it ends.
pub(crate) struct Workload {
    /// Requests that did not end on the spot, by the id that the client may cancel them with.
    running: Mutex<HashMap<String, CancellationToken>>,
    /// Jobs that wait for nothing but an answer of the client, by the number of the question. `None` where nothing is
    /// parked, or not any more because the connection is closing: then everything that waits sleeps.
    parked: Mutex<Option<HashMap<u64, Job>>>,
    /// What sleeps, and the tasks.
    tasks: TaskTracker,
    /// How many they are; the tracker's own count falls only after one has said that it ended.
    task_count: AtomicUsize,
    task_ended: Notify,
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

/// Work that owes an answer, on its way to it.
struct Job {
    work: Work,
    /// The id that the client knows it by.
    key: Option<String>,
    stop: CancellationToken,
    /// Whether it stands among the requests that are running.
    is_listed: bool,
}

impl Workload {
    /// `parks`: one thread reads everything that the client says. Where several do, an answer could come before its job is
    /// parked, so there jobs that wait sleep.
    pub(crate) fn new(parks: bool) -> Arc<Self> {
        Arc::new(Self {
            running: Mutex::default(),
            parked: Mutex::new(parks.then(HashMap::new)),
            tasks: TaskTracker::new(),
            task_count: AtomicUsize::new(0),
            task_ended: Notify::new(),
            places: Semaphore::new(RUNNING),
            closing: CancellationToken::new(),
        })
    }

    /// Answers through `responder` with whatever `work` comes to.
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
        let work = Box::pin(request::work_on(request, work));
        self.go_on(Job { work, key, stop, is_listed: false });
    }

    /// Whether a request with this id is under way.
    pub(crate) fn is_running(&self, key: &str) -> bool {
        self.running().contains_key(key)
    }

    /// Waits for a place among the calls that run.
    pub(crate) async fn place(&self) -> Result<SemaphorePermit<'_>, Failure> {
        self.places.acquire().await.map_err(Failure::internal)
    }

    /// The client answered this question: goes on with the job that asked it, if it waits for nothing else.
    pub(crate) fn answered(self: &Arc<Self>, question: u64) {
        let job = self.parked().as_mut().and_then(|jobs| jobs.remove(&question));
        if let Some(job) = job {
            self.go_on(job);
        }
    }

    /// The client no longer wants this answer.
    pub(crate) fn cancel(self: &Arc<Self>, id: &Value) {
        // The id was a parameter and has been parsed, so a number may be spelled differently from what was kept.
        let same = |key: &str| serde_json::from_str::<Value>(key).is_ok_and(|key| key == *id);
        {
            let running = self.running();
            let spelled_otherwise = || running.iter().find(|(key, _)| same(key)).map(|(_, stop)| stop);
            if let Some(stop) = running.get(&id.to_string()).or_else(spelled_otherwise) {
                stop.cancel();
            }
        }
        self.wake_cancelled();
    }

    /// The client wants no answer any more.
    pub(crate) fn cancel_all(self: &Arc<Self>) {
        self.running().values().for_each(CancellationToken::cancel);
        self.wake_cancelled();
    }

    /// Whether there is room for another request.
    pub(crate) fn has_room(&self) -> bool {
        self.task_count.load(Ordering::SeqCst) < RUNNING + WAITING
    }

    /// Waits until there is room for another request.
    pub(crate) async fn room(&self) {
        loop {
            let ended = self.task_ended.notified();
            if self.has_room() {
                return;
            }
            ended.await;
        }
    }

    /// From here on nothing is parked: what waits can be waited for.
    pub(crate) fn close_parking(self: &Arc<Self>) {
        let jobs = self.parked().take();
        jobs.into_iter().flatten().for_each(|(_, job)| self.sleep(job));
    }

    /// Lets what runs come to its end, and stops it when `patience` is over.
    pub(crate) async fn drain(&self, patience: Duration) {
        self.tasks.close();
        let in_time = tokio::time::timeout(patience, self.tasks.wait()).await.is_ok();
        self.closing.cancel();
        if !in_time {
            tracing::warn!(requests = self.tasks.len(), "stopped what was still running");
            self.tasks.wait().await;
        }
    }

    /// Takes a job as far as it gets without waiting.
    fn go_on(self: &Arc<Self>, mut job: Job) {
        peer::forget_last_question();
        if let Poll::Ready(()) = job.work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return;
        }
        self.list(&mut job);
        let Some(question) = peer::last_question() else { return self.sleep(job) };
        let mut parked = self.parked();
        if let Some(jobs) = parked.as_mut() {
            jobs.insert(question, job);
        } else {
            drop(parked);
            self.sleep(job);
        }
    }

    /// Lets a job wait for anything but an answer of the client.
    fn sleep(self: &Arc<Self>, job: Job) {
        sleep(job.work, Seat::take(self));
    }

    /// Lets parked jobs notice that they were cancelled.
    fn wake_cancelled(self: &Arc<Self>) {
        let take = || {
            let mut parked = self.parked();
            let jobs = parked.as_mut()?;
            let question = *jobs.iter().find(|(_, job)| job.stop.is_cancelled())?.0;
            jobs.remove(&question)
        };
        while let Some(job) = take() {
            self.go_on(job);
        }
    }

    fn list(&self, job: &mut Job) {
        if let Some(key) = job.key.as_ref().filter(|_| !job.is_listed) {
            self.running().insert(key.clone(), job.stop.clone());
            job.is_listed = true;
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn parked(&self) -> MutexGuard<'_, Option<HashMap<u64, Job>>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among those that wait or are tasks, until it is dropped.
struct Seat {
    workload: Arc<Workload>,
    _token: TaskTrackerToken,
}

impl Seat {
    fn take(workload: &Arc<Workload>) -> Self {
        workload.task_count.fetch_add(1, Ordering::SeqCst);
        Self { _token: workload.tasks.token(), workload: Arc::clone(workload) }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.workload.task_count.fetch_sub(1, Ordering::SeqCst);
        self.workload.task_ended.notify_waiters();
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
