//! What is known about a request when it is over: for metrics and the audit log.

pub(crate) mod request_span;
pub(crate) mod throttle;

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use access::Principal;
use serde_json::{Map, Value};

use crate::App;
use crate::telemetry::request_span::RequestSpan;

/// A request that is over.
#[derive(Debug)]
pub struct RequestRecord<'a> {
    /// The request in the logs: lines about it are written inside its span.
    pub request: &'a RequestSpan,
    /// The caller. `None`: the request was rejected before its caller was known.
    pub principal: Option<&'a Principal>,
    /// The method; `unknown` if there is none of this name, or the request did not get that far. So there are
    /// only so many.
    pub method: &'a str,
    /// The tool, where one was called that exists.
    pub tool: Option<&'static str>,
    /// The tool changes things.
    pub is_mutating: bool,
    /// `ok`, `cancelled`, or the kind of the failure.
    pub outcome: &'static str,
    /// How long it took.
    pub duration: Duration,
}

/// Observes requests, for metrics.
pub trait Observer: Send + Sync {
    /// A request is over.
    fn on_request_end(&self, record: &RequestRecord<'_>);
}

/// What handlers note down about the request that they answer.
#[derive(Default)]
pub(crate) struct RequestNotes {
    pub(crate) tool: OnceLock<(&'static str, bool)>,
    /// It was only tried.
    dry_run: OnceLock<()>,
    /// The kind of a failure that went out as a result, for a model to read.
    pub(crate) failure: OnceLock<&'static str>,
}

impl RequestNotes {
    /// What is only tried changes nothing. Arguments say so, and what came of them does.
    pub(crate) fn note_dry_run(&self, said: &Map<String, Value>) {
        if ["dryRun", "dry_run"].iter().any(|name| said.get(*name) == Some(&Value::Bool(true))) {
            let _ = self.dry_run.set(());
        }
    }
}

/// Looks on while a request is at work, and tells when it is over, however that comes.
pub(crate) struct RequestTimer<'a> {
    app: &'a App,
    request: &'a RequestSpan,
    method: &'a str,
    notes: &'a RequestNotes,
    started: Instant,
    outcome: &'static str,
}

impl<'a> RequestTimer<'a> {
    pub(crate) fn start(
        app: &'a App,
        request: &'a RequestSpan,
        method: &'a str,
        notes: &'a RequestNotes,
    ) -> Self {
        Self { app, request, method, notes, started: Instant::now(), outcome: "cancelled" }
    }

    /// Reports a request that was rejected before its method was read.
    pub(crate) fn record_rejected(app: &App, request: &RequestSpan, kind: &'static str) {
        RequestTimer::start(app, request, "unknown", &RequestNotes::default()).finish(Some(kind));
    }

    /// It came to an end of its own: well, or with a failure of this kind.
    pub(crate) fn finish(mut self, failure: Option<&'static str>) {
        self.outcome = failure.or_else(|| self.notes.failure.get().copied()).unwrap_or("ok");
        if self.outcome == "method_not_found" {
            self.method = "unknown";
        }
    }
}

impl Drop for RequestTimer<'_> {
    fn drop(&mut self) {
        let Some(observer) = &self.app.observer else { return };
        if std::thread::panicking() {
            self.outcome = "internal";
        }
        let (tool, changes) =
            self.notes.tool.get().map_or((None, false), |(tool, changes)| (Some(*tool), *changes));
        let changes = changes && self.notes.dry_run.get().is_none();
        observer.on_request_end(&RequestRecord {
            request: self.request,
            principal: self.request.principal(),
            method: self.method,
            tool,
            is_mutating: changes,
            outcome: self.outcome,
            duration: self.started.elapsed(),
        });
    }
}
