//! `_meta`: what travels with any request or result.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ClientCapabilities, Implementation};

/// Reserved names inside `_meta`.
pub mod keys {
    #![expect(missing_docs, reason = "the names are the specification's own")]
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
}

/// The `_meta` of a request.
#[derive(Debug, Default)]
pub struct RequestMeta {
    /// Where progress is wanted, the token to send it under.
    pub progress_token: Option<Value>,
    /// Set where the request carries its own version (2026-07-28 and later).
    pub stateless: Option<StatelessMeta>,
}

/// What a stateless request says about its sender.
#[derive(Debug)]
pub struct StatelessMeta {
    /// The version it is written in, if it says so.
    pub version: Option<String>,
    /// What its sender can do, if it says so.
    pub capabilities: Option<ClientCapabilities>,
    /// The least important log message it wants, if any.
    pub log_level: Option<LogLevel>,
}

impl RequestMeta {
    /// Reads `_meta` out of `params`. The error names the member that cannot be read; nothing, if it is all of it.
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

/// A result with what 2026-07-28 wants on each.
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
    /// A complete result.
    pub fn complete(result: &'a R, server_info: &'a Implementation) -> Self {
        Self { result, result_type: "complete", cache: None, meta: ResultMeta { server_info } }
    }

    /// A result that is not complete: the client has to send more.
    pub fn input_required(result: &'a R, server_info: &'a Implementation) -> Self {
        Self { result_type: "input_required", ..Self::complete(result, server_info) }
    }

    /// Says for how long the client may keep it, for itself only.
    #[must_use]
    pub fn with_cache_ttl(mut self, ttl_ms: u64) -> Self {
        self.cache = Some(CacheHint { ttl_ms, cache_scope: "private" });
        self
    }
}

/// Syslog severities, least important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the specification's own")]
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
    /// How important it is.
    pub level: LogLevel,
    /// Which part of the server speaks.
    pub logger: &'a str,
    /// What it says.
    pub data: &'a str,
}

/// Parameters of `notifications/progress`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressParams<'a> {
    /// The token of the request.
    pub progress_token: &'a Value,
    /// How far it is.
    pub progress: u32,
    /// How far it has to go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    /// What is being done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
}
