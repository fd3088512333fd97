//! What the server keeps: SQLite for one machine, PostgreSQL for many.
//!
//! Both do the same: every case of the suite in `tests/suite` runs against both. A write that was acknowledged survives
//! the end of the process and of the machine. Times are kept to the microsecond.
//!
//! # PostgreSQL
//!
//! Version 14 or later. Tenants are kept apart twice: by the queries, and by row-level security in the database itself.
//! Superusers and roles with `BYPASSRLS` are exempt from the second, and [`open`] warns about them. An ordinary role that
//! owns its database has all that is needed:
//!
//! ```sql
//! CREATE ROLE fluxway LOGIN PASSWORD '…' NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
//! CREATE DATABASE fluxway OWNER fluxway;
//! ```
//!
//! Tables are made and brought up to date by [`open`]. The URL's `sslmode` says how the way there is protected; see
//! [`TlsMode`].

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

/// Everything that the server keeps. Each domain says in a trait of its own what it needs.
pub trait Store: access::AccessStore + flow::session::SessionStore + projects::store::Backend {}

impl dyn Store {
    /// The projects in it.
    pub fn projects(self: &Arc<Self>) -> projects::ProjectStore {
        projects::ProjectStore::new(Arc::clone(self) as Arc<dyn projects::store::Backend>)
    }
}

/// Why a store was not opened. Nothing was changed in what was found there.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder or the file cannot be made or read.
    #[error("{place} cannot be opened: {source}")]
    File {
        /// What was to be opened.
        place: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file with something else in it.
    #[error("{place} is not a database; name another file")]
    NotADatabase {
        /// What was to be opened.
        place: String,
    },
    /// A database with the tables of somebody else.
    #[error("{place} is the database of another program; name another one, or an empty one")]
    Foreign {
        /// What was to be opened.
        place: String,
    },
    /// A database that this program is too old for.
    #[error(
        "{place} was made by a newer fluxway (schema {found}, this one knows {known}); use that version or another database"
    )]
    TooNew {
        /// What was to be opened.
        place: String,
        /// The version of what is there.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The certificates that were named, or those of the system, are of no use.
    #[error("no certificates to check the database server with: {0}")]
    Certificates(String),
    /// The database cannot be reached, or refuses.
    #[error("{place} cannot be used: {cause}")]
    Failed {
        /// What was to be opened.
        place: String,
        /// Why.
        cause: store_api::StoreError,
    },
}

/// Opens a store, and makes or updates its tables.
pub async fn open(location: &StoreLocation, options: &StoreOptions) -> Result<Arc<dyn Store>, OpenError> {
    match location {
        StoreLocation::Memory => Ok(Arc::new(sqlite::Sqlite::open(None).await?)),
        StoreLocation::Sqlite(path) => Ok(Arc::new(sqlite::Sqlite::open(Some(path.clone())).await?)),
        StoreLocation::Postgres(server) => Ok(Arc::new(postgres::Postgres::open(server, options).await?)),
    }
}
