//! A user behind the official Rust client: somebody who wants to go to Lisbon. Shared with the tests of the binary.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, Implementation, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient};
use serde_json::{Value, json};

/// A client at work.
pub(crate) type RmcpClient = RunningService<RoleClient, Traveller>;

/// Answers every question, or declines it, and writes down what it hears.
#[derive(Clone, Default)]
pub(crate) struct Traveller {
    pub(crate) declines: Arc<AtomicBool>,
    pub(crate) question_count: Arc<AtomicU32>,
    pub(crate) progress: Arc<Mutex<Vec<f64>>>,
}

impl Traveller {
    /// The progress that was heard of. Each notice is a task of its own, and may be done after the answer to the call came.
    pub(crate) async fn wait_for_progress(&self, count: usize) -> Vec<f64> {
        for _ in 0..6000 {
            if self.progress.lock().unwrap().len() >= count {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.progress.lock().unwrap().clone()
    }
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
        self.question_count.fetch_add(1, Ordering::Relaxed);
        if self.declines.load(Ordering::Relaxed) {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        }
        let request = serde_json::to_value(request).unwrap();
        let wishes = booking_arguments();
        let fields = request["requestedSchema"]["properties"].as_object().unwrap();
        let content: Value = fields.keys().map(|name| (name.clone(), wishes[name].clone())).collect();
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.lock().unwrap().push(params.progress);
    }
}

/// What the traveller has in mind.
pub(crate) fn booking_arguments() -> Value {
    json!({ "destination": "Lisbon", "departure": "2035-05-01", "return": "2035-05-08", "travellers": 2, "class": "business", "confirm": true })
}

/// The ways in which this client can greet, and the revision that each leads to.
pub(crate) fn lifecycles() -> [(&'static str, &'static str, ClientLifecycleMode); 3] {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let auto =
        ClientLifecycleMode::Auto { preferred_versions: preferred_versions.clone(), legacy_version: None };
    [
        ("legacy", "2025-11-25", ClientLifecycleMode::Initialize),
        ("auto", "2026-07-28", auto),
        ("pin", "2026-07-28", ClientLifecycleMode::Discover { preferred_versions }),
    ]
}

/// Starts a server and connects to it.
pub(crate) async fn connect(
    command: tokio::process::Command,
    lifecycle: ClientLifecycleMode,
) -> (RmcpClient, Traveller) {
    let traveller = Traveller::default();
    let process = TokioChildProcess::new(command).unwrap();
    let client = traveller.clone().serve_with_lifecycle(process, lifecycle).await.unwrap();
    (client, traveller)
}

/// A call with these arguments.
pub(crate) fn call_params(name: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(name).with_arguments(arguments.as_object().cloned().unwrap())
}
