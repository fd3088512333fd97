//! `POST /api/mcp`: one body, one response, HTTP 200 regardless of its content, except for the few cases that
//! the CODEFLUSS specification names.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use server::{Connection, ConnectionMode, Correlation, Locale, Outbox, QuotaKind, RequestRejection};

use crate::auth::AcceptedCredentials;
use crate::body::{self, AcceptedMediaTypes, BodyError, ReceivedBody};
use crate::caller::{AuthenticatedCaller, RequestSource};
use crate::channel::Channel;
use crate::response::{self, CancelOnDrop, FirstEvent};
use crate::{HttpState, oauth, route};

/// This endpoint has no streams.
const JSON_ONLY: AcceptedMediaTypes = AcceptedMediaTypes { json: true, stream: false };

pub(crate) async fn handle(state: &Arc<HttpState>, source: &RequestSource, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let rules = ConnectionMode::Codefluss(preferred_language(state, &parts.headers));
    if let Err(rejection) = body::check_content_type(&parts.headers) {
        return route::refuse(state, rules, rejection);
    }
    let correlation = body::correlation(&parts.extensions);
    let received = match state.authenticate(source, &parts.headers, AcceptedCredentials::Keys).await {
        Ok(caller) => body::receive(state, &caller, body).await.map(|received| (caller, received)),
        Err(rejection) => {
            let bytes = body::read_refused(state, source.address, body).await;
            Err(BodyError { rejection, partial_body: bytes })
        }
    };
    match received {
        Ok((caller, received)) => respond(state, caller, rules, received, correlation).await,
        Err(BodyError { rejection, partial_body: bytes }) => {
            refuse_each_message(state, rules, &bytes, rejection, &correlation)
        }
    }
}

pub(crate) fn preferred_language(state: &HttpState, headers: &HeaderMap) -> Locale {
    let header = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    header.map_or(state.app.language(), |header| state.app.language().negotiate(header))
}

async fn respond(
    state: &Arc<HttpState>,
    caller: AuthenticatedCaller,
    mode: ConnectionMode,
    received: ReceivedBody,
    correlation: Correlation,
) -> Response {
    // The body's memory stays reserved until there is a response.
    let ReceivedBody { message: decoded, rate_limit, reservation: _held } = received;
    let call = || state.app.acquire_permit(&caller.principal, QuotaKind::Call);
    let _seat = match decoded.expects_response().then(call).transpose() {
        Ok(permit) => permit,
        Err(rejection) => return route::refuse(state, mode, rejection),
    };
    let channel = Channel::for_request(false);
    let outbox = Arc::clone(&channel) as Arc<dyn Outbox>;
    let connection =
        Connection::new(Arc::clone(&state.app), caller.principal.clone(), mode, Arc::clone(&outbox));
    let is_answerable = connection.handle(decoded, body::message_origin(outbox, rate_limit, correlation));
    let hang_up = CancelOnDrop(connection);
    let mut response = if is_answerable {
        into_response(
            response::read_first_event_or_drain(state, &hang_up.0, &mut channel.read_after(0), JSON_ONLY)
                .await,
        )
    } else {
        response::empty(StatusCode::OK)
    };
    body::add_rate_limit_headers(&mut response, rate_limit);
    response
}

/// Rejects every message in the body, each with its own id.
fn refuse_each_message(
    state: &Arc<HttpState>,
    mode: ConnectionMode,
    bytes: &[u8],
    rejection: RequestRejection,
    correlation: &Correlation,
) -> Response {
    state.metrics.count_refusal(rejection.kind());
    let answer = (!bytes.is_empty())
        .then(|| server::reject_all(&state.app, state.app.decode(bytes), mode, &rejection, correlation))
        .flatten();
    let whole = server::render_rejection(mode, rejection);
    let response = match answer {
        Some(answer) => response::json(answer),
        // Notifications get no response, only a status.
        None if whole.status == 200 && !bytes.is_empty() => response::empty(StatusCode::OK),
        None => response::json(whole),
    };
    with_challenge(state, response)
}

fn with_challenge(state: &HttpState, mut response: Response) -> Response {
    if response.status() == StatusCode::UNAUTHORIZED {
        oauth::challenge(state, &mut response);
    }
    response
}

fn into_response(first: FirstEvent) -> Response {
    match first {
        FirstEvent::Json(response) => response,
        // The body cancelled all of its own requests.
        FirstEvent::Closed | FirstEvent::Stream(_) => response::empty(StatusCode::OK),
    }
}
