//! Fault injection for tests: makes one file system operation fail.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Fails exactly one operation, or none by default.
#[derive(Default)]
pub(crate) struct FaultInjector {
    fault: Option<InjectedFault>,
}

struct InjectedFault {
    fail_at: u64,
    operations: AtomicU64,
}

impl FaultInjector {
    pub(crate) fn failing_at(n: u64) -> Self {
        Self { fault: Some(InjectedFault { fail_at: n, operations: AtomicU64::new(0) }) }
    }

    /// Called before every disk operation.
    pub(crate) fn check(&self) -> io::Result<()> {
        match &self.fault {
            Some(plan) if plan.operations.fetch_add(1, Ordering::Relaxed) == plan.fail_at => {
                Err(io::Error::other("injected fault"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn has_fired(&self) -> bool {
        self.fault.as_ref().is_some_and(|plan| plan.operations.load(Ordering::Relaxed) > plan.fail_at)
    }
}
