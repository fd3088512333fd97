//! Path to endpoint: what every request goes through, and where to.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::Response;
use server::{Correlation, Refusal, Rules, TraceId, refusal};
use tracing::Instrument;

use crate::caller::Source;
use crate::connections::{Admits, Slot};
use crate::{State, api_mcp, cors, guard, mcp, oauth, probes, reply, sse, ws};

/// The most bytes of headers. (The reader's own limit is a matter of buffers, and not exact.)
pub(crate) const HEADER_BYTES: usize = 64 * 1024;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Where a request may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endpoint {
    Mcp,
    Api,
    Socket,
    Sse,
    Messages,
    Metadata,
    Healthy,
    Ready,
    Metrics,
}

impl Endpoint {
    fn at(path: &str) -> Option<Self> {
        Some(match path {
            "/mcp" => Self::Mcp,
            "/api/mcp" => Self::Api,
            "/ws" => Self::Socket,
            "/sse" => Self::Sse,
            "/messages" => Self::Messages,
            "/.well-known/oauth-protected-resource" | "/.well-known/oauth-protected-resource/mcp" => {
                Self::Metadata
            }
            "/healthz" => Self::Healthy,
            "/readyz" => Self::Ready,
            "/metrics" => Self::Metrics,
            _ => return None,
        })
    }

    /// The name for figures and logs.
    fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Api => "api_mcp",
            Self::Socket => "ws",
            Self::Sse => "sse",
            Self::Messages => "messages",
            Self::Metadata => "metadata",
            Self::Healthy => "healthz",
            Self::Ready => "readyz",
            Self::Metrics => "metrics",
        }
    }

    fn methods(self) -> &'static str {
        match self {
            Self::Mcp => "GET, POST, DELETE",
            Self::Api | Self::Messages => "POST",
            Self::Metadata | Self::Healthy | Self::Ready | Self::Metrics => "GET, HEAD",
            Self::Socket | Self::Sse => "GET",
        }
    }

    fn takes(self, method: &Method) -> bool {
        self.methods().split(", ").any(|name| name == method.as_str())
    }

    /// Whoever asks whether the server lives may call it by any name.
    fn is_probe(self) -> bool {
        matches!(self, Self::Healthy | Self::Ready)
    }
}

/// Answers one request.
pub(crate) async fn answer(
    state: &Arc<State>,
    peer: IpAddr,
    slot: Arc<Slot>,
    mut request: Request,
) -> Response {
    let began = Instant::now();
    let source = Source { address: state.proxies.client(peer, request.headers()), slot };
    let is_reserve = source.slot.admits != Admits::Everything;
    let id: Arc<str> = request_id(request.headers()).into();
    let trace_id = guard::single(request.headers(), &TRACEPARENT).and_then(TraceId::from_traceparent);
    let named_trace = trace_id.map(|id| id.to_string());
    // At this level it is enabled whenever any line can be, and lines are written before a message is read.
    let span = tracing::error_span!("http", request = &*id, trace_id = named_trace.as_deref());
    request.extensions_mut().insert(Correlation { request: Some(Arc::clone(&id)), trace_id });
    let method = request.method().clone();
    let endpoint = Endpoint::at(request.uri().path());
    let page = state.guard.allowed_origin(request.headers()).cloned();
    let mut response = match admit(state, endpoint, &request) {
        Ok(_) if method == Method::OPTIONS => cors::preflight(request.headers()),
        Ok(endpoint) => enter(state, endpoint, &source, request).instrument(span).await,
        Err(refusal) => refuse(state, rules(state, endpoint, request.headers()), refusal),
    };
    if let Some(page) = page {
        cors::allow(&mut response, page);
    }
    let status = response.status().as_u16();
    let name = endpoint.map_or("none", Endpoint::name);
    state.metrics.replied(name, status);
    tracing::debug!(request = &*id, %method, endpoint = name, status, took = ?began.elapsed(), "answered");
    let headers = response.headers_mut();
    if is_reserve {
        // What it was admitted for is decided once; the next connection may find a better place.
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(id) = HeaderValue::try_from(&*id) {
        headers.insert("x-request-id", id);
    }
    response
}

fn admit(state: &State, endpoint: Option<Endpoint>, request: &Request) -> Result<Endpoint, Refusal> {
    let bytes: usize =
        request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if bytes > HEADER_BYTES {
        return Err(Refusal::HeadersTooLarge { limit: HEADER_BYTES });
    }
    if !endpoint.is_some_and(Endpoint::is_probe) {
        state.guard.check(request.uri(), request.headers())?;
    }
    let endpoint = endpoint.ok_or(Refusal::NoSuchPath)?;
    let asks_first =
        request.method() == Method::OPTIONS && state.guard.allowed_origin(request.headers()).is_some();
    if !asks_first && !endpoint.takes(request.method()) {
        return Err(Refusal::MethodNotAllowed { allowed: endpoint.methods() });
    }
    Ok(endpoint)
}

async fn enter(state: &Arc<State>, endpoint: Endpoint, source: &Source, request: Request) -> Response {
    match endpoint {
        Endpoint::Mcp => mcp::handle(state, source, request).await,
        Endpoint::Api => api_mcp::handle(state, source, request).await,
        Endpoint::Socket => ws::handle(state, source, request).await,
        Endpoint::Sse => sse::open(state, source, request).await,
        Endpoint::Messages => sse::message(state, source, request).await,
        Endpoint::Metadata => oauth::metadata(state),
        Endpoint::Healthy => probes::healthy(),
        Endpoint::Ready => probes::ready(state).await,
        Endpoint::Metrics => probes::metrics(state, source, &request.into_parts().0.headers).await,
    }
}

fn rules(state: &State, endpoint: Option<Endpoint>, headers: &HeaderMap) -> Rules {
    match endpoint {
        Some(Endpoint::Api) => Rules::Codefluss(api_mcp::language(state, headers)),
        _ => Rules::Session,
    }
}

/// The answer to what is refused before it comes to any connection.
pub(crate) fn refuse(state: &State, rules: Rules, why: Refusal) -> Response {
    state.metrics.refused(why.kind());
    let allowed = match &why {
        Refusal::MethodNotAllowed { allowed } => Some(*allowed),
        _ => None,
    };
    let mut response = reply::plain(refusal(rules, why));
    if let Some(allowed) = allowed {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    }
    if response.status() == 401 {
        oauth::challenge(state, &mut response);
    }
    response
}

/// The request's own id if it is a decent one, else the next of ours.
fn request_id(headers: &HeaderMap) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let given = guard::single(headers, &header::HeaderName::from_static("x-request-id"));
    let is_decent = |id: &&str| {
        (1..=64).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    match given.filter(is_decent) {
        Some(id) => id.to_owned(),
        None => format!("{:x}", NEXT.fetch_add(1, Ordering::Relaxed)),
    }
}
