//! What clients see of the server as a whole: its tools, their size, their coming and going, its end.

use std::time::Duration;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use server::EnvelopeErrors;
use server::tools::Toolset;

use crate::harness::{TestClient, app, stateless_meta};
use crate::repositories::{SUPPORT_BOT, unpack};

async fn list_tools(client: &mut TestClient) -> Value {
    client.request(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await["result"].take()
}

/// A file for each tool, so that every change of the public surface shows in review.
#[tokio::test(start_paused = true)]
async fn every_tool_descriptor_matches_its_snapshot() {
    let mut client = TestClient::initialized(&app().build(), "2025-11-25", json!({})).await;
    let mut listed = BTreeSet::new();
    for tool in list_tools(&mut client).await["tools"].as_array().unwrap() {
        insta::with_settings!({ snapshot_path => "tools", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_json_snapshot!(tool["name"].as_str().unwrap(), tool);
        });
        listed.insert(tool["name"].as_str().unwrap().to_owned());
    }
    // A file without a tool: the tool is gone, which no snapshot shows.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire/tools");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.extension().is_some_and(|ending| ending == "snap"));
    let named = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    assert_eq!(named.collect::<BTreeSet<_>>(), listed);
}

/// Design D8: definitions of tools eat the context of every conversation.
#[tokio::test(start_paused = true)]
async fn default_tool_list_fits_token_budget() {
    let app = app().toolsets(&Toolset::DEFAULT).build();
    let mut client = TestClient::initialized(&app, "2025-11-25", json!({})).await;
    let tokens = list_tools(&mut client).await.to_string().len() / 4;
    assert!(tokens < 4000, "{tokens} tokens");
}

#[tokio::test(start_paused = true)]
async fn tool_list_is_deterministic() {
    let mut client = TestClient::initialized(&app().build(), "2025-11-25", json!({})).await;
    assert_eq!(list_tools(&mut client).await, list_tools(&mut client).await);
}

#[tokio::test(start_paused = true)]
async fn clients_are_notified_when_the_tool_list_changes() {
    let app = app().build();
    let mut old = TestClient::initialized(&app, "2025-03-26", json!({})).await;
    let mut early = TestClient::new(&app);
    let mut new = TestClient::new(&app);
    let notifications =
        json!({ "toolsListChanged": true, "promptsListChanged": false, "resourceSubscriptions": [] });
    let params = json!({ "_meta": stateless_meta(json!({})), "notifications": notifications });
    let listen =
        json!({ "jsonrpc": "2.0", "id": "news", "method": "subscriptions/listen", "params": params });
    let meta = r#""_meta":{"io.modelcontextprotocol/subscriptionId":"news"}"#;
    let acknowledged = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"#;
    assert_eq!(
        new.exchange(&listen.to_string()).await,
        [format!(r#"{acknowledged}{meta},"notifications":{{"toolsListChanged":true}}}}}}"#)]
    );

    app.serve_toolsets(&[Toolset::Diagnostics]);
    let changed = |list: &str| format!(r#"{{"jsonrpc":"2.0","method":"notifications/{list}/list_changed"}}"#);
    assert_eq!(old.settle().await, ["tools", "resources", "prompts"].map(changed));
    assert_eq!(
        new.settle().await,
        [format!(r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{{meta}}}}}"#)]
    );
    assert_eq!(early.settle().await, [""; 0], "who has not shaken hands is not told");
    let names: Vec<Value> =
        list_tools(&mut old).await["tools"].as_array().unwrap().iter().map(|t| t["name"].clone()).collect();
    assert_eq!(names, ["echo", "wait", "crash", "interview"]);
    assert_eq!(old.call("booking", json!({})).await["error"]["code"], -32602);

    app.serve_toolsets(&[Toolset::Diagnostics]);
    assert_eq!(old.settle().await, [""; 0], "nothing changed");

    // The subscription ends when the client says so, without a word.
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "news" } });
    assert_eq!(new.exchange(&cancel.to_string()).await, [""; 0]);
    app.serve_toolsets(&Toolset::ALL);
    assert_eq!(new.settle().await, [""; 0]);
}

