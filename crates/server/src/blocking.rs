//! Work that blocks, on a thread of its own.

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

/// The same, for work that may take longer.
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
