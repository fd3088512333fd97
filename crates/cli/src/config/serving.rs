//! Settings of the HTTP server and of its database.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use http_transport::{ConnectionLimits, TrustedProxies};
use ipnet::IpNet;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use server::access::{JwtPolicy, Pepper, RateLimit};
use store::StoreLocation;

use super::ConfigError;
use super::layers::layer;

/// Headings in `--help`. Settings beneath them are in the section `[serve]` of the file.
pub(super) const HEADINGS: [&str; 3] = [DATABASE_HEADING, HTTP_HEADING, LIMITS_HEADING];
const DATABASE_HEADING: &str = "Database options";
const HTTP_HEADING: &str = "HTTP options";
const LIMITS_HEADING: &str = "HTTP limits";

/// The section `[serve]`.
#[derive(Args, Clone, Debug, Default, Deserialize)]
pub(crate) struct ServingLayer {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) database: DatabaseLayer,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) http: HttpLayer,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) limits: HttpLimitsLayer,
}

impl ServingLayer {
    pub(crate) fn or(self, weaker: Self) -> Self {
        Self {
            database: self.database.or(weaker.database),
            http: self.http.or(weaker.http),
            limits: self.limits.or(weaker.limits),
        }
    }

    /// Whether callers need no key.
    pub(crate) fn allows_anyone(&self) -> bool {
        self.http.no_auth == Some(true)
    }
}

/// Where data is stored.
#[expect(clippy::doc_markdown, reason = "help texts are shown as they are")]
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = DATABASE_HEADING)]
pub(crate) struct DatabaseLayer {
    /// Database for keys, limits, sessions and CODEFLUSS projects: sqlite:PATH or postgres://USER@HOST/NAME [default: fluxway/fluxway.db in your data folder]
    #[arg(long, global = true, value_name = "URL", env = "FLUXWAY_DATABASE", hide_env_values = true)]
    database: Option<String>,
    /// CA certificates (PEM) for a PostgreSQL server [default: those of the system]
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE", env = "FLUXWAY_DATABASE_CA")]
    database_ca: Option<PathBuf>,
}
layer!(DatabaseLayer { database, database_ca });

/// How HTTP is served.
#[expect(clippy::doc_markdown, reason = "help texts are shown as they are")]
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = HTTP_HEADING)]
pub(crate) struct HttpLayer {
    /// Accept calls without a key: on loopback only, read-only
    #[arg(long, hide_short_help = true, env = "FLUXWAY_NO_AUTH", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    no_auth: Option<bool>,
    /// Let keys with the scope `execute` run post-checks of plans that this server proposed, if the user agrees
    #[arg(long, hide_short_help = true, env = "FLUXWAY_ALLOW_CHECKS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    allow_checks: Option<bool>,
    /// URL that clients use, such as https://mcp.example.com
    #[arg(long, hide_short_help = true, value_name = "URL", env = "FLUXWAY_PUBLIC_URL")]
    public_url: Option<String>,
    /// Host header to accept, in addition to loopback, the address and the public URL; repeatable
    #[arg(
        long,
        hide_short_help = true,
        value_name = "NAME",
        env = "FLUXWAY_ALLOW_HOST",
        value_delimiter = ','
    )]
    allow_host: Option<Vec<String>>,
    /// Origin of web pages that may call the server, such as https://app.example.com; repeatable
    #[arg(
        long,
        hide_short_help = true,
        value_name = "ORIGIN",
        env = "FLUXWAY_ALLOW_ORIGIN",
        value_delimiter = ','
    )]
    allow_origin: Option<Vec<String>>,
    /// Serve TLS with this certificate chain (PEM)
    #[arg(long, hide_short_help = true, value_name = "FILE", env = "FLUXWAY_TLS_CERT", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key (PEM) of the certificate
    #[arg(long, hide_short_help = true, value_name = "FILE", env = "FLUXWAY_TLS_KEY", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Accept access tokens (JWT) of this authorization server, except on /api/mcp
    #[arg(long, hide_short_help = true, value_name = "URL", env = "FLUXWAY_ISSUER", requires = "jwks")]
    issuer: Option<String>,
    /// Public keys of the authorization server: a JSON Web Key Set; SIGHUP reloads it
    #[arg(long, hide_short_help = true, value_name = "FILE", env = "FLUXWAY_JWKS", requires = "issuer")]
    jwks: Option<PathBuf>,
    /// Required `aud` claim of access tokens [default: the public URL with /mcp]
    #[arg(long, hide_short_help = true, value_name = "URL", env = "FLUXWAY_AUDIENCE", requires = "issuer")]
    audience: Option<String>,
    /// Also accept test keys (cf_test_sk_...); do not use with real data
    #[arg(long, hide_short_help = true, env = "FLUXWAY_TEST_KEYS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    test_keys: Option<bool>,
    /// Address or network of a reverse proxy whose X-Forwarded-For is trusted, such as 10.0.0.0/8; repeatable
    #[arg(
        long,
        hide_short_help = true,
        value_name = "NETWORK",
        env = "FLUXWAY_TRUSTED_PROXY",
        value_delimiter = ','
    )]
    trusted_proxy: Option<Vec<String>>,
    /// Secret for hashing keys: 32 bytes as base64 or hexadecimal
    // Not a flag: every user of the machine can read the flags of a process.
    #[arg(skip)]
    pub(super) key_pepper: Option<SecretString>,
}
layer!(HttpLayer {
    no_auth,
    allow_checks,
    public_url,
    allow_host,
    allow_origin,
    tls_cert,
    tls_key,
    issuer,
    jwks,
    audience,
    test_keys,
    trusted_proxy,
    key_pepper,
});

