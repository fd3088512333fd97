//! Settings for serving over HTTP, and for the store beneath.

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

/// The heading that these settings stand under, in `--help` and on the page of settings.
pub(super) const HEADING: &str = "Serving over HTTP";

#[expect(clippy::doc_markdown, reason = "help texts are shown as they stand")]
/// One source of these settings. In the file they stand under `[serve]`.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = HEADING)]
pub(super) struct ServingLayer {
    /// Where keys, limits, sessions and projects are kept: sqlite:PATH or postgres://USER@HOST/DATABASE [default: fluxway/fluxway.db in the user's
    /// data folder]
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "URL",
        env = "FLUXWAY_DATABASE",
        hide_env_values = true
    )]
    database: Option<String>,
    /// Certificates (PEM) to check a PostgreSQL server with [default: those of the system]
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE", env = "FLUXWAY_DATABASE_CA")]
    database_ca: Option<PathBuf>,
    /// Let everybody in, without a key: on loopback alone, and only to read [default: false]
    #[arg(long, global = true, hide_short_help = true, env = "FLUXWAY_NO_AUTH", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    no_auth: Option<bool>,
    /// Let keys with the scope `execute` run the post-checks of plans that this server proposed, if their user agrees [default: false]
    #[arg(long, global = true, hide_short_help = true, env = "FLUXWAY_ALLOW_CHECKS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    allow_checks: Option<bool>,
    /// Messages that each key may send in a minute, in the long run; 0 is no limit [default: 600]
    #[arg(long, global = true, hide_short_help = true, value_name = "NUMBER", env = "FLUXWAY_RATE_LIMIT")]
    rate_limit: Option<u32>,
    /// Messages that each key may send at once, after a pause [default: 100]
    #[arg(long, global = true, hide_short_help = true, value_name = "NUMBER", env = "FLUXWAY_RATE_BURST")]
    rate_burst: Option<u32>,
    /// The address that clients know, such as https://mcp.example.com
    #[arg(long, global = true, hide_short_help = true, value_name = "URL", env = "FLUXWAY_PUBLIC_URL")]
    public_url: Option<String>,
    /// A name that clients may call the server by, beside loopback, its own address and the public one; may be given several times
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "NAME",
        env = "FLUXWAY_ALLOW_HOST",
        value_delimiter = ','
    )]
    allow_host: Option<Vec<String>>,
    /// The origin of web pages that may call the server, such as https://app.example.com; may be given several times
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "ORIGIN",
        env = "FLUXWAY_ALLOW_ORIGIN",
        value_delimiter = ','
    )]
    allow_origin: Option<Vec<String>>,
    /// Speak TLS with this certificate chain (PEM)
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "FILE",
        env = "FLUXWAY_TLS_CERT",
        requires = "tls_key"
    )]
    tls_cert: Option<PathBuf>,
    /// The private key (PEM) of that certificate
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "FILE",
        env = "FLUXWAY_TLS_KEY",
        requires = "tls_cert"
    )]
    tls_key: Option<PathBuf>,
    /// Take access tokens (JWT) of this authorization server, everywhere but on /api/mcp
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "URL",
        env = "FLUXWAY_ISSUER",
        requires = "jwks"
    )]
    issuer: Option<String>,
    /// The authorization server's public keys: a JSON Web Key Set. Read again on SIGHUP
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "FILE",
        env = "FLUXWAY_JWKS",
        requires = "issuer"
    )]
    jwks: Option<PathBuf>,
    /// Whom tokens must be for [default: the public address with /mcp]
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "URL",
        env = "FLUXWAY_AUDIENCE",
        requires = "issuer"
    )]
    audience: Option<String>,
    /// Accept test keys (cf_test_sk_...) beside live ones: for servers that hold no real data [default: false]
    #[arg(long, global = true, hide_short_help = true, env = "FLUXWAY_TEST_KEYS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    test_keys: Option<bool>,
    /// The address or network of a reverse proxy whose X-Forwarded-For header is believed, such as 10.0.0.0/8; may be given several times
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "NETWORK",
        env = "FLUXWAY_TRUSTED_PROXY",
        value_delimiter = ','
    )]
    trusted_proxy: Option<Vec<String>>,
    /// Connections that may be open at once [default: 1024]
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "NUMBER",
        env = "FLUXWAY_MAX_CONNECTIONS"
    )]
    max_connections: Option<usize>,
    /// Connections that one address may keep when all are in use; trusted proxies are exempt [default: a quarter of all]
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "NUMBER",
        env = "FLUXWAY_MAX_CONNECTIONS_PER_ADDRESS"
    )]
    max_connections_per_address: Option<usize>,
    /// Memory for request bodies, in MiB: an address may take a quarter of it, a key an eighth [default: 256]
    #[arg(long, global = true, hide_short_help = true, value_name = "MIB", env = "FLUXWAY_MAX_BODY_MEMORY")]
    max_body_memory: Option<usize>,
    /// Streams that one key may have open at once [default: 8]
    #[arg(long, global = true, hide_short_help = true, value_name = "NUMBER", env = "FLUXWAY_MAX_STREAMS")]
    max_streams: Option<usize>,
    /// The secret that hashes of keys are made with: 32 bytes as base64 or hexadecimal
    // Not a flag: flags can be read by everybody on the machine.
    #[arg(skip)]
    pub(super) key_pepper: Option<SecretString>,
}

