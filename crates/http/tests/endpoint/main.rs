//! The server over a real socket, written byte by byte.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails should stop")]

mod access;
mod codefluss;
mod correlation;
mod harness;
mod hostile;
mod interactive;
mod log;
mod mcp_session;
mod mcp_stateless;
mod old_pair;
mod pressure;
mod projects;
mod tokens;
mod ws;
