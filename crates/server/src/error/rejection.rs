//! Rejections before a request is dispatched to its method. Most of them only occur over HTTP.

use std::time::Duration;

use protocol::mcp::codes;
use protocol::{Dialect, Revision};
use serde_json::{Value, json};

use super::codefluss;

/// Why a request is rejected before it is dispatched. Each message ends with what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestRejection {
    #[error("missing API key; send `Authorization: Bearer cf_live_sk_…`")]
    MissingCredentials,
    #[error("invalid API key or token; create a key with `fluxway keys create`")]
    InvalidCredentials,
    #[error("too many requests; try again in {} s", retry_after.as_secs().max(1))]
    RateLimited { retry_after: Duration },
    /// The store is unreachable, so the caller can be neither authenticated nor rate-limited.
    #[error("the server cannot reach its database; try again in a few seconds")]
    StoreUnavailable,
    #[error("the server has no storage space left; ask its operator to free some")]
    StoreFull,
    #[error("the server is at its concurrency limit; try again in a second")]
    Busy,
    /// `Host` is not one of the names of this server.
    #[error("the Host header does not name this server; the operator can allow the name with --allow-host")]
    HostNotAllowed,
    #[error("pages from this origin may not call this server; the operator can allow it with --allow-origin")]
    OriginNotAllowed,
    #[error("no such path; the endpoints are /mcp, /api/mcp, /ws and /sse")]
    PathNotFound,
    #[error("this endpoint only accepts {allowed}")]
    MethodNotAllowed { allowed: &'static str },
    #[error("the Accept header does not allow {offered}; add it")]
    NotAcceptable { offered: &'static str },
    #[error("the request body must be JSON; send `Content-Type: application/json`")]
    NotJson,
    #[error("the request body exceeds {limit} bytes; send a smaller one")]
    BodyTooLarge { limit: usize },
    #[error("the request body must not be encoded; send it without Content-Encoding")]
    UnsupportedEncoding,
    /// The caller is sending too many bodies at the same time.
    #[error("{limit} request bodies from this caller are still arriving; send fewer at once")]
    TooManyBodies { limit: usize },
    #[error(
        "request bodies from this caller or address already take up {limit} bytes; send fewer or smaller ones"
    )]
    TooManyBodyBytes { limit: usize },
    #[error("the request headers exceed {limit} bytes; send fewer or shorter ones")]
    HeadersTooLarge { limit: usize },
    #[error("the request body did not arrive in time; send it again")]
    BodyTimeout,
    #[error("the request body is truncated or malformed; send it again")]
    MalformedBody,
    #[error("a session is required; send `initialize` first, then its Mcp-Session-Id with every request")]
    SessionRequired,
    /// The session does not exist, has expired, or belongs to another caller.
    #[error("unknown or expired session; send `initialize` again")]
    UnknownSession,
    #[error("limit of {limit} open sessions reached; end one with DELETE first")]
    TooManySessions { limit: usize },
    #[error("limit of {limit} concurrent calls reached; wait for one to finish")]
    TooManyCalls { limit: usize },
    #[error("limit of {limit} open streams reached; close one first")]
    TooManyStreams { limit: usize },
    /// An unknown version, or one that requires a handshake.
    #[error("MCP {requested} is not supported for this kind of request")]
    UnsupportedVersion { requested: String },
    /// A header that mirrors part of the body does not match it.
    #[error("the header {header} does not match the body: {problem}")]
    HeaderMismatch { header: String, problem: String },
}

