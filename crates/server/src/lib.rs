//! Where wire meets domain.
//!
//! Two tables and no more: `rpc/dispatch.rs` (method to handler) and [`tools`] (name to tool). A transport
//! makes a [`Connection`] and hands it bytes; answers come out of its [`Outbox`]. Nothing here knows sockets
//! or SQL, and no tool knows which wire it serves.

pub mod tools;
pub mod transport;

mod app;
mod blocking;
mod connection;
mod conversation;
mod error;
mod locale;
mod rpc;
mod telemetry;

/// Keys, tokens and limits, for transports that have to ask for them.
pub use access;
pub use access::{Principal, Scope};
pub use app::documents::DocumentSettings;
pub use app::project_scope::{ProjectStoreOpener, ProjectStoreResult};
pub use app::{
    App, AppBuilder, CheckPolicy, CitationFormat, Clock, EnvelopeErrors, FlowMode, FlowSettings, OsEntropy,
    SessionStoreOpener, SessionStoreResult, SystemClock,
};
pub use codebase::{find_invisible_chars, is_invisible_char, replace_invisible_chars};
pub use connection::Connection;
pub use connection::decoded::{DecodedMessage, MessageOrigin};
pub use connection::mirrored_headers::MirroredHeaders;
pub use connection::mode::ConnectionMode;
pub use connection::outbox::{EncodedResponse, Outbox};
pub use connection::quotas::{QuotaKind, QuotaLimits, QuotaPermit};
pub use connection::reject::{reject_all, render_rejection};
pub use error::RequestRejection;
pub use flow::{self, Entropy, Seal, SealKey};
pub use jiff::Timestamp;
pub use knowledge;
pub use locale::Locale;
pub use projects;
pub use protocol::Revision;
pub use protocol::mcp::{ClientCapabilities, LogLevel};
pub use rpc::embedded::{
    EmbeddedProvider, ProviderContext, ProviderError, ProviderFuture, ProviderListKind, ProviderReply,
};
pub use rpc::tool_context::{Notifier, ToolContext};
pub use telemetry::request_span::{
    Correlation, PanicSite, RequestSpan, TraceId, in_request_span, record_panic,
};
pub use telemetry::throttle::LogThrottle;
pub use telemetry::{Observer, RequestRecord};
pub use tools::support::entry::is_same_word;
pub use tree::check_root;
