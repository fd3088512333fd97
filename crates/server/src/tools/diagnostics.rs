//! Tools for testing a client. Off by default.

use std::time::Duration;

use protocol::mcp::LogLevel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::error::RequestError;

const fn spec(name: &'static str, title: &'static str) -> ToolSpec {
    ToolSpec { name, title, toolset: Toolset::Diagnostics, effect: Effect::ReadOnly }
}

/// Return the text unchanged.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EchoArgs {
    /// The text.
    text: String,
}

/// The text.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EchoReply {
    text: String,
}

pub(crate) struct Echo;

impl Tool for Echo {
    const SPEC: ToolSpec = spec("echo", "Echo");
    type Args = EchoArgs;
    type Reply = EchoReply;

    async fn call(&self, _: ToolContext, EchoArgs { text }: EchoArgs) -> Result<EchoReply, RequestError> {
        Ok(EchoReply { text })
    }
}

/// Wait and report progress, to test progress and cancellation.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitArgs {
    /// Number of steps.
    #[schemars(range(min = 1, max = 1000))]
    steps: u32,
    /// Duration of each step in milliseconds.
    #[schemars(range(min = 0, max = 10_000))]
    step_ms: u32,
}

/// The steps taken.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WaitReply {
    steps: u32,
}

pub(crate) struct Wait;

impl Tool for Wait {
    const SPEC: ToolSpec = spec("wait", "Wait");
    type Args = WaitArgs;
    type Reply = WaitReply;

    async fn call(
        &self,
        call: ToolContext,
        WaitArgs { steps, step_ms }: WaitArgs,
    ) -> Result<WaitReply, RequestError> {
        for step in 1..=steps {
            tokio::time::sleep(Duration::from_millis(step_ms.into())).await;
            call.notifier.progress(step, steps, "waiting");
        }
        call.notifier.log(LogLevel::Info, "wait", "finished waiting");
        Ok(WaitReply { steps })
    }
}

/// Panic, to test that nothing else is affected.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CrashArgs {}

/// Never returned.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CrashReply {}

pub(crate) struct Crash;

impl Tool for Crash {
    const SPEC: ToolSpec = spec("crash", "Crash");
    type Args = CrashArgs;
    type Reply = CrashReply;

    #[expect(clippy::panic, reason = "panicking is its purpose")]
    async fn call(&self, _: ToolContext, CrashArgs {}: CrashArgs) -> Result<CrashReply, RequestError> {
        panic!("this tool panics on purpose")
    }
}
