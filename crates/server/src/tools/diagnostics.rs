//! Tools for trying out a client. Off unless asked for.

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

/// Give a text back as it came.
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

/// Gives a text back.
pub(crate) struct Echo;

impl Tool for Echo {
    const SPEC: ToolSpec = spec("echo", "Echo");
    type Args = EchoArgs;
    type Reply = EchoReply;

    async fn call(&self, _: ToolContext, EchoArgs { text }: EchoArgs) -> Result<EchoReply, RequestError> {
        Ok(EchoReply { text })
    }
}

/// Wait for a while and report progress, so that progress and cancellation can be tried.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitArgs {
    /// How many steps to take.
    #[schemars(range(min = 1, max = 1000))]
    steps: u32,
    /// How long each step takes, in milliseconds.
    #[schemars(range(min = 0, max = 10_000))]
    step_ms: u32,
}

/// What was waited.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WaitReply {
    steps: u32,
}

/// Waits.
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
        call.notifier.log(LogLevel::Info, "wait", "waited long enough");
        Ok(WaitReply { steps })
    }
}

/// Fail from within, to see that nothing else is harmed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CrashArgs {}

/// Never given.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CrashReply {}

/// Panics.
pub(crate) struct Crash;

impl Tool for Crash {
    const SPEC: ToolSpec = spec("crash", "Crash");
    type Args = CrashArgs;
    type Reply = CrashReply;

    #[expect(clippy::panic, reason = "that is what it is for")]
    async fn call(&self, _: ToolContext, CrashArgs {}: CrashArgs) -> Result<CrashReply, RequestError> {
        panic!("this tool panics on purpose")
    }
}
