//! The environment that sessions run in on this server.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use access::Principal;
use flow::session::{ProcessInstant, SessionEnv, SessionOwner, SleepFuture};
use flow::{Answers, DynConversation, Entropy, Env, Halt, Journal, Progress, Turn, TurnContext};
use jiff::Timestamp;

use crate::error::RequestError;
use crate::rpc::context::RequestContext;
use crate::telemetry::request_span;
use crate::{App, ToolContext};

/// The environment of one caller's sessions.
pub(super) struct InteractionEnv<'a> {
    app: &'a App,
    principal: &'a Principal,
    /// `None`: sessions are only looked at, and no conversation runs.
    running: Option<RunningConversations<'a>>,
}

/// What conversations need that run within a request.
struct RunningConversations<'a> {
    ctx: &'a RequestContext,
    call: ToolContext,
    /// The progress that was reported last and has not been pushed.
    latest: &'a Mutex<Option<Progress>>,
}

impl<'a> InteractionEnv<'a> {
    /// For a request that runs conversations, with what they may use.
    pub(super) fn for_request(
        ctx: &'a RequestContext,
        call: ToolContext,
        latest: &'a Mutex<Option<Progress>>,
    ) -> Self {
        let running = Some(RunningConversations { ctx, call, latest });
        Self { app: ctx.app(), principal: &ctx.call.principal, running }
    }

    /// For looking at the sessions of this caller.
    pub(super) fn read_only(app: &'a App, principal: &'a Principal) -> Self {
        Self { app, principal, running: None }
    }
}

impl Env for InteractionEnv<'_> {
    fn now(&self) -> Timestamp {
        self.app.now()
    }

    fn entropy(&self) -> &dyn Entropy {
        self.app.entropy.as_ref()
    }

    fn progress(&self, progress: &Progress) {
        if let Some(RunningConversations { call, latest, .. }) = &self.running {
            call.progress(progress);
            *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress.clone());
        }
    }
}

impl SessionEnv for InteractionEnv<'_> {
    fn owner(&self) -> SessionOwner<'_> {
        SessionOwner { tenant: self.principal.tenant(), subject: self.principal.subject() }
    }

    fn monotonic(&self) -> ProcessInstant {
        self.app.process_instant()
    }

    fn sleep(&self, duration: Duration) -> SleepFuture {
        Box::pin(tokio::time::sleep(duration))
    }

    fn conversation(&self, tool: &str) -> Option<Box<dyn DynConversation>> {
        let RunningConversations { ctx, call, .. } = self.running.as_ref()?;
        let tool = self.app.catalog().find(tool)?;
        let is_allowed = tool.spec.check_access(self.principal).is_ok();
        let _ = ctx.notes.tool.set((tool.spec.name, tool.has_side_effects()));
        if let Some(request) = request_span::current_request() {
            request.set_tool(tool.spec.name);
        }
        let conversation = tool.conversation(call).filter(|_| is_allowed)?;
        Some(Box::new(LogFailures(conversation)))
    }
}

/// Logs why a conversation failed: its session keeps only the text of the failure, and the request itself
/// succeeds.
struct LogFailures(Box<dyn DynConversation>);

impl DynConversation for LogFailures {
    fn advance<'a>(
        &'a self,
        journal: &'a mut Journal,
        input: Option<Answers>,
        context: &'a TurnContext<'a>,
    ) -> Pin<Box<dyn Future<Output = Turn> + Send + 'a>> {
        Box::pin(async move {
            let turn = self.0.advance(journal, input, context).await;
            if let Turn::Halted(Halt::Failed(cause)) = &turn
                && let Some(failure) = cause.downcast_ref::<RequestError>()
                && let Some(request) = request_span::current_request()
            {
                request.report(failure);
            }
            turn
        })
    }
}
