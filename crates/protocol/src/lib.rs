//! Bytes to messages and back.
//!
//! [`decode`] turns one line or body into [`Incoming`]; [`encode`] turns answers into bytes;
//! [`Revision`] names every difference between the MCP revisions; [`mcp`] holds the payload types.
//!
//! This crate does no I/O, reads no clock and knows no tool, no framework and no product word.

pub mod encode;
pub mod mcp;

mod decode;
mod id;
mod message;
mod revision;
mod scan;

pub use decode::{Incoming, Limits, decode};
pub use id::Id;
pub use message::{
    EnvelopeCall, EnvelopeRequest, MalformedMessage, Message, MessageError, Notification, Params, Request,
    Response,
};
pub use revision::Revision;

/// The language a message is written in, which is the language its answer is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Newline JSON with `type`, `id`, `tool` and `params`, as fluxloop-mcp speaks it.
    Envelope,
    /// JSON-RPC over plain HTTP POST, as CODEFLUSS speaks it.
    Codefluss,
    /// The Model Context Protocol of one revision.
    Mcp(Revision),
}

impl Dialect {
    /// The MCP revision whose payload shapes this dialect uses, where it uses MCP payloads at all.
    pub fn revision(self) -> Option<Revision> {
        match self {
            Self::Envelope => None,
            // The CODEFLUSS document describes itself as 2024-11-05.
            Self::Codefluss => Some(Revision::V2024_11_05),
            Self::Mcp(revision) => Some(revision),
        }
    }
}
