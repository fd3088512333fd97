//! Work that blocks, on a thread of its own.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinError, JoinHandle};
use tree::WorkBudget;

use crate::ToolContext;
use crate::error::RequestError;
use crate::telemetry::request_span;

/// How many of them there are at a time, in the whole process: each may use every core, and a large stack.
static BLOCKING_PERMITS: Semaphore = Semaphore::const_new(4);

/// How long one call may work on a tree.
const BLOCKING_TIMEOUT: Duration = Duration::from_secs(10);

/// Does `work` on another thread. It ends early when the client no longer wants the answer, or this future is
/// dropped: the budget says so, and `work` has to look. What the work tells about itself goes to the client.
pub(crate) async fn run_blocking<T: Send + 'static>(
    call: &ToolContext,
    work: impl FnOnce(&WorkBudget) -> Result<T, RequestError> + Send + 'static,
) -> Result<T, RequestError> {
    run_blocking_with_timeout(call, BLOCKING_TIMEOUT, work).await
}

/// Does `work` on another thread: what takes some milliseconds, and would hold up others for that long. It
/// waits for one of these places, and has it until it is done, even if the caller is gone: it
/// cannot be stopped.
pub(crate) async fn run_with_permit<T: Send + 'static>(
    places: &Arc<Semaphore>,
    work: impl FnOnce() -> Result<T, RequestError> + Send + 'static,
) -> Result<T, RequestError> {
    let place = Arc::clone(places).acquire_owned().await.map_err(RequestError::internal)?;
    let work = move || {
        let _place = place;
        work()
    };
    spawn_in_request(work)?.await.unwrap_or_else(|error| Err(map_join_error(error)))
}

/// The same as [`run_blocking`], for work that may take longer.
pub(crate) async fn run_blocking_with_timeout<T: Send + 'static>(
    call: &ToolContext,
    wall: Duration,
    work: impl FnOnce(&WorkBudget) -> Result<T, RequestError> + Send + 'static,
) -> Result<T, RequestError> {
    let _place = BLOCKING_PERMITS.acquire().await.map_err(RequestError::internal)?;
    let stop = call.stop.child_token();
    let _stops_when_dropped = stop.clone().drop_guard();
    let (tell, mut told) = watch::channel((0, String::new()));
    let budget = WorkBudget::unlimited()
        .with_timeout(wall)
        .with_cancellation(move || stop.is_cancelled())
        .with_progress(move |done, what| drop(tell.send((done, what.to_owned()))));
    let mut work = spawn_in_request(move || work(&budget))?;
    loop {
        // The end first: progress that comes with it is no news.
        tokio::select! {
            biased;
            done = &mut work => return done.unwrap_or_else(|error| Err(map_join_error(error))),
            Ok(()) = told.changed() => {
                let (done, what) = told.borrow_and_update().clone();
                call.notifier.progress(u32::try_from(done).unwrap_or(u32::MAX), None, &what);
            }
        }
    }
}

/// Starts `work` on a thread for blocking work, as part of the request that this thread works on.
fn spawn_in_request<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RequestError> + Send + 'static,
) -> Result<JoinHandle<Result<T, RequestError>>, RequestError> {
    let request = request_span::current_request();
    // tokio panics if the operating system refuses the thread, but has queued the work by then and would do
    // it whenever another call gets a thread. Work that was told to have failed must not be done after all,
    // so it is taken back.
    let kept = Arc::new(Mutex::new(Some(work)));
    let taken = Arc::clone(&kept);
    let take = move || {
        let work = taken.lock().unwrap_or_else(PoisonError::into_inner).take();
        let work =
            || work.map_or_else(|| Err(RequestError::internal("the work was taken back")), |work| work());
        match request {
            Some(request) => request.enter_span(work),
            None => work(),
        }
    };
    catch_unwind(AssertUnwindSafe(|| tokio::task::spawn_blocking(take))).map_err(|panic| {
        drop(kept.lock().unwrap_or_else(PoisonError::into_inner).take());
        // It becomes a failure with a text of its own.
        request_span::current_request().map(|request| request.take_panic());
        RequestError::thread_spawn_failed(thread_spawn_error(
            panic.downcast_ref::<String>().map(String::as_str),
        ))
    })
}

