//! Routes requests to endpoints, after the checks that apply to all of them.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::Response;
use server::{ConnectionMode, Correlation, RequestRejection, TraceId, render_rejection};
use tracing::Instrument;

use crate::caller::RequestSource;
use crate::connections::{AllowedUse, ConnectionSlot};
use crate::{HttpState, api_mcp, cors, mcp, oauth, origin, probes, response, sse, ws};

/// Maximum total size of the headers. (hyper's own limit depends on its buffers and is not exact.)
pub(crate) const MAX_HEADER_BYTES: usize = 64 * 1024;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endpoint {
    Mcp,
    Api,
    WebSocket,
    Sse,
    Messages,
    OAuthMetadata,
    Health,
    Readiness,
    Metrics,
}

impl Endpoint {
    fn from_path(path: &str) -> Option<Self> {
        Some(match path {
            "/mcp" => Self::Mcp,
            "/api/mcp" => Self::Api,
            "/ws" => Self::WebSocket,
            "/sse" => Self::Sse,
            "/messages" => Self::Messages,
            "/.well-known/oauth-protected-resource" | "/.well-known/oauth-protected-resource/mcp" => {
                Self::OAuthMetadata
            }
            "/healthz" => Self::Health,
            "/readyz" => Self::Readiness,
            "/metrics" => Self::Metrics,
            _ => return None,
        })
    }

    /// The name used in metrics and logs.
    fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Api => "api_mcp",
            Self::WebSocket => "ws",
            Self::Sse => "sse",
            Self::Messages => "messages",
            Self::OAuthMetadata => "metadata",
            Self::Health => "healthz",
            Self::Readiness => "readyz",
            Self::Metrics => "metrics",
        }
    }

    fn allowed_methods(self) -> &'static str {
        match self {
            Self::Mcp => "GET, POST, DELETE",
            Self::Api | Self::Messages => "POST",
            Self::OAuthMetadata | Self::Health | Self::Readiness | Self::Metrics => "GET, HEAD",
            Self::WebSocket | Self::Sse => "GET",
        }
    }

    fn allows_method(self, method: &Method) -> bool {
        self.allowed_methods().split(", ").any(|name| name == method.as_str())
    }

    /// Health checks are allowed with any host name.
    fn is_probe(self) -> bool {
        matches!(self, Self::Health | Self::Readiness)
    }
}

pub(crate) async fn handle_request(
    state: &Arc<HttpState>,
    peer: IpAddr,
    slot: Arc<ConnectionSlot>,
    mut request: Request,
) -> Response {
    let began = Instant::now();
    let source = RequestSource { address: state.proxies.client_address(peer, request.headers()), slot };
    let is_reserve = source.slot.allowed_use != AllowedUse::Everything;
    let id: Arc<str> = request_id(request.headers()).into();
    let trace_id = origin::single_header(request.headers(), &TRACEPARENT).and_then(TraceId::from_traceparent);
    let named_trace = trace_id.map(|id| id.to_string());
    // At error level, the span is enabled whenever any log line is, including those logged before the message
    // is read.
    let span = tracing::error_span!("http", request = &*id, trace_id = named_trace.as_deref());
    request.extensions_mut().insert(Correlation { request: Some(Arc::clone(&id)), trace_id });
    let method = request.method().clone();
    let endpoint = Endpoint::from_path(request.uri().path());
    let page = state.origin_policy.allowed_origin(request.headers()).cloned();
    let mut response = match check_request(state, endpoint, &request) {
        Ok(_) if method == Method::OPTIONS => cors::preflight(request.headers()),
        Ok(endpoint) => dispatch(state, endpoint, &source, request).instrument(span).await,
        Err(rejection) => refuse(state, connection_mode(state, endpoint, request.headers()), rejection),
    };
    if let Some(page) = page {
        cors::allow_origin(&mut response, page);
    }
    let status = response.status().as_u16();
    let name = endpoint.map_or("none", Endpoint::name);
    state.metrics.count_response(name, status);
    tracing::debug!(request = &*id, %method, endpoint = name, status, took = ?began.elapsed(), "responded");
    let headers = response.headers_mut();
    if is_reserve {
        // The allowed use is fixed per connection; a new connection may get a regular slot.
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(id) = HeaderValue::try_from(&*id) {
        headers.insert("x-request-id", id);
    }
    response
}

fn check_request(
    state: &HttpState,
    endpoint: Option<Endpoint>,
    request: &Request,
) -> Result<Endpoint, RequestRejection> {
    let bytes: usize =
        request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if bytes > MAX_HEADER_BYTES {
        return Err(RequestRejection::HeadersTooLarge { limit: MAX_HEADER_BYTES });
    }
    if !endpoint.is_some_and(Endpoint::is_probe) {
        state.origin_policy.check(request.uri(), request.headers())?;
    }
    let endpoint = endpoint.ok_or(RequestRejection::PathNotFound)?;
    let asks_first = request.method() == Method::OPTIONS
        && state.origin_policy.allowed_origin(request.headers()).is_some();
    if !asks_first && !endpoint.allows_method(request.method()) {
        return Err(RequestRejection::MethodNotAllowed { allowed: endpoint.allowed_methods() });
    }
    Ok(endpoint)
}

async fn dispatch(
    state: &Arc<HttpState>,
    endpoint: Endpoint,
    source: &RequestSource,
    request: Request,
) -> Response {
    match endpoint {
        Endpoint::Mcp => mcp::handle(state, source, request).await,
        Endpoint::Api => api_mcp::handle(state, source, request).await,
        Endpoint::WebSocket => ws::handle(state, source, request).await,
        Endpoint::Sse => sse::open_stream(state, source, request).await,
        Endpoint::Messages => sse::post_message(state, source, request).await,
        Endpoint::OAuthMetadata => oauth::metadata(state),
        Endpoint::Health => probes::health(),
        Endpoint::Readiness => probes::readiness(state).await,
        Endpoint::Metrics => probes::metrics(state, source, &request.into_parts().0.headers).await,
    }
}

fn connection_mode(state: &HttpState, endpoint: Option<Endpoint>, headers: &HeaderMap) -> ConnectionMode {
    match endpoint {
        Some(Endpoint::Api) => ConnectionMode::Codefluss(api_mcp::preferred_language(state, headers)),
        _ => ConnectionMode::Session,
    }
}

/// The response to a request that is rejected before it reaches a connection.
pub(crate) fn refuse(state: &HttpState, mode: ConnectionMode, why: RequestRejection) -> Response {
    state.metrics.count_refusal(why.kind());
    let allowed = match &why {
        RequestRejection::MethodNotAllowed { allowed } => Some(*allowed),
        _ => None,
    };
    let mut response = response::json(render_rejection(mode, why));
    if let Some(allowed) = allowed {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    }
    if response.status() == 401 {
        oauth::challenge(state, &mut response);
    }
    response
}

/// The request's own id if it is short and plain, otherwise a new one.
fn request_id(headers: &HeaderMap) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let given = origin::single_header(headers, &header::HeaderName::from_static("x-request-id"));
    let is_decent = |id: &&str| {
        (1..=64).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    match given.filter(is_decent) {
        Some(id) => id.to_owned(),
        None => format!("{:x}", NEXT.fetch_add(1, Ordering::Relaxed)),
    }
}
