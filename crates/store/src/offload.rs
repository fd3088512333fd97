//! CPU-bound work, such as applying many changes to a large design system.

use store_api::StoreError;
use tokio::sync::Semaphore;

/// Maximum number of concurrent jobs in the whole process.
static COMPUTE_PERMITS: Semaphore = Semaphore::const_new(4);

/// Runs the work on a blocking thread.
pub(crate) async fn run_blocking(work: Box<dyn FnOnce() + Send>) -> Result<(), StoreError> {
    let ended = |_| StoreError::Broken("a blocking job ended without a result".to_owned());
    let place = COMPUTE_PERMITS
        .acquire()
        .await
        .map_err(|_| StoreError::Broken("blocking jobs are unavailable".to_owned()))?;
    let work = move || {
        // Hold the permit until the work is done, even if the caller has gone: it cannot be stopped.
        let _place = place;
        work();
    };
    tokio::task::spawn_blocking(work).await.map_err(ended)
}
