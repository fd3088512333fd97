//! What the server logs about requests: their cause, once, with what leads back to the request.

use std::io::{self, Write};
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::{Value, json};
use server::projects::StoreError;
use server::{App, ProjectStoreOpener};

use crate::harness::{TestClient, app, initialize_request, stateless_meta};

const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";
const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The log of the whole process, as the binary writes it at `--log info --log-format json`.
#[derive(Clone, Default)]
struct LogCapture(Arc<Mutex<Vec<u8>>>);

impl LogCapture {
    fn install() -> &'static Self {
        static LOG: LazyLock<LogCapture> = LazyLock::new(|| {
            let log = LogCapture::default();
            let writer = log.clone();
            let subscriber = tracing_subscriber::fmt()
                .with_max_level(tracing_subscriber::filter::LevelFilter::INFO)
                .with_writer(move || writer.clone())
                .json()
                .flatten_event(true)
                .with_span_list(false)
                .finish();
            tracing_subscriber::util::SubscriberInitExt::init(subscriber);
            let print = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                if server::record_panic(info).is_err() {
                    print(info);
                }
            }));
            log
        });
        &LOG
    }

    /// The lines about requests whose id begins like this.
    fn lines_for_request(&self, id: &str) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let lines =
            text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is an object"));
        lines
            .filter(|line| line["span"]["rpc.id"].as_str().is_some_and(|found| found.starts_with(id)))
            .collect()
    }
}

impl Write for LogCapture {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A server whose projects cannot be opened: it learns that at once, or has to wait for it.
fn app_with_failing_store(error: StoreError, waits: bool) -> Arc<App> {
    let open: ProjectStoreOpener = Box::new(move || {
        let error = error.clone();
        Box::pin(async move {
            if waits {
                tokio::task::yield_now().await;
            }
            Err(error)
        })
    });
    app().projects(open).build()
}

fn call(id: &str, tool: &str, meta: Value) -> Value {
    let params = json!({ "name": tool, "arguments": {}, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

#[tokio::test(start_paused = true)]
async fn internal_error_is_logged_once_with_cause_and_request() {
    let log = LogCapture::install();
    for (id, waits, traceparent, trace) in [
        ("cause-at-once", false, TRACEPARENT, Some(TRACE_ID)),
        ("cause-later", true, TRACEPARENT, Some(TRACE_ID)),
        ("cause-untraced", false, "00-00-00-00", None),
    ] {
        let app = app_with_failing_store(StoreError::Broken("made up".to_owned()), waits);
        let mut client = TestClient::initialized(&app, "2025-11-25", json!({})).await;
        let meta = json!({ "traceparent": traceparent, "tracestate": "a=b" });
        let answer = client.request(call(id, "list_projects", meta)).await;
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        assert_eq!(answer["error"]["message"], "Internal error", "{answer}");
        assert_eq!(answer["error"]["data"], json!({ "kind": "internal" }), "{answer}");

        let lines = log.lines_for_request(id);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0]["level"], "ERROR");
        assert_eq!(lines[0]["error"], "the store failed: made up");
        let mut span = json!({
            "name": "request",
            // The greeting was the first.
            "request": "2",
            "rpc.id": id,
            "rpc.method": "tools/call",
            "tool": "list_projects",
            "tenant": "local",
            "subject": "local",
        });
        if let Some(trace) = trace {
            span["trace_id"] = trace.into();
        }
        assert_eq!(lines[0]["span"], span);
    }
}

#[tokio::test(start_paused = true)]
async fn trace_id_is_logged_in_every_revision() {
    let log = LogCapture::install();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let app = app_with_failing_store(StoreError::Broken("made up".to_owned()), false);
        let mut client = TestClient::new(&app);
        let mut meta = json!({ "traceparent": TRACEPARENT });
        if revision == "2026-07-28" {
            meta.as_object_mut().unwrap().extend(stateless_meta(json!({})).as_object().unwrap().clone());
        } else {
            client = client.initialize(revision, json!({})).await;
        }
        let id = format!("trace-{revision}");
        client.request(call(&id, "list_projects", meta)).await;
        let lines = log.lines_for_request(&id);
        assert_eq!(lines.len(), 1, "{revision}: {lines:?}");
        assert_eq!(lines[0]["span"]["trace_id"], TRACE_ID, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn repeated_store_outage_logs_are_throttled() {
    let log = LogCapture::install();
    let app = app_with_failing_store(StoreError::Unreachable("made up".to_owned()), false);
    let mut client = TestClient::initialized(&app, "2025-11-25", json!({})).await;
    for n in 0..1000 {
        let answer = client.request(call(&format!("outage-{n}"), "list_projects", json!({}))).await;
        assert_eq!(answer["error"]["data"]["kind"], "store_unavailable", "{answer}");
    }
    let lines = log.lines_for_request("outage-");
    // One per ten seconds, on however slow a machine.
    assert!((1..=10).contains(&lines.len()), "{lines:?}");
    assert_eq!(lines[0]["span"]["rpc.id"], "outage-0");
    assert_eq!(lines[0]["error"], "the store cannot be reached: made up");
    assert_eq!(lines[0]["suppressed"], 0);
}

#[tokio::test(start_paused = true)]
async fn tool_panic_is_logged_once_with_location() {
    let log = LogCapture::install();
    let mut client = TestClient::initialized(&app().build(), "2025-11-25", json!({})).await;
    let answer = client.request(call("panics", "crash", json!({}))).await;
    assert_eq!(answer["error"]["message"], "Internal error", "{answer}");
    let lines = log.lines_for_request("panics");
    assert_eq!(lines.len(), 1, "{lines:?}");
    let error = lines[0]["error"].as_str().unwrap();
    assert!(error.contains("diagnostics.rs:") && error.ends_with("this tool panics on purpose"), "{error}");
    assert_eq!(lines[0]["span"]["tool"], "crash");
}

#[tokio::test(start_paused = true)]
async fn client_supplied_ids_are_escaped_and_truncated_in_logs() {
    let log = LogCapture::install();
    let app = app_with_failing_store(StoreError::Broken("made up".to_owned()), false);
    let mut client = TestClient::initialized(&app, "2025-11-25", json!({})).await;
    let forged = format!("forged\n{{\"level\":\"ERROR\"}}\u{1b}[31m\u{2028}{}", "x".repeat(100_000));
    client.request(call(&forged, "list_projects", json!({}))).await;
    let lines = log.lines_for_request("forged");
    assert_eq!(lines.len(), 1, "{lines:?}");
    let id = lines[0]["span"]["rpc.id"].as_str().unwrap();
    assert!(id.starts_with("forged\\n{\"level\":\"ERROR\"}\\u{1b}[31m\\u{2028}xxx"), "{id}");
    assert!(id.chars().count() < 100, "{id}");

    let greeting = initialize_request("2025-11-25", json!({})).replace("\"id\":0", "\"id\":\"greets\"");
    TestClient::new(&app).exchange(&greeting).await;
    let lines = log.lines_for_request("greets");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["message"], "client connected");
    assert_eq!(lines[0]["span"]["rpc.method"], "initialize");
}
