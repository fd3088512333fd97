//! What can be set about a store.

use std::path::PathBuf;
use std::time::Duration;

/// What can be set about a store. PostgreSQL alone has any of it; SQLite needs nothing.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The most connections that are open at a time. Of three or more, two are left to those who do not write to projects;
    /// of five or more, one is left to those who look up keys and limits. One tenant uses three quarters of them at most.
    pub max_connections: usize,
    /// How long to wait for a connection, whether it has to be made or is in use by others.
    pub connect_timeout: Duration,
    /// How long a statement may take.
    pub statement_timeout: Duration,
    /// The certificates (PEM) that the database server's must lead to, in place of those of the system.
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
