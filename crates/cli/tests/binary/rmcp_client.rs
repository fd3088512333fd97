//! The official Rust client drives the binary: an outside reader of our bytes, in both eras.
//!
//! The client matrix has the same client with every check; these are the ones that need Rust alone.

#[path = "../../examples/rmcp_client/traveller.rs"]
mod traveller;

use std::sync::atomic::Ordering;

use serde_json::json;

use crate::process::BINARY;
use traveller::{call, connect, eras, wishes};

fn server() -> tokio::process::Command {
    let mut command = tokio::process::Command::new(BINARY);
    command.args(["--config", "/dev/null", "--toolsets", "reference,diagnostics"]);
    command
}

#[tokio::test]
async fn lists_calls_and_completes() {
    for (era, version, lifecycle) in eras() {
        let (client, traveller) = connect(server(), lifecycle).await;
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
        let progress = traveller.progress.lock().unwrap().clone();
        assert_eq!(progress, [1.0, 2.0], "{era}: the third step is the answer");

        let completed = client.complete_prompt_simple("fortune", "category", "c").await.unwrap();
        assert_eq!(completed, ["career"]);
        assert_eq!(client.list_all_prompts().await.unwrap().len(), 2);
        assert_eq!(client.list_all_resources().await.unwrap().len(), 5);
        client.cancel().await.unwrap();
    }
}

#[tokio::test]
async fn answers_the_questions_of_an_interactive_tool() {
    for (era, _, lifecycle) in eras() {
        let (client, traveller) = connect(server(), lifecycle).await;
        let booked = client.call_tool(call("booking", json!({}))).await.unwrap().structured_content.unwrap();
        assert_eq!(
            (&booked["destination"], &booked["class"]),
            (&json!("Lisbon"), &json!("business")),
            "{era}"
        );
        assert_eq!(traveller.asked.load(Ordering::Relaxed), 5);
        let plain = client.call_tool(call("booking", wishes())).await.unwrap().structured_content.unwrap();
        assert_eq!(plain["price"], booked["price"]);
        assert_eq!(traveller.asked.load(Ordering::Relaxed), 5, "arguments leave nothing to ask");

        traveller.declines.store(true, Ordering::Relaxed);
        let declined = client.call_tool(call("booking", json!({}))).await.unwrap();
        assert_eq!(declined.is_error, Some(true));
        client.cancel().await.unwrap();
    }
}
