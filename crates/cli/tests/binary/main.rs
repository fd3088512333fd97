//! The binary as its users meet it, and the shape of the workspace that makes it.

#![expect(clippy::disallowed_methods, reason = "these tests start programs")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails should stop")]

mod captures;
mod commands;
mod crate_dependencies;
mod docs;
mod documents;
mod hardening;
mod insight;
mod integrate;
mod interactive;
mod names;
mod plans;
mod process;
mod projects;
mod pty;
mod replicas;
mod rmcp_client;
mod serving;
mod stdio;
mod terminal;
mod transfer;
