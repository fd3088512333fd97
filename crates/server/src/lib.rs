//! Where wire meets domain.
//!
//! Two tables and no more: [`dispatch`] (method to handler) and [`tools`] (name to tool). A transport makes a
//! [`Connection`] and hands it bytes; answers come out of its [`Outbox`]. Nothing here knows sockets or SQL, and no
//! tool knows which wire it serves.

pub mod tools;
pub mod transport;

mod app;
mod blocking;
mod connection;
mod conversation;
mod error;
mod language;
mod rpc;
mod telemetry;

/// Keys, tokens and limits, for transports that have to ask for them.
pub use access;
pub use access::{Principal, Scope};
pub use app::documents::DocumentSettings;
pub use app::project_scope::{OpenProjects, OpenedProjects};
pub use app::{
    App, AppBuilder, CheckPolicy, CitationFormat, Clock, EnvelopeErrors, FlowMode, FlowSettings,
    OpenSessions, OpenedSessions, OsEntropy, SystemClock,
};
pub use codebase::{invisible, is_invisible, reveal};
pub use connection::Connection;
pub use connection::decoded::{Delivery, Letter};
pub use connection::mirrored_headers::Claims;
pub use connection::mode::Rules;
pub use connection::outbox::{Answer, Outbox};
pub use connection::quotas::{Place, Places, Seat};
pub use connection::reject::{refusal, reject};
pub use error::Refusal;
pub use flow::{self, Entropy, Seal, SealKey};
pub use jiff::Timestamp;
pub use knowledge;
pub use language::Language;
pub use projects;
pub use protocol::Revision;
pub use protocol::mcp::{ClientCapabilities, LogLevel};
pub use rpc::embedded::{Answering, Guest, GuestFault, GuestReply, Listing, Visit};
pub use rpc::tool_context::{Call, Outlet};
pub use telemetry::request_span::{
    Correlation, PanicSite, RequestSpan, TraceId, in_request_span, note_panic,
};
pub use telemetry::throttle::LogThrottle;
pub use telemetry::{Observer, Seen};
pub use tree::check_root;
