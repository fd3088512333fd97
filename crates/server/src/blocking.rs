//! Work that blocks, on a thread of its own.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinError, JoinHandle};
use tree::Budget;

use crate::Call;
use crate::error::Failure;
use crate::telemetry::request_span;

/// How many of them there are at a time, in the whole process: each may use every core, and a large stack.
static PLACES: Semaphore = Semaphore::const_new(4);

/// How long one call may work on a tree.
const WALL: Duration = Duration::from_secs(10);

/// Does `work` on another thread. It ends early when the client no longer wants the answer, or this future is dropped:
/// the budget says so, and `work` has to look. What the work tells about itself goes to the client.
pub(crate) async fn blocking<T: Send + 'static>(
    call: &Call,
    work: impl FnOnce(&Budget) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    blocking_for(call, WALL, work).await
}

/// Does `work` on another thread: what takes some milliseconds, and would hold up others for that long. It waits for one
/// of these places, and has it until it is done, even if nobody wants the answer any more: it cannot be stopped.
pub(crate) async fn aside<T: Send + 'static>(
    places: &Arc<Semaphore>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let place = Arc::clone(places).acquire_owned().await.map_err(Failure::internal)?;
    let work = move || {
        let _place = place;
        work()
    };
    spawn(work)?.await.unwrap_or_else(|error| Err(failed(error)))
}

/// The same as [`blocking`], for work that may take longer.
pub(crate) async fn blocking_for<T: Send + 'static>(
    call: &Call,
    wall: Duration,
    work: impl FnOnce(&Budget) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let _place = PLACES.acquire().await.map_err(Failure::internal)?;
    let stop = call.stop.child_token();
    let _stops_when_dropped = stop.clone().drop_guard();
    let (tell, mut told) = watch::channel((0, String::new()));
    let budget = Budget::unlimited()
        .within(wall)
        .until(move || stop.is_cancelled())
        .telling(move |done, what| drop(tell.send((done, what.to_owned()))));
    let mut work = spawn(move || work(&budget))?;
    loop {
        // The end first: progress that comes with it is no news.
        tokio::select! {
            biased;
            done = &mut work => return done.unwrap_or_else(|error| Err(failed(error))),
            Ok(()) = told.changed() => {
                let (done, what) = told.borrow_and_update().clone();
                call.outlet.progress(u32::try_from(done).unwrap_or(u32::MAX), None, &what);
            }
        }
    }
}

/// Starts `work` on a thread for blocking work, as part of the request that this thread works on.
fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<JoinHandle<Result<T, Failure>>, Failure> {
    let request = request_span::current();
    // tokio panics if the operating system refuses the thread, but has queued the work by then and would do it whenever
    // another call gets a thread. Work that was told to have failed must not be done after all, so it is taken back.
    let kept = Arc::new(Mutex::new(Some(work)));
    let taken = Arc::clone(&kept);
    let take = move || {
        let work = taken.lock().unwrap_or_else(PoisonError::into_inner).take();
        let work = || work.map_or_else(|| Err(Failure::internal("the work was taken back")), |work| work());
        match request {
            Some(request) => request.enter_span(work),
            None => work(),
        }
    };
    catch_unwind(AssertUnwindSafe(|| tokio::task::spawn_blocking(take))).map_err(|panic| {
        drop(kept.lock().unwrap_or_else(PoisonError::into_inner).take());
        // It becomes a failure with a text of its own.
        request_span::current().map(|request| request.take_panic());
        Failure::no_thread(refused_thread(panic.downcast_ref::<String>().map(String::as_str)))
    })
}

/// Why tokio could not start a thread, as far as its panic says.
fn refused_thread(message: Option<&str>) -> io::Error {
    let cause = message.and_then(|message| message.strip_prefix("OS can't spawn worker thread: "));
    io::Error::other(cause.unwrap_or("the operating system refused").to_owned())
}

/// Why work on another thread came to no end of its own.
fn failed(error: JoinError) -> Failure {
    if error.is_panic() {
        let site = request_span::current().and_then(|request| request.take_panic());
        return Failure::internal(site.unwrap_or_default());
    }
    Failure::internal("the runtime ended before work on a blocking thread was begun")
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
    async fn so_many_work_aside_at_a_time() {
        let places = Arc::new(Semaphore::new(2));
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        // Each waits until there is another one.
        let pair = Arc::new(Barrier::new(2));
        let working = |_| {
            let (now, most, pair) = (Arc::clone(&now), Arc::clone(&most), Arc::clone(&pair));
            aside(&places, move || {
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
    async fn a_place_is_taken_until_the_work_is_done() {
        let places = Arc::new(Semaphore::new(1));
        let (open, gate) = channel::<()>();
        let work = move || gate.recv().map_err(Failure::internal);
        // Whoever wanted it has gone.
        assert!(aside(&places, work).now_or_never().is_none());
        assert_eq!(places.available_permits(), 0);
        drop(open);
        drop(places.acquire().await.unwrap());
    }

    fn request() -> Arc<RequestSpan> {
        let principal = Arc::new(access::Principal::local_user(access::Scope::Read));
        let number = RequestNumber::Counted(1);
        RequestSpan::new(number, None, "tools/call".to_owned(), Some(principal), None, Arc::default())
    }

    #[tokio::test]
    async fn work_on_another_thread_is_part_of_the_request() {
        let (places, request) = (Arc::new(Semaphore::new(1)), request());
        let expected = Arc::clone(&request);
        let is_same = move || Ok(request_span::current().is_some_and(|found| Arc::ptr_eq(&found, &expected)));
        let found = request_span::work_on(Arc::clone(&request), aside(&places, is_same)).await;
        assert!(matches!(found, Ok(true)), "{found:?}");
        assert!(request_span::current().is_none());
    }

    #[tokio::test]
    async fn work_that_panics_is_an_internal_error_with_a_cause() {
        let places = Arc::new(Semaphore::new(1));
        #[expect(clippy::panic, reason = "that is what the test is about")]
        let work = || -> Result<(), Failure> { panic!("on purpose") };
        let failed = request_span::work_on(request(), aside(&places, work)).await;
        let Err(Failure::Internal { source }) = failed else { panic!("{failed:?}") };
        assert!(source.to_string().starts_with("a panic"), "{source}");
        assert_eq!(places.available_permits(), 1);
    }

    #[test]
    fn a_refused_thread_is_told_without_the_words_of_tokio() {
        let told = |message: Option<&str>| Failure::no_thread(refused_thread(message)).to_string();
        assert!(told(Some("OS can't spawn worker thread: no memory (os error 12)")).starts_with(
            "the server could not start a thread: no memory (os error 12); it may be out of memory"
        ));
        assert!(told(None).contains("the operating system refused"));
    }
}
