//! Sessions as their users see them: one service or several over one store, with a clock that the tests set.

mod changes;
mod crowd;
mod desk;
mod faults;
mod forms;
mod kills;
mod leases;
mod limits;
mod owners;
mod talks;
mod tokens;
