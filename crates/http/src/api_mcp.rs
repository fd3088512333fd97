//! `POST /api/mcp`: one body, one answer, HTTP 200 whatever the answer says.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::to_bytes;
use axum::extract::{Request, State as FromState};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use server::{Connection, Outbox, Rules};
use tokio::sync::oneshot;

use crate::State;

/// Takes the one answer and drops everything else: a POST carries no news.
struct OneAnswer(Mutex<Option<oneshot::Sender<Vec<u8>>>>);

impl Outbox for OneAnswer {
    fn answer(&self, message: Vec<u8>) {
        if let Some(waiting) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // Nobody waits any more when the client hung up.
            let _ = waiting.send(message);
        }
    }

    fn stay_silent(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn ask(&self, _: Vec<u8>) -> bool {
        false
    }

    fn push(&self, _: Vec<u8>) {}
}

pub(crate) async fn handle(FromState(state): FromState<State>, request: Request) -> Response {
    if request.method() != Method::POST {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST")]).into_response();
    }
    if !is_json(&request) {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    }
    let (sender, answer) = oneshot::channel();
    let outbox = Arc::new(OneAnswer(Mutex::new(Some(sender))));
    let connection = Connection::new(state.app, state.principal, Rules::Codefluss, outbox);
    let Ok(body) = to_bytes(request.into_body(), connection.longest_message()).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    if !connection.receive(&body) {
        return StatusCode::OK.into_response();
    }
    let _hang_up = HangUp(connection);
    match answer.await {
        Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        // Everything in the body was cancelled by the body itself.
        Err(_) => StatusCode::OK.into_response(),
    }
}

/// Stops what still runs when the client hangs up, which drops the handler.
struct HangUp(Arc<Connection>);

impl Drop for HangUp {
    fn drop(&mut self) {
        self.0.cancel_all();
    }
}

fn is_json(request: &Request) -> bool {
    let media_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    media_type
        .and_then(|value| value.split(';').next())
        .is_some_and(|m| m.trim().eq_ignore_ascii_case("application/json"))
}
