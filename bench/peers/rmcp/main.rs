//! A stock server of the official Rust SDK with one tool.

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};

#[derive(Clone)]
struct RmcpEchoServer;

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct RmcpEcho {
    text: String,
}

#[tool_router]
impl RmcpEchoServer {
    #[tool(description = "Give a text back as it came.")]
    async fn echo(&self, Parameters(RmcpEcho { text }): Parameters<RmcpEcho>) -> Json<RmcpEcho> {
        Json(RmcpEcho { text })
    }
}

#[tool_handler]
impl ServerHandler for RmcpEchoServer {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    RmcpEchoServer.serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
