//! Store options.

use std::path::PathBuf;
use std::time::Duration;

/// Options of a PostgreSQL store. SQLite ignores them.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Maximum number of open connections. With three or more, two are reserved for work other than writing
    /// to projects; with five or more, one is reserved for looking up keys and limits. One tenant can use at
    /// most three quarters.
    pub max_connections: usize,
    /// How long to wait for a connection, whether it has to be established or is in use.
    pub connect_timeout: Duration,
    pub statement_timeout: Duration,
    /// The CA certificates (PEM) for the database server, instead of those of the system.
    pub ca_file: Option<PathBuf>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            max_connections: 8,
            connect_timeout: Duration::from_secs(3),
            statement_timeout: Duration::from_secs(5),
            ca_file: None,
        }
    }
}
