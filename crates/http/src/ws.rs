//! `/ws`: MCP over a WebSocket, one message per text frame.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use server::transport::ChannelOutbox;
use server::{Connection, ConnectionMode, Correlation, MessageOrigin, Outbox, Principal, QuotaKind};
use tokio::sync::mpsc;
use tracing::{Instrument, Span};

use crate::auth::{AcceptedCredentials, PresentedCredential};
use crate::caller::RequestSource;
use crate::timeouts::ConnectionProgress;
use crate::{HttpState, body, route};

/// How often the client is pinged and its credential verified again.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// How long running calls may take to finish on shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) async fn handle(state: &Arc<HttpState>, source: &RequestSource, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    let headers = &parts.headers;
    let entered = async {
        let caller = state.authenticate(source, headers, AcceptedCredentials::KeysAndTokens).await?;
        let permit = state.app.acquire_permit(&caller.principal, QuotaKind::Stream)?;
        Ok((caller, permit, state.authenticator.presented_credential(headers)))
    };
    let (caller, permit, pass) = match entered.await {
        Ok(entered) => entered,
        Err(rejection) => return route::refuse(state, ConnectionMode::Session, rejection),
    };
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    if let Some(progress) = parts.extensions.get::<ConnectionProgress>() {
        progress.mark_upgraded();
    }
    let correlation = body::correlation(&parts.extensions);
    let longest = state.app.max_message_bytes();
    let state = Arc::clone(state);
    let span = Span::current();
    upgrade.protocols(["mcp"]).max_message_size(longest).max_frame_size(longest).on_upgrade(
        async move |socket| {
            let _held = (permit, state.metrics.track_stream(), caller.serving);
            let tasks = state.tasks.clone();
            let connection = WsConnection::new(state, caller.principal, pass, socket, correlation).run();
            tasks.track_future(connection.instrument(span)).await;
        },
    )
}

/// The close code and reason for a failed connection. `None` if it is already gone.
fn close_code_for(error: axum::Error) -> Option<(u16, &'static str)> {
    use tungstenite::Error;
    match *error.into_inner().downcast::<Error>().ok()? {
        Error::Capacity(_) => Some((close_code::SIZE, "message too large")),
        Error::Utf8(_) => Some((close_code::INVALID, "message is not UTF-8")),
        Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake) => None,
        Error::Protocol(_) => Some((close_code::PROTOCOL, "invalid WebSocket frame")),
        _ => None,
    }
}

struct WsConnection {
    state: Arc<HttpState>,
    principal: Principal,
    credential: PresentedCredential,
    socket: WebSocket,
    connection: Arc<Connection>,
    outgoing: mpsc::UnboundedReceiver<Vec<u8>>,
    queue: Arc<ChannelOutbox>,
    /// The correlation of the request that opened the socket; messages are numbered after it.
    correlation: Correlation,
    message_count: u64,
}

impl WsConnection {
    fn new(
        state: Arc<HttpState>,
        principal: Principal,
        credential: PresentedCredential,
        socket: WebSocket,
        correlation: Correlation,
    ) -> Self {
        let (queue, outgoing) = ChannelOutbox::new();
        let queue = Arc::new(queue);
        let outbox = Arc::clone(&queue) as Arc<dyn Outbox>;
        let connection =
            Connection::new(Arc::clone(&state.app), principal.clone(), ConnectionMode::Stream, outbox);
        tokio::spawn(Arc::clone(&connection).announce_changes());
        Self {
            state,
            principal,
            credential,
            socket,
            connection,
            outgoing,
            queue,
            correlation,
            message_count: 0,
        }
    }

    async fn run(mut self) {
        let mut tick = tokio::time::interval(PING_INTERVAL);
        let app = Arc::clone(&self.state.app);
        let mut closing = std::pin::pin!(app.wait_for_shutdown());
        let end = loop {
            // Send first: while the client does not read, nothing more is read from it.
            tokio::select! {
                biased;
                Some(message) = self.outgoing.recv() => {
                    if self.send(message).await.is_err() {
                        break None;
                    }
                }
                incoming = self.socket.recv(), if self.connection.has_capacity() => match incoming {
                    Some(Ok(message)) => if let Some(end) = self.handle_frame(message).await { break end },
                    Some(Err(error)) => break close_code_for(error),
                    None => break None,
                },
                () = self.connection.wait_for_capacity(), if !self.connection.has_capacity() => {}
                _ = tick.tick() => {
                    if !self.state.authenticator.is_still_valid(&self.credential, app.now()).await {
                        break Some((close_code::POLICY, "the key is no longer valid"));
                    }
                    if self.socket.send(Message::Ping(Bytes::new())).await.is_err() {
                        break None;
                    }
                }
                () = closing.as_mut() => break Some((close_code::AWAY, "server shutting down")),
            }
        };
        self.finish(end).await;
    }

    async fn send(&mut self, message: Vec<u8>) -> Result<(), axum::Error> {
        match Utf8Bytes::try_from(message) {
            Ok(text) => self.socket.send(Message::Text(text)).await,
            // Unreachable: messages are JSON, which is valid UTF-8.
            Err(_) => Ok(()),
        }
    }

    /// Handles one frame. Returns the close code if the connection has to end.
    async fn handle_frame(&mut self, message: Message) -> Option<Option<(u16, &'static str)>> {
        let text = match message {
            Message::Text(text) => text,
            Message::Binary(_) => return Some(Some((close_code::UNSUPPORTED, "use text frames"))),
            // The next read answers a close frame.
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => return None,
        };
        let now = self.state.app.now();
        if !self.state.authenticator.is_still_valid(&self.credential, now).await {
            return Some(Some((close_code::POLICY, "the key is no longer valid")));
        }
        let decoded = self.state.app.decode(text.as_bytes());
        let outbox = Arc::clone(&self.queue) as Arc<dyn Outbox>;
        let moment = self.state.app.clock_reading();
        let delivery = match self
            .state
            .authenticator
            .charge_rate_limit(&self.principal, decoded.rate_limit_cost(), moment)
            .await
        {
            Ok(rate_limit) => body::message_origin(outbox, rate_limit, self.next_correlation()),
            Err(rejection) => MessageOrigin::for_outbox(outbox)
                .with_max_requests(0, rejection)
                .with_correlation(self.next_correlation()),
        };
        self.connection.handle(decoded, delivery);
        None
    }

    fn next_correlation(&mut self) -> Correlation {
        self.message_count += 1;
        let Correlation { request, trace_id } = &self.correlation;
        let request = request.as_ref().map(|opened| format!("{opened}.{}", self.message_count).into());
        Correlation { request, trace_id: *trace_id }
    }

    async fn finish(mut self, end: Option<(u16, &'static str)>) {
        if end.is_none() {
            self.connection.cancel_all();
        }
        self.connection.drain(DRAIN_TIMEOUT, end.is_none()).await;
        if let Some((code, reason)) = end {
            while let Ok(message) = self.outgoing.try_recv() {
                let _ = self.send(message).await;
            }
            let _ = self.socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
        }
    }
}