/// The two documents name the envelope's unknown-tool error differently; a setting chooses.
#[tokio::test(start_paused = true)]
async fn unknown_tool_error_code_follows_the_setting() {
    for (errors, code, alias) in [
        (EnvelopeErrors::Protocol, "tool_not_found", "unknown_tool"),
        (EnvelopeErrors::ToolsReference, "unknown_tool", "tool_not_found"),
    ] {
        let mut client = TestClient::new(&app().envelope_errors(errors).build());
        let answer = client.request(json!({ "type": "request", "id": "42", "tool": "faqz" })).await;
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["details"]["aliases"]),
            (&json!(code), &json!([alias]))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn ninth_subscription_is_rejected() {
    let mut client = TestClient::new(&app().build());
    for n in 0..9 {
        let params = json!({ "_meta": stateless_meta(json!({})), "notifications": {} });
        let answers = client
            .exchange(
                &json!({ "jsonrpc": "2.0", "id": n, "method": "subscriptions/listen", "params": params })
                    .to_string(),
            )
            .await;
        let answer: Value = serde_json::from_str(&answers[0]).unwrap();
        assert_eq!(answer["error"]["data"]["kind"] == "too_many_streams", n == 8, "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_running_calls_until_timeout() {
    let mut client =
        TestClient::initialized(&app().build(), "2025-11-25", json!({ "elicitation": {} })).await;
    for (id, steps) in [("short", 50), ("long", 500)] {
        let params = json!({ "name": "wait", "arguments": { "steps": steps, "step_ms": 100 } });
        client
            .exchange(
                &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string(),
            )
            .await;
    }
    let ask =
        json!({ "jsonrpc": "2.0", "id": "asks", "method": "tools/call", "params": { "name": "booking" } });
    assert_eq!(client.exchange(&ask.to_string()).await.len(), 1);

    client.connection().drain(Duration::from_secs(10), true).await;
    let ends: Vec<(String, String)> = client
        .settle()
        .await
        .iter()
        .map(|answer| serde_json::from_str::<Value>(answer).unwrap())
        .map(|answer| {
            let end =
                answer["error"]["data"]["kind"].as_str().or(answer["result"]["content"][0]["text"].as_str());
            (answer["id"].as_str().unwrap().to_owned(), end.unwrap().chars().take(18).collect())
        })
        .collect();
    let expect = |id: &str, end: &str| (id.to_owned(), end.to_owned());
    assert_eq!(
        ends,
        [
            expect("asks", "booking needs more"),
            expect("short", "{\"steps\":50}"),
            expect("long", "shutting_down"),
        ]
    );
    let modern = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": { "_meta": stateless_meta(json!({})) } });
    for late in
        [r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, &modern.to_string(), r#"{"type":"handshake"}"#]
    {
        let answer = client.exchange(late).await;
        assert!(answer[0].contains("shutting_down"), "{late} got {answer:?}");
    }
}

/// More calls than may run at once: none is lost, and quick requests are not held up.
#[tokio::test(start_paused = true)]
async fn calls_above_the_concurrency_limit_are_queued() {
    let mut client = TestClient::initialized(&app().build(), "2025-11-25", json!({})).await;
    for id in 0..200 {
        let params = json!({ "name": "wait", "arguments": { "steps": 1, "step_ms": 1000 } });
        client.send(
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
                .to_string()
                .as_bytes(),
        );
    }
    assert_eq!(client.exchange(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).await.len(), 1);
    let mut waves = Vec::new();
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(999)).await;
        waves.push(client.settle().await.len());
    }
    assert_eq!(waves, [64, 64, 64, 8, 0]);
}

/// A repository with more files than are told of one by one.
fn repository_with_many_files() -> (tempfile::TempDir, std::path::PathBuf) {
    let (folder, root) = unpack(SUPPORT_BOT);
    for n in 0..1100 {
        std::fs::write(root.join(format!("module_{n}.py")), "x = 1\n").unwrap();
    }
    (folder, root)
}

#[tokio::test(start_paused = true)]
async fn long_analysis_reports_progress() {
    let (_folder, root) = repository_with_many_files();
    let mut client = TestClient::initialized(&app().roots(vec![root]).build(), "2025-11-25", json!({})).await;
    let params = json!({ "name": "analyze_repository", "arguments": {}, "_meta": { "progressToken": "p" } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let messages = client.exchange(&call.to_string()).await;
    let (answer, told) = messages.split_last().unwrap();
    assert!(answer.contains(r#""files":1108"#), "{answer}");
    // Which of them are seen depends on how the threads take turns; that they grow and stand before the
    // answer does not.
    let told: Vec<Value> = told.iter().map(|message| serde_json::from_str(message).unwrap()).collect();
    assert!(
        !told.is_empty() && told.iter().all(|message| message["params"]["progressToken"] == "p"),
        "{told:?}"
    );
    let done: Vec<u64> = told.iter().map(|message| message["params"]["progress"].as_u64().unwrap()).collect();
    assert!(done.is_sorted_by(|a, b| a < b), "{done:?}");
}

#[tokio::test(start_paused = true)]
async fn cancelled_analysis_is_not_answered() {
    let (_folder, root) = repository_with_many_files();
    let mut client = TestClient::initialized(&app().roots(vec![root]).build(), "2025-11-25", json!({})).await;
    let params = json!({ "name": "analyze_repository", "arguments": {} });
    client.send(
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string().as_bytes(),
    );
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_eq!(client.exchange(&cancelled.to_string()).await, Vec::<String>::new());
    assert_eq!(client.call("tell_fortune", json!({ "category": "love" })).await["id"], 1);
}

/// What a key sees that may do everything.
#[tokio::test(start_paused = true)]
async fn hosted_tool_list_fits_token_budget() {
    let app = app().toolsets(&Toolset::DEFAULT_HTTP).build();
    let mut client = TestClient::initialized(&app, "2025-11-25", json!({})).await;
    let tokens = list_tools(&mut client).await.to_string().len() / 4;
    assert!(tokens < 8000, "{tokens} tokens");
}
