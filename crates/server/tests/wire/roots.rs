//! The client's roots narrow what tools may touch on a pipe.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use server::App;

use crate::harness::{TestClient, app, stateless_meta};

/// Two folders beside each other, the first of which is the server's.
fn app_with_two_folders() -> (tempfile::TempDir, PathBuf, PathBuf, Arc<App>) {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (ours, theirs) = (base.join("ours"), base.join("theirs"));
    for path in [ours.join("inner with space"), ours.join(".github/workflows"), theirs.clone()] {
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("a.py"), "x = 1\n").unwrap();
    }
    let app = app().roots(vec![ours.clone()]).build();
    (folder, ours, theirs, app)
}

fn uri(path: &Path) -> Value {
    json!({ "uri": format!("file://{}", path.to_str().unwrap().replace(' ', "%20")) })
}

fn analyze_request(id: u32, root: &str) -> Value {
    let params = json!({ "name": "analyze_repository", "arguments": { "root": root } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

/// The folder that was analysed, or why none was.
fn analyzed_root(answer: &Value) -> String {
    let result = &answer["result"];
    let root = result["structuredContent"]["root"].as_str();
    root.or(result["content"][0]["text"].as_str()).unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn client_roots_are_requested_once_and_restrict_access() {
    let (_folder, ours, theirs, app) = app_with_two_folders();
    let inner = ours.join("inner with space");
    let shown = |path: &Path| path.to_str().unwrap().to_owned();
    for (listed, wanted, expected) in [
        (vec![uri(&inner)], ".", shown(&inner)),
        // Not wider than the server's own.
        (vec![uri(ours.parent().unwrap())], ".", shown(&ours)),
        (vec![uri(&inner)], "..", "is outside the allowed folders".to_owned()),
        (vec![uri(&theirs)], ".", "do not overlap".to_owned()),
        (vec![], ".", "do not overlap".to_owned()),
        (vec![json!({ "uri": "https://example.com" })], ".", "do not overlap".to_owned()),
        // A guarded folder is no root, whoever has it open.
        (vec![uri(&ours.join(".github/workflows"))], ".", "do not overlap".to_owned()),
    ] {
        let mut client =
            TestClient::initialized(&app, "2025-11-25", json!({ "roots": { "listChanged": true } })).await;
        let messages = client.exchange(&analyze_request(1, wanted).to_string()).await;
        let asked: Value = serde_json::from_str(&messages[0]).unwrap();
        assert_eq!(asked["method"], "roots/list");
        let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": listed } });
        let messages = client.exchange(&answer.to_string()).await;
        let answer: Value = serde_json::from_str(messages.last().unwrap()).unwrap();
        assert!(analyzed_root(&answer).contains(&expected), "{listed:?}: {answer}");
        if expected.contains("not overlap") {
            let text = analyzed_root(&answer);
            assert!(text.contains(ours.to_str().unwrap()), "both are named: {text}");
        }
        // Once is enough, until the client says that they have changed.
        let again = client.request(analyze_request(2, wanted)).await;
        assert!(analyzed_root(&again).contains(&expected), "{again}");
        client.exchange(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#).await;
        let messages = client.exchange(&analyze_request(3, wanted).to_string()).await;
        assert!(messages[0].contains("roots/list"), "{messages:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn missing_client_roots_restrict_nothing() {
    let (_folder, ours, _, app) = app_with_two_folders();
    let mut client = TestClient::initialized(&app, "2025-06-18", json!({ "roots": {} })).await;
    let messages = client.exchange(&analyze_request(1, ".").to_string()).await;
    let asked: Value = serde_json::from_str(&messages[0]).unwrap();
    let refused =
        json!({ "jsonrpc": "2.0", "id": asked["id"], "error": { "code": -32601, "message": "no" } });
    let messages = client.exchange(&refused.to_string()).await;
    let answer: Value = serde_json::from_str(messages.last().unwrap()).unwrap();
    assert_eq!(analyzed_root(&answer), ours.to_str().unwrap());
    // A client without roots is not asked, and tools that touch no files do not ask.
    let mut plain = TestClient::initialized(&app, "2025-11-25", json!({})).await;
    assert_eq!(analyzed_root(&plain.request(analyze_request(1, ".")).await), ours.to_str().unwrap());
    let mut client = TestClient::initialized(&app, "2025-11-25", json!({ "roots": {} })).await;
    client.call("tell_fortune", json!({ "category": "love" })).await;
}

#[tokio::test(start_paused = true)]
async fn stateless_revision_requests_roots_by_input_required() {
    let (_folder, ours, theirs, app) = app_with_two_folders();
    let inner = ours.join("inner with space");
    for (listed, expected) in [(&inner, inner.to_str().unwrap()), (&theirs, "do not overlap")] {
        let mut client = TestClient::new(&app);
        let mut call = analyze_request(1, ".");
        call["params"]["_meta"] = stateless_meta(json!({ "roots": {} }));
        let asked = client.request(call.clone()).await;
        assert_eq!(asked["result"]["inputRequests"]["roots"]["method"], "roots/list", "{asked}");
        // An answer to nothing that we asked is none.
        let mut forged = call.clone();
        forged["params"]["inputResponses"] = json!({ "roots": { "roots": [uri(&theirs)] } });
        assert_eq!(client.request(forged).await["result"]["resultType"], "input_required");
        let mut answer = call.clone();
        answer["params"]["requestState"] = asked["result"]["requestState"].clone();
        answer["params"]["inputResponses"] = json!({ "roots": { "roots": [uri(listed)] } });
        assert!(analyzed_root(&client.request(answer).await).contains(expected));
        // Asked once per conversation.
        assert!(analyzed_root(&client.request(call).await).contains(expected));
    }
}
