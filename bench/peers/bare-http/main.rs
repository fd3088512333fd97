//! The floor over HTTP: a handler that parses a call into a struct, answers it, and knows nothing else; and one that plays
//! `interaction.*`.

#[path = "../bare/interaction.rs"]
mod interaction;

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::post;
use axum::serve::ListenerExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[derive(Deserialize)]
struct BareRequest {
    id: Value,
    method: String,
    params: BareParams,
}

#[derive(Deserialize)]
struct BareParams {
    name: String,
    arguments: BareEcho,
}

#[derive(Deserialize, Serialize)]
struct BareEcho {
    text: String,
}

#[derive(Serialize)]
struct BareResponse {
    jsonrpc: &'static str,
    id: Value,
    result: BareCallResult,
}

/// What fluxway answers in 2026-07-28, key for key.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BareCallResult {
    content: [BareContent; 1],
    structured_content: BareEcho,
    result_type: &'static str,
    #[serde(rename = "_meta")]
    meta: Value,
}

#[derive(Serialize)]
struct BareContent {
    r#type: &'static str,
    text: String,
}

async fn call(body: Bytes) -> Result<impl IntoResponse, StatusCode> {
    let request: BareRequest = serde_json::from_slice(&body).map_err(|_| StatusCode::BAD_REQUEST)?;
    if (request.method.as_str(), request.params.name.as_str()) != ("tools/call", "echo") {
        return Err(StatusCode::NOT_FOUND);
    }
    let echo = request.params.arguments;
    let text = serde_json::to_string(&echo).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    let result = BareCallResult {
        content: [BareContent { r#type: "text", text }],
        structured_content: echo,
        result_type: "complete",
        meta: json!({ "io.modelcontextprotocol/serverInfo": { "name": "bare", "version": "1" } }),
    };
    let answer = BareResponse { jsonrpc: "2.0", id: request.id, result };
    let answer = serde_json::to_vec(&answer).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], answer))
}

async fn interact(
    State(talks): State<Arc<Mutex<interaction::BareSessions>>>,
    body: Bytes,
) -> Result<impl IntoResponse, StatusCode> {
    let message: Value = serde_json::from_slice(&body).map_err(|_| StatusCode::BAD_REQUEST)?;
    let answer = talks.lock().unwrap_or_else(PoisonError::into_inner).answer(&message);
    let answer = serde_json::to_vec(&answer.ok_or(StatusCode::NOT_FOUND)?);
    let answer = answer.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], answer))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stderr(), "listens on http://{}/mcp", listener.local_addr()?)?;
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let router = Router::new().route("/mcp", post(call)).route("/api/mcp", post(interact));
    axum::serve(listener, router.with_state(Arc::default())).await
}
