//! A client that calls tools, in this process: what comes in and goes out are bytes, as on a pipe.

use std::sync::Arc;

use memchr::memmem::find;
use serde_json::{Value, json};
use server::tools::Toolset;
use server::transport::memory::{MemoryClient, connect};
use server::{App, Principal, ProjectStoreOpener, Scope};
use tokio::sync::Mutex;

use crate::BenchResult;
use crate::database::OperationResult;

/// A tool and its arguments, as JSON.
pub(super) type BenchToolCall = (&'static str, String);

/// A connection to a server.
pub(super) struct ToolCaller {
    client: MemoryClient,
    calls: usize,
}

/// Connections, each for one caller at a time.
pub(super) type ToolCallers = Arc<[Mutex<ToolCaller>]>;

/// So many connections to a server over this store.
pub(super) async fn connect_callers(store: Arc<dyn store::Store>, count: usize) -> BenchResult<ToolCallers> {
    let open: ProjectStoreOpener = Box::new(move || Box::pin(std::future::ready(Ok(store.projects()))));
    let app = App::builder().toolsets(&[Toolset::Projects]).projects(open).build();
    let mut callers = Vec::new();
    for _ in 0..count {
        callers.push(Mutex::new(ToolCaller::connect(&app, Principal::local_user(Scope::Write)).await?));
    }
    Ok(callers.into())
}

impl ToolCaller {
    async fn connect(app: &Arc<App>, principal: Principal) -> BenchResult<Self> {
        let mut caller = Self { client: connect(app, principal), calls: 0 };
        let about = json!({ "name": "bench", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello });
        caller.client.send(hello.to_string().as_bytes());
        caller.next_response().await?;
        caller.client.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        Ok(caller)
    }

    /// Calls a tool, and sees that it did what it should.
    pub(super) async fn call(&mut self, call: &BenchToolCall) -> OperationResult {
        self.call_raw(call).await.map(drop)
    }

    /// Calls a tool. Gives what it says.
    pub(super) async fn call_for_result(&mut self, call: &BenchToolCall) -> BenchResult<Value> {
        let answer: Value = serde_json::from_slice(&self.call_raw(call).await?)?;
        Ok(answer["result"]["structuredContent"].clone())
    }

    async fn call_raw(&mut self, (tool, arguments): &BenchToolCall) -> Result<Vec<u8>, String> {
        self.calls += 1;
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#,
            self.calls
        );
        self.client.send(message.as_bytes());
        let answer = self.next_response().await?;
        let is_good = find(&answer, b"\"result\":").is_some() && find(&answer, b"\"isError\":true").is_none();
        if is_good { Ok(answer) } else { Err(format!("{tool}: {}", String::from_utf8_lossy(&answer))) }
    }

    /// The next answer. What the server says by itself is not looked at.
    async fn next_response(&mut self) -> Result<Vec<u8>, String> {
        loop {
            let message = self.client.next().await.ok_or("the server is gone")?;
            if !message.starts_with(br#"{"jsonrpc":"2.0","method":"#) {
                return Ok(message);
            }
        }
    }
}
