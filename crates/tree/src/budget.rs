//! How long work on other threads may go on. Dropping a future does not stop a thread; looking here does.

use std::time::{Duration, Instant};

/// Hears how much is done, and what is being done.
type ProgressListener = dyn Fn(u64, &str) + Send + Sync;

/// What blocking work has to look at while it works.
pub struct WorkBudget {
    deadline: Option<Instant>,
    is_cancelled: Box<dyn Fn() -> bool + Send + Sync>,
    progress: Box<ProgressListener>,
}

impl WorkBudget {
    /// No end and nobody who listens.
    pub fn unlimited() -> Self {
        Self { deadline: None, is_cancelled: Box::new(|| false), progress: Box::new(|_, _| ()) }
    }

    /// Ends after this time, from now on.
    #[must_use]
    pub fn with_timeout(mut self, time: Duration) -> Self {
        self.deadline = Instant::now().checked_add(time);
        self
    }

    /// Ends as soon as `stop` says so.
    #[must_use]
    pub fn with_cancellation(mut self, stop: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.is_cancelled = Box::new(stop);
        self
    }

    /// Tells `listener` how much is done, and what is being done.
    #[must_use]
    pub fn with_progress(mut self, listener: impl Fn(u64, &str) + Send + Sync + 'static) -> Self {
        self.progress = Box::new(listener);
        self
    }

    /// Nobody waits for the result any more.
    pub fn is_cancelled(&self) -> bool {
        (self.is_cancelled)()
    }

    /// The time is up.
    pub fn is_expired(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Tells how far the work is.
    pub fn report_progress(&self, done: u64, what: &str) {
        (self.progress)(done, what);
    }
}