impl RequestRejection {
    /// Stable and machine-readable.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::MissingCredentials => "unauthenticated",
            Self::InvalidCredentials => "invalid_key",
            Self::RateLimited { .. } => "rate_limited",
            Self::StoreUnavailable => "store_unavailable",
            Self::StoreFull => "store_full",
            Self::Busy => "busy",
            Self::HostNotAllowed => "host_not_allowed",
            Self::OriginNotAllowed => "origin_not_allowed",
            Self::PathNotFound => "no_such_path",
            Self::MethodNotAllowed { .. } => "method_not_allowed",
            Self::NotAcceptable { .. } => "not_acceptable",
            Self::NotJson => "not_json",
            Self::BodyTooLarge { .. } => "message_too_large",
            Self::HeadersTooLarge { .. } => "headers_too_large",
            Self::UnsupportedEncoding => "encoding_not_supported",
            Self::TooManyBodies { .. } => "too_many_bodies",
            Self::TooManyBodyBytes { .. } => "too_many_bytes",
            Self::BodyTimeout => "too_slow",
            Self::MalformedBody => "broken_body",
            Self::SessionRequired => "session_required",
            Self::UnknownSession => "session_unknown",
            Self::TooManySessions { .. } => "too_many_sessions",
            Self::TooManyCalls { .. } => "too_many_calls",
            Self::TooManyStreams { .. } => "too_many_streams",
            Self::UnsupportedVersion { .. } => "unsupported_version",
            Self::HeaderMismatch { .. } => "header_mismatch",
        }
    }

    pub(super) fn code(&self, dialect: Dialect) -> i64 {
        let is_codefluss = dialect == Dialect::Codefluss;
        match self {
            Self::MissingCredentials | Self::InvalidCredentials if is_codefluss => codefluss::UNAUTHENTICATED,
            Self::RateLimited { .. }
            | Self::TooManyCalls { .. }
            | Self::TooManySessions { .. }
            | Self::TooManyStreams { .. }
            | Self::TooManyBodies { .. }
            | Self::TooManyBodyBytes { .. }
                if is_codefluss =>
            {
                codefluss::RATE_LIMITED
            }
            Self::StoreUnavailable | Self::StoreFull | Self::Busy => codes::INTERNAL_ERROR,
            Self::UnsupportedVersion { .. } => codes::UNSUPPORTED_VERSION,
            Self::HeaderMismatch { .. } => codes::HEADER_MISMATCH,
            _ => codes::INVALID_REQUEST,
        }
    }

    pub(super) fn status(&self, dialect: Dialect) -> u16 {
        let is_codefluss = dialect == Dialect::Codefluss;
        match self {
            // The CODEFLUSS document answers an invalid key with 200 and an error object.
            Self::InvalidCredentials if is_codefluss => 200,
            Self::MissingCredentials | Self::InvalidCredentials => 401,
            Self::RateLimited { .. }
            | Self::TooManyCalls { .. }
            | Self::TooManySessions { .. }
            | Self::TooManyStreams { .. }
            | Self::TooManyBodies { .. }
            | Self::TooManyBodyBytes { .. } => 429,
            Self::StoreUnavailable | Self::StoreFull | Self::Busy if is_codefluss => 500,
            Self::StoreUnavailable | Self::Busy => 503,
            Self::StoreFull => 507,
            Self::HostNotAllowed | Self::OriginNotAllowed => 403,
            Self::PathNotFound | Self::UnknownSession => 404,
            Self::MethodNotAllowed { .. } => 405,
            Self::NotAcceptable { .. } => 406,
            Self::NotJson | Self::UnsupportedEncoding => 415,
            Self::BodyTooLarge { .. } => 413,
            Self::HeadersTooLarge { .. } => 431,
            Self::BodyTimeout => 408,
            Self::MalformedBody
            | Self::SessionRequired
            | Self::UnsupportedVersion { .. }
            | Self::HeaderMismatch { .. } => 400,
        }
    }

    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } => Some(*retry_after),
            Self::StoreUnavailable => Some(Duration::from_secs(2)),
            Self::Busy | Self::TooManyBodies { .. } | Self::TooManyBodyBytes { .. } => {
                Some(Duration::from_secs(1))
            }
            _ => None,
        }
    }

    pub(super) fn data(&self) -> Value {
        match self {
            Self::MissingCredentials | Self::InvalidCredentials => {
                json!({ "reason": "Invalid or missing API key" })
            }
            Self::RateLimited { retry_after } => json!({ "retryAfter": ceil_seconds(*retry_after) }),
            Self::TooManyBodies { limit } | Self::TooManyBodyBytes { limit } => {
                json!({ "limit": limit, "retryAfter": 1 })
            }
            Self::TooManyCalls { limit }
            | Self::TooManySessions { limit }
            | Self::TooManyStreams { limit }
            | Self::BodyTooLarge { limit } => {
                json!({ "limit": limit })
            }
            Self::UnsupportedVersion { requested } => {
                json!({ "requested": requested, "supported": Revision::ALL })
            }
            Self::HeaderMismatch { header, .. } => json!({ "header": header }),
            _ => json!({}),
        }
    }
}

/// Whole seconds, as in `Retry-After`: rounded up, at least 1.
pub(super) fn ceil_seconds(duration: Duration) -> u64 {
    (duration.as_secs() + u64::from(duration.subsec_nanos() > 0)).max(1)
}
