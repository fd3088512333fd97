//! The HTTP+SSE transport of 2024-11-05: `GET /sse` opens the stream for all responses, `POST /messages`
//! sends messages.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use server::access::RateLimitStatus;
use server::{Connection, ConnectionMode, Outbox, QuotaKind, RequestRejection};

use crate::auth::AcceptedCredentials;
use crate::body::{self, AcceptedMediaTypes, BodyError, ReceivedBody};
use crate::caller::RequestSource;
use crate::channel::Channel;
use crate::response::{self, CancelOnDrop, EventStream, StreamGuard};
use crate::session::{HttpSession, SessionTransport};
use crate::{HttpState, route};

pub(crate) struct RemoveSessionOnDrop {
    state: Arc<HttpState>,
    name: String,
}

impl Drop for RemoveSessionOnDrop {
    fn drop(&mut self) {
        if let Some(session) = self.state.sessions.remove(&self.name) {
            tokio::spawn(async move { session.end(Duration::ZERO).await });
        }
    }
}

pub(crate) async fn open_stream(
    state: &Arc<HttpState>,
    source: &RequestSource,
    request: Request,
) -> Response {
    let headers = &request.into_parts().0.headers;
    let outcome = async {
        let caller = state.authenticate(source, headers, AcceptedCredentials::KeysAndTokens).await?;
        let principal = caller.principal;
        if !AcceptedMediaTypes::from_headers(headers).stream {
            return Err(RequestRejection::NotAcceptable { offered: "text/event-stream" });
        }
        let permit = state.app.acquire_permit(&principal, QuotaKind::Stream)?;
        let reserved =
            (state.app.acquire_permit(&principal, QuotaKind::Session)?, state.metrics.track_session());
        let channel = Channel::for_stream();
        let outbox = Arc::clone(&channel) as Arc<dyn Outbox>;
        let connection =
            Connection::new(Arc::clone(&state.app), principal.clone(), ConnectionMode::Session, outbox);
        let hang_up = CancelOnDrop(Arc::clone(&connection));
        let session = HttpSession::new(
            SessionTransport::LegacySse,
            &principal,
            connection,
            Arc::clone(&channel),
            reserved,
        );
        // A session with an open stream counts as in use.
        let in_use = Arc::clone(&session);
        let name = state.sessions.add(&state.app, session)?;
        let greeting = format!("event: endpoint\ndata: /messages?sessionId={name}\n\n");
        let farewell = RemoveSessionOnDrop { state: Arc::clone(state), name };
        let gauge = state.metrics.track_stream();
        let kept: Vec<StreamGuard> = vec![
            Box::new(in_use),
            Box::new(permit),
            Box::new(hang_up),
            Box::new(gauge),
            Box::new(farewell),
            Box::new(caller.serving),
        ];
        let pass = Some((Arc::clone(state), state.authenticator.presented_credential(headers)));
        Ok(response::event_stream(EventStream {
            preamble: Some(greeting.into()),
            credential: pass,
            guards: kept,
            ..EventStream::from_reader(channel.read_after(0))
        }))
    };
    outcome.await.unwrap_or_else(|rejection| route::refuse(state, ConnectionMode::Session, rejection))
}

pub(crate) async fn post_message(
    state: &Arc<HttpState>,
    source: &RequestSource,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let outcome = async {
        let caller = state.authenticate(source, &parts.headers, AcceptedCredentials::KeysAndTokens).await?;
        body::check_content_type(&parts.headers)?;
        let name =
            parts.uri.query().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("sessionId="));
        let name = name.ok_or(RequestRejection::SessionRequired)?;
        let session = state.sessions.find(name, SessionTransport::LegacySse, &caller.principal)?;
        let received = body::receive(state, &caller, body).await;
        let ReceivedBody { message: decoded, rate_limit, reservation: _held } =
            received.map_err(|BodyError { rejection, .. }| rejection)?;
        if let Some(RateLimitStatus { granted: 0, retry_after, .. }) =
            rate_limit.filter(|_| decoded.expects_response())
        {
            return Err(RequestRejection::RateLimited { retry_after });
        }
        if !session.connection.has_capacity() || session.is_backlogged() {
            return Err(RequestRejection::Busy);
        }
        let delivery = body::message_origin(
            session.notification_outbox(),
            rate_limit,
            body::correlation(&parts.extensions),
        );
        session.connection.handle(decoded, delivery.with_sender(caller.principal));
        let mut response = response::empty(StatusCode::ACCEPTED);
        body::add_rate_limit_headers(&mut response, rate_limit);
        Ok(response)
    };
    outcome.await.unwrap_or_else(|rejection| route::refuse(state, ConnectionMode::Session, rejection))
}
