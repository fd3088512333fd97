//! Server metrics in the format of `OpenMetrics`.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use server::{Observer, Principal, RequestRecord};

/// Histogram buckets, from a tenth of a millisecond to ten seconds.
const LATENCY_BUCKETS_SECS: [f64; 11] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    tool: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabels {
    method: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResponseLabels {
    endpoint: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    kind: &'static str,
}

/// Server metrics. Their number is bounded: labels are names that the server knows, never values sent by a
/// client.
pub struct HttpMetrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    latency: Family<MethodLabels, Histogram, fn() -> Histogram>,
    responses: Family<ResponseLabels, Counter>,
    refusals: Family<RefusalLabels, Counter>,
    connections: Gauge,
    sessions: Gauge,
    streams: Gauge,
    store_ready: Gauge,
}

/// Decrements its gauge on drop.
pub(crate) struct GaugeGuard(Gauge);

impl GaugeGuard {
    fn new(gauge: &Gauge<i64, AtomicI64>) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Default for HttpMetrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("fluxway");
        let requests = Family::<RequestLabels, Counter>::default();
        registry.register("requests", "Requests by method, tool and outcome", requests.clone());
        let histogram: fn() -> Histogram = || Histogram::new(LATENCY_BUCKETS_SECS);
        let seconds = Family::<MethodLabels, Histogram, fn() -> Histogram>::new_with_constructor(histogram);
        registry.register("request_seconds", "Request duration", seconds.clone());
        let replies = Family::<ResponseLabels, Counter>::default();
        registry.register("http_responses", "Responses by endpoint and status", replies.clone());
        let refusals = Family::<RefusalLabels, Counter>::default();
        registry.register("refusals", "Requests rejected before dispatch, by kind", refusals.clone());
        let mut gauge = |name: &str, help: &str| {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let connections = gauge("connections", "Open connections");
        let sessions = gauge("sessions", "Open sessions of /mcp and /sse");
        let streams = gauge("streams", "Open streams: SSE and WebSocket");
        let store_ready = gauge("store_ready", "Whether the store was ready at the last /readyz check");
        // The store was reachable at startup.
        store_ready.set(1);
        Self {
            registry,
            requests,
            latency: seconds,
            responses: replies,
            refusals,
            connections,
            sessions,
            streams,
            store_ready,
        }
    }
}

impl HttpMetrics {
    pub(crate) fn track_connection(&self) -> GaugeGuard {
        GaugeGuard::new(&self.connections)
    }

    pub(crate) fn track_session(&self) -> GaugeGuard {
        GaugeGuard::new(&self.sessions)
    }

    pub(crate) fn track_stream(&self) -> GaugeGuard {
        GaugeGuard::new(&self.streams)
    }

    pub(crate) fn count_response(&self, endpoint: &'static str, status: u16) {
        self.responses.get_or_create(&ResponseLabels { endpoint, status }).inc();
    }

    pub(crate) fn count_refusal(&self, kind: &'static str) {
        self.refusals.get_or_create(&RefusalLabels { kind }).inc();
    }

    pub(crate) fn set_store_ready(&self, ready: bool) {
        self.store_ready.set(ready.into());
    }

    /// Encodes all metrics as text.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            let _ = writeln!(text, "# encoding failed, metrics are incomplete");
        }
        text
    }
}

/// Counts requests, and logs changes and denials to the audit log.
pub struct MetricsObserver(pub Arc<HttpMetrics>);

impl Observer for MetricsObserver {
    fn on_request_end(&self, record: &RequestRecord<'_>) {
        let (method, tool, outcome) =
            (record.method.to_owned(), record.tool.unwrap_or_default(), record.outcome);
        self.0
            .latency
            .get_or_create(&MethodLabels { method: method.clone() })
            .observe(record.duration.as_secs_f64());
        self.0.requests.get_or_create(&RequestLabels { method, tool, outcome }).inc();
        let event = match outcome {
            "forbidden" | "bound_to_project" => "denied",
            "ok" => "changed",
            _ => "not_changed",
        };
        if record.is_mutating || event == "denied" {
            let subject = record.principal.map(Principal::subject);
            let tenant = record.principal.map(Principal::tenant);
            let tell = || tracing::info!(target: "audit", event, subject, tenant, tool, outcome);
            record.request.in_scope(tell);
        }
    }
}
