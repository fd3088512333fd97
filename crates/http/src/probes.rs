//! Liveness, readiness and metrics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use server::{ConnectionMode, Scope};

use crate::auth::AcceptedCredentials;
use crate::caller::RequestSource;
use crate::{HttpState, response, route};

const READINESS_TIMEOUT: Duration = Duration::from_secs(2);

const READINESS_CACHE_TTL: Duration = Duration::from_millis(500);

/// Liveness.
pub(crate) fn health() -> Response {
    text_response(StatusCode::OK, "text/plain; charset=utf-8", "ok\n".to_owned())
}

/// Readiness: the store is reachable and writable.
pub(crate) async fn readiness(state: &HttpState) -> Response {
    let is_ready = match &state.store {
        None => true,
        Some(store) => {
            // The endpoint needs no authentication, so cache the result to limit the load on the store.
            let mut last = state.readiness.lock().await;
            match *last {
                Some((asked, is_ready)) if asked.elapsed() < READINESS_CACHE_TTL => is_ready,
                _ => {
                    let answer = tokio::time::timeout(READINESS_TIMEOUT, store.check_ready()).await;
                    let is_ready = matches!(answer, Ok(Ok(())));
                    *last = Some((Instant::now(), is_ready));
                    is_ready
                }
            }
        }
    };
    state.metrics.set_store_ready(is_ready);
    if is_ready {
        return text_response(StatusCode::OK, "text/plain; charset=utf-8", "ready\n".to_owned());
    }
    let not_ready = "the store is unreachable or not writable\n".to_owned();
    text_response(StatusCode::SERVICE_UNAVAILABLE, "text/plain; charset=utf-8", not_ready)
}

/// Metrics, for operators only.
pub(crate) async fn metrics(state: &Arc<HttpState>, source: &RequestSource, headers: &HeaderMap) -> Response {
    match state.authenticate(source, headers, AcceptedCredentials::Operators).await {
        Ok(caller)
            if state.authenticator.is_unauthenticated() || caller.principal.has_scope(Scope::Admin) =>
        {
            text_response(
                StatusCode::OK,
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
                state.metrics.render(),
            )
        }
        Ok(_) => response::empty(StatusCode::FORBIDDEN),
        Err(rejection) => route::refuse(state, ConnectionMode::Session, rejection),
    }
}

fn text_response(status: StatusCode, kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
