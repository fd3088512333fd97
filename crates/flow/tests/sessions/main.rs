//! Tests of the public session API: one or more services over one store, with a manual clock.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails should stop")]

mod clock_skew;
mod code_changes;
mod concurrency;
mod conversations;
mod crash_recovery;
mod faulty_store;
mod forms;
mod harness;
mod leases;
mod limits;
mod model;
mod owners;
mod tokens;
