//! Conversations that persist between turns: in a store, or on the client in a token.
//!
//! [`Sessions`] is the entry point: start, respond, status, cancel. The state of a session is a plain value
//! ([`Session`]) with pure transitions; a store keeps it sealed. Every write is a compare-and-swap on the
//! version, so of several concurrent answers exactly one is accepted, in whichever process it arrives. A slow
//! turn holds a lease; if its process dies, the lease expires and the next request for the session resumes
//! the turn.

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
