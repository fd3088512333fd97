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
mod claims;
mod client_roots;
mod completion;
mod connection;
mod context;
mod crowd;
mod desk;
mod dispatch;
mod documents;
mod envelope;
mod error;
mod experiments;
mod front;
mod guest;
mod guests;
mod interaction;
mod language;
mod leftovers;
mod letter;
mod lifecycle;
mod observe;
mod outbox;
mod owned;
mod page;
mod peer;
mod plans;
mod prompts;
mod request;
mod resources;
mod rules;
mod session;
mod subscriptions;
mod throttle;
mod uri;
mod work;

/// Keys, tokens and limits, for transports that have to ask for them.
pub use access;
pub use access::{Principal, Scope};
pub use app::{
    App, AppBuilder, CheckPolicy, CitationFormat, Clock, EnvelopeErrors, FlowMode, FlowSettings,
    OpenSessions, OpenedSessions, OsEntropy, SystemClock,
};
pub use call::{Call, Outlet};
pub use claims::Claims;
pub use codebase::{invisible, is_invisible, reveal};
pub use connection::Connection;
pub use crowd::{Place, Places, Seat};
pub use desk::{OpenProjects, OpenedProjects};
pub use documents::DocumentSettings;
pub use error::Refusal;
pub use flow::{self, Entropy, Seal, SealKey};
pub use guest::{Answering, Guest, GuestFault, GuestReply, Listing, Visit};
pub use jiff::Timestamp;
pub use knowledge;
pub use language::Language;
pub use letter::{Delivery, Letter};
pub use observe::{Observer, Seen};
pub use outbox::{Answer, Outbox};
pub use projects;
pub use protocol::Revision;
pub use protocol::mcp::{ClientCapabilities, LogLevel};
pub use request::{Correlation, PanicSite, RequestSpan, TraceId, in_request_span, note_panic};
pub use rules::{Rules, refusal};
pub use throttle::LogThrottle;
pub use tree::check_root;
