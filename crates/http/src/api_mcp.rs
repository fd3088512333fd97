//! `POST /api/mcp`: one body, one answer, HTTP 200 whatever the answer says; but for the few cases that the CODEFLUSS document
//! names.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use server::{Answer, Connection, Correlation, Delivery, Language, Outbox, Principal, Refusal, Rules, Scope};

use crate::body::{self, Accepts};
use crate::channel::Channel;
use crate::door::Takes;
use crate::reply::{self, First, HangUp};
use crate::{State, oauth, route};

/// The most that is read of a body whose sender is not let in, to find the id that the refusal should carry.
const STRANGERS: usize = 64 * 1024;

/// There are no streams here.
const PLAIN: Accepts = Accepts { json: true, stream: false };

pub(crate) async fn handle(state: &Arc<State>, from: IpAddr, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let rules = Rules::Codefluss(language(state, &parts.headers));
    let correlation = || body::correlation(&parts.extensions);
    let outcome = async {
        body::check_type(&parts.headers)?;
        let entered = state.door.enter(&parts.headers, from, Takes::Keys, state.app.now()).await;
        let most = state.app.longest_message();
        match entered {
            Ok(principal) => {
                let bytes = body::read(body, most).await?;
                match answer(state, principal, rules, &bytes, correlation()).await {
                    Ok(response) => Ok(response),
                    Err(refusal) => Ok(turn_away(state, rules, &bytes, refusal, correlation()).await),
                }
            }
            Err(refusal) => {
                let bytes = body::read(body, most.min(STRANGERS)).await.unwrap_or_default();
                Ok(turn_away(state, rules, &bytes, refusal, correlation()).await)
            }
        }
    };
    outcome.await.unwrap_or_else(|refusal| route::refuse(state, rules, refusal))
}

pub(crate) fn language(state: &State, headers: &HeaderMap) -> Language {
    let header = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    header.map_or(state.app.language(), |header| state.app.language().preferred_by(header))
}

async fn answer(
    state: &Arc<State>,
    principal: Principal,
    rules: Rules,
    bytes: &[u8],
    correlation: Correlation,
) -> Result<Response, Refusal> {
    let letter = state.app.decode(bytes);
    let standing = state.door.count(&principal, letter.weight(), state.app.now()).await?;
    let channel = Channel::for_request(false);
    let outbox = Arc::clone(&channel) as Arc<dyn Outbox>;
    let connection = Connection::new(Arc::clone(&state.app), principal, rules, Arc::clone(&outbox));
    let is_answerable = connection.handle(letter, body::delivery(outbox, standing, correlation));
    let hang_up = HangUp(connection);
    let mut response = if is_answerable {
        answered(reply::first_of(state, &hang_up.0, &mut channel.read_after(0), PLAIN).await)
    } else {
        reply::empty(StatusCode::OK)
    };
    body::tell_standing(&mut response, standing);
    Ok(response)
}

/// Refuses every message in the body, each with its own id.
async fn turn_away(
    state: &Arc<State>,
    rules: Rules,
    bytes: &[u8],
    refusal: Refusal,
    correlation: Correlation,
) -> Response {
    state.metrics.refused(refusal.kind());
    let whole = server::refusal(rules, refusal.clone());
    let (status, retry_after) = (whole.status, whole.retry_after);
    let channel = Channel::for_request(false);
    let outbox = Arc::clone(&channel) as Arc<dyn Outbox>;
    let nobody = Principal::local_user(Scope::Read);
    let connection = Connection::new(Arc::clone(&state.app), nobody, rules, Arc::clone(&outbox));
    let delivery = Delivery::to(outbox).granted(0, refusal).correlated(correlation);
    let is_answered = !bytes.is_empty() && connection.handle(state.app.decode(bytes), delivery);
    let response = match reply::first_if(is_answered, &channel).await {
        // Whatever the entries say, it is refused as a whole.
        Some(message) => reply::plain(Answer { message: message.to_vec(), status, retry_after }),
        // Notifications are never answered, but for the status.
        None if status == 200 && !bytes.is_empty() => reply::empty(StatusCode::OK),
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
