//! The server as a client sees it: whole conversations over the in-memory transport.

mod fronts;
mod harness;
mod hostile;
mod schema;
mod surface;
mod transcripts;
