//! Failing on purpose.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Lets every operation pass but one.
#[derive(Default)]
pub(crate) struct Faults {
    plan: Option<Plan>,
}

struct Plan {
    fails: u64,
    done: AtomicU64,
}

impl Faults {
    pub(crate) fn at(n: u64) -> Self {
        Self { plan: Some(Plan { fails: n, done: AtomicU64::new(0) }) }
    }

    /// Asked before every operation on the disk.
    pub(crate) fn pass(&self) -> io::Result<()> {
        match &self.plan {
            Some(plan) if plan.done.fetch_add(1, Ordering::Relaxed) == plan.fails => {
                Err(io::Error::other("failed on purpose"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn reached(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.done.load(Ordering::Relaxed) > plan.fails)
    }
}
