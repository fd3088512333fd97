//! A request in the logs: one span, made when the first line needs it.
//!
//! Most requests write no line and are answered in microseconds, of which a span would take a twelfth. So the
//! span is made when the request first has to wait, or when a line is written on the spot
//! ([`in_request_span`]). From then on it is entered whenever the request is worked on, on whatever thread
//! (see `docs/decisions/0020-request-spans.md`).

use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::panic::PanicHookInfo;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use access::Principal;
use flow::session::SessionError;
use protocol::Id;
use serde_json::{Map, Value};
use tracing::Span;

use crate::LogThrottle;
use crate::error::RequestError;
use crate::rpc::dispatch;

/// The most characters of a field that a client chose.
const MAX_FIELD_CHARS: usize = 64;
/// The most characters of a chain of errors.
const MAX_ERROR_CHAIN_CHARS: usize = 1024;

/// The id of a distributed trace (W3C Trace Context), as a client sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId(u128);

impl TraceId {
    /// Reads a `traceparent` of version 00. Anything else is no trace id.
    pub fn from_traceparent(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut part = |length: usize| parts.next().filter(|part| part.len() == length && is_lower_hex(part));
        let (version, trace, parent, _flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        if version != "00" || parts.next().is_some() || parent.bytes().all(|digit| digit == b'0') {
            return None;
        }
        u128::from_str_radix(trace, 16).ok().filter(|id| *id != 0).map(Self)
    }

    /// The trace that the `_meta` of these parameters names.
    pub(crate) fn from_params(params: &Map<String, Value>) -> Option<Self> {
        Self::from_traceparent(params.get("_meta")?.get("traceparent")?.as_str()?)
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

fn is_lower_hex(text: &str) -> bool {
    text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// What a transport knows about where a message came from, for logs.
#[derive(Clone, Debug, Default)]
pub struct Correlation {
    /// The transport's own id of the request. Without one, the connection counts.
    pub request: Option<Arc<str>>,
    /// The trace that the transport's headers name.
    pub trace_id: Option<TraceId>,
}

/// What keeps failures that many requests share from being logged for each of them.
#[derive(Debug, Default)]
pub(crate) struct LogThrottles {
    pub(crate) store: LogThrottle,
    threads: LogThrottle,
}

/// Which request it is, in the order of the connection or by the name that the transport gave it.
#[derive(Debug)]
pub(crate) enum RequestNumber {
    Counted(u64),
    Named(Arc<str>),
}

/// One request in the logs.
#[derive(Debug)]
pub struct RequestSpan {
    number: RequestNumber,
    id: Option<Id>,
    method: String,
    /// `None`: it was rejected before its caller was known.
    principal: Option<Arc<Principal>>,
    trace_id: Option<TraceId>,
    throttles: Arc<LogThrottles>,
    tool: OnceLock<&'static str>,
    span: OnceLock<Span>,
    panic: Mutex<Option<PanicSite>>,
    has_panicked: AtomicBool,
    is_reported: AtomicBool,
}

impl RequestSpan {
    pub(crate) fn new(
        number: RequestNumber,
        id: Option<Id>,
        method: String,
        principal: Option<Arc<Principal>>,
        trace_id: Option<TraceId>,
        throttles: Arc<LogThrottles>,
    ) -> Arc<Self> {
        Arc::new(Self {
            number,
            id,
            method,
            principal,
            trace_id,
            throttles,
            tool: OnceLock::new(),
            span: OnceLock::new(),
            panic: Mutex::default(),
            has_panicked: AtomicBool::new(false),
            is_reported: AtomicBool::new(false),
        })
    }

    pub(crate) fn id(&self) -> Option<&Id> {
        self.id.as_ref()
    }

    pub(crate) fn method(&self) -> &str {
        &self.method
    }

    pub(crate) fn principal(&self) -> Option<&Principal> {
        self.principal.as_deref()
    }

    /// Notes the tool that the request calls. The first one counts.
    pub(crate) fn set_tool(&self, tool: &'static str) {
        if self.tool.set(tool).is_ok()
            && let Some(span) = self.span.get()
        {
            span.record("tool", tool);
        }
    }

    /// The span, which is made when it is first asked for. It is enabled whenever any line can be.
    pub fn span(&self) -> &Span {
        self.span.get_or_init(|| {
            let request = match &self.number {
                RequestNumber::Counted(number) => number.to_string(),
                RequestNumber::Named(name) => name.to_string(),
            };
            let id = self.id.as_ref().map(|id| printable(&id_text(id), MAX_FIELD_CHARS));
            let trace_id = self.trace_id.map(|id| id.to_string());
            let principal = self.principal();
            let tenant = principal.map(|principal| printable(principal.tenant(), MAX_FIELD_CHARS));
            let subject = principal.map(|principal| printable(principal.subject(), 4 * MAX_FIELD_CHARS));
            tracing::error_span!(
                parent: None,
                "request",
                request = request.as_str(),
                rpc.id = id.as_deref(),
                rpc.method = dispatch::method_for_logs(&self.method),
                tool = self.tool.get().copied(),
                tenant = tenant.as_deref(),
                subject = subject.as_deref(),
                trace_id = trace_id.as_deref(),
            )
        })
    }

    /// Writes log lines inside the span.
    pub fn in_scope<R>(&self, write: impl FnOnce() -> R) -> R {
        self.span().in_scope(write)
    }

    /// Does `work` as part of the request, on this thread, without a span unless a line is written.
    fn enter<R>(self: &Arc<Self>, work: impl FnOnce() -> R) -> R {
        let _entered = CurrentRequestGuard { outer: CURRENT.replace(Some(Arc::clone(self))) };
        work()
    }

    /// Does `work` as part of the request and inside its span, on this thread.
    pub(crate) fn enter_span<R>(self: &Arc<Self>, work: impl FnOnce() -> R) -> R {
        self.enter(|| self.in_scope(work))
    }

    /// Logs why the request fails, once, if it is for the operator to know.
    pub(crate) fn report(&self, failure: &RequestError) {
        let log_once = |log: &dyn Fn(&str)| {
            if !self.is_reported.swap(true, Ordering::Relaxed) {
                self.in_scope(|| log(&cause_chain(failure)));
            }
        };
        match failure {
            RequestError::Internal { .. } => {
                log_once(&|error| tracing::error!(error, "the request ended with an internal error"));
            }
            RequestError::StoreUnavailable { .. }
            | RequestError::StoreFull { .. }
            | RequestError::Session { problem: SessionError::Store(_), .. } => {
                if let Some(suppressed) = self.throttles.store.admit(Instant::now()) {
                    log_once(&|error| {
                        tracing::error!(error, suppressed, "the store failed during a request");
                    });
                }
            }
            RequestError::OutOfResources { .. } => {
                if let Some(suppressed) = self.throttles.threads.admit(Instant::now()) {
                    log_once(&|error| tracing::error!(error, suppressed, "no thread could be started"));
                }
            }
            _ => {}
        }
    }

    /// A line about the store that is not the end of the request.
    pub(crate) fn throttles(&self) -> &LogThrottles {
        &self.throttles
    }

    fn record_panic(&self, site: PanicSite) {
        *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(site);
        self.has_panicked.store(true, Ordering::Release);
    }

    /// The last panic of the request that was not logged yet.
    pub(crate) fn take_panic(&self) -> Option<PanicSite> {
        if !self.has_panicked.swap(false, Ordering::Acquire) {
            return None;
        }
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Logs a panic that did not become the failure of the request, because a conversation caught it.
    pub(crate) fn report_panic(&self) {
        if let Some(panic) = self.take_panic() {
            let error = panic.to_string();
            self.in_scope(|| tracing::error!(error, "the request panicked"));
        }
    }
}

thread_local! {
    /// The request that this thread works on.
    static CURRENT: RefCell<Option<Arc<RequestSpan>>> = const { RefCell::new(None) };
}

/// Puts back what the thread worked on before, also if the work panics.
struct CurrentRequestGuard {
    outer: Option<Arc<RequestSpan>>,
}

impl Drop for CurrentRequestGuard {
    fn drop(&mut self) {
        CURRENT.set(self.outer.take());
    }
}

/// The request that this thread works on.
pub(crate) fn current_request() -> Option<Arc<RequestSpan>> {
    // A panic hook may ask while a thread ends or while the cell is borrowed.
    CURRENT.try_with(|current| current.try_borrow().ok()?.clone()).ok().flatten()
}

/// Writes log lines inside the span of the request that this thread works on, if there is one. For lines that
/// may be written before the request first waits: after that, the span is entered already.
pub fn in_request_span<R>(write: impl FnOnce() -> R) -> R {
    match current_request() {
        Some(request) => request.in_scope(write),
        None => write(),
    }
}

/// Does the work of a request: without a span as long as it does not wait, and inside it afterwards.
pub(crate) async fn run_in_request<F: Future>(request: Arc<RequestSpan>, work: F) -> F::Output {
    let mut work = pin!(work);
    let mut has_waited = false;
    poll_fn(|context| {
        let poll = || work.as_mut().poll(context);
        let polled = if has_waited { request.enter_span(poll) } else { request.enter(poll) };
        has_waited = true;
        polled
    })
    .await
}

/// Where a panic happened. What it said is kept only where it is part of the program: other texts can hold
/// data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PanicSite {
    location: Option<String>,
    message: Option<&'static str>,
}

impl PanicSite {
    fn from_hook(info: &PanicHookInfo<'_>) -> Self {
        Self {
            location: info.location().map(ToString::to_string),
            message: info.payload().downcast_ref::<&'static str>().copied(),
        }
    }
}

impl fmt::Display for PanicSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a panic")?;
        if let Some(location) = &self.location {
            write!(f, " at {location}")?;
        }
        self.message.map_or(Ok(()), |message| write!(f, ": {message}"))
    }
}

impl Error for PanicSite {}

/// Notes a panic, for a panic hook. That of a request is logged where the request ends; any other comes back,
/// and is for the caller to log.
pub fn record_panic(info: &PanicHookInfo<'_>) -> Result<(), PanicSite> {
    let site = PanicSite::from_hook(info);
    match current_request() {
        Some(request) => {
            request.record_panic(site);
            Ok(())
        }
        None => Err(site),
    }
}

/// An error and its causes in one line.
pub(crate) fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let told = cause.to_string();
        // Many errors repeat their cause at the end of their own text.
        if !text.ends_with(&told) {
            text = format!("{text}: {told}");
        }
        source = cause.source();
    }
    printable(&text, MAX_ERROR_CHAIN_CHARS)
}

