//! PostgreSQL URLs.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::LocationError;

/// The location of a PostgreSQL database. Neither `Display` nor `Debug` shows the password.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresLocation {
    pub(crate) config: Config,
    pub(crate) tls: TlsMode,
    pub(crate) ca_file: Option<PathBuf>,
}

/// How the connection to PostgreSQL is protected: the `sslmode` of the URL.
///
/// Without `sslmode`, connections to this machine are unencrypted, and all others use `require`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsMode {
    /// `disable`: unencrypted. Only for trusted networks.
    Off,
    /// `prefer`: TLS if the server supports it, with a verified certificate; otherwise unencrypted. An
    /// attacker on the network can force the latter.
    IfOffered,
    /// `require` and `verify-full`, which are equivalent here: always TLS. The certificate must match the
    /// host name and be issued by a CA of the system, or of the file named by `sslrootcert` or an option.
    Required,
}

/// Allowed URL parameters. The driver handles these; the two that are parsed here are not listed.
const DRIVER_PARAMETERS: &[&str] = &[
    "user",
    "password",
    "dbname",
    "options",
    "application_name",
    "sslnegotiation",
    "host",
    "hostaddr",
    "port",
    "connect_timeout",
    "tcp_user_timeout",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "target_session_attrs",
    "channel_binding",
    "load_balance_hosts",
];

impl PostgresLocation {
    pub(super) fn parse(url: &str) -> Result<Self, LocationError> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut tls, mut ca_file, mut others) = (None, None, Vec::new());
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=').ok_or(LocationError::NotPostgres)? {
                ("sslmode", mode) => tls = Some(TlsMode::parse(mode)?),
                ("sslrootcert", path) => ca_file = Some(PathBuf::from(percent_decode(path)?)),
                (name, _) if DRIVER_PARAMETERS.contains(&name) => others.push(parameter),
                (name, _) => return Err(LocationError::UnknownParameter(quotable_word(name)?)),
            }
        }
        // The errors of the driver could quote an unencoded password, so they are not used.
        let config: Config =
            format!("{base}?{}", others.join("&")).parse().map_err(|_| LocationError::NotPostgres)?;
        let is_lost = config.get_hosts().is_empty() && config.get_hostaddrs().is_empty();
        if is_lost || config.get_hosts().iter().any(contains_unescaped_password) {
            return Err(LocationError::NotPostgres);
        }
        let default = if is_loopback_only(&config) { TlsMode::Off } else { TlsMode::Required };
        Ok(Self { config, tls: tls.unwrap_or(default), ca_file })
    }
}

impl TlsMode {
    fn name(self) -> &'static str {
        match self {
            Self::Off => "disable",
            Self::IfOffered => "prefer",
            Self::Required => "require",
        }
    }

    fn parse(mode: &str) -> Result<Self, LocationError> {
        match mode {
            "disable" => Ok(Self::Off),
            "prefer" => Ok(Self::IfOffered),
            "require" | "verify-full" => Ok(Self::Required),
            other => Err(LocationError::UnknownTls(quotable_word(other)?)),
        }
    }
}

/// A word that may be quoted in an error: too short and plain to be a secret.
fn quotable_word(word: &str) -> Result<String, LocationError> {
    let is_plain =
        word.len() <= 24 && word.bytes().all(|byte| byte.is_ascii_lowercase() || b"_-".contains(&byte));
    if is_plain { Ok(word.to_owned()) } else { Err(LocationError::NotPostgres) }
}

fn percent_decode(text: &str) -> Result<String, LocationError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let byte = if *first == b'%' {
            let (digits, after) = rest.split_at_checked(2).ok_or(LocationError::NotPostgres)?;
            rest = after;
            let digits = str::from_utf8(digits).map_err(|_| LocationError::NotPostgres)?;
            u8::from_str_radix(digits, 16).map_err(|_| LocationError::NotPostgres)?
        } else {
            *first
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).map_err(|_| LocationError::NotPostgres)
}

/// Whether a password contains an unencoded `@`. The rest of the password would be parsed, and shown, as the
/// host.
fn contains_unescaped_password(host: &Host) -> bool {
    matches!(host, Host::Tcp(name) if name.contains('@'))
}

fn is_loopback_only(config: &Config) -> bool {
    let is_loopback =
        |host: &str| host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let hosts = config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => is_loopback(name),
        Host::Unix(_) => true,
    });
    hosts && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

impl fmt::Display for PostgresLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports = self.config.get_ports();
        let hosts = self.config.get_hosts().iter().enumerate().map(|(at, host)| {
            let port = ports.get(at).or(ports.first()).map_or(String::new(), |port| format!(":{port}"));
            match host {
                Host::Tcp(name) => format!("{name}{port}"),
                Host::Unix(folder) => format!("{}{port}", folder.display()),
            }
        });
        write!(f, "postgres://")?;
        self.config.get_user().map_or(Ok(()), |user| write!(f, "{user}@"))?;
        write!(f, "{}", hosts.collect::<Vec<_>>().join(","))?;
        self.config.get_dbname().map_or(Ok(()), |name| write!(f, "/{name}"))?;
        // Shown even if it is the default, which users may not expect.
        write!(f, "?sslmode={}", self.tls.name())
    }
}

impl fmt::Debug for PostgresLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({self})")
    }
}
