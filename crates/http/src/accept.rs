//! Connections: taking them, and keeping those from doing harm that are slow, many, or never end.

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

use crate::budget::BodyBudget;
use crate::connections::{Admitted, Connections, Slot};
use crate::pace::Pace;
use crate::session::Sessions;
use crate::{Settings, State, Tls, route};

/// How long running requests may take to come to their end.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection may wait for the next request.
const IDLE: Duration = Duration::from_mins(1);
/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The most headers that a request may have.
const HEADERS: usize = 100;
/// After how much of this those are told who still wait for an answer.
const LAST_WORD: Duration = Duration::from_secs(9);

/// Serves until `stop` is cancelled, then lets running requests come to their end.
pub async fn serve(settings: Settings, listener: TcpListener, stop: CancellationToken) -> io::Result<()> {
    let Settings { app, door, guard, metrics, store, public_url, tls, connections, bodies, proxies } =
        settings;
    let sessions = Sessions::default();
    let tasks = TaskTracker::new();
    let state = Arc::new(State {
        app,
        door,
        guard,
        metrics,
        store,
        public_url,
        sessions,
        bodies: BodyBudget::new(bodies),
        proxies,
        readiness: tokio::sync::Mutex::default(),
        tasks: tasks.clone(),
        time_is_up: CancellationToken::new(),
    });
    let connections = Connections::new(connections);
    let sweeper = tokio::spawn(sweep(Arc::clone(&state)));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file descriptors, most likely. The next one may find some.
                tracing::warn!(%error, "cannot take a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let address = Some(peer.ip()).filter(|address| !state.proxies.contains(*address));
        let slot = match connections.admit(address) {
            Admitted::Yes { slot, shed } => {
                if shed {
                    state.metrics.refused("connection_shed");
                }
                slot
            }
            Admitted::No => {
                state.metrics.refused("too_many_connections");
                continue;
            }
        };
        let (state, tls, stop) = (Arc::clone(&state), tls.clone(), stop.clone());
        tasks.spawn(async move {
            let _counted = state.metrics.connection();
            slot.start();
            let ended = tokio::select! {
                biased;
                ended = connect(state, stream, peer, Arc::clone(&slot), tls, stop) => ended,
                () = slot.is_shed() => Err("closed to make room for others".into()),
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended");
            }
        });
    }
    drop(listener);
    state.app.shut_down();
    tasks.close();
    let all_ended = async { tokio::join!(state.sessions.end_all(LAST_WORD), tasks.wait()) };
    let told = tokio::spawn({
        let state = Arc::clone(&state);
        async move {
            tokio::time::sleep(LAST_WORD).await;
            state.time_is_up.cancel();
        }
    });
    if tokio::time::timeout(PATIENCE, all_ended).await.is_err() {
        tracing::warn!(connections = tasks.len(), "closed connections that were still at work");
    }
    sweeper.abort();
    told.abort();
    Ok(())
}

async fn sweep(state: Arc<State>) {
    let mut tick = tokio::time::interval(Duration::from_secs(30));
    loop {
        tick.tick().await;
        state.sessions.sweep();
    }
}

/// Why a connection has ended.
type Ended = Box<dyn std::error::Error + Send + Sync>;

async fn connect(
    state: Arc<State>,
    stream: TcpStream,
    peer: SocketAddr,
    slot: Arc<Slot>,
    tls: Option<Tls>,
    stop: CancellationToken,
) -> Result<(), Ended> {
    // Small events must not wait for more to come.
    stream.set_nodelay(true)?;
    match tls {
        None => talk(state, stream, peer, slot, stop).await,
        Some(tls) => {
            let stream = tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await??;
            talk(state, stream, peer, slot, stop).await
        }
    }
}

async fn talk(
    state: Arc<State>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    slot: Arc<Slot>,
    stop: CancellationToken,
) -> Result<(), Ended> {
    let (stream, progress) = Pace::new(stream);
    let watched = progress.clone();
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        // At once, and not when the answer is first asked for: the stream is read once more before that.
        let is_read = progress.is_read();
        let (state, progress, slot) = (Arc::clone(&state), progress.clone(), Arc::clone(&slot));
        async move {
            let _is_read = is_read;
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(progress);
            Ok::<_, Infallible>(route::answer(&state, peer.ip(), slot, request).await)
        }
    });
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_headers(HEADERS)
        .max_buf_size(2 * route::HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return ended.map_err(Into::into),
        () = watched.is_silent_for(IDLE) => return Ok(()),
        () = stop.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    connection.await.map_err(Into::into)
}
