//! A client for tests. Time stands still, randomness repeats, and every message from the server is checked against
//! the official schema of its revision.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use server::tools::Toolset;
use server::transport::memory::{self, MemoryClient};
use server::{App, Clock, Entropy, Principal, Scope, Seal, SealKey, Timestamp};

use crate::schema::Schemas;

struct Noon;
impl Clock for Noon {
    fn now(&self) -> Timestamp {
        "2026-11-15T12:00:00Z".parse().unwrap()
    }
}

/// Counts instead of rolling dice.
struct Counting(AtomicU8);
impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.0.fetch_add(1, Ordering::Relaxed));
    }
}

pub(crate) fn app() -> server::AppBuilder {
    App::builder()
        .clock(Arc::new(Noon))
        .entropy(Arc::new(Counting(AtomicU8::new(0))))
        .seal(SealKey::parse(&"07".repeat(32)).map(Seal::new))
        .toolsets(&Toolset::ALL)
}

pub(crate) struct TestClient {
    client: MemoryClient,
    schemas: Schemas,
}

impl TestClient {
    pub(crate) fn new(app: &Arc<App>) -> Self {
        Self::with_scope(app, Scope::Write)
    }

    /// A client of somebody who may do this much.
    pub(crate) fn with_scope(app: &Arc<App>, scope: Scope) -> Self {
        let client = memory::connect(app, Principal::local_user(scope));
        Self { client, schemas: Schemas::load() }
    }

    /// A client that has shaken hands.
    pub(crate) async fn greeted(app: &Arc<App>, revision: &str, capabilities: Value) -> Self {
        let mut client = Self::new(app);
        client.exchange(&initialize(revision, capabilities)).await;
        client.exchange(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        client
    }

    /// Sends a line and returns everything that comes back until nothing moves any more.
    pub(crate) async fn exchange(&mut self, line: &str) -> Vec<String> {
        self.send(line.as_bytes());
        self.settle().await
    }

    pub(crate) fn send(&mut self, line: &[u8]) {
        self.schemas.note_request(line);
        self.client.send(line);
    }

    /// The clock stands still and moves on only when every task waits: then there is nothing more to come.
    pub(crate) async fn settle(&mut self) -> Vec<String> {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let mut messages = Vec::new();
        while let Some(message) = self.client.try_next() {
            let message = String::from_utf8(message).expect("messages are UTF-8");
            self.schemas.check(&message);
            messages.push(message);
        }
        messages
    }

    /// The one answer to a request.
    pub(crate) async fn request(&mut self, message: Value) -> Value {
        let mut answers = self.exchange(&message.to_string()).await;
        assert_eq!(answers.len(), 1, "{message} got {answers:?}");
        serde_json::from_str(&answers.remove(0)).unwrap()
    }

    pub(crate) async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        self.request(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await
    }

    pub(crate) fn connection(&self) -> &Arc<server::Connection> {
        self.client.connection()
    }
}

pub(crate) fn initialize(revision: &str, capabilities: Value) -> String {
    let about = json!({ "name": "test-client", "version": "1.0.0" });
    let params = json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": about });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string()
}

/// What a stateless request carries along.
pub(crate) fn stateless(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}