/// What `key-pepper` is for.
pub(super) const PEPPER_HELP: &str = "The secret that hashes of keys are made with: 32 bytes as base64 or hexadecimal. With \
    it, who can write to the database still cannot make keys [default: drawn once and kept in the database]";

/// Complete and checked.
#[derive(Debug)]
pub(crate) struct ServingSettings {
    /// `None`: none was named, and there is no folder for the usual one.
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
    /// What was typed goes before the file, the file before the defaults. `data` is the folder that the user's data is in.
    pub(super) fn resolve(
        typed: ServingLayer,
        file: ServingLayer,
        data: Option<PathBuf>,
    ) -> Result<Self, ConfigError> {
        let per_minute = typed.rate_limit.or(file.rate_limit).unwrap_or(600);
        let burst = typed.rate_burst.or(file.rate_burst).unwrap_or(100);
        let public_url = typed.public_url.or(file.public_url).map(|url| url.trim_end_matches('/').to_owned());
        let host = public_url.as_deref().map(host_from_url).transpose()?;
        let tls = require_both(
            "tls-cert",
            typed.tls_cert.or(file.tls_cert),
            "tls-key",
            typed.tls_key.or(file.tls_key),
        )?;
        let issuer = require_both("issuer", typed.issuer.or(file.issuer), "jwks", typed.jwks.or(file.jwks))?;
        let audience =
            typed.audience.or(file.audience).or_else(|| Some(format!("{}/mcp", public_url.as_ref()?)));
        let tokens = match (issuer, audience) {
            (None, _) => None,
            (Some((issuer, jwks)), Some(audience)) => Some((JwtPolicy { issuer, audience }, jwks)),
            (Some(_), None) => {
                return Err(ConfigError::MissingCompanion { one: "issuer", other: "audience or public-url" });
            }
        };
        let mut hosts = typed.allow_host.or(file.allow_host).unwrap_or_default();
        hosts.extend(host);
        let mut origins = typed.allow_origin.or(file.allow_origin).unwrap_or_default();
        origins.extend(public_url.clone());
        let pepper = typed.key_pepper.or(file.key_pepper);
        let total = typed.max_connections.or(file.max_connections).unwrap_or(1024).max(1);
        let per_address = typed.max_connections_per_address.or(file.max_connections_per_address);
        let usual = ConnectionLimits::new(total);
        let connections = ConnectionLimits {
            per_address: per_address.map_or(usual.per_address, |most| most.clamp(1, total)),
            ..usual
        };
        Ok(Self {
            database: database_location(typed.database.or(file.database), data)?,
            database_ca: typed.database_ca.or(file.database_ca),
            no_auth: typed.no_auth.or(file.no_auth).unwrap_or(false),
            allow_checks: typed.allow_checks.or(file.allow_checks).unwrap_or(false),
            rate: (per_minute > 0 && burst > 0).then_some(RateLimit { per_minute, burst }),
            public_url,
            hosts,
            origins,
            tls,
            tokens,
            test_keys: typed.test_keys.or(file.test_keys).unwrap_or(false),
            proxies: parse_trusted_proxies(typed.trusted_proxy.or(file.trusted_proxy).unwrap_or_default())?,
            connections,
            body_memory: typed.max_body_memory.or(file.max_body_memory).unwrap_or(256).clamp(1, 1 << 20)
                << 20,
            streams: typed.max_streams.or(file.max_streams).unwrap_or(8).max(1),
            pepper: pepper.map(|text| parse_pepper(&text)).transpose()?,
        })
    }
}

fn parse_trusted_proxies(networks: Vec<String>) -> Result<TrustedProxies, ConfigError> {
    let networks = networks.into_iter().map(|text| {
        let text = text.trim();
        let alone = || text.parse::<IpAddr>().ok().map(IpNet::from);
        text.parse().ok().or_else(alone).ok_or_else(|| ConfigError::TrustedProxy(text.to_owned()))
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
        (Some(_), None) => Err(ConfigError::MissingCompanion { one, other }),
        (None, Some(_)) => Err(ConfigError::MissingCompanion { one: other, other: one }),
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

/// The name in a URL, with its port if it has one.
fn host_from_url(url: &str) -> Result<String, ConfigError> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.filter(|rest| !rest.is_empty() && !rest.contains(['/', '@', '?', '#', ' ']));
    host.map(str::to_owned).ok_or_else(|| ConfigError::PublicUrl(url.to_owned()))
}

fn parse_pepper(text: &SecretString) -> Result<Pepper, ConfigError> {
    Pepper::parse(text.expose_secret()).ok_or(ConfigError::Pepper)
}
