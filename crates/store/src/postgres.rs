//! PostgreSQL: a pool of connections, and what is done when one breaks.

mod access;
mod column;
mod fault;
mod schema;
mod sessions;
mod tls;
mod work;

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio_postgres::NoTls;
use tokio_postgres::config::SslMode;

use crate::{OpenError, Options, Server, Store, Tls};

/// What is granted on top of the time that the database allows a statement, for the way there and back.
const WAY: Duration = Duration::from_secs(2);

/// A store in PostgreSQL.
pub(crate) struct Postgres {
    pool: Pool,
    /// How long to wait for an answer. A database that can be reached gives up before.
    patience: Duration,
    leases: AtomicU32,
}

impl Store for Postgres {}

impl Postgres {
    /// Connects, and makes or updates the tables.
    pub(crate) async fn open(server: &Server, options: &Options) -> Result<Self, OpenError> {
        let place = server.to_string();
        let pool = pool(server, options).await?;
        let failed = |cause| OpenError::Failed { place: place.clone(), cause };
        let mut client = pool.get().await.map_err(|error| failed(fault::of_pool(&error)))?;
        schema::migrate(&place, &mut client).await?;
        if schema::is_exempt(&client).await.map_err(|error| failed(fault::of(&error)))? {
            tracing::warn!(
                store = place,
                "the database does not keep tenants apart for this role: it is a superuser or has BYPASSRLS"
            );
        }
        drop(client);
        Ok(Self { pool, patience: options.statement_timeout + WAY, leases: AtomicU32::default() })
    }
}

async fn pool(server: &Server, options: &Options) -> Result<Pool, OpenError> {
    let mut config = server.config.clone();
    let own = session_settings(options);
    config.options(config.get_options().map_or(own.clone(), |given| format!("{own} {given}")));
    if config.get_application_name().is_none() {
        config.application_name("fluxway");
    }
    config.connect_timeout(options.connect_timeout);
    config.ssl_mode(match server.tls {
        Tls::Off => SslMode::Disable,
        Tls::IfOffered => SslMode::Prefer,
        Tls::Required => SslMode::Require,
    });
    // Whether a connection is closed is known without asking: each is watched by a task of its own.
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = if server.tls == Tls::Off {
        Manager::from_config(config, NoTls, recycling)
    } else {
        let ca_file = options.ca_file.clone().or_else(|| server.ca_file.clone());
        Manager::from_config(config, tls::connector(ca_file).await?, recycling)
    };
    let built = Pool::builder(manager)
        .max_size(options.connections.max(1))
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(options.connect_timeout))
        .create_timeout(Some(options.connect_timeout))
        .recycle_timeout(Some(options.connect_timeout))
        .build();
    built.map_err(|error| OpenError::Failed {
        place: server.to_string(),
        cause: ::access::StoreError::Broken(error.to_string()),
    })
}

/// What every session is begun with. What the URL says comes after it and wins. Who waited for a lock has to see what
/// was done under it, whatever the database has for others.
fn session_settings(options: &Options) -> String {
    let limit = options.statement_timeout.as_millis();
    format!(
        "-c statement_timeout={limit} -c idle_in_transaction_session_timeout={limit} \
         -c default_transaction_isolation=read\\ committed"
    )
}
