//! Store URLs.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

mod postgres;

pub use postgres::{PostgresLocation, TlsMode};

/// The location of a store. Neither `Display` nor `Debug` shows passwords.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// SQLite in memory, for tests.
    Memory,
    Sqlite(PathBuf),
    Postgres(Box<PostgresLocation>),
}

/// Why a store URL is invalid. The messages quote only schemes, parameter names and modes, never secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// Not a store URL.
    #[error("invalid store URL; use `sqlite:PATH` or `postgres://USER@HOST/DATABASE`")]
    NotAUrl,
    /// An unknown scheme.
    #[error("unknown store type `{0}:`; use `sqlite:` or `postgres:`")]
    UnknownScheme(String),
    /// `sqlite:` without a valid path.
    #[error(
        "`sqlite:` requires a file path without parameters: `sqlite:fluxway.db`, `sqlite:/var/lib/fluxway.db`"
    )]
    NoPath,
    /// An unknown parameter.
    #[error("unknown PostgreSQL URL parameter `{0}`")]
    UnknownParameter(String),
    /// An unknown `sslmode`.
    #[error("unknown `sslmode` `{0}`; use disable, prefer, require or verify-full")]
    UnknownTls(String),
    /// Not a valid PostgreSQL URL.
    #[error(
        "invalid PostgreSQL URL; use `postgres://USER:PASSWORD@HOST:PORT/DATABASE`; \
         in names and passwords, encode characters such as `@ : / ?` as `%40 %3A %2F %3F`"
    )]
    NotPostgres,
}

impl FromStr for StoreLocation {
    type Err = LocationError;

    fn from_str(url: &str) -> Result<Self, LocationError> {
        let (scheme, rest) = url.split_once(':').ok_or(LocationError::NotAUrl)?;
        match scheme {
            "sqlite" => parse_sqlite(rest),
            "postgres" | "postgresql" => {
                PostgresLocation::parse(url).map(|server| Self::Postgres(Box::new(server)))
            }
            // A longer word, or one with other characters, may be a secret in the wrong place, so it is not
            // quoted.
            other if other.len() < 20 && other.bytes().all(|byte| byte.is_ascii_lowercase()) => {
                Err(LocationError::UnknownScheme(other.to_owned()))
            }
            _ => Err(LocationError::NotAUrl),
        }
    }
}

fn parse_sqlite(rest: &str) -> Result<StoreLocation, LocationError> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    match path {
        ":memory:" => Ok(StoreLocation::Memory),
        // A parameter would become part of the file name.
        _ if path.is_empty() || path.contains(['?', '\0']) => Err(LocationError::NoPath),
        _ => Ok(StoreLocation::Sqlite(PathBuf::from(path))),
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("sqlite::memory:"),
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(server) => server.fmt(f),
        }
    }
}

impl fmt::Debug for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}
