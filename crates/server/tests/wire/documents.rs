//! Documents: what is cited can be read, and an index that cannot be used is no reason to fall silent.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json};
use server::knowledge::{Document, Index, shipped};
use server::{App, CitationFormat, DocumentSettings};

use crate::harness::{TestClient, app};

/// A small library for tests.
const PAGES: [(&str, &str); 3] = [
    (
        "guide/retries.md",
        "---\ntitle: Retries\n---\n# Retries\n\nA call that fails is repeated.\n\n## How often\n\nSet `max_retries` to say how \
         often a failed call is repeated.\n\n```yaml\nrunner:\n  max_retries: 3\n```\n",
    ),
    ("guide/personas.md", "# Personas\n\nA persona is a made-up user with goals, a language and habits.\n"),
    ("notes.txt", "Flask is a small framework for web applications in Python.\n"),
];

/// An index of [`PAGES`] in a folder that is gone when it is dropped.
pub(crate) fn build_test_index() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let pages: Vec<Document> = PAGES.iter().map(|(path, source)| Document::parse(*path, *source)).collect();
    let path = folder.path().join("small.index");
    std::fs::write(&path, Index::build(&pages, shipped::encoder()).unwrap().bytes()).unwrap();
    (folder, path)
}

fn app_with_indexes(indexes: Vec<PathBuf>) -> std::sync::Arc<App> {
    app().documents(DocumentSettings { shipped: false, indexes }).build()
}

async fn ask_faq(client: &mut TestClient, params: Value) -> Value {
    client.request(json!({ "type": "request", "id": "1", "tool": "faq", "params": params })).await
}

/// What stands behind a key, wherever it stands.
pub(crate) fn collect_values(value: &Value, keys: &[&str], found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if let Some(text) = value.as_str().filter(|_| keys.contains(&key.as_str())) {
                    found.insert(text.to_owned());
                }
                collect_values(value, keys, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect_values(value, keys, found)),
        _ => {}
    }
}

/// Every document that any tool points to is there to be read; and so are those that the contract names.
#[tokio::test(start_paused = true)]
async fn every_document_reference_resolves() {
    let mut references: BTreeSet<String> = [
        "configuration/runners/python-function.md",
        "configuration/runners/http-rest.md",
        "configuration/simulation-config.md",
        "commands/run.md",
    ]
    .map(|page| format!("packages/website/docs-cli/{page}"))
    .into();
    references.insert("packages/website/docs-sdk/integration/fastapi.md".to_owned());
    let app = app().build();
    let mut client = TestClient::new(&app);
    let tools = client.request(json!({ "type": "handshake", "id": "0" })).await;
    assert!(tools["result"]["capabilities"]["tools"].as_array().unwrap().contains(&json!("faq")));
    for recipe in fluxloop::RECIPES {
        for variant in ["auto", "sdk", "bridge"] {
            let profile = json!({ "packageManagers": [], "frameworkCandidates": [recipe.name] });
            let params =
                json!({ "framework": recipe.name, "variant": variant, "repository_profile": profile });
            let steps = json!({ "type": "request", "id": "1", "tool": "generate_integration_steps", "params": params });
            collect_values(&client.request(steps).await, &["doc_ref", "doc_url"], &mut references);
        }
        let profile = json!({ "frameworkCandidates": [recipe.name], "entryPoints": [] });
        let params = json!({ "repository_profile": profile });
        let found = json!({ "type": "request", "id": "1", "tool": "detect_frameworks", "params": params });
        collect_values(&client.request(found).await, &["doc_ref", "doc_url"], &mut references);
    }
    assert!(references.len() > 15, "{references:?}");
    let mut mcp = TestClient::initialized(&app, "2025-11-25", json!({})).await;
    for path in references {
        let params = json!({ "uri": format!("fluxway://docs/{path}") });
        let read = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params });
        let read = mcp.request(read).await;
        let text = read["result"]["contents"][0]["text"].as_str();
        assert!(text.is_some_and(|text| text.contains("\n# ")), "{path}: {read}");
    }
}

/// What an answer cites can be read at the address that it gives, and has the quoted lines.
#[tokio::test(start_paused = true)]
async fn every_citation_is_readable() {
    let app = app().build();
    let mut client = TestClient::initialized(&app, "2025-11-25", json!({})).await;
    for question in ["How to integrate FastAPI?", "where do results go", "what is a persona", "undo a plan"] {
        let params = json!({ "name": "faq", "arguments": { "query": question } });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let answer = client.request(call).await["result"]["structuredContent"].take();
        let details = answer["citation_details"].as_array().unwrap();
        let citations = answer["citations"].as_array().unwrap();
        assert!(!details.is_empty() && citations.len() == details.len(), "{question}: {answer}");
        for (citation, detail) in citations.iter().zip(details) {
            assert_eq!(*citation, detail["path"]);
            let read = json!({ "jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": { "uri": detail["uri"] } });
            let read = client.request(read).await;
            let text = read["result"]["contents"][0]["text"].as_str().unwrap();
            assert!(text.lines().count() as u64 >= detail["lines"][1].as_u64().unwrap(), "{detail}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn unusable_index_is_reported_and_others_are_searched() {
    let (folder, good) = build_test_index();
    let bad = folder.path().join("bad.index");
    std::fs::write(&bad, "Dear diary").unwrap();
    let missing = folder.path().join("missing.index");
    let mut client = TestClient::new(&app_with_indexes(vec![bad.clone(), good, missing.clone()]));
    let answer = ask_faq(&mut client, json!({ "query": "how often is a call repeated" })).await;
    assert_eq!(answer["result"]["citations"], json!(["guide/retries.md"]), "{answer}");
    let warnings = answer["result"]["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 2, "{answer}");
    for (warning, path) in warnings.iter().zip([bad.clone(), missing]) {
        let text = warning.as_str().unwrap();
        assert!(text.contains(&path.display().to_string()) && text.contains("fluxway index DIR"), "{text}");
    }
    let mut client = TestClient::new(&app_with_indexes(vec![bad]));
    let answer = ask_faq(&mut client, json!({ "query": "how often is a call repeated" })).await;
    assert_eq!(answer["error"]["code"], "index_error", "{answer}");
    let mut client = TestClient::new(&app_with_indexes(Vec::new()));
    let answer = ask_faq(&mut client, json!({ "query": "anything" })).await;
    assert_eq!(answer["error"]["code"], "index_error", "{answer}");
}

#[tokio::test(start_paused = true)]
async fn envelope_citations_follow_the_configured_format() {
    let (_folder, path) = build_test_index();
    let documents = DocumentSettings { shipped: false, indexes: vec![path] };
    let app = app().envelope_citations(CitationFormat::Objects).documents(documents).build();
    let mut client = TestClient::new(&app);
    let question = json!({ "query": "how often is a call repeated" });
    let answer = ask_faq(&mut client, question.clone()).await;
    assert_eq!(
        answer["result"]["citations"],
        json!([{ "path": "guide/retries.md", "section": "How often" }])
    );
    let mut params = question;
    params["citationFormat"] = json!("strings");
    let answer = ask_faq(&mut client, params).await;
    assert_eq!(answer["result"]["citations"], json!(["guide/retries.md"]));
}
