//! What came first, within one process.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A reading of the monotonic clock of one process. Clocks that show the date are set now and then and differ between
/// machines, so what came first is told by these alone; and those of two processes cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessInstant {
    /// The process: a number that it drew at random when it started.
    pub instance: u64,
    /// The time since an origin that stays the same in this process.
    pub reading: Duration,
}

impl ProcessInstant {
    /// Whether it certainly came before the other one. Of two processes it is not known.
    pub fn is_before(self, other: Self) -> bool {
        self.instance == other.instance && self.reading < other.reading
    }
}
