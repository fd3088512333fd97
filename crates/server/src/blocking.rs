//! Work that blocks, on a thread of its own.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tree::Budget;

use crate::Call;
use crate::error::Failure;

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
    let place = Arc::clone(places).acquire_owned().await.map_err(|_| Failure::Internal)?;
    let work = move || {
        let _place = place;
        work()
    };
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(Failure::Internal))
}

/// The same as [`blocking`], for work that may take longer.
pub(crate) async fn blocking_for<T: Send + 'static>(
    call: &Call,
    wall: Duration,
    work: impl FnOnce(&Budget) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let _place = PLACES.acquire().await.map_err(|_| Failure::Internal)?;
    let stop = call.stop.child_token();
    let _stops_when_dropped = stop.clone().drop_guard();
    let (tell, mut told) = watch::channel((0, String::new()));
    let budget = Budget::unlimited()
        .within(wall)
        .until(move || stop.is_cancelled())
        .telling(move |done, what| drop(tell.send((done, what.to_owned()))));
    let mut work = tokio::task::spawn_blocking(move || work(&budget));
    loop {
        // The end first: progress that comes with it is no news.
        tokio::select! {
            biased;
            done = &mut work => return done.unwrap_or(Err(Failure::Internal)),
            Ok(()) = told.changed() => {
                let (done, what) = told.borrow_and_update().clone();
                call.outlet.progress(u32::try_from(done).unwrap_or(u32::MAX), None, &what);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    use futures_util::FutureExt as _;

    use super::*;

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
        let work = move || gate.recv().map_err(|_| Failure::Internal);
        // Whoever wanted it has gone.
        assert!(aside(&places, work).now_or_never().is_none());
        assert_eq!(places.available_permits(), 0);
        drop(open);
        drop(places.acquire().await.unwrap());
    }
}
