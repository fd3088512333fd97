//! What is refused before any method is looked at. Most of it happens on HTTP alone.

use std::time::Duration;

use protocol::mcp::codes;
use protocol::{Dialect, Revision};
use serde_json::{Value, json};

use super::codefluss;

/// Why something is refused before any method is looked at. The texts end with what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestRejection {
    /// No credential came along.
    #[error("no API key came along; send it as `Authorization: Bearer cf_live_sk_…`")]
    MissingCredentials,
    /// A credential came along that opens nothing.
    #[error("the API key or token is not valid here; `fluxway keys create` makes a key")]
    InvalidCredentials,
    /// The caller called too often.
    #[error("too many calls; try again in {} s", retry_after.as_secs().max(1))]
    RateLimited {
        /// When to try again.
        retry_after: Duration,
    },
    /// Nobody can say who calls or how often: the store is out of reach.
    #[error("the server cannot reach its store; try again in a few seconds")]
    StoreUnavailable,
    /// The store has no space left to write.
    #[error("the server has no space left to save anything; tell its operator, who has to make room first")]
    StoreFull,
    /// The server has no room.
    #[error("the server has as many calls at work as it takes; try again in a second")]
    Busy,
    /// `Host` is not a name of this server.
    #[error(
        "the Host header does not name this server; whoever runs it may allow the name with --allow-host"
    )]
    HostNotAllowed,
    /// `Origin` is a page that has no business here.
    #[error(
        "pages of this origin may not call this server; whoever runs it may allow it with --allow-origin"
    )]
    OriginNotAllowed,
    /// There is nothing at this path.
    #[error("there is nothing here; the endpoints are /mcp, /api/mcp, /ws and /sse")]
    PathNotFound,
    /// The path takes other HTTP methods.
    #[error("this endpoint takes {allowed} only")]
    MethodNotAllowed {
        /// What it takes.
        allowed: &'static str,
    },
    /// The client takes no answer that could be given.
    #[error("the answer is {offered}; send an Accept header that allows it")]
    NotAcceptable {
        /// What it could be.
        offered: &'static str,
    },
    /// The body is not JSON.
    #[error("the body must be JSON; send `Content-Type: application/json`")]
    NotJson,
    /// The body is too large.
    #[error("the body is longer than {limit} bytes")]
    BodyTooLarge {
        /// The most that is taken.
        limit: usize,
    },
    /// The body is compressed, or encoded in another way.
    #[error("the body must not be encoded; send it without Content-Encoding")]
    UnsupportedEncoding,
    /// Too many bodies of this caller have begun and not ended.
    #[error("{limit} request bodies of this caller are still arriving; send fewer at once")]
    TooManyBodies {
        /// The most that a caller may have.
        limit: usize,
    },
    /// The bodies of this caller, or from this address, take too much memory.
    #[error(
        "request bodies of this caller or address take up {limit} bytes already; send fewer or smaller ones at once"
    )]
    TooManyBodyBytes {
        /// The most that they may take.
        limit: usize,
    },
    /// The headers are too large.
    #[error("the headers are longer than {limit} bytes; send fewer or shorter ones")]
    HeadersTooLarge {
        /// The most that is taken.
        limit: usize,
    },
    /// The body did not come in time.
    #[error("the body did not arrive in time; send it again")]
    BodyTimeout,
    /// The body did not come to its end.
    #[error("the body breaks off or is not framed as HTTP wants it; send it again")]
    MalformedBody,
    /// A session is needed and none was named.
    #[error("this needs a session; send `initialize` first, then its Mcp-Session-Id with every request")]
    SessionRequired,
    /// There is no such session, or it is somebody else's.
    #[error("there is no such session here (any more); send `initialize` again")]
    UnknownSession,
    /// The caller has too many sessions.
    #[error("{limit} sessions are open; end one with DELETE first")]
    TooManySessions {
        /// The most that a caller may have.
        limit: usize,
    },
    /// The caller has too many calls under way.
    #[error("{limit} calls are under way; wait for one to end")]
    TooManyCalls {
        /// The most that a caller may have.
        limit: usize,
    },
    /// The caller has too many streams.
    #[error("{limit} streams are open; close one first")]
    TooManyStreams {
        /// The most that a caller may have.
        limit: usize,
    },
    /// A version that is not spoken here, or not without a handshake.
    #[error("this server does not speak MCP {requested} in this way")]
    UnsupportedVersion {
        /// What was asked for.
        requested: String,
    },
    /// The headers tell of another message than the body is.
    #[error("the header {header} does not go with the body: {problem}")]
    HeaderMismatch {
        /// Which header.
        header: String,
        /// What is wrong.
        problem: String,
    },
}

impl RequestRejection {
    /// A stable name for programs.
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
            // A key that is there and opens nothing is an answer like any other there.
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

/// Seconds as headers have them: whole ones, and never too few.
pub(super) fn ceil_seconds(duration: Duration) -> u64 {
    (duration.as_secs() + u64::from(duration.subsec_nanos() > 0)).max(1)
}
