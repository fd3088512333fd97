//! Deadline and cancellation for blocking work. Dropping a future does not stop a thread, so the work must
//! poll the budget.

use std::time::{Duration, Instant};

/// Receives the amount of work done and a label for it.
type ProgressListener = dyn Fn(u64, &str) + Send + Sync;

/// Deadline, cancellation and progress reporting of a blocking task.
pub struct WorkBudget {
    deadline: Option<Instant>,
    is_cancelled: Box<dyn Fn() -> bool + Send + Sync>,
    progress: Box<ProgressListener>,
}

impl WorkBudget {
    /// No deadline, no cancellation, no progress listener.
    pub fn unlimited() -> Self {
        Self { deadline: None, is_cancelled: Box::new(|| false), progress: Box::new(|_, _| ()) }
    }

    /// Sets the deadline, counted from now.
    #[must_use]
    pub fn with_timeout(mut self, time: Duration) -> Self {
        self.deadline = Instant::now().checked_add(time);
        self
    }

    /// Cancels the work once `stop` returns `true`.
    #[must_use]
    pub fn with_cancellation(mut self, stop: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.is_cancelled = Box::new(stop);
        self
    }

    #[must_use]
    pub fn with_progress(mut self, listener: impl Fn(u64, &str) + Send + Sync + 'static) -> Self {
        self.progress = Box::new(listener);
        self
    }

    /// Whether the result is no longer needed.
    pub fn is_cancelled(&self) -> bool {
        (self.is_cancelled)()
    }

    pub fn is_expired(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub fn report_progress(&self, done: u64, what: &str) {
        (self.progress)(done, what);
    }
}
