//! How often a key may call, where one body carries many calls.

use std::time::Duration;

use serde_json::{Value, json};
use server::access::RateLimit;

use super::{ACCOUNT, PROJECT_ID, ProjectCaller, insert_project, load_project, request};
use crate::harness::HttpTestServer;

fn start_server(burst: u32) -> HttpTestServer {
    let endpoint = HttpTestServer::start_with_keys(Some(RateLimit { per_minute: 60, burst }));
    insert_project(&endpoint, ACCOUNT, PROJECT_ID, "Meine Website");
    endpoint
}

/// So many writes in one body.
fn batch_of_writes(count: u32) -> String {
    let write = |id: u32| {
        let arguments = json!({ "projectId": PROJECT_ID, "metadata": { (format!("n{id}")): true } });
        request(id, "tools/call", &json!({ "name": "update_project", "arguments": arguments }))
    };
    Value::Array((1..=count).map(write).collect()).to_string()
}

/// Each entry counts as a call by itself would, and one past the limit does nothing.
#[test]
fn every_batch_entry_counts_against_the_rate_limit() {
    let endpoint = start_server(5);
    let caller = ProjectCaller::with_write_key(&endpoint);
    let answer = caller.post_api(&[], &batch_of_writes(8));
    assert_eq!((answer.status, answer.header("ratelimit-remaining")), (200, Some("0")));
    let answers = answer.json();
    let codes: Vec<&Value> = answers.as_array().unwrap().iter().map(|one| &one["error"]["code"]).collect();
    assert_eq!(json!(codes), json!([null, null, null, null, null, -32000, -32000, -32000]));
    let project = load_project(&endpoint, ACCOUNT, PROJECT_ID);
    let mut written: Vec<&str> = project.fields.metadata.keys().map(String::as_str).collect();
    written.sort_unstable();
    assert_eq!((project.revision, written), (6, vec!["n1", "n2", "n3", "n4", "n5"]));

    let refused = caller
        .post_api(&[], &request(1, "resources/read", &json!({ "uri": "codefluss://projects" })).to_string());
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    assert_eq!(
        (refused.error_kind().as_str(), &refused.json()["error"]["code"]),
        ("rate_limited", &json!(-32000))
    );
    endpoint.clock.advance(Duration::from_secs(2));
    let answers = caller.post_api(&[], &batch_of_writes(3)).json();
    assert!(answers[1]["error"].is_null() && answers[2]["error"]["code"] == -32000, "{answers}");
    assert_eq!(load_project(&endpoint, ACCOUNT, PROJECT_ID).revision, 8);
}

/// A batch that is too long is refused as a whole: none of it happens.
#[test]
fn oversized_batch_writes_nothing() {
    let endpoint = start_server(1000);
    let caller = ProjectCaller::with_write_key(&endpoint);
    let answer = caller.post_api(&[], &batch_of_writes(51)).json();
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["data"]["kind"]),
        (&json!(-32600), &json!("batch_too_large"))
    );
    assert_eq!(load_project(&endpoint, ACCOUNT, PROJECT_ID).revision, 1);
    assert!(
        caller
            .post_api(&[], &batch_of_writes(50))
            .json()
            .as_array()
            .unwrap()
            .iter()
            .all(|one| one["error"].is_null())
    );
    assert_eq!(load_project(&endpoint, ACCOUNT, PROJECT_ID).revision, 51);
}

/// What one key has used up another has not, also in the same account.
#[test]
fn keys_are_rate_limited_separately() {
    let endpoint = start_server(2);
    let [first, second] = [0; 2].map(|_| ProjectCaller::with_write_key(&endpoint));
    assert_eq!(first.post_api(&[], &batch_of_writes(2)).status, 200);
    assert_eq!(first.post_api(&[], &batch_of_writes(1)).json()[0]["error"]["code"], -32000);
    second.call_tool_ok("get_project", json!({ "projectId": PROJECT_ID }));
}
