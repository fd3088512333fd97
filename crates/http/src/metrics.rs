//! Figures about the server, as Prometheus reads them.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use server::{Observer, Principal, Seen};

/// Seconds at which latencies are counted: from a tenth of a millisecond to ten seconds.
const SECONDS: [f64; 11] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    method: String,
    tool: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Method {
    method: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reply {
    endpoint: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

/// Figures about the server. There are only so many: labels are names that the server knows, never what a client sends.
pub struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    seconds: Family<Method, Histogram, fn() -> Histogram>,
    replies: Family<Reply, Counter>,
    refusals: Family<Kind, Counter>,
    connections: Gauge,
    sessions: Gauge,
    streams: Gauge,
    store_ready: Gauge,
}

/// Something that is counted for as long as it lives.
pub(crate) struct Counted(Gauge);

impl Counted {
    fn new(gauge: &Gauge<i64, AtomicI64>) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("fluxway");
        let requests = Family::<Request, Counter>::default();
        registry.register("requests", "Requests by method, tool and outcome", requests.clone());
        let histogram: fn() -> Histogram = || Histogram::new(SECONDS);
        let seconds = Family::<Method, Histogram, fn() -> Histogram>::new_with_constructor(histogram);
        registry.register("request_seconds", "How long requests took", seconds.clone());
        let replies = Family::<Reply, Counter>::default();
        registry.register("http_responses", "Responses by endpoint and status", replies.clone());
        let refusals = Family::<Kind, Counter>::default();
        registry.register("refusals", "What was refused before dispatch, by kind", refusals.clone());
        let mut gauge = |name: &str, help: &str| {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let connections = gauge("connections", "Open connections");
        let sessions = gauge("sessions", "Open sessions of /mcp and /sse");
        let streams = gauge("streams", "Open streams: SSE and WebSocket");
        let store_ready = gauge("store_ready", "Whether the store could be reached when /readyz last asked");
        // It was there when the server started.
        store_ready.set(1);
        Self { registry, requests, seconds, replies, refusals, connections, sessions, streams, store_ready }
    }
}

impl Metrics {
    pub(crate) fn connection(&self) -> Counted {
        Counted::new(&self.connections)
    }

    pub(crate) fn session(&self) -> Counted {
        Counted::new(&self.sessions)
    }

    pub(crate) fn stream(&self) -> Counted {
        Counted::new(&self.streams)
    }

    pub(crate) fn replied(&self, endpoint: &'static str, status: u16) {
        self.replies.get_or_create(&Reply { endpoint, status }).inc();
    }

    pub(crate) fn refused(&self, kind: &'static str) {
        self.refusals.get_or_create(&Kind { kind }).inc();
    }

    pub(crate) fn store_is_ready(&self, ready: bool) {
        self.store_ready.set(ready.into());
    }

    /// All of them, as text.
    pub(crate) fn page(&self) -> String {
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            let _ = writeln!(text, "# not all figures could be written");
        }
        text
    }
}

/// Counts requests, and writes down what was changed and what was denied.
pub struct Watcher(pub Arc<Metrics>);

impl Observer for Watcher {
    fn seen(&self, seen: &Seen<'_>) {
        let (method, tool, outcome) = (seen.method.to_owned(), seen.tool.unwrap_or_default(), seen.outcome);
        self.0.seconds.get_or_create(&Method { method: method.clone() }).observe(seen.took.as_secs_f64());
        self.0.requests.get_or_create(&Request { method, tool, outcome }).inc();
        let event = match outcome {
            "forbidden" | "bound_to_project" => "denied",
            "ok" => "changed",
            _ => "not_changed",
        };
        if seen.changes || event == "denied" {
            let subject = seen.principal.map(Principal::subject);
            let tenant = seen.principal.map(Principal::tenant);
            let tell = || tracing::info!(target: "audit", event, subject, tenant, tool, outcome);
            seen.request.in_scope(tell);
        }
    }
}
