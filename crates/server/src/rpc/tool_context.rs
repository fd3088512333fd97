//! What a tool gets besides its arguments.

use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use access::Principal;
use flow::Entropy;
use flow::session::ProcessInstant;
use jiff::Timestamp;
use protocol::mcp::{LogLevel, LogParams, ProgressParams};
use protocol::{Revision, encode};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::app::documents::DocumentIndexes;
use crate::app::project_scope::LazyProjectStore;
use crate::{App, CitationFormat, Outbox};

/// One call of a tool.
#[derive(Clone)]
pub struct ToolContext {
    /// Who calls.
    pub principal: Arc<Principal>,
    /// Where progress and log messages go.
    pub notifier: Notifier,
    /// Cancelled when the client no longer wants the answer. Work on other threads has to look at it.
    pub stop: CancellationToken,
    /// The folders that may be touched.
    pub roots: Arc<[PathBuf]>,
    /// The time of the call.
    pub now: Timestamp,
    /// When it came in, by the monotonic clock of this process.
    pub(crate) received: ProcessInstant,
    /// Where randomness comes from.
    pub entropy: Arc<dyn Entropy>,
    pub(crate) app: Arc<App>,
    pub(crate) documents: Arc<DocumentIndexes>,
    pub(crate) projects: Arc<LazyProjectStore>,
    /// How documents are cited unless the call says otherwise.
    pub(crate) citations: CitationFormat,
}

impl ToolContext {
    /// A number from 0 up to, but not including, `end`.
    pub fn random_below(&self, end: usize) -> usize {
        let mut bytes = [0; 8];
        self.entropy.fill(&mut bytes);
        usize::try_from(u64::from_le_bytes(bytes) % (end.max(1) as u64)).unwrap_or(0)
    }

    /// The same call without progress notifications: progress may only grow, and a caller that counts stages
    /// cannot have a stage count files.
    pub(crate) fn without_progress(&self) -> Self {
        let NotifierInner { outbox, revision, log_level, stop, .. } = self.notifier.inner.as_ref();
        let outlet = Notifier::new(outbox.clone(), *revision, None, *log_level, stop.clone());
        Self { notifier: outlet, ..self.clone() }
    }
}

/// A conversation that runs within a call sees its time, randomness and progress.
impl flow::Env for ToolContext {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn entropy(&self) -> &dyn Entropy {
        self.entropy.as_ref()
    }

    fn progress(&self, progress: &flow::Progress) {
        self.notifier.progress(progress.current, progress.total, &progress.message);
    }
}

/// What a request may send while it runs. Says nothing to those who did not ask to hear it.
#[derive(Clone)]
pub struct Notifier {
    inner: Arc<NotifierInner>,
}

struct NotifierInner {
    outbox: Arc<dyn Outbox>,
    revision: Option<Revision>,
    progress: Option<Mutex<NotifierProgress>>,
    log_level: Option<LogLevel>,
    stop: CancellationToken,
}

struct NotifierProgress {
    token: Value,
    last: Option<u32>,
    /// The tool is at work this very moment: what it says may be overtaken by its answer.
    is_polling: bool,
    /// What it has said meanwhile.
    pending: Option<Vec<u8>>,
}

impl Notifier {
    pub(crate) fn new(
        outbox: Arc<dyn Outbox>,
        revision: Option<Revision>,
        progress_token: Option<Value>,
        log_level: Option<LogLevel>,
        stop: CancellationToken,
    ) -> Self {
        let progress = progress_token.map(|token| {
            Mutex::new(NotifierProgress { token, last: None, is_polling: false, pending: None })
        });
        Self { inner: Arc::new(NotifierInner { outbox, revision, progress, log_level, stop }) }
    }

    /// Tells how far the work is. What is not further than before is not told: progress only grows.
    pub fn progress(&self, progress: u32, total: impl Into<Option<u32>>, message: &str) {
        let (Some(revision), Some(state)) = (self.inner.revision, &self.inner.progress) else { return };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.inner.stop.is_cancelled() || state.last.is_some_and(|last| progress <= last) {
            return;
        }
        state.last = Some(progress);
        let message = revision.has_progress_message().then_some(message);
        let params = ProgressParams { progress_token: &state.token, progress, total: total.into(), message };
        let message = encode::notification("notifications/progress", Some(&params));
        if state.is_polling {
            state.pending = Some(message);
        } else {
            self.inner.outbox.send_notification(message);
        }
    }

    /// Does `work`. Progress is sent whenever the work has to wait; what it says in the step that ends it is
    /// not, since the answer says more. (Clients also mishandle progress that arrives together with the
    /// answer: the TypeScript SDK has forgotten the token by then and reports an error.)
    pub(crate) async fn hold_progress<F: Future>(&self, work: F) -> F::Output {
        let mut work = pin!(work);
        poll_fn(|context| {
            self.set_polling(true);
            let polled = work.as_mut().poll(context);
            self.set_polling(false);
            if polled.is_pending() {
                self.flush_progress();
            }
            polled
        })
        .await
    }

    fn set_polling(&self, working: bool) {
        if let Some(progress) = &self.inner.progress {
            progress.lock().unwrap_or_else(PoisonError::into_inner).is_polling = working;
        }
    }

    /// Sends progress that was held back, because something is about to be said that should come after it.
    pub(crate) fn flush_progress(&self) {
        let Some(progress) = &self.inner.progress else { return };
        let held = progress.lock().unwrap_or_else(PoisonError::into_inner).pending.take();
        if let Some(message) = held.filter(|_| !self.inner.stop.is_cancelled()) {
            self.inner.outbox.send_notification(message);
        }
    }

    /// Sends a finished notification.
    pub(crate) fn send_notification(&self, message: Vec<u8>) {
        self.inner.outbox.send_notification(message);
    }

    /// Where the answer of this request goes, and whatever belongs to it.
    pub(crate) fn outbox(&self) -> &Arc<dyn Outbox> {
        &self.inner.outbox
    }

    /// Sends a log message to the client, if it wants messages of this level.
    pub fn log(&self, level: LogLevel, logger: &str, text: &str) {
        if self.inner.stop.is_cancelled() || self.inner.log_level.is_none_or(|least| level < least) {
            return;
        }
        let params = LogParams { level, logger, data: text };
        self.inner.outbox.send_notification(encode::notification("notifications/message", Some(&params)));
    }
}
