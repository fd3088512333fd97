//! Ordering of events within one process.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A reading of the monotonic clock of one process. Wall clocks are adjusted and differ between machines, so
/// only these readings determine the order of events. Readings of different processes are not comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessInstant {
    /// Identifies the process: a random number generated at startup.
    pub instance: u64,
    /// The time since an origin that is fixed for the process.
    pub reading: Duration,
}

impl ProcessInstant {
    /// Whether this reading is known to be earlier. Always `false` for readings of different processes.
    pub fn is_before(self, other: Self) -> bool {
        self.instance == other.instance && self.reading < other.reading
    }
}
