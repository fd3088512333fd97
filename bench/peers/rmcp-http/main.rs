//! A stock server of the official Rust SDK with one tool, over HTTP. With `stateless` it keeps no sessions and answers in
//! JSON where it can; otherwise it is as the SDK has it by default.

use std::io::Write;
use std::sync::Arc;

use axum::Router;
use axum::serve::ListenerExt;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use tokio::net::TcpListener;

#[derive(Clone)]
struct RmcpHttpEchoServer;

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct RmcpHttpEcho {
    text: String,
}

#[tool_router]
impl RmcpHttpEchoServer {
    #[tool(description = "Give a text back as it came.")]
    async fn echo(&self, Parameters(RmcpHttpEcho { text }): Parameters<RmcpHttpEcho>) -> Json<RmcpHttpEcho> {
        Json(RmcpHttpEcho { text })
    }
}

#[tool_handler]
impl ServerHandler for RmcpHttpEchoServer {}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut config = StreamableHttpServerConfig::default();
    if std::env::args().any(|arg| arg == "stateless") {
        config = config.with_legacy_session_mode(false).with_json_response(true);
    }
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(RmcpHttpEchoServer), sessions, config);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stderr(), "listens on http://{}/mcp", listener.local_addr()?)?;
    // The SDK's examples leave this out. Without it, streams would wait for the client's acknowledgements.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, Router::new().nest_service("/mcp", service)).await
}
