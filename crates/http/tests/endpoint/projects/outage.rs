//! A store of projects that cannot be reached, while keys are still known.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use projects::testing::InterceptedBackend;
use projects::{ProjectStore, StoreError};
use serde_json::{Value, json};
use server::tools::Toolset;
use server::{ProjectStoreOpener, Scope};

use super::{PROJECT_ID, ProjectCaller, project_tool_calls, request, resource_uris};
use crate::harness::{HttpTestConfig, HttpTestResponse, HttpTestServer, open_memory_store};
use crate::mcp_session::McpSessionClient;

/// A server whose projects come from there, and not many other things, so that the first page of a list has projects.
fn start_server(projects: ProjectStoreOpener) -> HttpTestServer {
    let endpoint =
        HttpTestConfig { requires_key: true, projects: Some(projects), ..HttpTestConfig::default() }.start();
    endpoint.app.serve_toolsets(&[Toolset::Projects, Toolset::Diagnostics]);
    endpoint
}

fn open_then_unreachable() -> ProjectStoreOpener {
    Box::new(|| {
        Box::pin(async {
            let gone = |_: projects::store::TxKind<'_>| {
                Box::pin(async { Err(StoreError::Unreachable("made up".to_owned())) }) as _
            };
            Ok(ProjectStore::new(Arc::new(InterceptedBackend::new(open_memory_store().await, gone))))
        })
    })
}

fn always_unreachable() -> ProjectStoreOpener {
    Box::new(|| Box::pin(async { Err(StoreError::Unreachable("made up".to_owned())) }))
}

/// Everything that needs the store.
fn store_requests() -> Vec<(&'static str, Value)> {
    let call = |tool: &str, arguments: Value| ("tools/call", json!({ "name": tool, "arguments": arguments }));
    let completion = json!({
        "ref": { "type": "ref/resource", "uri": "codefluss://design-system/{projectId}" },
        "argument": { "name": "projectId", "value": "p" },
    });
    let mut all: Vec<_> =
        project_tool_calls(PROJECT_ID).into_iter().map(|(tool, arguments)| call(tool, arguments)).collect();
    all.extend([
        call("list_projects", json!({})),
        call("create_project", json!({ "name": "x", "description": "", "template": "empty" })),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": "codefluss://projects" })),
        ("completion/complete", completion),
    ]);
    all.extend(resource_uris(PROJECT_ID).into_iter().map(|uri| ("resources/read", json!({ "uri": uri }))));
    all
}

fn assert_store_unavailable(answer: &HttpTestResponse, status: u16, what: &str) {
    assert_eq!((answer.status, answer.header("retry-after")), (status, Some("2")), "{what}: {answer:?}");
    assert_eq!(answer.json()["error"]["code"], -32603, "{what}");
    assert_eq!(answer.error_kind(), "store_unavailable", "{what}");
    assert!(!answer.body.contains("made up"), "what is wrong with the store is for its owner: {what}");
}

/// Contract row 12a: 500 and when to try again on `/api/mcp`, never 503; 503 on `/mcp`. Never a "not found", which
/// somebody might believe.
#[test]
fn store_requests_get_retry_after_during_outage() {
    for projects in [open_then_unreachable(), always_unreachable()] {
        let endpoint = start_server(projects);
        let key = endpoint.create_key(Scope::Write);
        let caller = ProjectCaller::new(&endpoint, &key);
        let session = McpSessionClient::with_key(&endpoint, "2025-11-25", Some(&key));
        for (method, params) in store_requests() {
            let what = format!("{method} {params}");
            let message = request(1, method, &params).to_string();
            assert_store_unavailable(&caller.post_api(&[], &message), 500, &what);
            assert_store_unavailable(&session.post(&message), 503, &what);
            assert_store_unavailable(&caller.post_mcp(method, params), 503, &what);
        }
        let german = caller
            .post_api(&[("Accept-Language", "de")], &request(1, "resources/list", &json!({})).to_string());
        assert_eq!(
            german.json()["error"]["data"]["detail"],
            "Der Server erreicht seinen Speicher nicht; in ein paar Sekunden erneut versuchen"
        );
        let listed = caller.request_api("tools/list", &json!({}));
        assert!(listed["result"]["tools"].is_array(), "what needs no store goes on");
    }
}

/// In a batch the entries that need no store are answered.
#[test]
fn batch_entries_without_store_access_are_answered() {
    let endpoint = start_server(open_then_unreachable());
    let batch = json!([
        request(1, "ping", &json!({})),
        request(2, "tools/call", &json!({ "name": "list_projects", "arguments": {} })),
        request(3, "tools/call", &json!({ "name": "echo", "arguments": { "text": "x" } })),
    ]);
    let answer = ProjectCaller::with_write_key(&endpoint).post_api(&[], &batch.to_string());
    let answers = answer.json();
    assert_eq!(answer.status, 200);
    assert_eq!((&answers[0]["result"], &answers[2]["result"]["isError"]), (&json!({}), &json!(false)));
    assert_eq!(answers[1]["error"]["code"], -32603);
    assert_eq!(answers[1]["error"]["data"]["kind"], "store_unavailable");
}

/// A store that comes back is used again, without a restart.
#[test]
fn requests_succeed_after_store_recovers() {
    let is_back = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_back);
    let endpoint = start_server(Box::new(move || {
        let is_back = seen.load(Ordering::SeqCst);
        Box::pin(async move {
            if is_back {
                Ok(open_memory_store().await.projects())
            } else {
                Err(StoreError::Unreachable("made up".to_owned()))
            }
        })
    }));
    let caller = ProjectCaller::with_write_key(&endpoint);
    let list = request(1, "tools/call", &json!({ "name": "list_projects" })).to_string();
    assert_eq!(caller.post_api(&[], &list).status, 500);
    is_back.store(true, Ordering::SeqCst);
    assert_eq!(caller.call_tool_ok("list_projects", json!({})), json!([]));
}
