//! `POST /api/mcp`: one body, one answer, HTTP 200 whatever the answer says; but for the few cases that the CODEFLUSS document
//! names.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use server::{Connection, Correlation, Language, Outbox, Place, Refusal, Rules};

use crate::body::{self, Accepts, Received, Unread};
use crate::caller::{Caller, Source};
use crate::channel::Channel;
use crate::door::Takes;
use crate::reply::{self, First, HangUp};
use crate::{State, oauth, route};

/// There are no streams here.
const PLAIN: Accepts = Accepts { json: true, stream: false };

pub(crate) async fn handle(state: &Arc<State>, source: &Source, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let rules = Rules::Codefluss(language(state, &parts.headers));
    if let Err(refusal) = body::check_type(&parts.headers) {
        return route::refuse(state, rules, refusal);
    }
    let correlation = body::correlation(&parts.extensions);
    let received = match state.authenticate(source, &parts.headers, Takes::Keys).await {
        Ok(caller) => body::receive(state, &caller, body).await.map(|received| (caller, received)),
        Err(refusal) => {
            let bytes = body::read_refused(state, source.address, body).await;
            Err(Unread { refusal, bytes })
        }
    };
    match received {
        Ok((caller, received)) => answer(state, caller, rules, received, correlation).await,
        Err(Unread { refusal, bytes }) => turn_away(state, rules, &bytes, refusal, &correlation),
    }
}

pub(crate) fn language(state: &State, headers: &HeaderMap) -> Language {
    let header = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    header.map_or(state.app.language(), |header| state.app.language().preferred_by(header))
}

async fn answer(
    state: &Arc<State>,
    caller: Caller,
    rules: Rules,
    received: Received,
    correlation: Correlation,
) -> Response {
    // The memory of the body is held until there is an answer.
    let Received { letter, standing, held: _held } = received;
    let call = || state.app.place(&caller.principal, Place::Call);
    let _seat = match letter.wants_answer().then(call).transpose() {
        Ok(seat) => seat,
        Err(refusal) => return route::refuse(state, rules, refusal),
    };
    let channel = Channel::for_request(false);
    let outbox = Arc::clone(&channel) as Arc<dyn Outbox>;
    let connection =
        Connection::new(Arc::clone(&state.app), caller.principal.clone(), rules, Arc::clone(&outbox));
    let is_answerable = connection.handle(letter, body::delivery(outbox, standing, correlation));
    let hang_up = HangUp(connection);
    let mut response = if is_answerable {
        answered(reply::first_of(state, &hang_up.0, &mut channel.read_after(0), PLAIN).await)
    } else {
        reply::empty(StatusCode::OK)
    };
    body::tell_standing(&mut response, standing);
    response
}

/// Refuses every message in the body, each with its own id.
fn turn_away(
    state: &Arc<State>,
    rules: Rules,
    bytes: &[u8],
    refusal: Refusal,
    correlation: &Correlation,
) -> Response {
    state.metrics.refused(refusal.kind());
    let answer = (!bytes.is_empty())
        .then(|| server::reject(&state.app, state.app.decode(bytes), rules, &refusal, correlation))
        .flatten();
    let whole = server::refusal(rules, refusal);
    let response = match answer {
        Some(answer) => reply::plain(answer),
        // Notifications are never answered, but for the status.
        None if whole.status == 200 && !bytes.is_empty() => reply::empty(StatusCode::OK),
        None => reply::plain(whole),
    };
    challenged(state, response)
}

fn challenged(state: &State, mut response: Response) -> Response {
    if response.status() == StatusCode::UNAUTHORIZED {
        oauth::challenge(state, &mut response);
    }
    response
}

fn answered(first: First) -> Response {
    match first {
        First::Plain(response) => response,
        // Everything in the body was cancelled by the body itself.
        First::Nothing | First::Stream(_) => reply::empty(StatusCode::OK),
    }
}
