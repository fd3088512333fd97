//! Transports: how bytes get to a [`Connection`](crate::Connection) and answers get out.

pub mod memory;
pub mod stdio;

mod channel_outbox;
mod lines;

pub use channel_outbox::ChannelOutbox;
