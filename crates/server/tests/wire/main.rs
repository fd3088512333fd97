//! The server as a client sees it: whole conversations over the in-memory transport.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails should stop")]
#![expect(clippy::disallowed_methods, reason = "tests read their scripts and prepare folders")]

mod contexts;
mod documents;
mod harness;
mod hostile;
mod integrate;
mod interaction_modes;
mod logs;
mod plans;
mod projects;
mod repositories;
mod repository_text;
mod roots;
mod schema;
mod surface;
mod transcripts;
