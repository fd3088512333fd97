//! Transports: how bytes get to a [`Connection`](crate::Connection) and answers get out.

pub mod memory;
pub mod stdio;

mod lines;
mod queue;

pub use queue::Queue;
