//! Where a store is: the URL that people write, and what it means.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

mod postgres;

pub use postgres::{PostgresLocation, TlsMode};

/// Where a store is. Shown without passwords, in whatever way.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// SQLite without a file: gone with the process. For tests.
    Memory,
    /// An SQLite file.
    Sqlite(PathBuf),
    /// A PostgreSQL database.
    Postgres(Box<PostgresLocation>),
}

/// Why a URL names no store. The texts quote nothing of the URL but names of schemes, parameters and modes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// It begins like no URL of a store.
    #[error("a store is `sqlite:PATH` or `postgres://USER@HOST/DATABASE`, and this is neither")]
    NotAUrl,
    /// It begins like the URL of something else.
    #[error("there is no store `{0}:`; there are `sqlite:` and `postgres:`")]
    UnknownScheme(String),
    /// `sqlite:` and nothing that could be a file.
    #[error(
        "`sqlite:` needs the path of a file, without parameters: `sqlite:fluxway.db`, `sqlite:/var/lib/fluxway.db`"
    )]
    NoPath,
    /// A parameter that nobody knows.
    #[error("the URL of a PostgreSQL database has no parameter `{0}`")]
    UnknownParameter(String),
    /// A way of protection that nobody knows.
    #[error("there is no `sslmode` `{0}`; there are disable, prefer, require, verify-full")]
    UnknownTls(String),
    /// It is like no URL of PostgreSQL.
    #[error(
        "this is not the URL of a PostgreSQL database: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`; \
         in names and passwords, characters such as `@ : / ?` are written as `%40 %3A %2F %3F`"
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
            // What is so long, or has other characters, may be a secret in the wrong place.
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
        // A parameter would become part of the file's name.
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
