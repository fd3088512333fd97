//! Decoding and encoding of messages.
//!
//! [`decode`] turns one line or body into [`Incoming`]; [`encode`] turns responses into bytes;
//! [`Revision`] names every difference between the MCP revisions; [`mcp`] contains the payload types.
//!
//! This crate does no I/O, reads no clock, and knows nothing about tools, frameworks or the product.

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

/// The wire format of a message, and therefore of its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Newline-delimited JSON with `type`, `id`, `tool` and `params`, as in fluxloop-mcp.
    Envelope,
    /// JSON-RPC over plain HTTP POST, as in CODEFLUSS.
    Codefluss,
    /// One revision of the Model Context Protocol.
    Mcp(Revision),
}

impl Dialect {
    /// The MCP revision whose payload shapes this dialect uses, if it uses MCP payloads at all.
    pub fn revision(self) -> Option<Revision> {
        match self {
            Self::Envelope => None,
            // The CODEFLUSS document describes itself as 2024-11-05.
            Self::Codefluss => Some(Revision::V2024_11_05),
            Self::Mcp(revision) => Some(revision),
        }
    }
}
