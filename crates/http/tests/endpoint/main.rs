//! The server over a real socket, written byte by byte.

#![expect(clippy::unwrap_used, reason = "a test that fails should stop")]

mod codefluss;
mod harness;
