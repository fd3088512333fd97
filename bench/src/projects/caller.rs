//! A client that calls tools, in this process: what comes in and goes out are bytes, as on a pipe.

use std::sync::Arc;

use memchr::memmem::find;
use serde_json::{Value, json};
use server::projects::ProjectStore;
use server::tools::Toolset;
use server::transport::memory::{MemoryClient, connect};
use server::{App, OpenProjects, Principal, Scope};
use tokio::sync::Mutex;

use crate::Outcome;
use crate::database::Done;

/// A tool and its arguments, as JSON.
pub(super) type Call = (&'static str, String);

/// What every server answers alike.
pub(super) fn echo() -> Call {
    ("echo", json!({ "text": "hello, world" }).to_string())
}

/// A connection to a server.
pub(super) struct Caller {
    client: MemoryClient,
    calls: usize,
}

/// So many connections to a server of their own, over this store. Each is for one caller at a time.
pub(super) async fn callers(store: Arc<dyn ProjectStore>, count: usize) -> Outcome<Arc<[Mutex<Caller>]>> {
    let app = app(store);
    let mut callers = Vec::new();
    for _ in 0..count {
        callers.push(Mutex::new(Caller::connect(&app, Principal::local_user(Scope::Write)).await?));
    }
    Ok(callers.into())
}

/// A connection of somebody who has no projects in this store.
pub(super) async fn stranger(store: &Arc<dyn store::Store>) -> Outcome<Caller> {
    Caller::connect(
        &app(Arc::clone(store) as _),
        Principal::of_token("bench", "stranger", "elsewhere", Scope::Write),
    )
    .await
}

fn app(store: Arc<dyn ProjectStore>) -> Arc<App> {
    let open: OpenProjects = Box::new(move || Box::pin(std::future::ready(Ok(Arc::clone(&store)))));
    App::builder().toolsets(&[Toolset::Projects, Toolset::Diagnostics]).projects(open).build()
}

impl Caller {
    async fn connect(app: &Arc<App>, principal: Principal) -> Outcome<Self> {
        let mut caller = Self { client: connect(app, principal), calls: 0 };
        let about = json!({ "name": "bench", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello });
        caller.client.send(hello.to_string().as_bytes());
        caller.answer().await?;
        caller.client.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        Ok(caller)
    }

    /// Calls a tool, and sees that it did what it should.
    pub(super) async fn call(&mut self, call: &Call) -> Done {
        self.bytes(call).await.map(drop)
    }

    /// Calls a tool. Gives what it says.
    pub(super) async fn ask(&mut self, call: &Call) -> Outcome<Value> {
        let answer: Value = serde_json::from_slice(&self.bytes(call).await?)?;
        Ok(answer["result"]["structuredContent"].clone())
    }

    /// Calls a tool that must say that the project is not there.
    pub(super) async fn refused(&mut self, call: &Call) -> Done {
        let answer = self.answered(call).await?;
        let is_absent =
            find(&answer, b"\"isError\":true").is_some() && find(&answer, b"there is no").is_some();
        if is_absent { Ok(()) } else { Err(format!("{}: {}", call.0, String::from_utf8_lossy(&answer))) }
    }

    async fn bytes(&mut self, call: &Call) -> Result<Vec<u8>, String> {
        let answer = self.answered(call).await?;
        let is_good = find(&answer, b"\"result\":").is_some() && find(&answer, b"\"isError\":true").is_none();
        if is_good { Ok(answer) } else { Err(format!("{}: {}", call.0, String::from_utf8_lossy(&answer))) }
    }

    async fn answered(&mut self, (tool, arguments): &Call) -> Result<Vec<u8>, String> {
        self.calls += 1;
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#,
            self.calls
        );
        self.client.send(message.as_bytes());
        self.answer().await
    }

    /// The next answer. What the server says by itself is not looked at.
    async fn answer(&mut self) -> Result<Vec<u8>, String> {
        loop {
            let message = self.client.next().await.ok_or("the server is gone")?;
            if !message.starts_with(br#"{"jsonrpc":"2.0","method":"#) {
                return Ok(message);
            }
        }
    }
}
