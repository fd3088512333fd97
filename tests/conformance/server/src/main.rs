//! The server that the official conformance suite is run against: Fluxway with the suite's tools and none of its
//! own. `--http ADDRESS` says where; everybody is let in.

mod fixtures;

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use fixtures::Fixtures;
use http_transport::{
    BodyLimits, ConnectionLimits, Door, Guard, Metrics, Settings, TrustedProxies, Watcher, serve,
};
use server::{App, Places, Principal, Scope};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--http");
    let address = arguments.nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(&address).await?;
    let address = listener.local_addr()?;
    let metrics = Arc::new(Metrics::default());
    let settings = Settings {
        app: App::builder()
            .toolsets(&[])
            .guest(Arc::new(Fixtures))
            .observer(Arc::new(Watcher(Arc::clone(&metrics))))
            // The suite leaves streams and sessions open.
            .places(Places { streams: 1000, sessions: 1000, ..Places::default() })
            .build(),
        door: Arc::new(Door::open(Principal::local_user(Scope::Read))),
        guard: Guard::new(address, &[], &[]),
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
