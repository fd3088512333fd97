//! OAuth protected resource metadata (RFC 9728) and challenges.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use serde_json::json;
use server::{ConnectionMode, RequestRejection, Scope};

use crate::{HttpState, route};

const METADATA_PATH: &str = "/.well-known/oauth-protected-resource/mcp";

/// Names the authorization server that issues tokens for this server.
pub(crate) fn metadata(state: &HttpState) -> Response {
    let Some(tokens) = state.authenticator.jwt_verifier() else {
        return route::refuse(state, ConnectionMode::Session, RequestRejection::PathNotFound);
    };
    let body = json!({
        "resource": tokens.policy().audience,
        "authorization_servers": [tokens.policy().issuer],
        // Only what an ordinary client needs, because some clients request every scope listed here.
        "scopes_supported": [Scope::Read.as_str(), Scope::Write.as_str()],
        "bearer_methods_supported": ["header"],
        "resource_name": "fluxway",
    });
    let mut response = Response::new(Body::from(body.to_string()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Adds `WWW-Authenticate` to a 401 response.
pub(crate) fn challenge(state: &HttpState, response: &mut Response) {
    let place = state.public_url.as_ref().filter(|_| state.authenticator.jwt_verifier().is_some());
    let challenge = match place {
        Some(url) => format!("Bearer resource_metadata=\"{}{METADATA_PATH}\"", url.trim_end_matches('/')),
        None => "Bearer".to_owned(),
    };
    if let Ok(challenge) = HeaderValue::try_from(challenge) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
}

/// Adds `WWW-Authenticate` with the required scope to a 403 response.
pub(crate) fn challenge_scope(state: &HttpState, response: &mut Response) {
    challenge(state, response);
    let challenge = response.headers().get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    let separator = if challenge == Some("Bearer") { " " } else { ", " };
    let text = format!(
        "{}{separator}error=\"insufficient_scope\", scope=\"{}\"",
        challenge.unwrap_or("Bearer"),
        Scope::Write
    );
    if let Ok(text) = HeaderValue::try_from(text) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, text);
    }
}
