//! The official Rust client drives the binary: an outside reader of our bytes, in both eras, over a pipe and over HTTP.
//!
//! The client matrix has the same client with every check; these are the ones that need Rust alone.

#[path = "../../examples/rmcp_client/traveller.rs"]
mod traveller;

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::atomic::Ordering;

use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt};
use serde_json::json;

use crate::process::{BINARY, fluxway};
use traveller::{RmcpClient, Traveller, booking_arguments, call_params, connect, lifecycles};

fn server_command() -> tokio::process::Command {
    let mut command = tokio::process::Command::new(BINARY);
    command.args(["--config", "/dev/null", "--toolsets", "reference,diagnostics"]);
    command
}

/// The server over HTTP, with a key that opens it.
struct RmcpHttpFixture {
    child: Child,
    url: String,
    key: String,
    _folder: tempfile::TempDir,
}

impl RmcpHttpFixture {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}", folder.path().join("keys.db").display());
        let made = fluxway(&["keys", "create", "--database", &database]).output().unwrap();
        let key = String::from_utf8(made.stdout).unwrap().trim().to_owned();
        let http = ["serve", "--http", "127.0.0.1:0", "--database", &database];
        let mut child = fluxway(&[&http[..], &["--toolsets", "reference,diagnostics"]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split(' ').find(|word| word.starts_with("http://")).unwrap().to_owned();
        Self { child, url, key, _folder: folder }
    }

    async fn connect(&self, lifecycle: ClientLifecycleMode) -> (RmcpClient, Traveller) {
        let config =
            StreamableHttpClientTransportConfig::with_uri(self.url.as_str()).auth_header(self.key.as_str());
        let transport = StreamableHttpClientTransport::from_config(config);
        let traveller = Traveller::default();
        let client = traveller.clone().serve_with_lifecycle(transport, lifecycle).await.unwrap();
        (client, traveller)
    }
}

impl Drop for RmcpHttpFixture {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Every era over every wire.
async fn connect_all(hosted: &RmcpHttpFixture) -> Vec<(String, &'static str, RmcpClient, Traveller)> {
    let mut all = Vec::new();
    for (era, version, lifecycle) in lifecycles() {
        let (client, traveller) = connect(server_command(), lifecycle.clone()).await;
        all.push((format!("pipe {era}"), version, client, traveller));
        let (client, traveller) = hosted.connect(lifecycle).await;
        all.push((format!("http {era}"), version, client, traveller));
    }
    all
}

#[tokio::test]
async fn lists_calls_and_completes() {
    let hosted = RmcpHttpFixture::start();
    for (era, version, client, traveller) in connect_all(&hosted).await {
        assert_eq!(client.peer_info().unwrap().protocol_version.as_str(), version);
        let tools = client.list_all_tools().await.unwrap();
        assert_eq!(
            tools.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>()[..2],
            ["tell_fortune", "booking"]
        );

        let told =
            client.call_tool(call_params("tell_fortune", json!({ "category": "career" }))).await.unwrap();
        assert_eq!(told.structured_content.unwrap()["category"], "career");
        let refused =
            client.call_tool(call_params("tell_fortune", json!({ "category": "weather" }))).await.unwrap();
        assert_eq!(refused.is_error, Some(true));
        client.call_tool(call_params("nope", json!({}))).await.unwrap_err();
        client.call_tool(call_params("wait", json!({ "steps": 3, "step_ms": 5 }))).await.unwrap();
        let progress = traveller.wait_for_progress(2).await;
        assert_eq!(progress, [1.0, 2.0], "{era}: the third step is the answer");

        let completed = client.complete_prompt_simple("fortune", "category", "c").await.unwrap();
        assert_eq!(completed, ["career"]);
        assert_eq!(client.list_all_prompts().await.unwrap().len(), 2);
        assert_eq!(client.list_all_resources().await.unwrap().len(), 6);
        client.cancel().await.unwrap();
    }
}

#[tokio::test]
async fn answers_the_questions_of_an_interactive_tool() {
    let hosted = RmcpHttpFixture::start();
    for (era, _, client, traveller) in connect_all(&hosted).await {
        let booked =
            client.call_tool(call_params("booking", json!({}))).await.unwrap().structured_content.unwrap();
        assert_eq!(
            (&booked["destination"], &booked["class"]),
            (&json!("Lisbon"), &json!("business")),
            "{era}"
        );
        assert_eq!(traveller.question_count.load(Ordering::Relaxed), 5);
        let plain = client
            .call_tool(call_params("booking", booking_arguments()))
            .await
            .unwrap()
            .structured_content
            .unwrap();
        assert_eq!(plain["price"], booked["price"]);
        assert_eq!(traveller.question_count.load(Ordering::Relaxed), 5, "arguments leave nothing to ask");

        traveller.declines.store(true, Ordering::Relaxed);
        let declined = client.call_tool(call_params("booking", json!({}))).await.unwrap();
        assert_eq!(declined.is_error, Some(true));
        client.cancel().await.unwrap();
    }
}
