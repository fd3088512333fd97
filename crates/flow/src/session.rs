//! Conversations that are kept between turns: by a store, or by the client in a token.
//!
//! [`Sessions`] is all of it: begin one, respond, look, cancel. Where a session stands is a plain value ([`Session`]) with
//! plain rules; a store keeps it sealed, and every change to it is compare-and-swap on its version, so that of many
//! answers that come at once one is taken, whichever process it came to. While a turn takes long it holds a lease; when the
//! process dies the lease runs out, and whoever is asked about the session next goes on with it.

mod documents;
mod error;
mod limits;
mod memory;
mod persistence;
mod process_instant;
mod sessions;
mod single_use;
mod state;
mod store;
mod token;
mod transitions;
mod turn_runner;

pub use documents::SessionDocuments;
pub use error::SessionError;
pub use limits::Limits;
pub use memory::MemorySessionStore;
pub use process_instant::ProcessInstant;
pub use sessions::{
    RespondReply, SessionEnv, SessionRef, SessionSnapshot, Sessions, SleepFuture, StartRequest,
};
pub use single_use::SingleUseGuard;
pub use state::{PastTurn, Session, SessionFailure, SessionState};
pub use store::{Admission, SESSION_PREFIX, SessionOwner, SessionQuota, SessionRow, SessionStore};
pub use store_api::{StoreError, StoreFuture};
pub use transitions::UserResponse;

#[cfg(test)]
mod tests;
