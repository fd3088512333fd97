//! The server over HTTP: so far `POST /api/mcp`, the CODEFLUSS way of speaking, on loopback.
//!
//! This crate knows status codes and headers. It knows no tool and no method: a body goes to a
//! [`Connection`](server::Connection) like any line of a pipe.

mod api_mcp;
mod guard;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::any;
use server::{App, Principal};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How long running requests may take to come to their end.
const PATIENCE: Duration = Duration::from_secs(10);

/// What every request shares.
#[derive(Clone)]
struct State {
    app: Arc<App>,
    principal: Principal,
}

/// Opens a listener, on loopback only: there are no keys yet that could tell friend from stranger.
pub async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    if !address.ip().is_loopback() {
        let why =
            format!("{address} is not a loopback address, and without keys the server listens nowhere else");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    TcpListener::bind(address).await
}

/// Serves until `stop` is cancelled, then lets running requests come to their end.
pub async fn serve(
    app: Arc<App>,
    principal: Principal,
    listener: TcpListener,
    stop: CancellationToken,
) -> io::Result<()> {
    tracing::info!(address = %listener.local_addr()?, "listening");
    let router = Router::new()
        .route("/api/mcp", any(api_mcp::handle))
        .layer(from_fn(guard::only_from_this_machine))
        .with_state(State { app, principal });
    let serving = axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
    tokio::select! {
        outcome = serving => outcome,
        () = patience_is_over(stop) => Ok(()),
    }
}

/// Running requests get some time after the sign to stop, and not more.
async fn patience_is_over(stop: CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(PATIENCE).await;
}
