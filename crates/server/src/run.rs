//! Running the work that a request asks for.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::Connection;
use crate::error::Failure;
use crate::outbox::Responder;

type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Connection {
    /// Answers through `responder` with whatever `work` comes to.
    ///
    /// Most work is done in microseconds and never waits, so it is tried on the spot first: no task, no wake-up, no
    /// second thread. Only what has to wait becomes a task.
    pub(crate) fn run(
        self: &Arc<Self>,
        key: Option<String>,
        stop: CancellationToken,
        responder: Responder,
        work: impl Future<Output = Result<Vec<u8>, Failure>> + Send + 'static,
    ) {
        let mut job: Job = Box::pin(finish(work, stop.clone(), self.closing().clone(), responder));
        let mut nobody = std::task::Context::from_waker(Waker::noop());
        if let Poll::Ready(()) = job.as_mut().poll(&mut nobody) {
            return;
        }
        if let Some(key) = &key {
            self.lock_running().insert(key.clone(), stop);
        }
        self.note_task_start();
        let connection = Arc::clone(self);
        self.tasks().spawn(async move {
            job.await;
            if let Some(key) = key {
                connection.lock_running().remove(&key);
            }
            connection.note_task_end();
        });
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
