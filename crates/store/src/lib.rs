//! Storage: SQLite for one machine, PostgreSQL for many.
//!
//! Both behave identically: every test in `tests/suite` runs against both. An acknowledged write survives a
//! crash of the process and of the machine. Times have microsecond precision.
//!
//! # PostgreSQL
//!
//! Version 14 or later. Tenants are isolated twice: by the queries, and by row-level security in the
//! database. Superusers and roles with `BYPASSRLS` are exempt from the latter, and [`open`] warns about them.
//! An ordinary role that owns its database is sufficient:
//!
//! ```sql
//! CREATE ROLE fluxway LOGIN PASSWORD '…' NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
//! CREATE DATABASE fluxway OWNER fluxway;
//! ```
//!
//! [`open`] creates and migrates the tables. The `sslmode` of the URL selects how the connection is
//! protected; see [`TlsMode`].

mod key_check;
mod key_listing;
mod location;
mod migrations;
mod offload;
mod options;
mod postgres;
mod sessions;
mod sqlite;
mod text_encoding;
mod token_bucket;

use std::sync::Arc;

pub use location::{LocationError, PostgresLocation, StoreLocation, TlsMode};
pub use options::StoreOptions;

/// Everything that the server stores. Each domain declares what it needs in its own trait.
pub trait Store: access::AccessStore + flow::session::SessionStore + projects::store::Backend {}

impl dyn Store {
    pub fn projects(self: &Arc<Self>) -> projects::ProjectStore {
        projects::ProjectStore::new(Arc::clone(self) as Arc<dyn projects::store::Backend>)
    }
}

/// Why a store could not be opened. The existing data was not changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder or the file cannot be created or read.
    #[error("cannot open {place}: {source}")]
    File { place: String, source: std::io::Error },
    /// The file is not an SQLite database.
    #[error("{place} is not a database; use another file")]
    NotADatabase { place: String },
    /// The database contains tables of another program.
    #[error("{place} belongs to another program; use another database, or an empty one")]
    Foreign { place: String },
    /// The schema is newer than this version.
    #[error(
        "{place} was made by a newer fluxway (schema {found}, this one supports {known}); use that version or another database"
    )]
    TooNew {
        place: String,
        /// The schema version of the database.
        found: i64,
        /// The newest schema version that this program supports.
        known: i64,
    },
    /// The configured or system certificates cannot be used.
    #[error("no CA certificates to verify the database server with: {0}")]
    Certificates(String),
    /// The database is unreachable or rejects the connection.
    #[error("cannot use {place}: {cause}")]
    Failed { place: String, cause: store_api::StoreError },
}

/// Opens a store, creating or migrating its tables.
pub async fn open(location: &StoreLocation, options: &StoreOptions) -> Result<Arc<dyn Store>, OpenError> {
    match location {
        StoreLocation::Memory => Ok(Arc::new(sqlite::Sqlite::open(None).await?)),
        StoreLocation::Sqlite(path) => Ok(Arc::new(sqlite::Sqlite::open(Some(path.clone())).await?)),
        StoreLocation::Postgres(server) => Ok(Arc::new(postgres::Postgres::open(server, options).await?)),
    }
}
