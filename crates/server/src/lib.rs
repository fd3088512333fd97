//! Where wire meets domain.
//!
//! Two tables and no more: [`dispatch`] (method to handler) and [`tools`] (name to tool). A transport makes a
//! [`Connection`] and hands it bytes; answers come out of its [`Outbox`]. Nothing here knows sockets or SQL, and no
//! tool knows which wire it serves.

pub mod tools;
pub mod transport;

mod app;
mod blocking;
mod call;
mod completion;
mod connection;
mod context;
mod dispatch;
mod envelope;
mod error;
mod front;
mod lifecycle;
mod outbox;
mod page;
mod peer;
mod prompts;
mod resources;
mod session;
mod subscriptions;
mod work;

pub use access::{Principal, Scope};
pub use app::{App, AppBuilder, Clock, EnvelopeErrors, OsEntropy, SystemClock};
pub use call::{Call, Outlet};
pub use connection::{Connection, Rules};
pub use flow::{Entropy, SealKey};
pub use jiff::Timestamp;
pub use outbox::Outbox;
