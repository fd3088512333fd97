//! The server over a real socket, written byte by byte.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails should stop")]

mod access;
mod adversarial;
mod codefluss;
mod correlation;
mod harness;
mod interactive;
mod legacy_sse;
mod log;
mod mcp_session;
mod mcp_stateless;
mod projects;
mod resource_limits;
mod tokens;
mod ws;
