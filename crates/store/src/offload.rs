//! Work that takes a processor for a while, such as changing a large design system many times.

use store_api::StoreError;
use tokio::sync::Semaphore;

/// How much of it runs at a time, in the whole process.
static COMPUTE_PERMITS: Semaphore = Semaphore::const_new(4);

/// Runs it on a thread of its own.
pub(crate) async fn run_blocking(work: Box<dyn FnOnce() + Send>) -> Result<(), StoreError> {
    let ended = |_| StoreError::Broken("a computation ended without an answer".to_owned());
    let place = COMPUTE_PERMITS
        .acquire()
        .await
        .map_err(|_| StoreError::Broken("no computation is possible".to_owned()))?;
    let work = move || {
        // Taken until it is done, even if the caller has gone: it cannot be stopped.
        let _place = place;
        work();
    };
    tokio::task::spawn_blocking(work).await.map_err(ended)
}
