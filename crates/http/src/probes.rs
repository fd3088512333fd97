//! Whether the server lives, whether it is ready, and its figures.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use server::{Rules, Scope};

use crate::caller::Source;
use crate::door::Takes;
use crate::{State, reply, route};

/// How long the store may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);

/// For how long its answer counts.
const FRESH: Duration = Duration::from_millis(500);

/// It lives: it answers.
pub(crate) fn healthy() -> Response {
    text(StatusCode::OK, "text/plain; charset=utf-8", "ok\n".to_owned())
}

/// It is ready: its store can be reached.
pub(crate) async fn ready(state: &State) -> Response {
    let is_ready = match &state.store {
        None => true,
        Some(store) => {
            // Everybody may ask, so the store is asked once for all who ask within a second.
            let mut last = state.readiness.lock().await;
            match *last {
                Some((asked, is_ready)) if asked.elapsed() < FRESH => is_ready,
                _ => {
                    let answer = tokio::time::timeout(PATIENCE, store.ready()).await;
                    let is_ready = matches!(answer, Ok(Ok(())));
                    *last = Some((Instant::now(), is_ready));
                    is_ready
                }
            }
        }
    };
    state.metrics.store_is_ready(is_ready);
    if is_ready {
        return text(StatusCode::OK, "text/plain; charset=utf-8", "ready\n".to_owned());
    }
    let not_ready = "the store cannot be reached, or cannot be written to\n".to_owned();
    text(StatusCode::SERVICE_UNAVAILABLE, "text/plain; charset=utf-8", not_ready)
}

/// The figures, for those who may see them.
pub(crate) async fn metrics(state: &Arc<State>, source: &Source, headers: &HeaderMap) -> Response {
    match state.authenticate(source, headers, Takes::Operators).await {
        Ok(caller) if state.door.is_open() || caller.principal.may(Scope::Admin) => text(
            StatusCode::OK,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            state.metrics.page(),
        ),
        Ok(_) => reply::empty(StatusCode::FORBIDDEN),
        Err(refusal) => route::refuse(state, Rules::Session, refusal),
    }
}

fn text(status: StatusCode, kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
