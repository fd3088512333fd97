//! The server that the official conformance suite is run against: Fluxway with the suite's tools and none of its
//! own. `--http ADDRESS` says where; everybody is let in.

mod fixtures;

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use fixtures::Fixtures;
use http_transport::{
    Authenticator, BodyLimits, ConnectionLimits, HttpMetrics, HttpSettings, MetricsObserver, OriginPolicy,
    TrustedProxies, serve,
};
use server::{App, Principal, QuotaLimits, Scope};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--http");
    let address = arguments.nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(&address).await?;
    let address = listener.local_addr()?;
    let metrics = Arc::new(HttpMetrics::default());
    let settings = HttpSettings {
        app: App::builder()
            .toolsets(&[])
            .embedded_provider(Arc::new(Fixtures))
            .observer(Arc::new(MetricsObserver(Arc::clone(&metrics))))
            // The suite leaves streams and sessions open.
            .quota_limits(QuotaLimits { streams: 1000, sessions: 1000, ..QuotaLimits::default() })
            .build(),
        authenticator: Arc::new(Authenticator::without_authentication(Principal::local_user(Scope::Read))),
        origin_policy: OriginPolicy::new(address, &[], &[]),
        metrics,
        store: None,
        public_url: None,
        tls: None,
        connections: ConnectionLimits { total: 1024, per_address: 1024 },
        bodies: BodyLimits::new(256 << 20, 4 << 20),
        proxies: TrustedProxies::default(),
    };
    writeln!(std::io::stderr(), "listening on http://{address}/mcp")?;
    serve(settings, listener, CancellationToken::new()).await?;
    Ok(())
}
