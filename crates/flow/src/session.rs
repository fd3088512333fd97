//! Conversations that are kept between turns: by a store, or by the client in a token.
//!
//! [`Sessions`] is all of it: begin one, respond, look, cancel. Where a session stands is a plain value ([`Session`]) with
//! plain rules; a store keeps it sealed, and every change to it is compare-and-swap on its version, so that of many
//! answers that come at once one is taken, whichever process it came to. While a turn takes long it holds a lease; when the
//! process dies the lease runs out, and whoever is asked about the session next goes on with it.

mod document;
mod limits;
mod machine;
mod memory;
mod moment;
mod problem;
mod run;
mod service;
mod spend;
mod state;
mod store;
mod token;

pub use document::Documents;
pub use limits::Limits;
pub use machine::Response;
pub use memory::Memory;
pub use moment::Moment;
pub use problem::Problem;
pub use service::{Begin, Pause, Responded, SessionEnv, Sessions, Standing, Which};
pub use spend::Spending;
pub use state::{Failed, PastTurn, Session, State};
pub use storage::{StoreError, Stored};
pub use store::{Admission, Owner, Quota, Row, SESSION_PREFIX, SessionStore};

#[cfg(test)]
mod tests;