/// How much a caller may use.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = LIMITS_HEADING)]
pub(crate) struct HttpLimitsLayer {
    /// Sustained messages per minute per key; 0 means unlimited [default: 600]
    #[arg(long, hide_short_help = true, value_name = "N", env = "FLUXWAY_RATE_LIMIT")]
    rate_limit: Option<u32>,
    /// Messages that a key may send at once after a pause [default: 100]
    #[arg(long, hide_short_help = true, value_name = "N", env = "FLUXWAY_RATE_BURST")]
    rate_burst: Option<u32>,
    /// Maximum number of open connections [default: 1024]
    #[arg(long, hide_short_help = true, value_name = "N", env = "FLUXWAY_MAX_CONNECTIONS")]
    max_connections: Option<usize>,
    /// Maximum connections per client address on a full server [default: a quarter of all]
    #[arg(long, hide_short_help = true, value_name = "N", env = "FLUXWAY_MAX_CONNECTIONS_PER_ADDRESS")]
    max_connections_per_address: Option<usize>,
    /// Memory for request bodies; an address may use a quarter, a key an eighth [default: 256]
    #[arg(long, hide_short_help = true, value_name = "MIB", env = "FLUXWAY_MAX_BODY_MEMORY")]
    max_body_memory: Option<usize>,
    /// Maximum open streams per key [default: 8]
    #[arg(long, hide_short_help = true, value_name = "N", env = "FLUXWAY_MAX_STREAMS")]
    max_streams: Option<usize>,
}
layer!(HttpLimitsLayer {
    rate_limit,
    rate_burst,
    max_connections,
    max_connections_per_address,
    max_body_memory,
    max_streams,
});

pub(super) const PEPPER_HELP: &str = "Secret for hashing keys: 32 bytes as base64 or hexadecimal. With it, write access to the \
    database is not enough to create keys [default: generated once and stored in the database]";

#[derive(Debug)]
pub(crate) struct ServingSettings {
    /// `None`: not configured, and there is no data folder for the default.
    pub(crate) database: Option<StoreLocation>,
    pub(crate) database_ca: Option<PathBuf>,
    pub(crate) no_auth: bool,
    pub(crate) allow_checks: bool,
    pub(crate) rate: Option<RateLimit>,
    pub(crate) public_url: Option<String>,
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    pub(crate) tokens: Option<(JwtPolicy, PathBuf)>,
    pub(crate) test_keys: bool,
    pub(crate) proxies: TrustedProxies,
    pub(crate) connections: ConnectionLimits,
    /// Bytes of memory for request bodies.
    pub(crate) body_memory: usize,
    pub(crate) streams: usize,
    pub(crate) pepper: Option<Pepper>,
}

