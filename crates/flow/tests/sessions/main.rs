//! Sessions as their users see them: one service or several over one store, with a clock that the tests set.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails should stop")]

mod changes;
mod clocks;
mod crowd;
mod desk;
mod faults;
mod forms;
mod kills;
mod leases;
mod limits;
mod model;
mod owners;
mod talks;
mod tokens;
