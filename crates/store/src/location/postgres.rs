//! The URL of a PostgreSQL database.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::LocationError;

/// A PostgreSQL database and how to get there. Shown without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresLocation {
    pub(crate) config: Config,
    pub(crate) tls: TlsMode,
    pub(crate) ca_file: Option<PathBuf>,
}

/// How the way to PostgreSQL is protected: `sslmode` in the URL.
///
/// Without `sslmode`, a server on this machine is spoken to in the clear, and any other as with `require`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsMode {
    /// `disable`: in the clear. For a network that nobody else is on.
    Off,
    /// `prefer`: TLS if the server has it, and then its certificate must be good; else in the clear. Somebody on the
    /// way can make it the latter.
    IfOffered,
    /// `require` and `verify-full`, which are the same here: TLS or nothing. The server's certificate must be for its
    /// host name and lead to a certificate of the system, or of the file that `sslrootcert` or an option names.
    Required,
}

/// What the URL may say beside what is in its path. The driver knows these, without the two that are read here.
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
        // The driver's own errors could quote a password that was not encoded.
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

/// A word that may stand in an error: too short and plain for a secret.
fn quotable_word(word: &str) -> Result<String, LocationError> {
    let is_plain =
        word.len() <= 24 && word.bytes().all(|byte| byte.is_ascii_lowercase() || b"_-".contains(&byte));
    if is_plain { Ok(word.to_owned()) } else { Err(LocationError::NotPostgres) }
}

/// `%20` and the like as what they stand for.
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

/// Whether somebody wrote an `@` into a password as it is. What follows it is then taken for a host, and shown.
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
        // A default that somebody did not expect is seen here.
        write!(f, "?sslmode={}", self.tls.name())
    }
}

impl fmt::Debug for PostgresLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({self})")
    }
}
