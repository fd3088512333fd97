//! The official Rust client drives the binary: an outside reader of our bytes, in both eras.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, Implementation, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient};
use serde_json::{Value, json};

use crate::process::BINARY;

/// Somebody who wants to go to Lisbon.
#[derive(Clone, Default)]
struct Traveller {
    asked: Arc<AtomicU32>,
    progress: Arc<AtomicU32>,
}

impl ClientHandler for Traveller {
    fn get_info(&self) -> ClientConfig {
        let capabilities: ClientCapabilities = serde_json::from_value(json!({ "elicitation": {} })).unwrap();
        ClientConfig::new(capabilities, Implementation::new("test", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let request = serde_json::to_value(request).unwrap();
        let wishes = wishes();
        let fields = request["requestedSchema"]["properties"].as_object().unwrap();
        let content: Value = fields.keys().map(|name| (name.clone(), wishes[name].clone())).collect();
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }
}

fn wishes() -> Value {
    json!({ "destination": "Lisbon", "departure": "2035-05-01", "return": "2035-05-08", "travellers": 2, "class": "business", "confirm": true })
}

async fn connect(lifecycle: ClientLifecycleMode) -> (RunningService<RoleClient, Traveller>, Traveller) {
    let traveller = Traveller::default();
    let mut command = tokio::process::Command::new(BINARY);
    command.args(["--toolsets", "reference,diagnostics"]);
    let client = traveller
        .clone()
        .serve_with_lifecycle(TokioChildProcess::new(command).unwrap(), lifecycle)
        .await
        .unwrap();
    (client, traveller)
}

fn eras() -> [(&'static str, ClientLifecycleMode); 2] {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    [
        ("2025-11-25", ClientLifecycleMode::Initialize),
        ("2026-07-28", ClientLifecycleMode::Discover { preferred_versions }),
    ]
}

fn call(name: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(name).with_arguments(arguments.as_object().cloned().unwrap())
}

#[tokio::test]
async fn lists_calls_and_completes() {
    for (version, lifecycle) in eras() {
        let (client, traveller) = connect(lifecycle).await;
        assert_eq!(client.peer_info().unwrap().protocol_version.as_str(), version);
        let tools = client.list_all_tools().await.unwrap();
        assert_eq!(
            tools.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>()[..2],
            ["tell_fortune", "booking"]
        );

        let told = client.call_tool(call("tell_fortune", json!({ "category": "career" }))).await.unwrap();
        assert_eq!(told.structured_content.unwrap()["category"], "career");
        let refused = client.call_tool(call("tell_fortune", json!({ "category": "weather" }))).await.unwrap();
        assert_eq!(refused.is_error, Some(true));
        client.call_tool(call("nope", json!({}))).await.unwrap_err();
        client.call_tool(call("wait", json!({ "steps": 3, "step_ms": 5 }))).await.unwrap();
        assert_eq!(traveller.progress.load(Ordering::Relaxed), 2, "{version}: the third step is the answer");

        let completed = client.complete_prompt_simple("fortune", "category", "c").await.unwrap();
        assert_eq!(completed, ["career"]);
        assert_eq!(client.list_all_prompts().await.unwrap().len(), 2);
        assert_eq!(client.list_all_resources().await.unwrap().len(), 5);
        client.cancel().await.unwrap();
    }
}

#[tokio::test]
async fn answers_the_questions_of_an_interactive_tool() {
    for (version, lifecycle) in eras() {
        let (client, traveller) = connect(lifecycle).await;
        let booked = client.call_tool(call("booking", json!({}))).await.unwrap().structured_content.unwrap();
        assert_eq!(
            (&booked["destination"], &booked["class"]),
            (&json!("Lisbon"), &json!("business")),
            "{version}"
        );
        assert_eq!(traveller.asked.load(Ordering::Relaxed), 5);
        let plain = client.call_tool(call("booking", wishes())).await.unwrap().structured_content.unwrap();
        assert_eq!(plain["price"], booked["price"]);
        assert_eq!(traveller.asked.load(Ordering::Relaxed), 5, "arguments leave nothing to ask");
        client.cancel().await.unwrap();
    }
}
