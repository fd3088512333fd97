//! `_meta` of requests and results.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ClientCapabilities, Implementation};

/// Reserved names inside `_meta`.
pub mod keys {
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
}

/// The `_meta` of a request.
#[derive(Debug, Default)]
pub struct RequestMeta {
    /// The token for progress notifications, if the client wants them.
    pub progress_token: Option<Value>,
    /// Set if the request carries its version (2026-07-28 and later).
    pub stateless: Option<StatelessMeta>,
}

/// What a stateless request declares about itself and its sender.
#[derive(Debug)]
pub struct StatelessMeta {
    pub version: Option<String>,
    pub capabilities: Option<ClientCapabilities>,
    /// The minimum level of log messages to send; `None` for no log messages.
    pub log_level: Option<LogLevel>,
}

impl RequestMeta {
    /// Reads `_meta` from `params`. The error is the name of the invalid member, or empty if `_meta` itself
    /// is invalid.
    pub fn from_params(params: &Map<String, Value>) -> Result<Self, &'static str> {
        let meta = match params.get("_meta") {
            None => return Ok(Self::default()),
            Some(Value::Object(meta)) => meta,
            Some(_) => return Err(""),
        };
        let progress_token = meta.get("progressToken").cloned();
        if progress_token.as_ref().is_some_and(|token| !token.is_string() && !token.is_number()) {
            return Err("progressToken");
        }
        let is_stateless =
            meta.contains_key(keys::PROTOCOL_VERSION) || meta.contains_key(keys::CLIENT_CAPABILITIES);
        let stateless = is_stateless.then(|| StatelessMeta::from_meta(meta)).transpose()?;
        Ok(Self { progress_token, stateless })
    }
}

impl StatelessMeta {
    fn from_meta(meta: &Map<String, Value>) -> Result<Self, &'static str> {
        Ok(Self {
            version: read_member(meta, keys::PROTOCOL_VERSION)?,
            capabilities: read_member(meta, keys::CLIENT_CAPABILITIES)?,
            log_level: read_member(meta, keys::LOG_LEVEL)?,
        })
    }
}

fn read_member<T: for<'de> Deserialize<'de>>(
    meta: &Map<String, Value>,
    key: &'static str,
) -> Result<Option<T>, &'static str> {
    meta.get(key).map(T::deserialize).transpose().map_err(|_| key)
}

/// A result with the members that 2026-07-28 requires on every result.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StampedResult<'a, R> {
    #[serde(flatten)]
    result: &'a R,
    result_type: &'static str,
    #[serde(flatten)]
    cache: Option<CacheHint>,
    #[serde(rename = "_meta")]
    meta: ResultMeta<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CacheHint {
    ttl_ms: u64,
    cache_scope: &'static str,
}

#[derive(Serialize)]
struct ResultMeta<'a> {
    #[serde(rename = "io.modelcontextprotocol/serverInfo")]
    server_info: &'a Implementation,
}

impl<'a, R: Serialize> StampedResult<'a, R> {
    pub fn complete(result: &'a R, server_info: &'a Implementation) -> Self {
        Self { result, result_type: "complete", cache: None, meta: ResultMeta { server_info } }
    }

    /// An incomplete result: the client has to provide more input.
    pub fn input_required(result: &'a R, server_info: &'a Implementation) -> Self {
        Self { result_type: "input_required", ..Self::complete(result, server_info) }
    }

    /// Allows the client to cache the result for this long, for itself only.
    #[must_use]
    pub fn with_cache_ttl(mut self, ttl_ms: u64) -> Self {
        self.cache = Some(CacheHint { ttl_ms, cache_scope: "private" });
        self
    }
}

/// Syslog severities, least severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// Parameters of `notifications/message`.
#[derive(Serialize)]
pub struct LogParams<'a> {
    pub level: LogLevel,
    /// The part of the server that logs.
    pub logger: &'a str,
    pub data: &'a str,
}

/// Parameters of `notifications/progress`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressParams<'a> {
    pub progress_token: &'a Value,
    pub progress: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
}
