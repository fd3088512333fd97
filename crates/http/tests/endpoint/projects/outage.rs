//! A store of projects that cannot be reached, while keys are still known.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use projects::testing::Interposed;
use projects::{ProjectStore, StoreError};
use serde_json::{Value, json};
use server::tools::Toolset;
use server::{OpenProjects, Scope};

use super::{Caller, ID, addresses, calls, request};
use crate::harness::{Answer, Endpoint, Setup, open_memory};
use crate::mcp_session::Client;

/// A server whose projects come from there, and not many other things, so that the first page of a list has projects.
fn site(projects: OpenProjects) -> Endpoint {
    let endpoint = Setup { keyed: true, projects: Some(projects), ..Setup::default() }.start();
    endpoint.app.serve_toolsets(&[Toolset::Projects, Toolset::Diagnostics]);
    endpoint
}

fn opened_and_gone() -> OpenProjects {
    Box::new(|| {
        Box::pin(async {
            let gone = |_: projects::store::TxKind<'_>| {
                Box::pin(async { Err(StoreError::Unreachable("made up".to_owned())) }) as _
            };
            Ok(ProjectStore::new(Arc::new(Interposed::new(open_memory().await, gone))))
        })
    })
}

fn never_opened() -> OpenProjects {
    Box::new(|| Box::pin(async { Err(StoreError::Unreachable("made up".to_owned())) }))
}

/// Everything that needs the store.
fn requests() -> Vec<(&'static str, Value)> {
    let call = |tool: &str, arguments: Value| ("tools/call", json!({ "name": tool, "arguments": arguments }));
    let completion = json!({
        "ref": { "type": "ref/resource", "uri": "codefluss://design-system/{projectId}" },
        "argument": { "name": "projectId", "value": "p" },
    });
    let mut all: Vec<_> = calls(ID).into_iter().map(|(tool, arguments)| call(tool, arguments)).collect();
    all.extend([
        call("list_projects", json!({})),
        call("create_project", json!({ "name": "x", "description": "", "template": "empty" })),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": "codefluss://projects" })),
        ("completion/complete", completion),
    ]);
    all.extend(addresses(ID).into_iter().map(|uri| ("resources/read", json!({ "uri": uri }))));
    all
}

fn judge(answer: &Answer, status: u16, what: &str) {
    assert_eq!((answer.status, answer.header("retry-after")), (status, Some("2")), "{what}: {answer:?}");
    assert_eq!(answer.json()["error"]["code"], -32603, "{what}");
    assert_eq!(answer.kind(), "store_unavailable", "{what}");
    assert!(!answer.body.contains("made up"), "what is wrong with the store is for its owner: {what}");
}

/// Contract row 12a: 500 and when to try again on `/api/mcp`, never 503; 503 on `/mcp`. Never a "not found", which
/// somebody might believe.
#[test]
fn whoever_needs_the_store_is_told_to_come_back() {
    for projects in [opened_and_gone(), never_opened()] {
        let endpoint = site(projects);
        let key = endpoint.key(Scope::Write);
        let caller = Caller::new(&endpoint, &key);
        let session = Client::with_key(&endpoint, "2025-11-25", Some(&key));
        for (method, params) in requests() {
            let what = format!("{method} {params}");
            let message = request(1, method, &params).to_string();
            judge(&caller.post(&[], &message), 500, &what);
            judge(&session.post(&message), 503, &what);
            judge(&caller.modern(method, params), 503, &what);
        }
        let german =
            caller.post(&[("Accept-Language", "de")], &request(1, "resources/list", &json!({})).to_string());
        assert_eq!(
            german.json()["error"]["data"]["detail"],
            "Der Server erreicht seinen Speicher nicht; in ein paar Sekunden erneut versuchen"
        );
        let listed = caller.ask("tools/list", &json!({}));
        assert!(listed["result"]["tools"].is_array(), "what needs no store goes on");
    }
}

/// In a batch the entries that need no store are answered.
#[test]
fn a_batch_is_answered_as_far_as_possible() {
    let endpoint = site(opened_and_gone());
    let batch = json!([
        request(1, "ping", &json!({})),
        request(2, "tools/call", &json!({ "name": "list_projects", "arguments": {} })),
        request(3, "tools/call", &json!({ "name": "echo", "arguments": { "text": "x" } })),
    ]);
    let answer = Caller::writer(&endpoint).post(&[], &batch.to_string());
    let answers = answer.json();
    assert_eq!(answer.status, 200);
    assert_eq!((&answers[0]["result"], &answers[2]["result"]["isError"]), (&json!({}), &json!(false)));
    assert_eq!(answers[1]["error"]["code"], -32603);
    assert_eq!(answers[1]["error"]["data"]["kind"], "store_unavailable");
}

/// A store that comes back is used again, without a restart.
#[test]
fn it_goes_on_when_the_store_is_back() {
    let is_back = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_back);
    let endpoint = site(Box::new(move || {
        let is_back = seen.load(Ordering::SeqCst);
        Box::pin(async move {
            if is_back {
                Ok(open_memory().await.projects())
            } else {
                Err(StoreError::Unreachable("made up".to_owned()))
            }
        })
    }));
    let caller = Caller::writer(&endpoint);
    let list = request(1, "tools/call", &json!({ "name": "list_projects" })).to_string();
    assert_eq!(caller.post(&[], &list).status, 500);
    is_back.store(true, Ordering::SeqCst);
    assert_eq!(caller.done("list_projects", json!({})), json!([]));
}