/// Why tokio could not start a thread, as far as its panic says.
fn thread_spawn_error(message: Option<&str>) -> io::Error {
    let cause = message.and_then(|message| message.strip_prefix("OS can't spawn worker thread: "));
    io::Error::other(cause.unwrap_or("the operating system refused").to_owned())
}

/// Why work on another thread came to no end of its own.
fn map_join_error(error: JoinError) -> RequestError {
    if error.is_panic() {
        let site = request_span::current_request().and_then(|request| request.take_panic());
        return RequestError::internal(site.unwrap_or_default());
    }
    RequestError::internal("the runtime ended before work on a blocking thread was begun")
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    use futures_util::FutureExt as _;

    use super::*;
    use crate::telemetry::request_span::{RequestNumber, RequestSpan};

    #[tokio::test]
    async fn concurrent_work_is_limited_by_permits() {
        let places = Arc::new(Semaphore::new(2));
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        // Each waits until there is another one.
        let pair = Arc::new(Barrier::new(2));
        let working = |_| {
            let (now, most, pair) = (Arc::clone(&now), Arc::clone(&most), Arc::clone(&pair));
            run_with_permit(&places, move || {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                pair.wait();
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            })
        };
        futures_util::future::join_all((0..8).map(working)).await;
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn permit_is_held_until_work_finishes_after_cancellation() {
        let places = Arc::new(Semaphore::new(1));
        let (open, gate) = channel::<()>();
        let work = move || gate.recv().map_err(RequestError::internal);
        // The caller is gone.
        assert!(run_with_permit(&places, work).now_or_never().is_none());
        assert_eq!(places.available_permits(), 0);
        drop(open);
        drop(places.acquire().await.unwrap());
    }

    fn test_request() -> Arc<RequestSpan> {
        let principal = Arc::new(access::Principal::local_user(access::Scope::Read));
        let number = RequestNumber::Counted(1);
        RequestSpan::new(number, None, "tools/call".to_owned(), Some(principal), None, Arc::default())
    }

    #[tokio::test]
    async fn blocking_work_runs_inside_the_current_request() {
        let (places, request) = (Arc::new(Semaphore::new(1)), test_request());
        let expected = Arc::clone(&request);
        let is_same =
            move || Ok(request_span::current_request().is_some_and(|found| Arc::ptr_eq(&found, &expected)));
        let found =
            request_span::run_in_request(Arc::clone(&request), run_with_permit(&places, is_same)).await;
        assert!(matches!(found, Ok(true)), "{found:?}");
        assert!(request_span::current_request().is_none());
    }

    #[tokio::test]
    async fn panicking_work_is_an_internal_error_with_a_cause() {
        let places = Arc::new(Semaphore::new(1));
        #[expect(clippy::panic, reason = "that is what the test is about")]
        let work = || -> Result<(), RequestError> { panic!("on purpose") };
        let failed = request_span::run_in_request(test_request(), run_with_permit(&places, work)).await;
        let Err(RequestError::Internal { source }) = failed else { panic!("{failed:?}") };
        assert!(source.to_string().starts_with("a panic"), "{source}");
        assert_eq!(places.available_permits(), 1);
    }

    #[test]
    fn thread_spawn_error_omits_tokio_wording() {
        let told = |message: Option<&str>| {
            RequestError::thread_spawn_failed(thread_spawn_error(message)).to_string()
        };
        assert!(told(Some("OS can't spawn worker thread: no memory (os error 12)")).starts_with(
            "the server could not start a thread: no memory (os error 12); it may be out of memory"
        ));
        assert!(told(None).contains("the operating system refused"));
    }
}
