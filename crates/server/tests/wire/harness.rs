//! A client for tests. Time stands still, randomness repeats, and every message from the server is checked
//! against the official schema of its revision.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use server::access::{KeyEnvironment, KeyRecord};
use server::tools::Toolset;
use server::transport::memory::{self, MemoryClient};
use server::{App, Clock, Entropy, Principal, Scope, Seal, SealKey, Timestamp};

use crate::schema::SchemaChecker;

struct WireTestClock;
impl Clock for WireTestClock {
    fn now(&self) -> Timestamp {
        "2026-11-15T12:00:00Z".parse().unwrap()
    }
}

/// Counts instead of rolling dice. What is drawn twice would be taken for the same thing.
struct WireTestEntropy(AtomicU32);
impl Entropy for WireTestEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        let [low, more @ ..] = self.0.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        bytes.fill(low);
        bytes.iter_mut().zip(more).for_each(|(byte, more)| *byte ^= more);
    }
}

pub(crate) fn app() -> server::AppBuilder {
    App::builder()
        .clock(Arc::new(WireTestClock))
        .entropy(Arc::new(WireTestEntropy(AtomicU32::new(0))))
        .seal(SealKey::parse(&"07".repeat(32)).map(Seal::new))
        .toolsets(&Toolset::ALL)
        .asks_client_roots(true)
        .projects(Box::new(|| Box::pin(async { Ok(open_memory().await.projects()) })))
}

/// A database of its own.
pub(crate) async fn open_memory() -> Arc<dyn store::Store> {
    store::open(&store::StoreLocation::Memory, &store::StoreOptions::default()).await.unwrap()
}

/// Whoever holds a key of this account: for all of its projects, or for one.
pub(crate) fn key_principal(account: &str, scope: Scope, project: Option<&str>) -> Principal {
    Principal::from_key(&KeyRecord {
        id: format!("{account}-{scope}-{}", project.unwrap_or("all")),
        tenant: account.to_owned(),
        label: "a key of the tests".to_owned(),
        environment: KeyEnvironment::Test,
        scope,
        project: project.map(str::to_owned),
        created: WireTestClock.now(),
        expires: None,
        revoked: None,
    })
}

pub(crate) struct TestClient {
    client: MemoryClient,
    schemas: SchemaChecker,
}

impl TestClient {
    pub(crate) fn new(app: &Arc<App>) -> Self {
        Self::with_scope(app, Scope::Execute)
    }

    /// A client of somebody who may do this much.
    pub(crate) fn with_scope(app: &Arc<App>, scope: Scope) -> Self {
        Self::for_principal(app, Principal::local_user(scope))
    }

    /// A client of this caller.
    pub(crate) fn for_principal(app: &Arc<App>, caller: Principal) -> Self {
        Self { client: memory::connect(app, caller), schemas: SchemaChecker::load() }
    }

    /// A client that has shaken hands.
    pub(crate) async fn initialized(app: &Arc<App>, revision: &str, capabilities: Value) -> Self {
        Self::new(app).initialize(revision, capabilities).await
    }

    /// The same client, after it has shaken hands.
    pub(crate) async fn initialize(mut self, revision: &str, capabilities: Value) -> Self {
        self.exchange(&initialize_request(revision, capabilities)).await;
        self.exchange(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        self
    }

    /// Sends a line and returns everything that comes back until nothing moves any more.
    pub(crate) async fn exchange(&mut self, line: &str) -> Vec<String> {
        self.send(line.as_bytes());
        self.settle().await
    }

    pub(crate) fn send(&mut self, line: &[u8]) {
        self.schemas.record_requests(line);
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
        let (answer, news) = self.request_with_notifications(&message).await;
        assert!(news.is_empty(), "{message} got {news:?} besides {answer}");
        answer
    }

    /// The one answer to a request, and what the server told besides.
    pub(crate) async fn request_with_notifications(&mut self, message: &Value) -> (Value, Vec<Value>) {
        let messages = self.exchange(&message.to_string()).await;
        let parsed = messages.iter().map(|message| serde_json::from_str::<Value>(message).unwrap());
        let (mut answers, news): (Vec<_>, Vec<_>) = parsed.partition(|message| message.get("id").is_some());
        assert_eq!(answers.len(), 1, "{message} got {messages:?}");
        (answers.remove(0), news)
    }

    pub(crate) async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        self.request(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await
    }

    pub(crate) fn connection(&self) -> &Arc<server::Connection> {
        self.client.connection()
    }
}

pub(crate) fn initialize_request(revision: &str, capabilities: Value) -> String {
    let about = json!({ "name": "test-client", "version": "1.0.0" });
    let params = json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": about });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string()
}

/// What a stateless request carries along.
pub(crate) fn stateless_meta(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}
