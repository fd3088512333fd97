//! Authentication and authorization: scopes, API keys, JWTs, rate limits, and the store interface they need.
//!
//! Rules only: no protocol, no SQL, and callers pass in the time.

mod jwt;
mod key;
mod key_verifier;
mod principal;
mod rate_limit;
mod scope;
mod store;
#[cfg(test)]
mod testing;

pub use jwt::{JwtPolicy, JwtRejection, JwtVerifier};
pub use key::{KeyCredential, KeyEnvironment, KeyRecord, KeyRejection, Pepper};
pub use key_verifier::{KeyVerifier, KeyVerifyError};
pub use principal::{Forbidden, Principal};
pub use rate_limit::{RateLimit, RateLimitStatus, RateLimiter};
pub use scope::Scope;
pub use store::{AccessStore, BucketLease, BucketParams, ClockReading, KeyListing};
pub use store_api::{StoreError, StoreFuture};
