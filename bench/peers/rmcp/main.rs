//! A stock server of the official Rust SDK with one tool.

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};

#[derive(Clone)]
struct Hello;

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Echo {
    text: String,
}

#[tool_router]
impl Hello {
    #[tool(description = "Give a text back as it came.")]
    async fn echo(&self, Parameters(Echo { text }): Parameters<Echo>) -> Json<Echo> {
        Json(Echo { text })
    }
}

#[tool_handler]
impl ServerHandler for Hello {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Hello.serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