/// The causes of a failure, without its own text: that is for the caller.
fn cause_chain(failure: &RequestError) -> String {
    match (failure.source(), failure) {
        (Some(cause), _) => error_chain(cause),
        (None, RequestError::Session { problem, .. }) => error_chain(problem),
        (None, _) => error_chain(failure),
    }
}

/// The text of an id: of a string without its quotes.
fn id_text(id: &Id) -> String {
    serde_json::from_str(id.as_json()).unwrap_or_else(|_| id.as_json().to_owned())
}

/// At most so many characters of a text, in one line and without anything that a terminal would obey.
fn printable(text: &str, most: usize) -> String {
    let escape = |c: char| c.escape_default().to_string();
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", codebase::replace_invisible_chars(&text[..end], escape)),
        None => codebase::replace_invisible_chars(text, escape),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_traceparent_is_rejected() {
        let id = "0af7651916cd43dd8448eb211c80319c";
        for (text, is_valid) in [
            (format!("00-{id}-b7ad6b7169203331-01"), true),
            (format!("00-{id}-b7ad6b7169203331-00"), true),
            (format!("01-{id}-b7ad6b7169203331-01"), false),
            (format!("ff-{id}-b7ad6b7169203331-01"), false),
            (format!("00-{}-b7ad6b7169203331-01", id.to_uppercase()), false),
            (format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)), false),
            (format!("00-{id}-{}-01", "0".repeat(16)), false),
            (format!("00-{id}-b7ad6b7169203331-01-x"), false),
            (format!("00-{id}-b7ad6b7169203331"), false),
            (format!("00-{id}0-b7ad6b7169203331-01"), false),
            (format!("00-+{}-b7ad6b7169203331-01", &id[1..]), false),
            (format!(" 00-{id}-b7ad6b7169203331-01"), false),
            (format!("00-{}\n-b7ad6b7169203331-01", &id[1..]), false),
            (String::new(), false),
            ("é".repeat(28), false),
        ] {
            let found = TraceId::from_traceparent(&text).map(|id| id.to_string());
            assert_eq!(found.as_deref(), is_valid.then_some(id), "{text:?}");
        }
    }

    #[test]
    fn log_field_is_escaped_and_truncated() {
        for (text, shown) in [
            ("abc", "abc".to_owned()),
            ("a\nb\u{1b}[31m", "a\\nb\\u{1b}[31m".to_owned()),
            ("\u{85}\u{2028}\0", "\\u{85}\\u{2028}\\u{0}".to_owned()),
            (&"é".repeat(64), "é".repeat(64)),
            (&"é".repeat(65), format!("{}…", "é".repeat(64))),
        ] {
            assert_eq!(printable(text, MAX_FIELD_CHARS), shown, "{text:?}");
        }
    }

    #[test]
    fn error_chain_contains_every_cause_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer: {0}")]
        struct WrappedIoError(#[source] std::io::Error);
        let cause = std::io::Error::other("the disk\nis full");
        assert_eq!(error_chain(&WrappedIoError(cause)), "outer: the disk\\nis full");
        let failure = RequestError::internal(WrappedIoError(std::io::Error::other("x")));
        assert_eq!(error_chain(&failure), "Internal error: outer: x");
        assert_eq!(cause_chain(&failure), "outer: x");
    }
}
