//! Who is calling, and what they may do: scopes, API keys, limits, and what a store must do for them.
//!
//! Rules only: no wire, no SQL, and the time is told.

mod gate;
mod key;
mod limit;
mod principal;
mod scope;
mod store;
#[cfg(test)]
mod testing;
mod token;

pub use gate::{Denied, Gate};
pub use key::{Credential, Environment, KeyRecord, Pepper, Refused};
pub use limit::{Limiter, Rate, Standing};
pub use principal::{Forbidden, Principal};
pub use scope::Scope;
pub use storage::{StoreError, Stored};
pub use store::{AccessStore, KeyListing, Lease, Moment, Terms};
pub use token::{BadToken, Tokens, Trust};
