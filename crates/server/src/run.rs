//! Running the work that a request asks for.
//!
//! Most work is done in microseconds and never waits, so it is done on the thread that read the request: no task, no
//! wake-up, no second thread. Work that waits for the client's answer to a question is parked, and goes on on the
//! thread that reads the answer. Only what waits for something else becomes a task.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::Connection;
use crate::error::Failure;
use crate::outbox::Responder;
use crate::peer;

/// Work that owes an answer, on its way to it.
pub(crate) struct Job {
    work: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The id that the client knows it by.
    key: Option<String>,
    stop: CancellationToken,
    /// Whether it stands among the requests that are running.
    is_listed: bool,
}

/// Jobs that wait for nothing but an answer of the client, by the number of the question.
pub(crate) struct Parking {
    /// `None` when the connection is closing: from then on everything that waits is a task.
    jobs: Mutex<Option<HashMap<u64, Job>>>,
}

impl Parking {
    pub(crate) fn new() -> Self {
        Self { jobs: Mutex::new(Some(HashMap::new())) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, Job>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a job in, or gives it back if the connection is closing.
    fn park(&self, question: u64, job: Job) -> Option<Job> {
        match self.lock().as_mut() {
            Some(jobs) => {
                jobs.insert(question, job);
                None
            }
            None => Some(job),
        }
    }

    fn take(&self, question: u64) -> Option<Job> {
        self.lock().as_mut()?.remove(&question)
    }

    fn take_cancelled(&self) -> Option<Job> {
        let mut jobs = self.lock();
        let jobs = jobs.as_mut()?;
        let question = jobs.iter().find(|(_, job)| job.stop.is_cancelled()).map(|(question, _)| *question)?;
        jobs.remove(&question)
    }
}

impl Connection {
    /// Answers through `responder` with whatever `work` comes to.
    pub(crate) fn run(
        self: &Arc<Self>,
        key: Option<String>,
        stop: CancellationToken,
        responder: Responder,
        work: impl Future<Output = Result<Vec<u8>, Failure>> + Send + 'static,
    ) {
        let work = Box::pin(finish(work, stop.clone(), self.closing().clone(), responder));
        self.go_on(Job { work, key, stop, is_listed: false });
    }

    /// Takes a job as far as it gets without waiting.
    fn go_on(self: &Arc<Self>, mut job: Job) {
        peer::forget_last_question();
        if let Poll::Ready(()) = job.work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return self.end(&job);
        }
        self.list(&mut job);
        let job = match peer::last_question() {
            Some(question) => self.parking().park(question, job),
            None => Some(job),
        };
        if let Some(job) = job {
            self.spawn(job);
        }
    }

    /// Goes on with the job that asked this question, if it waits for nothing else.
    pub(crate) fn answered(self: &Arc<Self>, question: u64) {
        if let Some(job) = self.parking().take(question) {
            self.go_on(job);
        }
    }

    /// Lets parked jobs notice that they were cancelled.
    pub(crate) fn wake_cancelled(self: &Arc<Self>) {
        while let Some(job) = self.parking().take_cancelled() {
            self.go_on(job);
        }
    }

    /// Makes tasks of all parked jobs, now and from now on.
    pub(crate) fn close_parking(self: &Arc<Self>) {
        let jobs = self.parking().lock().take();
        jobs.into_iter().flatten().for_each(|(_, job)| self.spawn(job));
    }

    fn spawn(self: &Arc<Self>, mut job: Job) {
        self.note_task_start();
        let connection = Arc::clone(self);
        self.tasks().spawn(async move {
            job.work.as_mut().await;
            connection.end(&job);
            connection.note_task_end();
        });
    }

    fn list(&self, job: &mut Job) {
        if let Some(key) = job.key.as_ref().filter(|_| !job.is_listed) {
            self.lock_running().insert(key.clone(), job.stop.clone());
            job.is_listed = true;
        }
    }

    fn end(&self, job: &Job) {
        if let Some(key) = job.key.as_ref().filter(|_| job.is_listed) {
            self.lock_running().remove(key);
        }
    }
}

/// One answer for one request: the result, the failure, or silence where the client cancelled.
async fn finish(
    work: impl Future<Output = Result<Vec<u8>, Failure>> + Send,
    stop: CancellationToken,
    closing: CancellationToken,
    responder: Responder,
) {
    let outcome = tokio::select! {
        biased;
        () = stop.cancelled() => return responder.stay_silent(),
        outcome = AssertUnwindSafe(work).catch_unwind() => outcome,
        () = closing.cancelled() => Ok(Err(Failure::ShuttingDown)),
    };
    // Whatever the tool left running elsewhere has nobody to talk to any more.
    stop.cancel();
    match outcome {
        Ok(Ok(answer)) => responder.answer(answer),
        Ok(Err(failure)) => responder.fail(&failure),
        Err(_panic) => {
            tracing::error!("a tool panicked; its caller got an internal error");
            responder.fail(&Failure::Internal);
        }
    }
}
