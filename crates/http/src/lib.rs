//! The HTTP server: `/mcp` for all MCP revisions, `/api/mcp` for the CODEFLUSS protocol, `/ws` and `/sse` for
//! clients that support nothing else, plus authentication, health checks and metrics.
//!
//! This crate handles status codes and headers. It knows no tools or methods: a body is passed to a
//! [`Connection`](server::Connection) like any line on stdio.

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

pub struct HttpSettings {
    pub app: Arc<App>,
    pub authenticator: Arc<Authenticator>,
    /// Allowed host names and page origins.
    pub origin_policy: OriginPolicy,
    /// The app's observer should be a [`MetricsObserver`] of the same metrics.
    pub metrics: Arc<HttpMetrics>,
    /// The store that readiness depends on.
    pub store: Option<Arc<dyn AccessStore>>,
    /// The public base URL, without a path: `https://mcp.example.com`.
    pub public_url: Option<String>,
    /// Set if the server terminates TLS itself.
    pub tls: Option<ReloadableTls>,
    pub connections: ConnectionLimits,
    /// Limits on the memory that request bodies may use.
    pub bodies: BodyLimits,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub proxies: TrustedProxies,
}

/// The state shared by all requests.
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
    /// The last result of the store check, and when it ran.
    readiness: tokio::sync::Mutex<Option<(Instant, bool)>>,
    /// Connections and upgraded streams. Shutdown waits for them.
    tasks: TaskTracker,
    /// Cancelled when requests that are still waiting must be answered with an error because the server shuts
    /// down.
    drain_deadline: CancellationToken,
}
