//! Accepts connections and limits those that are slow, numerous or never end.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::body_budget::BodyBudget;
use crate::connections::{ConnectionAdmission, ConnectionSlot, Connections};
use crate::session::HttpSessions;
use crate::timeouts::TimeoutStream;
use crate::{HttpSettings, HttpState, ReloadableTls, route};

/// How long running requests may take to finish on shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may wait for the next request.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
const TLS_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_HEADERS: usize = 100;
/// When waiting requests are answered with an error on shutdown; leaves time to deliver it.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(9);

/// Serves until `stop` is cancelled, then lets running requests finish.
pub async fn serve(settings: HttpSettings, listener: TcpListener, stop: CancellationToken) -> io::Result<()> {
    let HttpSettings {
        app,
        authenticator,
        origin_policy: guard,
        metrics,
        store,
        public_url,
        tls,
        connections,
        bodies,
        proxies,
    } = settings;
    let sessions = HttpSessions::default();
    let tasks = TaskTracker::new();
    let state = Arc::new(HttpState {
        app,
        authenticator,
        origin_policy: guard,
        metrics,
        store,
        public_url,
        sessions,
        bodies: BodyBudget::new(bodies),
        proxies,
        readiness: tokio::sync::Mutex::default(),
        tasks: tasks.clone(),
        drain_deadline: CancellationToken::new(),
    });
    let connections = Connections::new(connections);
    let sweeper = tokio::spawn(sweep_sessions(Arc::clone(&state)));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Probably out of file descriptors; the next attempt may succeed.
                tracing::warn!(%error, "accept failed");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let address = Some(peer.ip()).filter(|address| !state.proxies.contains(*address));
        let slot = match connections.admit(address) {
            ConnectionAdmission::Accepted { slot, shed } => {
                if shed {
                    state.metrics.count_refusal("connection_shed");
                }
                slot
            }
            ConnectionAdmission::Rejected => {
                state.metrics.count_refusal("too_many_connections");
                continue;
            }
        };
        let (state, tls, stop) = (Arc::clone(&state), tls.clone(), stop.clone());
        tasks.spawn(async move {
            let _counted = state.metrics.track_connection();
            slot.mark_started();
            let ended = tokio::select! {
                biased;
                ended = handle_connection(state, stream, peer, Arc::clone(&slot), tls, stop) => ended,
                () = slot.wait_until_shed() => Err("closed to make room for other connections".into()),
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "connection ended with an error");
            }
        });
    }
    drop(listener);
    state.app.shut_down();
    tasks.close();
    let all_ended = async { tokio::join!(state.sessions.end_all(DRAIN_TIMEOUT), tasks.wait()) };
    let told = tokio::spawn({
        let state = Arc::clone(&state);
        async move {
            tokio::time::sleep(DRAIN_TIMEOUT).await;
            state.drain_deadline.cancel();
        }
    });
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, all_ended).await.is_err() {
        tracing::warn!(connections = tasks.len(), "shutdown timeout, closing active connections");
    }
    sweeper.abort();
    told.abort();
    Ok(())
}

async fn sweep_sessions(state: Arc<HttpState>) {
    let mut tick = tokio::time::interval(Duration::from_secs(30));
    loop {
        tick.tick().await;
        state.sessions.sweep();
    }
}

type ConnectionError = Box<dyn std::error::Error + Send + Sync>;

async fn handle_connection(
    state: Arc<HttpState>,
    stream: TcpStream,
    peer: SocketAddr,
    slot: Arc<ConnectionSlot>,
    tls: Option<ReloadableTls>,
    stop: CancellationToken,
) -> Result<(), ConnectionError> {
    // Small events must be sent immediately (no Nagle delay).
    stream.set_nodelay(true)?;
    match tls {
        None => serve_http1(state, stream, peer, slot, stop).await,
        Some(tls) => {
            let stream = tokio::time::timeout(TLS_HANDSHAKE_TIMEOUT, tls.accept(stream)).await??;
            serve_http1(state, stream, peer, slot, stop).await
        }
    }
}

async fn serve_http1(
    state: Arc<HttpState>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    slot: Arc<ConnectionSlot>,
    stop: CancellationToken,
) -> Result<(), ConnectionError> {
    let (stream, progress) = TimeoutStream::new(stream);
    let watched = progress.clone();
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        // Begin here and not when the response future is first polled: the stream is read once more before
        // that.
        let is_read = progress.begin_request();
        let (state, progress, slot) = (Arc::clone(&state), progress.clone(), Arc::clone(&slot));
        async move {
            let _is_read = is_read;
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(progress);
            Ok::<_, Infallible>(route::handle_request(&state, peer.ip(), slot, request).await)
        }
    });
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_headers(MAX_HEADERS)
        .max_buf_size(2 * route::MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return ended.map_err(Into::into),
        () = watched.wait_until_idle(IDLE_TIMEOUT) => return Ok(()),
        () = stop.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    connection.await.map_err(Into::into)
}