impl ServingSettings {
    /// `data` is the user's data folder.
    pub(super) fn resolve(layer: ServingLayer, data: Option<PathBuf>) -> Result<Self, ConfigError> {
        let ServingLayer { database, http, limits } = layer;
        let per_minute = limits.rate_limit.unwrap_or(600);
        let burst = limits.rate_burst.unwrap_or(100);
        let public_url = http.public_url.map(|url| url.trim_end_matches('/').to_owned());
        let host = public_url.as_deref().map(host_from_url).transpose()?;
        let tls = require_both("tls-cert", http.tls_cert, "tls-key", http.tls_key)?;
        let issuer = require_both("issuer", http.issuer, "jwks", http.jwks)?;
        let audience = http.audience.or_else(|| Some(format!("{}/mcp", public_url.as_ref()?)));
        let tokens = match (issuer, audience) {
            (None, _) => None,
            (Some((issuer, jwks)), Some(audience)) => Some((JwtPolicy { issuer, audience }, jwks)),
            (Some(_), None) => {
                return Err(ConfigError::MissingCompanion {
                    one: "issuer",
                    other: "`audience` or `public-url`".to_owned(),
                });
            }
        };
        let mut hosts = http.allow_host.unwrap_or_default();
        hosts.extend(host);
        let mut origins = http.allow_origin.unwrap_or_default();
        origins.extend(public_url.clone());
        let total = limits.max_connections.unwrap_or(1024).max(1);
        let usual = ConnectionLimits::new(total);
        let connections = ConnectionLimits {
            per_address: limits
                .max_connections_per_address
                .map_or(usual.per_address, |max| max.clamp(1, total)),
            ..usual
        };
        Ok(Self {
            database: database_location(database.database, data)?,
            database_ca: database.database_ca,
            no_auth: http.no_auth.unwrap_or(false),
            allow_checks: http.allow_checks.unwrap_or(false),
            rate: (per_minute > 0 && burst > 0).then_some(RateLimit { per_minute, burst }),
            public_url,
            hosts,
            origins,
            tls,
            tokens,
            test_keys: http.test_keys.unwrap_or(false),
            proxies: parse_trusted_proxies(http.trusted_proxy.unwrap_or_default())?,
            connections,
            body_memory: limits.max_body_memory.unwrap_or(256).clamp(1, 1 << 20) << 20,
            streams: limits.max_streams.unwrap_or(8).max(1),
            pepper: http.key_pepper.map(|text| parse_pepper(&text)).transpose()?,
        })
    }
}

fn parse_trusted_proxies(networks: Vec<String>) -> Result<TrustedProxies, ConfigError> {
    let networks = networks.into_iter().map(|text| {
        let text = text.trim();
        let address = || text.parse::<IpAddr>().ok().map(IpNet::from);
        text.parse().ok().or_else(address).ok_or_else(|| ConfigError::TrustedProxy(text.to_owned()))
    });
    networks.collect::<Result<_, _>>().map(TrustedProxies::new)
}

fn require_both<A, B>(
    one: &'static str,
    a: Option<A>,
    other: &'static str,
    b: Option<B>,
) -> Result<Option<(A, B)>, ConfigError> {
    match (a, b) {
        (Some(a), Some(b)) => Ok(Some((a, b))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(ConfigError::MissingCompanion { one, other: format!("`{other}`") }),
        (None, Some(_)) => Err(ConfigError::MissingCompanion { one: other, other: format!("`{one}`") }),
    }
}

fn database_location(
    url: Option<String>,
    data: Option<PathBuf>,
) -> Result<Option<StoreLocation>, ConfigError> {
    match url {
        Some(url) => url.parse().map(Some).map_err(ConfigError::Database),
        None => Ok(data.map(|data| StoreLocation::Sqlite(data.join("fluxway/fluxway.db")))),
    }
}

/// The host of a URL, with its port if it has one.
fn host_from_url(url: &str) -> Result<String, ConfigError> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.filter(|rest| !rest.is_empty() && !rest.contains(['/', '@', '?', '#', ' ']));
    host.map(str::to_owned).ok_or_else(|| ConfigError::PublicUrl(url.to_owned()))
}

fn parse_pepper(text: &SecretString) -> Result<Pepper, ConfigError> {
    Pepper::parse(text.expose_secret()).ok_or(ConfigError::Pepper)
}
