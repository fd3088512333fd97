//! The server over HTTP: `/mcp` for MCP of every revision, `/api/mcp` for the CODEFLUSS way of speaking, `/ws` and `/sse` for
//! clients that know nothing else; who is let in, health and figures.
//!
//! This crate knows status codes and headers. It knows no tool and no method: a body goes to a
//! [`Connection`](server::Connection) like any line of a pipe.

mod accept;
mod api_mcp;
mod auth;
mod body;
mod body_budget;
mod caller;
mod channel;
mod client_address;
mod connections;
mod cors;
mod head_validation;
mod mcp;
mod metrics;
mod oauth;
mod origin;
mod probes;
mod response;
mod route;
mod session;
mod sse;
mod timeouts;
mod tls;
mod ws;

use std::sync::Arc;
use std::time::Instant;

use server::App;
use server::access::AccessStore;

pub use accept::serve;
pub use auth::Authenticator;
pub use body_budget::BodyLimits;
pub use client_address::TrustedProxies;
pub use connections::ConnectionLimits;
pub use metrics::{HttpMetrics, MetricsObserver};
pub use origin::OriginPolicy;
pub use tls::ReloadableTls;

use body_budget::BodyBudget;
use session::HttpSessions;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What a server over HTTP is made of.
pub struct HttpSettings {
    /// The server itself.
    pub app: Arc<App>,
    /// Who is let in.
    pub authenticator: Arc<Authenticator>,
    /// By which names, and from which pages.
    pub origin_policy: OriginPolicy,
    /// Where figures go. The app's observer should be a [`MetricsObserver`] of the same.
    pub metrics: Arc<HttpMetrics>,
    /// What has to be there for the server to be ready.
    pub store: Option<Arc<dyn AccessStore>>,
    /// The address that clients know, without a path: `https://mcp.example.com`.
    pub public_url: Option<String>,
    /// Certificates, if the server speaks TLS itself.
    pub tls: Option<ReloadableTls>,
    /// How many connections may be open at once.
    pub connections: ConnectionLimits,
    /// How much memory the bodies of requests may take.
    pub bodies: BodyLimits,
    /// Proxies whose word about their clients is taken.
    pub proxies: TrustedProxies,
}

/// What every request shares.
struct HttpState {
    app: Arc<App>,
    authenticator: Arc<Authenticator>,
    origin_policy: OriginPolicy,
    metrics: Arc<HttpMetrics>,
    store: Option<Arc<dyn AccessStore>>,
    public_url: Option<String>,
    sessions: HttpSessions,
    bodies: Arc<BodyBudget>,
    proxies: TrustedProxies,
    /// What the store said last, and when.
    readiness: tokio::sync::Mutex<Option<(Instant, bool)>>,
    /// Connections, and what has become of them. The server waits for them when it ends.
    tasks: TaskTracker,
    /// Cancelled when whoever still waits for an answer has to be told that there will be none.
    drain_deadline: CancellationToken,
}
